package sim_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

const ms = time.Millisecond

// deaf watches nothing.
type deaf struct{ t *testing.T }

func (deaf) Wrote(*sim.Process, store.Tx, uint64)            {}
func (deaf) Saw(*sim.Process, []store.Record, time.Duration) {}
func (deaf) Landed(*sim.Process, store.Tx, time.Duration)    {}
func (deaf) Conflicted(*sim.Process, store.Tx)               {}
func (deaf) Heard(*sim.Process, []byte)                      {}
func (deaf) Ranked(*sim.Process, *sim.BoardCall)             {}
func (d deaf) Violated(kind, text string)                    { d.t.Errorf("%s: %s", kind, text) }
func put(key string, v store.Version, cond store.Condition) store.Tx {
	return store.Tx{{Key: key, Op: store.Put, Value: []byte("x"), Version: v, If: cond}}
}

// inWorld runs a script in a world of its own.
func inWorld(t *testing.T, o sim.WorldOptions, script func(t *testing.T, w *sim.World, a *sim.Actor)) *sim.World {
	t.Helper()
	var w *sim.World
	synctest.Test(t, func(t *testing.T) {
		o.Wait = synctest.Wait
		w = sim.NewWorld(o, deaf{t})
		w.Run(func(a *sim.Actor) { script(t, w, a) })
	})
	return w
}

// steady is weather in which every call takes as long, with its effect at some moment.
func steady(took time.Duration, effect sim.Moment) sim.Weather {
	return sim.Weather{Took: sim.Span{Min: took, Max: took}, Effect: effect}
}

func TestCallGoesInThreeSteps(t *testing.T) {
	inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, a *sim.Actor) {
		w.Weather[sim.Durable] = steady(100*ms, sim.InTheMiddle)
		p, q := w.NewProcess("A", 0), w.NewProcess("B", 0)
		done := make(chan struct{})
		w.Go(p, "writer", func(*sim.Actor) {
			if err := p.Parts().Durable.Commit(t.Context(), put("k", 7, store.Absent()))[0]; err != nil {
				t.Error(err)
			}
			if w.Now() != 100*ms {
				t.Errorf("answered at %v, want 100ms", w.Now())
			}
			close(done)
		})
		var seen []store.Version
		for _, at := range []time.Duration{0, 20 * ms, 60 * ms} { // these have their effect at 50, 70 and 110 ms
			w.Go(q, "reader "+at.String(), func(r *sim.Actor) {
				r.Sleep(at)
				recs, err := q.Parts().Durable.Get(t.Context(), "k")
				if err != nil {
					t.Error(err)
					return
				}
				seen = append(seen, recs[0].Version)
			})
		}
		a.Await(done)
		a.Sleep(time.Second)
		if !slices.Equal(seen[1:], []store.Version{7, 7}) {
			t.Errorf("after the effect: read %v", seen)
		}
	})
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		what    string
		weather func(*sim.Weather)
		want    error
		applied bool // within a second
		later   bool // within an hour
	}{
		{"fine", func(*sim.Weather) {}, nil, true, true},
		{"refused", func(w *sim.Weather) { w.Refuse = 1 }, store.ErrUnavailable, false, false},
		{"answer lost", func(w *sim.Weather) { w.LoseApplied = 1 }, store.ErrUnknown, true, true},
		{"request lost", func(w *sim.Weather) { w.LoseUnapplied = 1 }, store.ErrUnknown, false, false},
		{"late", func(w *sim.Weather) { w.Late, w.LateBy = 1, sim.Span{Min: time.Minute, Max: time.Minute} }, store.ErrUnknown, false, true},
	} {
		inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, a *sim.Actor) {
			p := w.NewProcess("A", 0)
			weather := steady(100*ms, sim.AtTheEnd)
			c.weather(&weather)
			w.Weather[sim.Durable] = weather
			if err := p.Parts().Durable.Commit(t.Context(), put("k", 7, store.Absent()))[0]; !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("%s: answered %v, want %v", c.what, err, c.want)
			}
			w.Weather[sim.Durable] = steady(0, sim.AtTheEnd)
			for _, look := range []struct {
				after time.Duration
				want  bool
			}{{time.Second, c.applied}, {time.Hour, c.later}} {
				a.Sleep(look.after)
				recs, err := p.Parts().Durable.Get(t.Context(), "k")
				if err != nil || recs[0].Missing() == look.want {
					t.Errorf("%s: after %v: %+v %v, want applied %v", c.what, look.after, recs, err, look.want)
				}
			}
		})
	}
}

