package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// pendingGrants has receipts r1, r2, … pending at once, ten coins each, because the first
// save of the session's end is held up by the fault.
func pendingGrants(t *testing.T, a *server, s *profile.Session, fault faultstore.Fault, n int) []chan error {
	t.Helper()
	a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), fault))
	out := make([]chan error, n)
	for i := range out {
		out[i] = make(chan error, 1)
		go func() {
			_, err := s.Grant(context.Background(), fmt.Sprint("r", i+1), game, doc.Increment("/coins", 10))
			out[i] <- err
		}()
		synctest.Wait()
	}
	return out
}

// Claims that are pending together: all their rows go into one Tx.
func TestClaimsTogetherAreOneTx(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		var mu sync.Mutex
		var txs []int
		answers := pendingGrants(t, a, s, faultstore.Fault{Delay: time.Second}, 12)
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if on("commit", "profile/")(c) {
				mu.Lock()
				defer mu.Unlock()
				txs = append(txs, len(c.Keys))
			}
			return faultstore.Fault{}
		})
		for i, answer := range answers {
			if err := <-answer; err != nil || f.durable(fmt.Sprint("receipt/players/r", i+1)).Missing() {
				t.Errorf("r%d: %v", i+1, err)
			}
		}
		if fmt.Sprint(txs) != "[13]" { // the record, eleven receipts and a row of the audit log, after the first alone
			t.Errorf("the writes had %v records", txs)
		}
		if v, _ := s.Stored(); coins(v) != 125 {
			t.Errorf("stored %v", v)
		}
	})
}

// A Tx has room for so many rows: the rest is refused, nothing of it applied, and works later.
func TestMoreClaimsThanATxHolds(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		busy, granted := 0, 0
		for _, answer := range pendingGrants(t, a, s, faultstore.Fault{Kind: faultstore.FailBefore, Delay: time.Second}, 80) {
			switch err := <-answer; {
			case errors.Is(err, profile.ErrBusy):
				busy++
			case err == nil:
				granted++
			default:
				t.Error(err)
			}
		}
		if v, _ := s.Stored(); granted+busy != 80 || busy == 0 || granted < 40 || coins(v) != int64(5+10*granted) {
			t.Errorf("%d granted, %d busy, stored %v", granted, busy, v)
		}
		for i := range 80 {
			if g, err := deliver(t.Context(), s, fmt.Sprint("r", i+1)); err != nil || g.Repeated != (i < granted) {
				t.Errorf("r%d again: %+v, %v", i+1, g, err)
			}
		}
		if coins(s.Data()) != 805 {
			t.Errorf("%v", s.Data())
		}
	})
}

// The third of five pending claims is taken by another profile: the session ends as lost, with
// the first two stored and acknowledged, and nothing of the others.
func TestALaterClaimIsTaken(t *testing.T) {
	for _, kind := range []faultstore.Fault{{Delay: time.Second}, {Kind: faultstore.FailBefore}, {Kind: faultstore.Late}, {Kind: faultstore.Hang}} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				// The first save holds nothing of them: what they wait for comes after it.
				add(t, s, 1)
				a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
				go func() { _ = s.Save(context.Background()) }()
				synctest.Wait()
				answers := make([]chan error, 5)
				for i := range answers {
					answers[i] = make(chan error, 1)
					go func() {
						_, err := s.Grant(context.Background(), fmt.Sprint("r", i+1), game, doc.Increment("/coins", 10))
						answers[i] <- err
					}()
					synctest.Wait()
				}
				a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), kind))
				f.plant(f.raw.Durable(), "receipt/players/r3", `{"at":"2026-01-01T00:00:00.000Z","format":1,"owner":"x"}`)
				for i, answer := range answers {
					err := <-answer
					if i < 2 && err != nil {
						t.Errorf("r%d: %v", i+1, err)
					}
					if i >= 2 && (store.OutcomeOf(err) != store.NotDone || errors.Is(err, profile.ErrReceiptTaken) != (i == 2) || !errors.Is(err, profile.ErrLost)) {
						t.Errorf("r%d: %v", i+1, err)
					}
				}
				<-s.Done()
				a.faults.Land()
				if s.Reason() != profile.Lost {
					t.Errorf("%v", s.Reason())
				}
				next := b.load("u", nil)
				if coins(next.Data()) != 26 || next.Loaded().How != profile.Free {
					t.Errorf("%v %+v", next.Data(), next.Loaded())
				}
				for i := range 5 {
					g, err := deliver(t.Context(), next, fmt.Sprint("r", i+1))
					if i == 2 {
						if !errors.Is(err, profile.ErrReceiptTaken) {
							t.Errorf("r3: %v", err)
						}
					} else if err != nil || g.Repeated != (i < 2) {
						t.Errorf("r%d: %+v %v", i+1, g, err)
					}
				}
			})
		})
	}
}

// The journal ends before the first of two claims, and when that is stored it goes on to the
// second: what a takeover finds is what is stored, or more without the second claim's effects.
func TestTheJournalEndsBeforeTheFirstOfTwoClaims(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		time.Sleep(6 * time.Second)
		saves := 0
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if !on("commit", "profile/")(c) {
				return faultstore.Fault{}
			}
			if saves++; saves == 1 {
				return faultstore.Fault{Delay: 3 * time.Second}
			}
			return faultstore.Fault{Kind: faultstore.Hang}
		})
		add(t, s, 1)
		go func() { _, _ = s.Grant(context.Background(), "r1", game, doc.Increment("/coins", 10)) }()
		synctest.Wait()
		add(t, s, 1)
		go func() { _, _ = s.Grant(context.Background(), "r2", game, doc.Increment("/coins", 10)) }()
		synctest.Wait()
		add(t, s, 1)
		time.Sleep(2500 * time.Millisecond)
		if j := string(f.fast("journal/players/u").Value); !strings.Contains(j, `"/coins":6`) {
			t.Errorf("before the first is stored: %s", j)
		}
		time.Sleep(3 * time.Second)
		if c := coins(f.storedData("u")); c != 16 || f.durable("receipt/players/r1").Missing() {
			t.Errorf("the first is stored with what was there then: %d coins", c)
		}
		if j := string(f.fast("journal/players/u").Value); !strings.Contains(j, `"/coins":17`) {
			t.Errorf("while the second is not stored: %s", j)
		}
		a.kill()
		next := b.load("u", nil)
		if coins(next.Data()) != 17 || !f.durable("receipt/players/r2").Missing() {
			t.Errorf("%v", next.Data())
		}
		for id, repeated := range map[string]bool{"r1": true, "r2": false} {
			if g, err := deliver(t.Context(), next, id); err != nil || g.Repeated != repeated {
				t.Errorf("%s: %+v, %v", id, g, err)
			}
		}
		if coins(next.Data()) != 27 {
			t.Errorf("%v", next.Data())
		}
	})
}
