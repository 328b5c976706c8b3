package pairing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/internal/pairing"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// slowly is a rule by which calls of these parts take so long.
func slowly(parts faultstore.Part, took time.Duration) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		if c.Part&parts == 0 {
			return faultstore.Fault{}
		}
		return faultstore.Fault{Delay: took}
	}
}

// The durable part hangs for everybody, who asks and who would answer, as a server does that
// restarts or waits for its disk. Silence of those who cannot speak is none.
func TestTheDurablePartHangsWhileSomebodyAsks(t *testing.T) {
	for hangs := time.Second; hangs <= 20*time.Second; hangs += 500 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			p := pairing.Parts{Durable: engine(), Fast: engine()}
			var end atomic.Int64 // of what hangs
			hanging := func() *faultstore.Faults {
				return faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
					if until := time.Unix(0, end.Load()); c.Part == faultstore.Durable && time.Now().Before(until) {
						return faultstore.Fault{Delay: time.Until(until)}
					}
					return faultstore.Fault{}
				}})
			}
			log := living(t, behind(hanging(), p), apart("redis://localhost"))
			time.Sleep(pairing.Every + time.Millisecond) // it has just looked
			time.AfterFunc(time.Second, func() { end.Store(time.Now().Add(hangs).UnixNano()) })
			refusedLater(t, behind(hanging(), pairing.Parts{Durable: p.Durable, Fast: engine()}), apart("redis://localhost"))
			if t.Failed() || log.String() != "" {
				t.Fatalf("after %v the one who lives says %s", hangs, log)
			}
		})
	}
}

// The durable part is slow for everybody: who asks waits for answers as slow as its own.
func TestTheDurablePartIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		slow := func() *faultstore.Faults {
			return faultstore.New(&faultstore.Options{Rule: slowly(faultstore.Durable, 900*time.Millisecond)})
		}
		log := living(t, behind(slow(), p), apart("redis://localhost"))
		refusedLater(t, behind(slow(), pairing.Parts{Durable: p.Durable, Fast: engine()}), apart("redis://localhost"))
		if log.String() != "" {
			t.Errorf("the one who lives says %s", log)
		}
	})
}

// Those who live do not reach their fast part, which fails or hangs. A newcomer that reaches an
// empty one is not let in as if nobody lived, and is not told that it is wrong either: nobody
// knows. When the fast part is back, with or without its memory, it is known.
func TestThoseWhoLiveDoNotSeeTheirFastPart(t *testing.T) {
	for name, fault := range map[string]faultstore.Fault{"fails": {Kind: faultstore.FailBefore}, "hangs": {Kind: faultstore.Hang}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pairing.Parts{Durable: engine(), Fast: engine()}
				var down atomic.Bool
				f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
					if down.Load() && c.Part == faultstore.Fast {
						return fault
					}
					return faultstore.Fault{}
				}})
				living(t, behind(f, p), apart("redis://localhost"))
				first := settled(t, p, apart("redis://localhost"))
				down.Store(true)
				before := dump(t, p.Durable)
				_, err := pairing.Settle(t.Context(), pairing.Parts{Durable: p.Durable, Fast: engine()}, apart("redis://localhost"))
				if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, pairing.ErrRefused) || !strings.Contains(err.Error(), "redis://localhost") {
					t.Errorf("a newcomer with another fast part: %v", err)
				}
				if after := dump(t, p.Durable); !equal(before, after) {
					t.Errorf("%v, before %v", after, before)
				}
				forget(t, p.Fast)
				time.AfterFunc(20*time.Second, func() { down.Store(false) })
				if again := settled(t, p, apart("redis://localhost")); again.ID != first.ID {
					t.Errorf("%s is the life now, it was %s", again.ID, first.ID)
				}
			})
		})
	}
}

// A process is asked to be left behind while its fast part hangs: it answers all the same.
func TestAChangeWhileTheFastPartHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		var down atomic.Bool
		f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
			if down.Load() && c.Part == faultstore.Fast {
				return faultstore.Fault{Kind: faultstore.Hang}
			}
			return faultstore.Fault{}
		}})
		living(t, behind(f, p), apart("redis://a"))
		down.Store(true)
		if _, err := pairing.Change(t.Context(), pairing.Parts{Durable: p.Durable, Fast: engine()}, apart("redis://b"), false); !errors.Is(err, pairing.ErrAlive) {
			t.Errorf("%v", err)
		}
	})
}

// Many come at once when the fast part has forgotten and nobody lives, each with times of its own.
func TestManyComeAtOnceAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		settled(t, p, apart("redis://a"))
		forget(t, p.Fast)
		type answer struct {
			id   string
			err  error
			took time.Duration
		}
		const many = 60
		answers, begun := make(chan answer, many), time.Now()
		for i := range many {
			f := faultstore.New(&faultstore.Options{Rule: faultstore.Chance(uint64(i), faultstore.Odds{Delay: 20 * time.Millisecond, Back: 20 * time.Millisecond})})
			go func() {
				w := new(pairing.Watcher)
				m, err := pairing.Settle(t.Context(), behind(f, p), apart("redis://a"))
				answers <- answer{m.ID, err, time.Since(begun)}
				if err == nil {
					w.Start(t.Context(), behind(f, p), m, apart("redis://a"))
				}
				time.Sleep(time.Minute)
				must(t, w.Close(context.WithoutCancel(t.Context())))
			}()
		}
		ids, last := map[string]int{}, time.Duration(0)
		for range many {
			a := <-answers
			if a.err != nil {
				t.Error(a.err)
			}
			ids[a.id]++
			last = max(last, a.took)
		}
		if len(ids) != 1 || last > 2*pairing.Patience {
			t.Errorf("lives %v, the last after %v", ids, last)
		}
		time.Sleep(2 * time.Minute)
		if d := dump(t, p.Durable); len(d) != 1 {
			t.Errorf("left behind: %v", d)
		}
	})
}

// The fast part forgets between two looks of one opening: it is let in only with a sign there.
func TestAFastPartForgetsWhileItIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		settled(t, p, apart("redis://a"))
		once := false
		f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
			if c.Op == "scan" && !once {
				once = true
				forget(t, p.Fast)
			}
			return faultstore.Fault{}
		}})
		settled(t, behind(f, p), apart("redis://a"))
		if !once || dump(t, p.Fast)[signKey] == "" {
			t.Errorf("a process was let in whose fast part has no sign: %v", dump(t, p.Fast))
		}
	})
}

// Many who asked were killed while they waited, as when a large fleet is started with a wrong
// address again and again: what they left does not keep anybody from being answered.
func TestManyDoubtsAreLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		living(t, p, apart("redis://localhost"))
		for i := range 500 {
			w := store.Write{Key: fmt.Sprintf("pairing/doubt/%05d", i), Op: store.Put, Value: []byte(`{"format":1}`), If: store.Absent(), Version: 7}
			must(t, p.Durable.Commit(t.Context(), store.Tx{w})[0])
		}
		_, err := pairing.Settle(t.Context(), pairing.Parts{Durable: p.Durable, Fast: engine()}, apart("redis://localhost"))
		if !errors.Is(err, pairing.ErrRefused) {
			t.Errorf("%v", err)
		}
		time.Sleep(2 * time.Minute)
		if d := dump(t, p.Durable); len(d) != 1 {
			t.Errorf("%d records are left behind", len(d))
		}
	})
}
