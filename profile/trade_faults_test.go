package profile_test

import (
	"context"
	"errors"
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

// onRecords matches the calls on profiles, reads and writes.
func onRecords(c faultstore.Call) bool {
	return on("commit", "profile/")(c) || on("get", "profile/")(c)
}

// word holds the answer of a trade against what is stored: nil means both, an error that is
// no ErrUnknown means neither.
func word(t *testing.T, err error, done bool) {
	t.Helper()
	if err == nil && !done || err != nil && !errors.Is(err, store.ErrUnknown) && done {
		t.Errorf("the trade said %v, and it is stored: %v", err, done)
	}
}

// tradeFaults is every way in which a call can go wrong.
var tradeFaults = []faultstore.Fault{
	{Kind: faultstore.FailBefore},
	{Kind: faultstore.FailAfter},
	{Kind: faultstore.Late},
	{Kind: faultstore.Late, After: 50 * time.Millisecond},
	{Kind: faultstore.Late, After: 3 * time.Second},
	{Kind: faultstore.Hang},
	{Kind: faultstore.HangApplied},
	{Delay: 2 * time.Second, Back: 2 * time.Second},
}

// Every call of a trade goes wrong in turn, in every way, and so does another after it: the
// trade is in both profiles or in none, at once and for good, and its caller is told which.
func TestEveryCallOfATradeGoesWrong(t *testing.T) {
	// case P23
	landed, refused := 0, 0
	for _, first := range tradeFaults {
		for _, second := range tradeFaults {
			for n := 2; n <= 4; n++ {
				t.Run(fmt.Sprint(first, " then ", n, " ", second), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) {
						a, u, v := market(t, f)
						time.Sleep(10 * time.Second) // the journals' opening saves are over
						one, two := faultstore.Nth(1, onRecords, first), faultstore.Nth(n, onRecords, second)
						a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
							if fault := one(c); fault != (faultstore.Fault{}) {
								two(c)
								return fault
							}
							return two(c)
						})
						_, err := swap(t.Context(), "t", u, v)
						done := swapped(t, f.storedData("u"), f.storedData("v"))
						word(t, err, done)
						if errors.Is(err, store.ErrUnknown) {
							t.Errorf("it was not seen through: %v", err)
						}
						if done {
							landed++
						} else {
							refused++
						}
						a.faults.Land()
						time.Sleep(time.Minute)
						if now := swapped(t, u.Data(), v.Data()); now != done {
							t.Errorf("stored: %v; in memory: %v", done, now)
						}
						touch(t, u)
						touch(t, v)
						release(t, u)
						release(t, v)
						if swapped(t, f.storedData("u"), f.storedData("v")) != done {
							t.Errorf("stored in the end: %v", !done)
						}
					})
				})
			}
		}
	}
	if landed == 0 || refused == 0 {
		t.Errorf("%d trades landed, %d were refused: one kind was never tried", landed, refused)
	}
}

// The node dies before or after every write of a trade, and others take one party each: both
// or neither.
func TestTheNodeDiesInATrade(t *testing.T) {
	for _, first := range tradeFaults {
		for n := 1; n <= 3; n++ {
			for _, crash := range []faultstore.Kind{faultstore.Crash, faultstore.CrashAfter} {
				t.Run(fmt.Sprint(first, n, crash), func(t *testing.T) {
					bothStores(t, func(t *testing.T, f *fleet) {
						a, u, v := market(t, f)
						b, c := f.start("b", bags()), f.start("c", bags())
						time.Sleep(10 * time.Second)
						one, two := faultstore.Nth(1, onRecords, first), faultstore.Nth(n, onRecords, faultstore.Fault{Kind: crash})
						a.faults.SetRule(func(call faultstore.Call) faultstore.Fault {
							if fault := two(call); fault.Kind != faultstore.Pass {
								return fault
							}
							return one(call)
						})
						ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
						defer cancel()
						_, err := swap(ctx, "t", u, v)
						if !a.faults.Crashed() {
							a.kill()
						}
						next, other := b.load("u", nil), c.load("v", nil)
						done := swapped(t, next.Data(), other.Data())
						word(t, err, done)
						a.faults.Land()
						save(t, next)
						save(t, other)
						time.Sleep(time.Minute)
						if swapped(t, f.storedData("u"), f.storedData("v")) != done {
							t.Error("it landed after the takeover")
						}
					})
				})
			}
		}
	}
}

