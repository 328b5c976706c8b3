package shared_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/shared"
	"github.com/shoalworks/shoal/store/faultstore"
)

func watch(t *testing.T, s *server, key string) *shared.Watch {
	t.Helper()
	w, err := s.Watch(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func TestWatchBeginsWithASnapshotAndFollows(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		w := watch(t, b, "g")
		if got := next(t, w); !got.Missing || got.Revision != 0 {
			t.Errorf("snapshot of nothing: %+v", got)
		}
		synctest.Wait() // it listens
		begun := time.Now()
		for n := range int64(3) {
			a.add("g", "")
			if got := next(t, w); count(got.Data) != n+1 {
				t.Errorf("%+v, want %d", got, n+1)
			}
		}
		if err := a.Delete(t.Context(), "g"); err != nil {
			t.Fatal(err)
		}
		if got := next(t, w); !got.Missing || got.Revision != 4 {
			t.Errorf("deleted: %+v", got)
		}
		if took := time.Since(begun); took > 100*time.Millisecond {
			t.Errorf("took %v on a bus that works", took)
		}
	})
}

func TestWatchPollsWhenMessagesAreLost(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", &shared.Options{PollEvery: 3 * time.Second})
		b.faults.Outage(faultstore.Bus, true)
		w := watch(t, b, "g")
		next(t, w)
		a.add("g", "")
		begun := time.Now()
		if got := next(t, w); count(got.Data) != 1 {
			t.Errorf("%+v", got)
		}
		if took := time.Since(begun); took < time.Second || took > 3500*time.Millisecond {
			t.Errorf("took %v, polling every 3 s", took)
		}
		b.faults.Outage(faultstore.Bus, false)
		time.Sleep(4 * time.Second) // subscribed by now
		begun = time.Now()
		a.add("g", "")
		if next(t, w); time.Since(begun) > 100*time.Millisecond {
			t.Errorf("took %v after the bus came back", time.Since(begun))
		}
	})
}

// What changes between the snapshot and the subscription is not missed.
func TestWatchLooksWhenItHasSubscribed(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", &shared.Options{PollEvery: time.Hour})
		b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Op == "subscribe" {
				return faultstore.Fault{Delay: time.Second}
			}
			return faultstore.Fault{}
		})
		w := watch(t, b, "g")
		next(t, w)
		begun := time.Now()
		a.add("g", "")
		if next(t, w); time.Since(begun) > 2*time.Second {
			t.Errorf("took %v", time.Since(begun))
		}
	})
}

func TestWatchSurvivesAnOutageOfTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		w := watch(t, b, "g")
		next(t, w)
		synctest.Wait()
		b.faults.Outage(faultstore.Durable, true)
		a.add("g", "")
		time.Sleep(20 * time.Second)
		b.faults.Outage(faultstore.Durable, false)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		if got, err := w.Next(ctx); err != nil || count(got.Data) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := b.Watch(t.Context(), "h"); err != nil {
			t.Error(err)
		}
		b.faults.Outage(faultstore.Durable, true)
		if _, err := b.Watch(t.Context(), "i"); err == nil {
			t.Error("a watch without a snapshot")
		}
	})
}

// A reader that sleeps holds up nobody, and then gets the newest state only.
func TestSlowReaderGetsTheNewest(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		slow, quick := watch(t, a, "g"), watch(t, a, "g")
		next(t, slow)
		next(t, quick)
		for n := range int64(100) {
			a.add("g", "")
			if got := next(t, quick); count(got.Data) != n+1 {
				t.Fatalf("%+v, want %d", got, n+1)
			}
		}
		if got := next(t, slow); count(got.Data) != 100 {
			t.Errorf("%+v, want the newest", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := slow.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("once more: %+v, %v", got, err)
		}
	})
}

// Revisions never go back for a watch, but when the store does.
func TestWatchFollowsARestoredStore(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		w := watch(t, a, "g")
		next(t, w)
		f.plant("g", `{"data":{"n":7},"format":1,"revision":7}`)
		if got := next(t, w); got.Revision != 7 {
			t.Errorf("%+v", got)
		}
		f.plant("g", `{"data":{"n":3},"format":1,"revision":3 }`)
		if got := next(t, w); got.Revision != 3 {
			t.Errorf("%+v", got)
		}
	})
}

