package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// countedBoards is memstore behind a board that counts calls and may fail them.
type countedBoards struct {
	store.Boards
	sizes []int
	fail  func(call int) error
}

func (c *countedBoards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	c.sizes = append(c.sizes, len(batch.Entries))
	if c.fail != nil {
		if err := c.fail(len(c.sizes)); err != nil {
			return nil, err
		}
	}
	return c.Boards.Merge(ctx, board, batch)
}

func (c *countedBoards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	c.sizes = append(c.sizes, len(keys))
	return c.Boards.Remove(ctx, board, keys...)
}

// meteredBoards is a node with so many ordered reads and writes a minute, and its board "Kills".
func meteredBoards(t *testing.T, reads, writes int) (*node.Node, *countedBoards, store.Boards) {
	t.Helper()
	e := memstore.New(nil)
	c := &countedBoards{Boards: e.Boards()}
	st, err := store.New(store.Parts{Durable: e.Records(), Boards: c, Bus: e.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.Start(t.Context(), st, &node.Options{
		Logger: slog.New(slog.DiscardHandler),
		Limits: node.Limits{Node: node.Rates{OrderedRead: node.Rate{Base: reads}, OrderedWrite: node.Rate{Base: writes}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = n.Close(context.WithoutCancel(t.Context())) })
	if _, err := c.Create(t.Context(), "Kills", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	return n, c, n.For(node.ClassBoard).Boards()
}

func room(n *node.Node) int {
	return n.Room(node.ClassBoard, node.KindOrderedRead, node.KindOrderedWrite)
}

func entries(n int) []store.Submission {
	out := make([]store.Submission, n)
	for i := range out {
		out[i] = store.Submission{Key: fmt.Sprintf("u%d", i), Score: int64(i)}
	}
	return out
}

func TestRoomWithoutLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := memstore.New(nil).Store()
		if err != nil {
			t.Fatal(err)
		}
		n, err := node.Start(t.Context(), e, &node.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if got := room(n); got != math.MaxInt {
			t.Errorf("room for %d without limits", got)
		}
		if _, err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRoomIsTheSmallerBudgetWithoutTheReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, boards := meteredBoards(t, 60, 40)
		check := func(what string, want int) {
			t.Helper()
			if got := room(n); got != want {
				t.Errorf("%s: room for %d, want %d", what, got, want)
			}
		}
		check("at the start", 30)
		if got := n.Room(node.ClassBoard, node.KindOrderedRead); got != 50 {
			t.Errorf("room for %d reads, want 50", got)
		}
		if got := n.Room(node.ClassBoard, node.KindWrite); got != math.MaxInt {
			t.Errorf("room for %d of a kind without a limit", got)
		}
		if _, err := boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: entries(30)}); err != nil {
			t.Fatal(err)
		}
		check("after 30", 0)
		time.Sleep(3 * time.Second)
		check("3 s later", 2)
		time.Sleep(time.Minute)
		check("a minute later", 30)

		// A call that waits comes first, whatever there is.
		done := make(chan error)
		go func() {
			_, err := boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Sum, Source: "s", N: 1, Entries: entries(40)})
			_, _ = boards.Scores(t.Context(), "Kills", "u1")
			done <- err
		}()
		synctest.Wait()
		check("while a read waits behind a debt", 0)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// A purse that never holds more than the reserve still gives one at a time.
func TestRoomOfATinyBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, c, boards := meteredBoards(t, 5, 5)
		for range 3 {
			if got := room(n); got != 1 {
				t.Fatalf("room for %d, want 1", got)
			}
			if _, err := boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: entries(1)}); err != nil {
				t.Fatal(err)
			}
			if got := room(n); got != 0 {
				t.Fatalf("room for %d right after, want 0", got)
			}
			time.Sleep(12*time.Second + time.Millisecond)
		}
		began := time.Now()
		if _, err := boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: entries(3)}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 24*time.Second || took > 25*time.Second || len(c.sizes) != 6 {
			t.Errorf("three entries took %v in %v, want 24 s, one by one", took, c.sizes)
		}
	})
}

// What room says can be spent at once, and one more cannot.
func TestRoomIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			reads, writes := rapid.IntRange(1, 90).Draw(rt, "reads"), rapid.IntRange(1, 90).Draw(rt, "writes")
			n, _, boards := meteredBoards(t, reads, writes)
			for range 6 {
				time.Sleep(time.Duration(rapid.Int64Range(0, int64(30*time.Second)).Draw(rt, "sleep")))
				have, began := room(n), time.Now()
				if have > 0 {
					if _, err := boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: entries(have)}); err != nil {
						rt.Fatal(err)
					}
				}
				if time.Since(began) != 0 {
					rt.Fatalf("%d entries waited %v although there was room", have, time.Since(began))
				}
				if left := room(n); left != 0 {
					rt.Fatalf("room for %d after all %d were spent", left, have)
				}
			}
		})
	})
}