// The answer is lost and the store stays down: the parties are frozen, the caller is told that
// it does not know, and the trade is seen through without it.
func TestAnUnknownTradeIsSeenThrough(t *testing.T) {
	for name, kind := range map[string]faultstore.Kind{"stored": faultstore.FailAfter, "not stored": faultstore.Late} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, u, v := market(t, f)
				time.Sleep(10 * time.Second)
				touch(t, u)
				lost := nth(1, on("commit", "profile/"), kind)
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					if fault := lost(c); fault.Kind != faultstore.Pass || c.Part != faultstore.Durable {
						return fault
					}
					return faultstore.Fault{Kind: faultstore.FailBefore}
				})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if _, err := swap(ctx, "t", u, v); !errors.Is(err, store.ErrUnknown) {
					t.Fatalf("%v", err)
				}
				if _, err := u.Transact(game, doc.Increment("/coins", 1)); !errors.Is(err, profile.ErrBusy) {
					t.Errorf("%v", err)
				}
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := swap(ctx, "t", u, v); !errors.Is(err, store.ErrUnknown) {
					t.Errorf("the same again: %v", err)
				}
				if _, err := swap(ctx, "t2", u, v); !errors.Is(err, profile.ErrBusy) || errors.Is(err, store.ErrUnknown) {
					t.Errorf("a second one: %v", err)
				}
				a.faults.SetRule(nil)
				time.Sleep(10 * time.Second)
				done := kind == faultstore.FailAfter
				a.faults.Land()
				if swapped(t, u.Data(), v.Data()) != done || swapped(t, f.storedData("u"), f.storedData("v")) != done {
					t.Errorf("%v %v", u.Data(), v.Data())
				}
				out, err := swap(t.Context(), "t", u, v)
				if err != nil || out.Repeated != done || !swapped(t, f.storedData("u"), f.storedData("v")) {
					t.Errorf("again: %+v, %v", out, err)
				}
			})
		})
	}
}

// While the outcome is unknown what was committed before the trade is journaled; the trade is
// not.
func TestTheJournalGoesOnBesideAnUnknownTrade(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		b := f.start("b", bags())
		time.Sleep(10 * time.Second)
		if _, err := u.Transact(profile.Source{ID: "before"}, doc.Increment("/coins", 0)); err != nil {
			t.Fatal(err)
		}
		a.faults.SetRule(always(onRecords, faultstore.Fault{Kind: faultstore.Hang}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() { _, _ = swap(ctx, "t", u, v) }()
		synctest.Wait()
		time.Sleep(20 * time.Second)
		syncNow(t, u)
		a.kill()
		next, other := b.load("u", nil), b.load("v", nil)
		if swapped(t, next.Data(), other.Data()) {
			t.Error("traded by the journal")
		}
		if c, err := next.Transact(profile.Source{ID: "before"}, doc.Increment("/coins", 0)); err != nil || !c.Repeated {
			t.Errorf("%+v, %v: what was before the trade is lost", c, err)
		}
	})
}