// A reading that was overtaken by a change is nothing new.
func TestOvertakenReadingIsLeftOut(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &shared.Options{PollEvery: 3 * time.Second})
		w := watch(t, a, "g")
		a.add("g", "")
		time.Sleep(2 * time.Second)
		next(t, w)
		reads := func(c faultstore.Call) bool { return c.Op == "get" && about("g")(c) }
		a.faults.SetRule(faultstore.Nth(1, reads, faultstore.Fault{Back: 2 * time.Second}))
		time.Sleep(1500 * time.Millisecond) // the poll's answer is on its way
		a.add("g", "")
		if got := next(t, w); count(got.Data) != 2 {
			t.Errorf("%+v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := w.Next(ctx); err == nil {
			t.Errorf("went back to %+v", got)
		}
	})
}

func TestWatchesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &shared.Options{MaxWatches: 2})
		one := watch(t, a, "g")
		watch(t, a, "h")
		if _, err := a.Watch(t.Context(), "i"); !errors.Is(err, shared.ErrFull) {
			t.Errorf("%v", err)
		}
		one.Close()
		one.Close()
		watch(t, a, "i")
		if _, err := one.Next(t.Context()); !errors.Is(err, shared.ErrClosed) {
			t.Errorf("next of a closed watch: %v", err)
		}
		if _, err := a.Watch(t.Context(), "a/b"); err == nil {
			t.Error("a key with a slash was taken")
		}
	})
}

// While nothing is watched nothing is read.
func TestIdleReadsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		w := watch(t, a, "g")
		next(t, w)
		synctest.Wait() // it listens
		w.Close()
		synctest.Wait()
		var reads atomic.Int64
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if about("g")(c) || c.Op == "deliver" && c.Keys[0] == "shared/guilds" {
				reads.Add(1)
			}
			return faultstore.Fault{}
		})
		f.start("b", nil).add("g", "")
		time.Sleep(time.Hour)
		if n := reads.Load(); n != 0 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestCloseWaitsForChangesAndEndsWatches(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", &shared.Options{PollEvery: -1})
		w, other := watch(t, a, "g"), watch(t, b, "g")
		next(t, w)
		next(t, other)
		synctest.Wait()
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if writesTo("g")(c) {
				return faultstore.Fault{Delay: time.Second}
			}
			if c.Op == "publish" {
				return faultstore.Fault{Delay: 100 * time.Millisecond}
			}
			return faultstore.Fault{}
		})
		var wg sync.WaitGroup
		wg.Go(func() { a.add("g", "") })
		synctest.Wait()
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if got := next(t, other); count(got.Data) != 1 {
			t.Errorf("the last change was not announced: %+v", got)
		}
		if _, err := a.Read(t.Context(), "g"); !errors.Is(err, shared.ErrClosed) {
			t.Errorf("read: %v", err)
		}
		for err := error(nil); !errors.Is(err, shared.ErrClosed); {
			if _, err = w.Next(t.Context()); err != nil && !errors.Is(err, shared.ErrClosed) {
				t.Fatalf("next: %v", err)
			}
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A close that must not wait cuts a change short, whose outcome is then unknown.
func TestCloseCutsShort(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if writesTo("g")(c) {
				return faultstore.Fault{Kind: faultstore.Hang}
			}
			return faultstore.Fault{}
		})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := a.Transact(t.Context(), "g", shared.Source{ID: "x"}); !errors.Is(err, shared.ErrUnknown) {
				t.Errorf("%v", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

func TestManyChangesMakeFewMessages(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		var messages atomic.Int64
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Op == "publish" && c.Keys[0] == "shared/guilds" {
				messages.Add(1)
				return faultstore.Fault{Delay: time.Second}
			}
			return faultstore.Fault{}
		})
		for n := range 500 {
			a.add(fmt.Sprint("g", n), "")
		}
		time.Sleep(10 * time.Second)
		if n := messages.Load(); n < 1 || n > 4 {
			t.Errorf("%d messages about 500 changes", n)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		_, err := shared.New(a.node, "bad", &shared.Options{HardBytes: -1, MaxTries: -1, CallTimeout: -1, PollEvery: 1, MaxWatches: -1})
		if err == nil {
			t.Fatal("accepted")
		}
		for _, field := range []string{"HardBytes", "Template", "MaxTries", "CallTimeout", "PollEvery", "MaxWatches"} {
			if !strings.Contains(err.Error(), field) {
				t.Errorf("%s is not named in %v", field, err)
			}
		}
		if _, err := shared.New(a.node, "a/b", nil); err == nil {
			t.Error("a name with a slash was taken")
		}
	})
}
