package board_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// countingClock counts the timers that are armed.
type countingClock struct {
	clock.Clock
	timers atomic.Int64
}

func (c *countingClock) NewTimer(d time.Duration) clock.Timer {
	c.timers.Add(1)
	return c.Clock.NewTimer(d)
}

func (c *countingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.timers.Add(1)
	return c.Clock.AfterFunc(d, f)
}

func TestFirstSubmitArmsOneWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newScript(), &countingClock{Clock: clock.System()}
		r := startOn(t, s, c, &board.Options{FlushEvery: 15 * time.Second, CallTimeout: -1, Boards: boards{"Kills": {}}})
		later(time.Hour)
		want(t, "timers of an idle service", c.timers.Load(), 0)
		for i := range 10 {
			r.submit("Kills", "u1", int64(i))
			later(time.Second)
		}
		want(t, "timers while scores come", c.timers.Load(), 1)
		want(t, "writes before the window", len(s.did("merge")), 0)
		later(time.Hour)
		want(t, "times of the writes", s.at("merge"), []float64{3600 + 15})
		want(t, "timers after the window", c.timers.Load(), 1)
		r.submit("Kills", "u1", 100)
		later(time.Hour)
		want(t, "times of the writes", s.at("merge"), []float64{3615, 7210 + 15})
		want(t, "what is stored", r.stored("Kills"), []string{"u1=100"})
	})
}

func TestBestIsKeptBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}, "Time": {Order: store.Ascending}}})
		for _, score := range []int64{5, 9, 7, -3} {
			r.submit("Kills", "u1", score)
			r.submit("Time", "u1", score)
		}
		later(time.Second)
		want(t, "Kills", r.stored("Kills"), []string{"u1=9"})
		want(t, "Time", r.stored("Time"), []string{"u1=-3"})
		// A later, worse value reaches the store and changes nothing. case B7
		r.submit("Kills", "u1", 8)
		r.submit("Time", "u1", 0)
		r.flush()
		want(t, "Kills", r.stored("Kills"), []string{"u1=9"})
		want(t, "Time", r.stored("Time"), []string{"u1=-3"})
		want(t, "written values", r.Stats().Total.Written, 4)
		want(t, "submits", r.Stats().Total.Submitted, 10)
	})
}

func TestScoresAreExactOverInt64(t *testing.T) {
	// case B11
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		for key, score := range map[string]int64{"top": math.MaxInt64, "next": math.MaxInt64 - 1, "low": math.MinInt64, "odd": 1<<53 + 1} {
			r.submit("Kills", key, score)
		}
		r.flush()
		want(t, "the page", r.top("Kills", 0), []string{
			"top=9223372036854775807", "next=9223372036854775806", "odd=9007199254740993", "low=-9223372036854775808",
		})
	})
}

func TestFirstToReachStaysAbove(t *testing.T) {
	// case B10
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.submit("Kills", "z", 5)
		r.flush()
		r.submit("Kills", "a", 5)
		r.submit("Kills", "z", 5)
		r.flush()
		want(t, "the page", r.top("Kills", 0), []string{"z=5", "a=5"})
	})
}

func TestLastKeepsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Level": {Rule: store.Last}, "Own": {Rule: store.Last}}})
		last := func(score int64, epoch, revision uint64) {
			if err := r.SubmitLast("Level", "u1", score, store.Stamp{Epoch: epoch, Revision: revision}); err != nil {
				t.Fatal(err)
			}
		}
		last(10, 1, 5)
		last(8, 1, 6)
		last(99, 1, 4) // older, comes late
		r.flush()
		want(t, "what is stored", r.stored("Level"), []string{"u1=8"})
		last(77, 1, 5) // older than what is stored
		r.flush()
		want(t, "what is stored", r.stored("Level"), []string{"u1=8"})
		for _, score := range []int64{3, 9, 4} { // all at one moment
			r.submit("Own", "u1", score)
		}
		r.flush()
		r.submit("Own", "u1", 2)
		r.flush()
		want(t, "what is stored", r.stored("Own"), []string{"u1=2"})
		wantRefused(t, r.SubmitLast("Nope", "u1", 1, store.Stamp{}), "board", board.ErrUnknownBoard)
	})
}

