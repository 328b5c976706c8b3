package board_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

func sumRig(t *testing.T) *rig {
	t.Helper()
	return start(t, &board.Options{Boards: boards{"Coins": {Rule: store.Sum}}})
}

// numbers are the batches of sums as they were sent, "N:key=score".
func numbers(s *script) []string {
	out := []string{}
	for _, c := range s.did("merge") {
		row := fmt.Sprintf("%d:", c.Batch.N)
		for _, e := range c.Batch.Entries {
			row += fmt.Sprintf(" %s=%d", e.Key, e.Score)
		}
		out = append(out, row)
	}
	return out
}

func TestSumsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		for _, n := range []int64{5, -2, 4} {
			r.submit("Coins", "u1", n)
		}
		r.flush()
		r.submit("Coins", "u1", 10)
		r.flush()
		want(t, "batches", numbers(r.store), []string{"1: u1=7", "2: u1=10"})
		want(t, "what is stored", r.stored("Coins"), []string{"u1=17"})
		for _, c := range r.store.did("merge") {
			if c.Batch.Source != "n-1/boards" {
				t.Fatalf("source %q", c.Batch.Source)
			}
		}
	})
}

// Every answer of a scenario is lost in turn, in each way; the sums are those of the model.
func TestSumsCountOnceWhateverAnswerIsLost(t *testing.T) {
	for what, f := range map[string]fault{"not done": notDone, "applied, answer lost": lost, "vanished": vanish, "applied later": late} {
		for strike := range 5 {
			t.Run(fmt.Sprintf("%s, write %d", what, strike), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := sumRig(t)
					seen := 0
					r.store.setRule(func(c call) fault {
						if c.Op != "merge" {
							return fault{}
						}
						if seen++; seen == strike+1 {
							return f
						}
						return fault{}
					})
					var u1, u2 int64
					for i := range int64(4) {
						r.submit("Coins", "u1", 1+i)
						r.submit("Coins", "u2", 10*(1+i))
						u1, u2 = u1+1+i, u2+10*(1+i)
						later(1500 * time.Millisecond)
					}
					later(time.Minute)
					r.store.land()
					want(t, "what is stored", r.stored("Coins"), []string{fmt.Sprintf("u2=%d", u2), fmt.Sprintf("u1=%d", u1)})
					want(t, "values that wait", r.Stats().Total.Queued+r.Stats().Total.InFlight, 0)
				})
			})
		}
	}
}

func TestUnknownSumIsSentVerbatimAndAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		r.store.failNext("merge", late, notDone, vanish)
		r.submit("Coins", "u1", 5)
		r.flushFails()
		r.submit("Coins", "u1", 3)
		r.submit("Coins", "u2", 1)
		r.flushFails()
		r.flushFails()
		want(t, "values whose outcome is unknown", r.Stats().Total.InFlight, 1)
		r.flush()
		r.store.land() // the first one arrives after the last
		r.flush()
		want(t, "batches", numbers(r.store), []string{"1: u1=5", "1: u1=5", "1: u1=5", "1: u1=5", "2: u1=3 u2=1"})
		want(t, "what is stored", r.stored("Coins"), []string{"u1=8", "u2=1"})
	})
}

// A batch is split, since the store does not take one value of it, and the answer for the others
// is lost: they go first when the windows go on, also before the value that failed. Under a
// larger number that one would make the store take them for counted.
func TestUnknownPartOfASplitGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		malformed, sent, bad := true, 0, ""
		r.store.setRule(func(c call) fault {
			if c.Op != "merge" {
				return fault{}
			}
			sent++
			if bad == "" {
				bad = c.Batch.Entries[0].Key // so that it is alone in the first half
			}
			for _, e := range c.Batch.Entries {
				if e.Key == bad && malformed {
					return fault{err: store.ErrInvalid}
				}
			}
			if len(c.Batch.Entries) > 1 && malformed {
				return vanish
			}
			return fault{}
		})
		for _, key := range []string{"u1", "u2", "u3"} {
			r.submit("Coins", key, 7)
		}
		r.flushFails()
		malformed = false
		for range 3 {
			_ = r.FlushNow(t.Context())
		}
		want(t, "what is stored", len(r.stored("Coins")), 3)
		for _, row := range r.stored("Coins") {
			if !strings.HasSuffix(row, "=7") {
				t.Errorf("counted otherwise: %s (sent: %v)", row, numbers(r.store))
			}
		}
		if sent < 4 {
			t.Errorf("%d writes: the batch was not split", sent)
		}
	})
}

// A late call that lands between two attempts is counted once, too.
func TestUnknownSumThatLandsBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		r.submit("Coins", "u1", 1)
		r.flush()
		r.store.failNext("merge", late)
		r.submit("Coins", "u1", 5)
		r.flushFails()
		r.store.land()
		r.flush()
		want(t, "what is stored", r.stored("Coins"), []string{"u1=6"})
	})
}

func TestFailedSumNeedsNoRoomBesideWhatIsNewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		r.store.failNext("merge", notDone)
		r.submit("Coins", "u1", math.MaxInt64)
		r.flushFails()
		r.submit("Coins", "u1", -7) // together they fit, but only in this order or that
		r.submit("Coins", "u1", 5)
		r.flush()
		r.flush()
		want(t, "what is stored", r.stored("Coins"), []string{fmt.Sprintf("u1=%d", int64(math.MaxInt64-2))})
	})
}

