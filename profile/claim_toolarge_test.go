package profile_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Two claims are more than the store takes in one Tx, the first alone is not: the first is
// stored and told so, also when an earlier try of it may still land.
func TestClaimsThatAreTooMuchTogether(t *testing.T) {
	for _, fault := range []faultstore.Fault{
		{Delay: time.Second}, {Kind: faultstore.Late, Back: time.Second}, {Kind: faultstore.Late, Back: time.Second, After: 1200 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				f.wrap = func(p store.Parts) store.Parts {
					p.Durable = narrow{Records: p.Durable, most: 2}
					return p
				}
				o := journaling()
				o.Audit = profile.AuditNone
				a, b := f.start("a", o), f.start("b", o)
				s := a.load("u", nil)
				add(t, s, 6)
				save(t, s)
				time.Sleep(6 * time.Second)
				one, two := faultstore.Nth(1, on("commit", "profile/"), fault), faultstore.Nth(3, on("commit", "profile/"), faultstore.Fault{Delay: time.Second})
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					if slow := two(c); slow.Delay != 0 {
						return slow
					}
					return one(c)
				})
				answers := make([]chan error, 2)
				for i := range answers {
					answers[i] = make(chan error, 1)
					go func() {
						_, err := s.Grant(context.Background(), fmt.Sprint("r", i+1), game, doc.Increment("/coins", 10))
						answers[i] <- err
					}()
					synctest.Wait()
				}
				errs := [2]error{<-answers[0], <-answers[1]}
				time.Sleep(30 * time.Second)
				a.faults.Land()
				a.kill()
				next, ok := b.Session("u")
				if !ok {
					next = b.load("u", nil)
				}
				for i, err := range errs {
					id := fmt.Sprint("r", i+1)
					if row := !f.durable("receipt/players/" + id).Missing(); row != (err == nil) && store.OutcomeOf(err) != store.Unknown {
						t.Errorf("%s: told %v, and it is stored: %v", id, err, row)
					}
				}
				if errs[0] != nil {
					t.Errorf("the first fits: %v", errs[0])
				}
				for i := range errs {
					if _, err := deliver(t.Context(), next, fmt.Sprint("r", i+1)); err != nil {
						t.Error(err)
					}
				}
				if coins(next.Data()) != 26 {
					t.Errorf("%v", next.Data())
				}
			})
		})
	}
}