// A node that starts anew writes over what its predecessor wrote.
func TestOwnStampsGrowFromOneServiceToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		o := &board.Options{Boards: boards{"Level": {Rule: store.Last}}}
		first := startOn(t, s, nil, o)
		for i := range 9 {
			first.submit("Level", "u1", int64(i))
		}
		first.flush()
		later(time.Microsecond)
		second := startOn(t, s, nil, o)
		second.submit("Level", "u1", 3)
		second.flush()
		want(t, "what is stored", second.stored("Level"), []string{"u1=3"})
	})
}

func TestSubmitDuringAWriteWaitsForALaterWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		gate := make(chan struct{})
		r.store.failNext("merge", fault{block: gate})
		r.submit("Kills", "u1", 5)
		later(time.Second)
		r.submit("Kills", "u1", 9)
		want(t, "values under way", r.Stats().Total.InFlight, 1)
		want(t, "values that wait", r.Stats().Total.Queued, 1)
		close(gate)
		synctest.Wait()
		want(t, "what is stored", r.stored("Kills"), []string{"u1=5"})
		later(time.Second)
		want(t, "what is stored", r.stored("Kills"), []string{"u1=9"})
		want(t, "times of the writes", r.store.at("merge"), []float64{1, 2})
	})
}

func TestFailedWriteMergesWithWhatIsNewer(t *testing.T) {
	for what, f := range map[string]fault{"not done": notDone, "applied, answer lost": lost, "vanished": vanish} {
		for _, c := range []struct {
			order            store.Order
			old, young, best int64
		}{
			{store.Descending, 5, 3, 5}, {store.Descending, 3, 5, 5}, {store.Ascending, 5, 3, 3}, {store.Ascending, 3, 5, 3},
		} {
			t.Run(fmt.Sprintf("%s, %v, %d then %d", what, c.order, c.old, c.young), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := start(t, &board.Options{Boards: boards{"Kills": {Order: c.order}}})
					gate := make(chan struct{})
					f.block = gate
					r.store.failNext("merge", f)
					r.submit("Kills", "u1", c.old)
					later(time.Second)
					r.submit("Kills", "u1", c.young)
					close(gate)
					synctest.Wait()
					want(t, "values that wait", r.Stats().Total.Queued, 1)
					later(time.Second)
					want(t, "what is stored", r.stored("Kills"), []string{fmt.Sprintf("u1=%d", c.best)})
					want(t, "failed values", r.Stats().Total.Failed, 1)
					want(t, "values that wait", r.Stats().Total.Queued, 0)
				})
			})
		}
	}
}

func TestValueIsDroppedAfterMaxWriteAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &countingClock{Clock: clock.System()}
		r := startOn(t, newScript(), c, &board.Options{CallTimeout: -1, Boards: boards{"Kills": {}}})
		var refusals []board.Refusal
		r.OnRefused(func(f board.Refusal) { refusals = append(refusals, f) })
		r.store.failAll("merge", notDone)
		r.submit("Kills", "u1", 5)
		later(time.Hour)
		want(t, "timers", c.timers.Load(), 10)
		// The board's windows get rarer: ten attempts outlive an outage of a minute and a half.
		want(t, "times of the writes", r.store.at("merge"), []float64{1, 2, 4, 8, 16, 31, 46, 61, 76, 91})
		total := r.Stats().Total
		want(t, "numbers", []uint64{total.Failed, total.Dropped, total.Written}, []uint64{10, 1, 0})
		want(t, "values that wait", total.Queued, 0)
		if len(refusals) != 1 || !errors.Is(refusals[0].Err, board.ErrAttempts) || !errors.Is(refusals[0].Err, store.ErrUnavailable) || refusals[0].Unknown {
			t.Fatalf("refusals: %+v", refusals)
		}
		want(t, "the value", refusals[0].Values, []store.Submission{{Key: "u1", Score: 5}})
		want(t, "lines about failing", r.log.count("board not written"), 1)
		want(t, "lines about the drop", r.log.count("scores will never be written"), 1)
	})
}

func TestDropCountsWindowsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: 3, Boards: boards{"Kills": {}}})
		for range 5 {
			r.store.failNext("merge", notDone, notDone)
			r.submit("Kills", "u1", 5)
			later(time.Minute)
		}
		want(t, "dropped", r.Stats().Total.Dropped, 0)
		want(t, "written", r.Stats().Total.Written, 5)
		want(t, "lines about writing again", r.log.count("board written again"), 5)
		// A newer value does not start the count anew, and stays when the older one is dropped.
		r.store.failAll("merge", notDone)
		for i := range 3 {
			r.submit("Kills", "u1", int64(10+i))
			r.flushFails()
		}
		want(t, "dropped", r.Stats().Total.Dropped, 1)
		want(t, "values that wait", r.Stats().Total.Queued, 0)
		r.store.setRule(nil)
		r.flush()
		want(t, "what is stored", r.stored("Kills"), []string{"u1=5"})
	})
}

func TestNewerValueOutlivesADroppedOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: 1, FlushEvery: -1, Boards: boards{"Kills": {}}})
		gate := make(chan struct{})
		r.store.failNext("merge", fault{err: notDone.err, block: gate})
		r.submit("Kills", "u1", 9)
		failed := make(chan error)
		go func() { failed <- r.FlushNow(t.Context()) }()
		synctest.Wait()
		r.submit("Kills", "u1", 4)
		close(gate)
		if err := <-failed; !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("FlushNow: %v", err)
		}
		want(t, "dropped", r.Stats().Total.Dropped, 1)
		r.flush()
		want(t, "what is stored", r.stored("Kills"), []string{"u1=4"})
	})
}

func TestNegativeMaxWriteAttemptsNeverDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: -1, Boards: boards{"Kills": {}}})
		r.store.failAll("merge", vanish)
		r.submit("Kills", "u1", 5)
		later(24 * time.Hour)
		want(t, "dropped", r.Stats().Total.Dropped, 0)
		if age := r.Stats().Boards["Kills"].Oldest; age != 24*time.Hour {
			t.Fatalf("age of the oldest value %v, want a day", age)
		}
		r.store.setRule(nil)
		later(15 * time.Second)
		want(t, "what is stored", r.stored("Kills"), []string{"u1=5"})
		want(t, "age", r.Stats().Total.Oldest, 0)
	})
}

func TestFailingBoardDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"A": {}, "B": {}}})
		r.store.setRule(func(c call) fault {
			if c.Op == "merge" && c.Board == "A" {
				return notDone
			}
			return fault{}
		})
		for i := range 8 {
			r.submit("A", "u1", int64(i))
			r.submit("B", "u1", int64(i))
			later(time.Second)
		}
		byBoard := map[string][]float64{}
		for _, c := range r.store.did("merge") {
			byBoard[c.Board] = append(byBoard[c.Board], c.At.Seconds())
		}
		want(t, "windows", byBoard, map[string][]float64{"A": {1, 2, 4, 8}, "B": {1, 2, 3, 4, 5, 6, 7, 8}})
	})
}

func TestFirstWriteCreatesTheBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Time": {Order: store.Ascending}}})
		r.submit("Time", "u1", 5)
		r.flush()
		r.submit("Time", "u1", 4)
		r.flush()
		want(t, "creates", len(r.store.did("create")), 1)
		info, err := r.Info(t.Context(), "Time")
		if err != nil || info.Order != store.Ascending || info.Generation == "" {
			t.Fatalf("Info: %+v, %v", info, err)
		}
		// The store loses its memory: the board is created anew, with another generation.
		r.store.engine.Forget(memstore.Boards)
		r.submit("Time", "u2", 6)
		r.flush()
		again, err := r.Info(t.Context(), "Time")
		if err != nil || again.Generation == info.Generation {
			t.Fatalf("Info: %+v, %v, want another generation than %s", again, err, info.Generation)
		}
		want(t, "what is stored", r.stored("Time"), []string{"u2=6"})
	})
}