// One party, or both, are robbed while the outcome is unknown, and the new holders play on,
// also for longer than a record keeps ids: those that are left learn what became of it.
func TestPartiesAreTakenOverInATrade(t *testing.T) {
	for name, kind := range map[string]faultstore.Kind{"stored": faultstore.FailAfter, "not stored": faultstore.Late, "cut": faultstore.Hang} {
		for _, keys := range [][]string{{"u"}, {"v"}, {"u", "v"}} {
			for _, plays := range []int{0, 3, 70} {
				t.Run(fmt.Sprint(name, keys, plays), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) {
						a, u, v := market(t, f)
						b := f.start("b", bags())
						time.Sleep(10 * time.Second)
						lost := nth(1, on("commit", "profile/"), kind)
						a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
							if fault := lost(c); fault.Kind != faultstore.Pass || !onRecords(c) {
								return fault
							}
							return faultstore.Fault{Kind: faultstore.FailBefore}
						})
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						defer cancel()
						if _, err := swap(ctx, "t", u, v); !errors.Is(err, store.ErrUnknown) {
							t.Fatalf("%v", err)
						}
						for _, key := range keys {
							s := b.load(key, &profile.LoadOptions{StealAfter: time.Millisecond})
							for i := range plays {
								if _, err := s.Transact(profile.Source{ID: fmt.Sprint("play", i)}, doc.Increment("/coins", 0)); err != nil {
									t.Fatal(err)
								}
							}
							save(t, s)
						}
						done := swapped(t, f.storedData("u"), f.storedData("v"))
						if done != (kind == faultstore.FailAfter) {
							t.Fatalf("stored: %v", done)
						}
						a.faults.SetRule(nil)
						time.Sleep(20 * time.Second)
						a.faults.Land()
						for _, s := range []*profile.Session{u, v} {
							robbed := s.Key() == keys[0] || len(keys) == 2
							if (s.Reason() == profile.Lost) != robbed {
								t.Errorf("%s: %v", s.Key(), s.Reason())
							}
							if !robbed {
								touch(t, s)
								save(t, s)
							}
						}
						if swapped(t, f.storedData("u"), f.storedData("v")) != done {
							t.Error("half of it later")
						}
						if len(keys) == 1 && swapped(t, u.Data(), v.Data()) != done {
							t.Errorf("in memory: %v %v", u.Data(), v.Data())
						}
					})
				})
			}
		}
	}
}

// Asked, released, closed, in a trade that takes a while: the end waits for it, and the hook
// that runs then may still change the session.
func TestEndsWaitForATrade(t *testing.T) {
	for _, fault := range []faultstore.Fault{{Delay: 3 * time.Second}, {Kind: faultstore.HangApplied}, {Kind: faultstore.Hang}} {
		for name, end := range map[string]func(a, b *server, u *profile.Session){
			"handed over": func(_, b *server, _ *profile.Session) { b.load("u", nil) },
			"released":    func(_, _ *server, u *profile.Session) { _ = u.Release(context.Background()) },
			"closed":      func(a, _ *server, _ *profile.Session) { _, _ = a.node.Close(context.Background()) },
		} {
			t.Run(fmt.Sprint(name, fault), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					a, u, v := market(t, f)
					b := f.start("b", bags())
					time.Sleep(10 * time.Second)
					var mu sync.Mutex
					bye := map[string]error{}
					a.OnLeave(func(_ context.Context, s *profile.Session) { // sessions leave side by side
						_, err := s.Transact(game, doc.Set("/bye", doc.Bool(true)))
						mu.Lock()
						defer mu.Unlock()
						bye[s.Key()] = err
					})
					a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), fault))
					traded := make(chan error, 1)
					go func() { _, err := swap(context.Background(), "t", u, v); traded <- err }()
					time.Sleep(time.Millisecond)
					end(a, b, u)
					<-u.Done()
					err := <-traded
					if bye["u"] != nil || u.Reason() == profile.Lost {
						t.Errorf("hook: %v, %v", bye["u"], u.Reason())
					}
					word(t, err, swapped(t, u.Data(), v.Data()))
					time.Sleep(time.Minute)
					word(t, err, swapped(t, f.storedData("u"), f.storedData("v")))
				})
			})
		}
	}
}

