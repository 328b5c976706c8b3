package pairing_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/internal/pairing"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// The first opening makes mark and sign, later ones find them, however many come at once.
func TestTheFirstOpeningMakesAPair(t *testing.T) {
	for name, g := range map[string]pairing.Given{"one engine": {Bus: "listen"}, "two": apart("redis://a")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pairing.Parts{Durable: engine(), Fast: engine()}
				var all sync.WaitGroup
				ids := make([]string, 20)
				for i := range ids {
					all.Go(func() { ids[i] = settled(t, p, g).ID })
				}
				all.Wait()
				for i, id := range ids {
					if id != ids[0] || id == "" {
						t.Errorf("process %d agreed on %s, the first on %s", i, id, ids[0])
					}
				}
				if d, f := dump(t, p.Durable), dump(t, p.Fast); len(d) != 1 || len(f) != 1 || d[markKey] == "" || f[signKey] == "" {
					t.Errorf("stored: %v and %v", d, f)
				}
			})
		})
	}
}

// Two see a store that nobody has opened; the first mark of one comes when the other is done.
func TestALateFirstOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
			if c.Part == faultstore.Durable && c.Write {
				return faultstore.Fault{Delay: time.Second}
			}
			return faultstore.Fault{}
		}})
		late := make(chan string)
		go func() { late <- settled(t, behind(f, p), apart("redis://a")).ID }()
		synctest.Wait()
		first := settled(t, p, apart("redis://a"))
		if got := <-late; got != first.ID {
			t.Errorf("the late one agreed on %s, the first on %s", got, first.ID)
		}
		wantPair(t, p, apart("redis://a"))
	})
}

// What is not the fleet's is refused, and nothing is written.
func TestWhatIsNotTheFleets(t *testing.T) {
	durable, live, fast := engine(), engine(), engine()
	one, two := pairing.Parts{Durable: durable, Fast: live}, pairing.Parts{Durable: durable, Fast: fast}
	settled(t, one, pairing.Given{Bus: "listen"})
	refused(t, two, apart("redis://a"), "one engine for all parts")
	refused(t, one, pairing.Given{Bus: "poll"}, "LISTEN and NOTIFY")
	refused(t, pairing.Parts{Durable: engine(), Fast: live}, apart("redis://a"), "redis://a belongs to another store")

	durable = engine()
	one, two = pairing.Parts{Durable: durable, Fast: engine()}, pairing.Parts{Durable: durable, Fast: fast}
	settled(t, two, apart("redis://a"))
	refused(t, one, pairing.Given{}, "in a fast part of its own, redis://a")
	other := apart("redis://a/1")
	other.Space = "Redis, database 1, prefix shoal"
	refused(t, pairing.Parts{Durable: durable, Fast: engine()}, other, "database 1")
	third := engine()
	settled(t, pairing.Parts{Durable: engine(), Fast: third}, apart("redis://a"))
	refused(t, pairing.Parts{Durable: durable, Fast: third}, apart("redis://a"), "belongs to another store: its sign is")
}

// A fast part that forgot gets its sign again: from who is alive where somebody is.
func TestAFastPartForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		log := living(t, p, apart("redis://a"))
		first := settled(t, p, apart("redis://a"))
		forget(t, p.Fast)
		begun := time.Now()
		again := settled(t, p, apart("redis://a"))
		if again.ID != first.ID || time.Since(begun) > pairing.Every+time.Second {
			t.Errorf("%s after %v, it was %s", again.ID, time.Since(begun), first.ID)
		}
		if d := dump(t, p.Durable); len(d) != 1 {
			t.Errorf("left behind: %v", d)
		}
		wantLog(t, log, "the fast part has lost its memory")
	})
}