func TestCreateThatFailsIsAFailedWrite(t *testing.T) {
	for what, f := range map[string]fault{"not done": notDone, "answer lost": lost, "vanished": vanish} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{Boards: boards{"Kills": {}, "Coins": {Rule: store.Sum}}})
				r.store.failNext("create", f, f)
				r.submit("Kills", "u1", 5)
				r.submit("Coins", "u1", 5)
				r.flushFails()
				want(t, "merges", len(r.store.did("merge")), 0)
				later(time.Second)
				want(t, "Kills", r.stored("Kills"), []string{"u1=5"})
				want(t, "Coins", r.stored("Coins"), []string{"u1=5"})
			})
		})
	}
}

func TestSealedBoardRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		var refusals []board.Refusal
		r.OnRefused(func(f board.Refusal) { refusals = append(refusals, f) })
		r.submit("Kills", "u1", 5)
		r.flush()
		if _, err := r.store.Boards.Seal(t.Context(), "Kills"); err != nil { // by another node
			t.Fatal(err)
		}
		r.submit("Kills", "u1", 9)
		r.submit("Kills", "u2", 7)
		later(time.Minute)
		want(t, "writes", len(r.store.did("merge")), 2)
		want(t, "what is stored", r.stored("Kills"), []string{"u1=5"})
		if len(refusals) != 1 || !errors.Is(refusals[0].Err, store.ErrSealed) || len(refusals[0].Values) != 2 {
			t.Fatalf("refusals: %+v", refusals)
		}
		total := r.Stats().Total
		want(t, "numbers", []uint64{total.Refused, total.Dropped, total.Failed, uint64(total.Queued)}, []uint64{2, 0, 0, 0})
		wantRefused(t, r.Submit("Kills", "u3", 1), "board", store.ErrSealed)
		want(t, "refused", r.Stats().Total.Refused, 3)
	})
}

func TestBoardThatIsSealedBeforeTheFirstWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		ctx := t.Context()
		if _, err := r.store.Boards.Create(ctx, "Kills", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.Boards.Seal(ctx, "Kills"); err != nil {
			t.Fatal(err)
		}
		r.submit("Kills", "u1", 9)
		r.flush()
		want(t, "merges", len(r.store.did("merge")), 0)
		want(t, "refused", r.Stats().Total.Refused, 1)
		wantRefused(t, r.Submit("Kills", "u1", 9), "board", store.ErrSealed)
	})
}

func TestBoardStoredInTheOtherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {Order: store.Ascending}}})
		if _, err := r.store.Boards.Create(t.Context(), "Kills", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
			t.Fatal(err)
		}
		r.submit("Kills", "u1", 9)
		r.submit("Kills", "u2", 9)
		if err := r.FlushNow(t.Context()); !errors.Is(err, board.ErrOrder) {
			t.Fatalf("FlushNow: %v, want ErrOrder", err)
		}
		want(t, "merges", len(r.store.did("merge")), 0)
		want(t, "values that wait", r.Stats().Total.Queued, 2)
	})
}

// A value that the store will never take costs only itself.
func TestPoisonedValueDoesNotTakeOthersWithIt(t *testing.T) {
	for _, rule := range []store.Rule{store.Best, store.Sum} {
		t.Run(rule.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{MaxWriteAttempts: 2, Boards: boards{"Kills": {Rule: rule}}})
				r.store.setRule(func(c call) fault {
					for _, e := range c.Batch.Entries {
						if e.Key == "u77" || e.Key == "u500" {
							return fault{err: store.ErrInvalid}
						}
					}
					return fault{}
				})
				for i := range 2000 {
					r.submit("Kills", fmt.Sprintf("u%d", i), 1)
				}
				r.flushFails()
				want(t, "written", r.Stats().Total.Written, 1998)
				want(t, "values that wait", r.Stats().Total.Queued, 2)
				if n := len(r.store.did("merge")); n > 1+board.MostSplits {
					t.Fatalf("%d calls in one window", n)
				}
				numbers := uint64(0)
				for _, c := range r.store.did("merge") {
					if rule == store.Sum && c.Batch.N <= numbers {
						t.Fatalf("sum %d was sent after %d", c.Batch.N, numbers)
					}
					numbers = c.Batch.N
				}
				r.flushFails()
				want(t, "dropped", r.Stats().Total.Dropped, 2)
				if info, err := r.Info(t.Context(), "Kills"); err != nil || info.Count != 1998 {
					t.Fatalf("Info: %+v, %v", info, err)
				}
			})
		})
	}
}