// A node that closes while the outcome is unknown names the parties it has to leave.
func TestCloseNamesThePartiesOfAnUnknownTrade(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		a.ended.Store(true)
		time.Sleep(10 * time.Second)
		a.faults.SetRule(always(onRecords, faultstore.Fault{Kind: faultstore.HangApplied}))
		traded := make(chan error, 1)
		go func() { _, err := swap(context.Background(), "t", u, v); traded <- err }()
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		report, _ := a.Close(ctx)
		if len(report.Left) != 2 || report.Left[0].Why != "the outcome of a trade is unknown" {
			t.Errorf("%+v", report)
		}
		if err := <-traded; !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%v", err)
		}
		a.faults.SetRule(nil)
		b := f.start("b", bags())
		_, _ = a.node.Close(t.Context())
		if !swapped(t, b.load("u", nil).Data(), b.load("v", nil).Data()) {
			t.Error("not traded")
		}
	})
}

// An ask in the record of one party makes the write conflict: the trade gives way to the
// hand-over, with nothing changed.
func TestATradeGivesWayToAnAskInTheRecord(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		b := f.start("b", bags())
		time.Sleep(10 * time.Second)
		a.faults.Outage(faultstore.Fast|faultstore.Bus, true)
		b.faults.Outage(faultstore.Fast|faultstore.Bus, true)
		asked := make(chan *profile.Session, 1)
		go func() {
			s, _ := b.Load(context.Background(), "u", &profile.LoadOptions{Policy: profile.Wait})
			asked <- s
		}()
		for f.stored("u").Ask == nil {
			time.Sleep(10 * time.Millisecond)
		}
		_, err := swap(t.Context(), "t", u, v)
		word(t, err, swapped(t, f.storedData("u"), f.storedData("v")))
		if !errors.Is(err, profile.ErrBusy) {
			t.Errorf("%v", err)
		}
		if s := <-asked; s == nil || s.Loaded().How != profile.Granted {
			t.Errorf("not handed over: %+v", s)
		}
		touch(t, v)
		a.faults.Outage(faultstore.All, false)
		b.faults.Outage(faultstore.All, false)
	})
}

// A record that has moved on under its holder is adopted, and the trade is sent again.
func TestATradeAdoptsAndIsSentAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, u, v := market(t, f)
		time.Sleep(10 * time.Second)
		r := f.durable(profileKey("v"))
		err := f.raw.Durable().Commit(t.Context(), store.Tx{{Key: r.Key, Op: store.Put, Value: r.Value, If: store.Is(r.Version), Version: 77}})[0]
		if err != nil {
			t.Fatal(err)
		}
		if _, err := swap(t.Context(), "t", u, v); err != nil || !swapped(t, f.storedData("u"), f.storedData("v")) {
			t.Errorf("%v", err)
		}
		touch(t, v)
		save(t, v)
	})
}

// While the durable store is known to be down nothing is begun.
func TestNoTradeWhileTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		a.faults.Outage(faultstore.Durable, true)
		touch(t, v)
		_ = v.Save(t.Context())
		for range 2 {
			if _, err := swap(t.Context(), "t", u, v); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
				t.Errorf("%v", err)
			}
			nothingTraded(t, u, v)
		}
		a.faults.Outage(faultstore.Durable, false)
	})
}

// What has waited for a trade that is refused is done then: saves, appends, the hand-over.
func TestWhatWaitedForARefusedTradeIsDone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		time.Sleep(10 * time.Second)
		touch(t, u)
		touch(t, v)
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore, Delay: 2 * time.Second}))
		var traded, saved, synced error
		d := took(func() {
			var wg sync.WaitGroup
			wg.Go(func() { _, traded = swap(context.Background(), "t", u, v) })
			synctest.Wait()
			wg.Go(func() { saved = u.Save(context.Background()) })
			wg.Go(func() { synced = v.Sync(context.Background()) })
			wg.Wait()
		})
		if !errors.Is(traded, store.ErrUnavailable) || saved != nil || synced != nil || d > 3*time.Second {
			t.Errorf("traded %v, saved %v, synced %v, after %v", traded, saved, synced, d)
		}
		nothingTraded(t, u, v)
	})
}