// Nobody is alive: the newcomer's fast part is the fleet's from then on, and no other one is.
func TestAFastPartForgetsWhileNobodyLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		elsewhere := pairing.Parts{Durable: p.Durable, Fast: engine()}
		first := settled(t, p, apart("redis://localhost"))
		begun := time.Now()
		second := settled(t, elsewhere, apart("redis://localhost"))
		if second.ID == first.ID || time.Since(begun) < pairing.Patience {
			t.Errorf("%s after %v, it was %s", second.ID, time.Since(begun), first.ID)
		}
		living(t, elsewhere, apart("redis://localhost"))
		// The one of before has a sign still, and it is worth nothing.
		refusedLater(t, p, apart("redis://localhost"))
	})
}

// refusedLater opens with a fast part that lacks the sign while somebody lives who sees it.
func refusedLater(t *testing.T, p pairing.Parts, g pairing.Given) {
	t.Helper()
	refused(t, p, g, "processes are alive that see it in")
}

// An empty fast part that is not the fleet's is refused while somebody lives: a name that means
// another server on each machine.
func TestAWrongEmptyFastPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		log := living(t, p, apart("redis://localhost"))
		begun := time.Now()
		refusedLater(t, pairing.Parts{Durable: p.Durable, Fast: engine()}, apart("redis://localhost"))
		if time.Since(begun) > 2*pairing.Every {
			t.Errorf("it took %v", time.Since(begun))
		}
		if log.String() != "" {
			t.Errorf("the one who lives says %s", log)
		}
	})
}

// A live part of the durable engine cannot be the wrong one: nobody is asked.
func TestALivePartForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		first := settled(t, p, pairing.Given{})
		forget(t, p.Fast)
		begun := time.Now()
		if again := settled(t, p, pairing.Given{}); again.ID != first.ID || time.Since(begun) > time.Second || dump(t, p.Fast)[signKey] == "" {
			t.Errorf("%s after %v, it was %s", again.ID, time.Since(begun), first.ID)
		}
	})
}

// histories are what an opening, or a change, begins with.
var histories = map[string]struct {
	before func(t *testing.T, p pairing.Parts)
	does   func(ctx context.Context, p pairing.Parts) error
	given  pairing.Given
}{
	"the first opening": {
		func(*testing.T, pairing.Parts) {},
		func(ctx context.Context, p pairing.Parts) error {
			_, err := pairing.Settle(ctx, p, apart("redis://a"))
			return err
		}, apart("redis://a"),
	},
	"the first of one engine": {
		func(*testing.T, pairing.Parts) {},
		func(ctx context.Context, p pairing.Parts) error {
			_, err := pairing.Settle(ctx, p, pairing.Given{})
			return err
		},
		pairing.Given{},
	},
	"memory lost": {
		func(t *testing.T, p pairing.Parts) {
			t.Helper()
			settled(t, p, apart("redis://a"))
			forget(t, p.Fast)
		},
		func(ctx context.Context, p pairing.Parts) error {
			_, err := pairing.Settle(ctx, p, apart("redis://a"))
			return err
		}, apart("redis://a"),
	},
	"a change": {
		func(t *testing.T, p pairing.Parts) {
			t.Helper()
			settled(t, pairing.Parts{Durable: p.Durable, Fast: engine()}, apart("redis://before"))
		},
		func(ctx context.Context, p pairing.Parts) error {
			_, err := pairing.Change(ctx, p, apart("redis://a"), false)
			return err
		}, apart("redis://a"),
	},
	"a fast part is taken over": {
		func(t *testing.T, p pairing.Parts) {
			t.Helper()
			settled(t, pairing.Parts{Durable: engine(), Fast: p.Fast}, apart("redis://a"))
			settled(t, pairing.Parts{Durable: p.Durable, Fast: engine()}, pairing.Given{})
		},
		func(ctx context.Context, p pairing.Parts) error {
			_, err := pairing.Change(ctx, p, apart("redis://a"), true)
			return err
		}, apart("redis://a"),
	},
}