func TestTransactionsOfACommitAreStepsOfTheirOwn(t *testing.T) {
	mixed := 0
	for seed := range uint64(20) {
		inWorld(t, sim.WorldOptions{Seed: seed}, func(t *testing.T, w *sim.World, _ *sim.Actor) {
			p := w.NewProcess("A", 0)
			weather := steady(100*ms, sim.Anywhere)
			weather.LoseUnapplied = 0.5
			w.Weather[sim.Durable] = weather
			errs := p.Parts().Durable.Commit(t.Context(), put("a", 1, store.Absent()), put("b", 2, store.Absent()), put("c", 3, store.Absent()))
			w.Weather[sim.Durable] = sim.Weather{}
			recs, err := p.Parts().Durable.Get(t.Context(), "a", "b", "c")
			if err != nil {
				t.Fatal(err)
			}
			lost := 0
			for i, r := range recs {
				if r.Missing() != (errs[i] != nil) {
					t.Errorf("seed %d: %s missing %v, answered %v", seed, r.Key, r.Missing(), errs[i])
				}
				if r.Missing() {
					lost++
				}
			}
			if lost > 0 && lost < 3 {
				mixed++
			}
		})
	}
	if mixed == 0 {
		t.Error("no commit was applied in part")
	}
}

func TestCallerWhoGivesUpLeavesTheCallOnItsWay(t *testing.T) {
	inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, a *sim.Actor) {
		p := w.NewProcess("A", 0)
		w.Weather[sim.Durable] = steady(10*time.Second, sim.AtTheEnd)
		ctx, cancel := clock.WithTimeout(t.Context(), p.Clock(), time.Second)
		defer cancel()
		err := p.Parts().Durable.Commit(ctx, put("k", 7, store.Absent()))[0]
		if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) || w.Now() != time.Second {
			t.Errorf("at %v: %v, want an unknown outcome after 1s", w.Now(), err)
		}
		a.Sleep(10 * time.Second)
		w.Weather[sim.Durable] = sim.Weather{}
		if recs, err := p.Parts().Durable.Get(t.Context(), "k"); err != nil || recs[0].Version != 7 {
			t.Errorf("%+v %v, want it to have landed", recs, err)
		}
		if w.Tally().Late != 1 {
			t.Errorf("late %d, want 1", w.Tally().Late)
		}
	})
}

func TestContextThatHasEndedSendsNothing(t *testing.T) {
	inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, _ *sim.Actor) {
		p := w.NewProcess("A", 0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := p.Parts().Durable.Commit(ctx, put("k", 7, store.Absent()))[0]
		if !errors.Is(err, store.ErrUnavailable) || store.OutcomeOf(err) != store.NotDone {
			t.Errorf("%v, want not done", err)
		}
	})
}

// A paused process has no timers, no answers and no ends of contexts; the store goes on.
func TestPauseHoldsBackEverything(t *testing.T) {
	orders := make(map[bool]int)
	for seed := range uint64(20) {
		inWorld(t, sim.WorldOptions{Seed: seed}, func(t *testing.T, w *sim.World, a *sim.Actor) {
			p, q := w.NewProcess("A", 0), w.NewProcess("B", 0)
			w.Weather[sim.Durable] = steady(100*ms, sim.InTheMiddle)
			var answered, timedOut bool
			w.Go(p, "caller", func(*sim.Actor) {
				ctx, cancel := clock.WithTimeout(t.Context(), p.Clock(), time.Second)
				defer cancel()
				err := p.Parts().Durable.Commit(ctx, put("k", 7, store.Absent()))[0]
				answered, timedOut = err == nil, err != nil
				if w.Now() < time.Minute {
					t.Errorf("woken at %v, in the pause", w.Now())
				}
			})
			a.Sleep(20 * ms)
			a.Do(p.Pause)
			a.Sleep(time.Minute)
			if recs, err := q.Parts().Durable.Get(t.Context(), "k"); err != nil || recs[0].Version != 7 {
				t.Errorf("the store has %+v %v: what was sent lands", recs, err)
			}
			a.Do(p.Resume)
			a.Sleep(time.Second)
			if answered == timedOut {
				t.Error("neither answered nor timed out, or both")
			}
			orders[answered]++
		})
	}
	if orders[true] == 0 || orders[false] == 0 {
		t.Errorf("on resume the answer came first %d times, the timer %d times; want both to happen", orders[true], orders[false])
	}
}

