package profile_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// What is journaled before a claim keeps its commit ids, however many came after the claim.
func TestTheJournalBeforeAClaimKeepsCommitIDs(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		time.Sleep(6 * time.Second) // the opening save is over
		named := func(s *profile.Session, id string) profile.Commit {
			c, err := s.Transact(profile.Source{ID: id}, doc.Increment("/coins", 1))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.Hang}))
		named(s, "before")
		go func() { _ = grant(context.Background(), s) }()
		synctest.Wait()
		for i := range 70 {
			named(s, fmt.Sprint("after", i))
		}
		time.Sleep(3 * time.Second)
		a.kill()
		next := b.load("u", nil)
		if coins(next.Data()) != 6 {
			t.Fatalf("recovered %v", next.Data())
		}
		if c := named(next, "before"); !c.Repeated {
			t.Errorf("applied twice: %v", next.Data())
		}
	})
}