// Each call in turn fails, loses its answer, lands late, or is the last of its process. Whoever
// comes next does the same thing once more, and finds the parts together.
func TestEveryAnswerIsLostInTurn(t *testing.T) {
	kinds := []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Late, faultstore.Crash, faultstore.CrashAfter}
	for name, h := range histories {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s, %v", name, kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for n, struck := 1, true; struck; n++ {
						p := pairing.Parts{Durable: engine(), Fast: engine()}
						h.before(t, p)
						f := faultstore.New(&faultstore.Options{Rule: faultstore.Nth(n, nil, faultstore.Fault{Kind: kind})})
						err := h.does(t.Context(), behind(f, p))
						f.Land()
						struck = f.Calls() >= uint64(n)
						if err != nil && !f.Crashed() {
							t.Errorf("call %d: %v\n%s", n, err, f)
						}
						if err := h.does(t.Context(), p); err != nil {
							t.Fatalf("after call %d: %v\n%s", n, err, f)
						}
						wantPair(t, p, h.given)
						if t.Failed() {
							t.Fatalf("after call %d\n%s", n, f)
						}
						if n > 200 {
							t.Fatal("it does not end")
						}
					}
				})
			})
		}
	}
}

// wantPair wants the parts to be together as they were given: nothing is written any more.
func wantPair(t *testing.T, p pairing.Parts, g pairing.Given) {
	t.Helper()
	mark, sign := dump(t, p.Durable)[markKey], dump(t, p.Fast)[signKey]
	settled(t, p, g)
	if d, f := dump(t, p.Durable)[markKey], dump(t, p.Fast)[signKey]; d != mark || f != sign {
		t.Errorf("written: %s and %s, before %s and %s", d, f, mark, sign)
	}
	s, err := pairing.Look(t.Context(), p, g)
	if err != nil || s.Problem != nil || s.Lost || s.Foreign || s.Change != "" || !s.Signed {
		t.Errorf("%+v, %v", s, err)
	}
}

// The transaction that takes a fast part for the fleet's lands a minute late, when the fleet lives
// again on the right one: it is refused.
func TestALateVerdictIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		settled(t, p, apart("redis://localhost"))
		f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
			if c.Op == "commit" && len(c.Keys) == 2 {
				return faultstore.Fault{Kind: faultstore.HangApplied, Delay: 20 * time.Second}
			}
			return faultstore.Fault{}
		}})
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = pairing.Settle(ctx, behind(f, pairing.Parts{Durable: p.Durable, Fast: engine()}), apart("redis://localhost"))
		}()
		time.Sleep(pairing.Patience + time.Second) // it has heard nobody, and its verdict is on its way
		log := living(t, p, apart("redis://localhost"))
		before := dump(t, p.Durable)[markKey]
		time.Sleep(time.Minute)
		<-done
		if after := dump(t, p.Durable)[markKey]; after != before {
			t.Errorf("the fast part of those who live was taken from them: %s, before %s\n%s", after, before, log)
		}
	})
}

// A doubt whose writer is gone is removed by those who live.
func TestAStaleDoubtIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		living(t, p, apart("redis://a"))
		w := store.Write{Key: "pairing/doubt/x", Op: store.Put, Value: []byte(`{"format":1}`), If: store.Absent(), Version: 7}
		must(t, p.Durable.Commit(t.Context(), store.Tx{w})[0])
		time.Sleep(2 * time.Minute)
		if d := dump(t, p.Durable); len(d) != 1 {
			t.Errorf("left behind: %v", d)
		}
	})
}

// One engine has lost its live part (PostgreSQL after a crash), and who opens it may only read: it
// is let in, since its live part cannot be a wrong one, and the next who may write writes the sign.
func TestOneWhoMayOnlyRead(t *testing.T) {
	p := pairing.Parts{Durable: engine(), Fast: engine()}
	first := settled(t, p, pairing.Given{})
	forget(t, p.Fast)
	f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
		if c.Write {
			return faultstore.Fault{Kind: faultstore.FailBefore}
		}
		return faultstore.Fault{}
	}})
	if m := settled(t, behind(f, p), pairing.Given{}); m.ID != first.ID {
		t.Errorf("%s, it was %s", m.ID, first.ID)
	}
	settled(t, p, pairing.Given{})
	if dump(t, p.Fast)[signKey] == "" {
		t.Error("the sign is not written again")
	}
}