func TestCrashLeavesWhatWasSentOnItsWay(t *testing.T) {
	landed, lost := 0, 0
	for seed := range uint64(30) {
		inWorld(t, sim.WorldOptions{Seed: seed}, func(t *testing.T, w *sim.World, a *sim.Actor) {
			p, q := w.NewProcess("A", 0), w.NewProcess("B", 0)
			w.Weather[sim.Durable] = steady(100*ms, sim.AtTheEnd)
			ended := false
			p.OnCrash(func() { ended = true })
			w.Go(p, "caller", func(me *sim.Actor) {
				err := p.Parts().Durable.Commit(t.Context(), put("k", 7, store.Absent()))[0]
				if !errors.Is(err, store.ErrClosed) || me.Alive() || me.Sleep(time.Second) {
					t.Errorf("alive after the crash: %v", err)
				}
			})
			a.Sleep(50 * ms)
			a.Do(p.Crash)
			a.Sleep(time.Second)
			if !ended {
				t.Error("the library was not told to end")
			}
			if err := p.Parts().Durable.Commit(t.Context(), put("z", 8, store.Absent()))[0]; !errors.Is(err, store.ErrClosed) {
				t.Errorf("a dead process writes: %v", err)
			}
			recs, err := q.Parts().Durable.Get(t.Context(), "k", "z")
			if err != nil || !recs[1].Missing() {
				t.Errorf("%+v %v", recs, err)
			}
			if recs[0].Missing() {
				lost++
			} else {
				landed++
			}
		})
	}
	if landed == 0 || lost == 0 {
		t.Errorf("landed %d, lost %d: want both to happen", landed, lost)
	}
}

func TestCutAndDown(t *testing.T) {
	for seed := range uint64(10) {
		inWorld(t, sim.WorldOptions{Seed: seed, Apart: true}, func(t *testing.T, w *sim.World, a *sim.Actor) {
			p := w.NewProcess("A", 0)
			a.Do(func() { p.Cut[sim.Fast] = true })
			begun := w.Now()
			err := p.Parts().Fast.Commit(t.Context(), put("k", 7, store.Absent()))[0]
			switch {
			case store.OutcomeOf(err) == store.NotDone && w.Now()-begun < time.Second:
			case store.OutcomeOf(err) == store.Unknown && w.Now()-begun == time.Minute:
			default:
				t.Errorf("seed %d: cut off: %v after %v", seed, err, w.Now()-begun)
			}
			if err := p.Parts().Durable.Commit(t.Context(), put("k", 7, store.Absent()))[0]; err != nil {
				t.Errorf("the other part: %v", err)
			}
			a.Do(func() { p.Cut[sim.Fast], w.Down[sim.Fast] = false, true })
			if err := p.Parts().Fast.Commit(t.Context(), put("k", 7, store.Absent()))[0]; !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("down: %v", err)
			}
			a.Do(func() { w.Down[sim.Fast] = false })
			if recs, err := p.Parts().Fast.Get(t.Context(), "k"); err != nil || !recs[0].Missing() {
				t.Errorf("%+v %v, want nothing to have landed", recs, err)
			}
		})
	}
}

func TestLocalClock(t *testing.T) {
	inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, a *sim.Actor) {
		p, q := w.NewProcess("A", 10*time.Minute), w.NewProcess("B", 0)
		if d := p.Clock().Now().Sub(q.Clock().Now()); d != 10*time.Minute {
			t.Errorf("off by %v, want 10m", d)
		}
		timer := p.Clock().NewTimer(time.Second)
		a.Sleep(2 * time.Second)
		if timer.Stop() {
			t.Error("a timer that has fired was armed")
		}
		select {
		case <-timer.C():
			t.Error("a stopped timer sends what is stale")
		default:
		}
		if timer.Reset(time.Second) || !timer.Reset(3*time.Second) {
			t.Error("Reset does not tell whether the timer was armed")
		}
		at := w.Now()
		<-timer.C()
		if d := w.Now() - at; d != 3*time.Second {
			t.Errorf("fired after %v, want 3s", d)
		}
		fired := false
		stop := p.Clock().AfterFunc(time.Second, func() { fired = true })
		stop.Stop()
		a.Sleep(2 * time.Second)
		if fired {
			t.Error("a stopped function ran")
		}
	})
}

