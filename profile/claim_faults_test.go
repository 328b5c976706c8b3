package profile_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A claim that is pending while the session is handed over, sealed, robbed or closed: receipt
// and coins stay together, and the session ends.
func TestAPendingClaimAndEveryEnd(t *testing.T) {
	for _, fault := range []faultstore.Fault{
		{Kind: faultstore.Hang}, {Kind: faultstore.HangApplied}, {Kind: faultstore.Late, After: 12 * time.Second}, {Kind: faultstore.FailAfter}, {Kind: faultstore.FailBefore}, {Delay: 2 * time.Second},
	} {
		for n := 1; n <= 3; n++ {
			for name, end := range map[string]func(f *fleet, a, b *server, s *profile.Session){
				"handed over": func(f *fleet, a, b *server, s *profile.Session) {
					b.load("u", &profile.LoadOptions{Policy: profile.Wait})
				},
				"stolen": func(f *fleet, a, b *server, s *profile.Session) {
					b.load("u", &profile.LoadOptions{StealAfter: time.Millisecond})
				},
				"released": func(f *fleet, a, b *server, s *profile.Session) { _ = s.Release(context.Background()) },
				"closed":   func(f *fleet, a, b *server, s *profile.Session) { _, _ = a.node.Close(context.Background()) },
				"cut off": func(f *fleet, a, b *server, s *profile.Session) {
					a.faults.Outage(faultstore.All, true)
					time.Sleep(10 * time.Second)
					b.load("u", nil)
					a.faults.Outage(faultstore.All, false)
				},
			} {
				t.Run(fmt.Sprint(fault, " ", n, " ", name), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) {
						a, b, s := journaled(t, f)
						time.Sleep(6 * time.Second)
						a.faults.SetRule(faultstore.Nth(n, on("commit", "profile/"), fault))
						done := make(chan error, 1)
						go func() { done <- grant(context.Background(), s) }()
						synctest.Wait()
						add2(s)
						end(f, a, b, s)
						<-s.Done()
						err := <-done
						time.Sleep(time.Minute)
						a.faults.Land()
						if next, ok := b.Session("u"); ok {
							f.together(t, next.Data())
							if err == nil && coins(next.Data()) < 15 {
								t.Errorf("granted, and there are %v", next.Data())
							}
							_ = next.Release(context.Background())
						}
						f.together(t, f.storedData("u"))
						if c := coins(f.storedData("u")); c < 5 || err == nil && c < 15 {
							t.Errorf("%d coins; claim: %v", c, err)
						}
					})
				})
			}
		}
	}
}

func add2(s *profile.Session) { _, _ = s.Transact(game, doc.Increment("/coins", 1)) }

// Rows of every condition: those that hold land with the commit, those that do not end the
// session without it; a lost answer changes nothing.
func TestClaimsOfEveryCondition(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.Pass, faultstore.FailAfter, faultstore.Late, faultstore.HangApplied, faultstore.FailBefore} {
		for name, holds := range map[string]bool{"holds": true, "does not": false} {
			t.Run(fmt.Sprint(kind, name), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					a, _, s := journaled(t, f)
					one, two, three := f.plant(f.raw.Durable(), "row/1", "a"), f.plant(f.raw.Durable(), "row/2", "bb"), f.plant(f.raw.Durable(), "row/3", "ccc")
					if !holds {
						three++
					}
					a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Kind: kind}))
					_, err := s.Claim(t.Context(), []store.Write{
						{Key: "row/1", Op: store.Delete, If: store.Is(one)},
						{Key: "row/2", Op: store.Put, Value: []byte(`{}`), If: store.Is(two), Version: 99},
						{Key: "row/3", Op: store.Check, If: store.Is(three)},
						{Key: "row/4", Op: store.Put, Value: []byte(`{}`), If: store.Absent(), Version: 98},
					}, doc.Increment("/coins", 10))
					time.Sleep(time.Minute)
					a.faults.Land()
					if err := s.Save(t.Context()); holds && err != nil {
						t.Error(err)
					}
					time.Sleep(time.Second)
					got := coins(f.storedData("u")) >= 15
					gone, put, made := f.durable("row/1").Missing(), f.durable("row/2").Version == 99, !f.durable("row/4").Missing()
					if got != holds || gone != got || put != got || made != got || holds != (s.Reason() == 0) {
						t.Errorf("stored %v, rows %v %v %v, %v: %v", got, gone, put, made, s.Reason(), err)
					}
				})
			})
		}
	}
}

// Batches at their limit: more sessions than one call takes, each with a journal near
// JournalBytes.
func TestManyLargeJournals(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		o := journaling()
		o.JournalBytes = 1 << 20
		a, b := f.start("a", o), f.start("b", o)
		text := make([]byte, 900<<10)
		for i := range text {
			text[i] = 'x'
		}
		var wg sync.WaitGroup
		var sessions []*profile.Session
		for i := range 270 {
			s := a.load(fmt.Sprint("u", i), nil)
			sessions = append(sessions, s)
		}
		for i, s := range sessions {
			if i < 6 {
				if _, err := s.Transact(game, doc.Set("/note", doc.MustString(string(text)))); err != nil {
					t.Fatal(err)
				}
			} else {
				add(t, s, 1)
			}
			wg.Go(func() { syncNow(t, s) })
		}
		wg.Wait()
		for _, s := range sessions {
			add(t, s, 1)
			wg.Go(func() { syncNow(t, s) })
		}
		wg.Wait()
		time.Sleep(6 * time.Second)
		a.kill()
		for i := range 270 {
			want := int64(2)
			if i < 6 {
				want = 1
			}
			if next := b.load(fmt.Sprint("u", i), nil); coins(next.Data()) != want {
				t.Fatalf("u%d: %d coins", i, coins(next.Data()))
			}
		}
	})
}

// A claim whose save was refused for a moment is stored soon, not at the next autosave:
// nothing that follows is journaled before.
func TestAClaimIsStoredSoonAfterAFailure(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.Hang} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				time.Sleep(6 * time.Second)
				a.faults.SetRule(nth(1, on("commit", "profile/"), kind))
				_ = grant(t.Context(), s)
				for range 60 {
					add(t, s, 1)
					time.Sleep(time.Second)
				}
				a.kill()
				next := b.load("u", nil)
				f.together(t, next.Data())
				if got := coins(next.Data()); got < 15+58 {
					t.Errorf("%d coins of 75: a minute of play lost, and both stores were up", got)
				}
			})
		})
	}
}