func TestSumThatOverflows(t *testing.T) {
	// case B13
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		var refusals []board.Refusal
		r.OnRefused(func(f board.Refusal) { refusals = append(refusals, f) })
		r.submit("Coins", "u1", math.MaxInt64)
		wantRefused(t, r.Submit("Coins", "u1", 1), "score", board.ErrOverflow)
		r.submit("Coins", "u2", 1)
		r.flush()
		r.submit("Coins", "u1", 1) // the store has no room
		r.submit("Coins", "u2", 1)
		r.flush()
		want(t, "what is stored", r.stored("Coins"), []string{fmt.Sprintf("u1=%d", int64(math.MaxInt64)), "u2=2"})
		if len(refusals) != 1 || !errors.Is(refusals[0].Err, board.ErrOverflow) {
			t.Fatalf("refusals: %+v", refusals)
		}
		want(t, "the value", refusals[0].Values, []store.Submission{{Key: "u1", Score: 1}})
		total := r.Stats().Total
		want(t, "numbers", []uint64{total.Submitted, total.Written, total.Refused}, []uint64{4, 3, 2})
	})
}

// The board loses its memory, or is dropped, between two batches: numbers go on, so that
// nothing newer is taken for old.
func TestSumsAfterTheBoardIsGone(t *testing.T) {
	for what, gone := range map[string]func(r *rig){
		"memory lost": func(r *rig) { r.store.engine.Forget(memstore.Boards) },
		"dropped":     func(r *rig) { _ = r.Drop(r.t.Context(), "Coins") },
		"forgotten and defined again": func(r *rig) {
			if err := errors.Join(r.Forget("Coins"), r.Define("Coins", board.Config{Rule: store.Sum})); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := sumRig(t)
				r.submit("Coins", "u1", 5)
				r.flush()
				gone(r)
				have := int64(0)
				if rows := r.stored("Coins"); len(rows) > 0 {
					have = 5
				}
				for range 2 {
					r.submit("Coins", "u1", 3)
					r.flush()
				}
				want(t, "what is stored", r.stored("Coins"), []string{fmt.Sprintf("u1=%d", have+6)})
				want(t, "batches", numbers(r.store), append([]string{"1: u1=5", "2: u1=3"}, numbers(r.store)[2:]...))
			})
		})
	}
}

func TestMemoryLostBeforeAnUnknownSumIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		r.submit("Coins", "u1", 1)
		r.flush()
		r.store.failNext("merge", lost)
		r.submit("Coins", "u1", 5)
		r.flushFails()
		r.store.engine.Forget(memstore.Boards)
		r.flush()
		want(t, "what is stored", r.stored("Coins"), []string{"u1=5"})
		want(t, "merges", numbers(r.store), []string{"1: u1=1", "2: u1=5", "2: u1=5", "2: u1=5"})
	})
}

func TestUnknownSumIsGivenUpAsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxWriteAttempts: 3, Boards: boards{"Coins": {Rule: store.Sum}}})
		var refusals []board.Refusal
		r.OnRefused(func(f board.Refusal) { refusals = append(refusals, f) })
		r.store.failNext("merge", late, notDone, notDone)
		r.submit("Coins", "u1", 5)
		for range 3 {
			r.flushFails()
		}
		if len(refusals) != 1 || !refusals[0].Unknown || !errors.Is(refusals[0].Err, board.ErrAttempts) {
			t.Fatalf("refusals: %+v", refusals)
		}
		r.submit("Coins", "u1", 3)
		r.flush()
		r.store.land() // too late: a newer batch has landed
		want(t, "what is stored", r.stored("Coins"), []string{"u1=3"})
	})
}

func TestUnknownSumOfASealedBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		var refusals []board.Refusal
		r.OnRefused(func(f board.Refusal) { refusals = append(refusals, f) })
		r.store.failNext("merge", lost)
		r.submit("Coins", "u1", 5)
		r.flushFails()
		if _, err := r.Seal(t.Context(), "Coins"); err != nil {
			t.Fatal(err)
		}
		r.flush()
		if len(refusals) != 1 || !refusals[0].Unknown || !errors.Is(refusals[0].Err, store.ErrSealed) {
			t.Fatalf("refusals: %+v", refusals)
		}
	})
}

// While an outcome is unknown nothing newer is sent, the rest of the same window included.
func TestUnknownSumStopsTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sumRig(t)
		r.store.failNext("merge", fault{err: store.ErrTooLarge}, vanish)
		for _, key := range []string{"a", "b", "c", "d"} {
			r.submit("Coins", key, 1)
		}
		r.flushFails()
		sent := r.store.did("merge")
		want(t, "batches", []uint64{sent[0].Batch.N, sent[1].Batch.N}, []uint64{1, 2})
		want(t, "how many were sent", len(sent), 2)
		r.flush()
		sent = r.store.did("merge")
		want(t, "batches", []uint64{sent[2].Batch.N, sent[3].Batch.N}, []uint64{2, 3})
		want(t, "the repeated one", sent[2].Batch, sent[1].Batch)
		want(t, "entries", len(r.stored("Coins")), 4)
	})
}