func TestBusCarries(t *testing.T) {
	inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, a *sim.Actor) {
		p, q := w.NewProcess("A", 0), w.NewProcess("B", 0)
		w.Weather[sim.Bus] = sim.Weather{Carry: sim.Span{Min: time.Second, Max: time.Second}}
		var heard []string
		sub, err := q.Parts().Bus.Subscribe(t.Context(), "t", func(b []byte) { heard = append(heard, string(b)) })
		if err != nil {
			t.Fatal(err)
		}
		publish := func(text string) {
			if err := p.Parts().Bus.Publish(t.Context(), "t", []byte(text)); err != nil {
				t.Error(err)
			}
			a.Sleep(2 * time.Second)
		}
		publish("one")
		w.Weather[sim.Bus].Double = 1
		publish("two")
		w.Weather[sim.Bus].Drop = 1
		publish("three")
		w.Weather[sim.Bus] = sim.Weather{}
		a.Do(func() { q.Cut[sim.Bus] = true })
		publish("four")
		a.Do(func() { q.Cut[sim.Bus] = false })
		sub.Close()
		publish("five")
		if !slices.Equal(heard, []string{"one", "two", "two"}) {
			t.Errorf("heard %v", heard)
		}
	})
}

// What happens to a call depends on whose it is, not on what others do.
func TestStreamsAreApart(t *testing.T) {
	times := func(more int) (out []time.Duration) {
		inWorld(t, sim.WorldOptions{Seed: 9}, func(t *testing.T, w *sim.World, a *sim.Actor) {
			w.Weather[sim.Durable] = sim.Weather{Took: sim.Span{Min: 50 * ms, Max: 250 * ms}}
			p, q := w.NewProcess("A", 0), w.NewProcess("B", 0)
			w.Go(q, "other", func(*sim.Actor) {
				for range more {
					_, _ = q.Parts().Durable.Get(t.Context(), "k")
				}
			})
			for range 10 {
				begun := w.Now()
				_, _ = p.Parts().Durable.Get(t.Context(), "k")
				out = append(out, w.Now()-begun)
			}
			a.Sleep(time.Minute)
		})
		return out
	}
	if a, b := times(0), times(17); !slices.Equal(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}

func TestBudget(t *testing.T) {
	inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, a *sim.Actor) {
		p := w.NewProcess("A", 0)
		a.Do(func() { p.Budget = 60 })
		read := func() (taken int) {
			for range 100 {
				if _, err := p.Parts().Durable.Get(t.Context(), "k"); err == nil {
					taken++
				}
			}
			return taken
		}
		if n := read(); n != 60 {
			t.Errorf("%d reads taken of a budget of 60", n)
		}
		if err := p.Parts().Durable.Commit(t.Context(), put("k", 7, store.Absent()))[0]; err != nil {
			t.Errorf("writes have a budget of their own: %v", err)
		}
		a.Sleep(10 * time.Second)
		if n := read(); n != 10 {
			t.Errorf("%d reads taken 10 s later, want 10", n)
		}
	})
}

func TestBoardsParkToo(t *testing.T) {
	inWorld(t, sim.WorldOptions{}, func(t *testing.T, w *sim.World, _ *sim.Actor) {
		p := w.NewProcess("A", 0)
		w.Weather[sim.Boards] = steady(100*ms, sim.AtTheEnd)
		b := p.Parts().Boards
		if _, err := b.Create(t.Context(), "kills", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
			t.Fatal(err)
		}
		batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "p", Score: 7}}}
		if _, err := b.Merge(t.Context(), "kills", batch); err != nil {
			t.Fatal(err)
		}
		s, ok, err := b.Standing(t.Context(), "kills", "p", store.Ordinal)
		if err != nil || !ok || s.Score != 7 || w.Now() != 300*ms {
			t.Errorf("%+v %v %v at %v", s, ok, err, w.Now())
		}
		w.Weather[sim.Boards].LoseApplied = 1
		if _, err := b.Seal(t.Context(), "kills"); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("answer lost: %v", err)
		}
		if info, err := b.Info(t.Context(), "kills"); err != nil || !info.Sealed {
			t.Errorf("%+v %v, want it sealed", info, err)
		}
	})
}

func TestRunThatHangsEnds(t *testing.T) {
	var kinds []string
	synctest.Test(t, func(*testing.T) {
		w := sim.NewWorld(sim.WorldOptions{Wait: synctest.Wait}, complaints{deaf{t}, &kinds})
		w.Run(func(a *sim.Actor) { a.Await(make(chan struct{})) })
	})
	synctest.Test(t, func(*testing.T) {
		w := sim.NewWorld(sim.WorldOptions{Wait: synctest.Wait, MaxSteps: 100}, complaints{deaf{t}, &kinds})
		w.Run(func(a *sim.Actor) {
			for {
				a.Yield()
			}
		})
	})
	if !slices.Equal(kinds, []string{"deadlock", "livelock"}) {
		t.Errorf("%v", kinds)
	}
}

type complaints struct {
	deaf
	kinds *[]string
}

func (c complaints) Violated(kind, _ string) { *c.kinds = append(*c.kinds, kind) }