// A batch that the budget can never hold is written in parts, each in its time, and others
// get their turn.
func TestLargeBatchGoesInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, boards := meteredBoards(t, 70, 70)
		began := time.Now()
		changes, err := boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: entries(150)})
		if err != nil || len(changes) != 150 || changes[149] != (store.Change{Effect: store.Created, New: 149}) {
			t.Fatalf("%d changes, %v", len(changes), err)
		}
		if got := fmt.Sprint(c.sizes); got != "[60 60 30]" {
			t.Errorf("parts of %s", got)
		}
		if took := time.Since(began); took < 75*time.Second || took > 80*time.Second {
			t.Errorf("took %v, want 90 entries at 70 a minute", took)
		}
		time.Sleep(time.Minute)
		c.sizes = nil
		keys := make([]string, 100)
		for i := range keys {
			keys[i] = fmt.Sprintf("u%d", i)
		}
		if n, err := boards.Remove(t.Context(), "Kills", keys...); n != 100 || err != nil || fmt.Sprint(c.sizes) != "[60 40]" {
			t.Errorf("removed %d in %v: %v", n, c.sizes, err)
		}
	})
}

// Parts that were written stay written: an error after them must not say that nothing was.
func TestPartsThatFailAreUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c, boards := meteredBoards(t, 70, 70)
		broken := fmt.Errorf("broken: %w", store.ErrUnavailable)
		c.fail = func(call int) error {
			if call%2 == 0 {
				return broken
			}
			return nil
		}
		batch := store.Batch{Rule: store.Best, Entries: entries(150)}
		if _, err := boards.Merge(t.Context(), "Kills", batch); store.OutcomeOf(err) != store.Unknown {
			t.Errorf("the second part failed: %v, want an unknown outcome", err)
		}
		c.fail = func(int) error { return broken }
		if _, err := boards.Merge(t.Context(), "Kills", batch); store.OutcomeOf(err) != store.NotDone {
			t.Errorf("the first part failed: %v, want that nothing was done", err)
		}
		c.fail = nil
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := boards.Merge(ctx, "Kills", batch); store.OutcomeOf(err) != store.NotDone || !errors.Is(err, node.ErrBudget) {
			t.Errorf("no budget in time: %v, want that nothing was done", err)
		}
	})
}

// A batch of sums has one number: it goes whole when the budget is full.
func TestSumsAreNeverCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, c, boards := meteredBoards(t, 70, 70)
		if _, err := boards.Merge(t.Context(), "Kills", store.Batch{Rule: store.Sum, Source: "s", N: 1, Entries: entries(150)}); err != nil {
			t.Fatal(err)
		}
		if len(c.sizes) != 1 || room(n) != 0 {
			t.Errorf("parts of %v, room for %d", c.sizes, room(n))
		}
	})
}

// Every call of a board passes the gate: none is free.
func TestEveryCallOfABoardIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, boards := meteredBoards(t, 60, 60)
		ctx := t.Context()
		calls := []func() error{
			func() error { _, err := boards.Page(ctx, "Kills", 0, 9, store.Ordinal); return err },
			func() error { _, _, err := boards.Standing(ctx, "Kills", "u1", store.Ordinal); return err },
			func() error { _, err := boards.Around(ctx, "Kills", "u1", 1, store.Ordinal); return err },
			func() error { _, err := boards.Scores(ctx, "Kills", "u1"); return err },
			func() error { _, _, err := boards.Walk(ctx, "Kills", store.Cursor{}, 9); return err },
			func() error { _, err := boards.Hidden(ctx, "Kills", "", 9); return err },
			func() error { _, err := boards.Info(ctx, "Kills"); return err },
			func() error { _, err := boards.Check(ctx, "Kills", false); return err },
			func() error { _, err := boards.Hide(ctx, "Kills", true, "u1"); return err },
			func() error { _, err := boards.Remove(ctx, "Kills", "u1"); return err },
			func() error { _, err := boards.Seal(ctx, "Kills"); return err },
			func() error { return boards.Drop(ctx, "Kills") },
		}
		for i, call := range calls {
			before := n.Room(node.ClassBoard, node.KindOrderedRead)
			if err := call(); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			if spent := before - n.Room(node.ClassBoard, node.KindOrderedRead); spent != 1 {
				t.Errorf("call %d has spent %d reads, want 1", i, spent)
			}
		}
	})
}