// When the store takes nothing at all, a window gives up after a bounded number of calls.
func TestSearchForAPoisonedValueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.store.failAll("merge", fault{err: store.ErrTooLarge}) // whatever it is given
		for i := range 5000 {
			r.submit("Kills", fmt.Sprintf("u%d", i), 1)
		}
		r.flushFails()
		if n := len(r.store.did("merge")); n > 1+board.MostSplits {
			t.Fatalf("%d calls in one window", n)
		}
		want(t, "values that wait", r.Stats().Total.Queued, 5000)
		r.store.setRule(nil)
		r.flush()
		want(t, "written", r.Stats().Total.Written, 5000)
	})
}

func TestWriteThatHangsIsCutAndRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CallTimeout: 5 * time.Second, Boards: boards{"Kills": {}}})
		r.store.failNext("merge", fault{block: make(chan struct{})})
		r.submit("Kills", "u1", 5)
		later(time.Minute)
		want(t, "times of the writes", r.store.at("merge"), []float64{1, 7})
		want(t, "what is stored", r.stored("Kills"), []string{"u1=5"})
	})
}

func TestFlushNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: -1, Boards: boards{"Kills": {}}})
		r.flush() // nothing to do
		r.submit("Kills", "u1", 5)
		later(time.Hour)
		want(t, "writes without FlushNow", len(r.store.did("merge")), 0)
		gate := make(chan struct{})
		r.store.failNext("merge", fault{block: gate})
		first := make(chan error, 1)
		go func() { first <- r.FlushNow(t.Context()) }()
		synctest.Wait()
		// A second one waits for the first, and then writes what came meanwhile.
		r.submit("Kills", "u2", 6)
		second := make(chan error, 1)
		go func() { second <- r.FlushNow(t.Context()) }()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.FlushNow(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("FlushNow with a short context: %v", err)
		}
		close(gate)
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		want(t, "what is stored", r.stored("Kills"), []string{"u2=6", "u1=5"})
	})
}

func TestFlushNowFromInsideAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		var inside error
		r.store.failNext("merge", fault{inside: func(ctx context.Context) { inside = r.FlushNow(ctx) }})
		r.submit("Kills", "u1", 5)
		r.flush()
		if !errors.Is(inside, board.ErrPending) {
			t.Fatalf("FlushNow from inside: %v, want ErrPending", inside)
		}
	})
}

func TestFlushingStartsWhenTheNodeCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{FlushEvery: 15 * time.Second, MaxWriteAttempts: 2, Boards: boards{"Kills": {}}})
		r.submit("Kills", "u1", 5)
		later(time.Second)
		close(r.closing)
		synctest.Wait()
		want(t, "times of the writes", r.store.at("merge"), []float64{1})
		// Releases still submit; they are written soon, again and again, and nothing is dropped.
		r.store.failAll("merge", notDone)
		r.submit("Kills", "u2", 6)
		later(time.Second)
		if n := len(r.store.did("merge")); n < 4 || n > 7 {
			t.Fatalf("%d writes within a second of closing", n)
		}
		want(t, "dropped", r.Stats().Total.Dropped, 0)
		r.store.setRule(nil)
		later(board.DrainPause)
		want(t, "what is stored", r.stored("Kills"), []string{"u2=6", "u1=5"})
		r.submit("Kills", "u3", 7)
		later(board.HurryEvery)
		want(t, "what is stored", r.stored("Kills"), []string{"u3=7", "u2=6", "u1=5"})
	})
}
