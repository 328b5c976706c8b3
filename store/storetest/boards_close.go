package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/store"
)

func boardContextCases() []boardsCase {
	return []boardsCase{
		{"that has ended: nothing is done", boardEndedContext},
		{"that ends during a sum: sent again it counts once", sumsThroughContexts},
		{"that ends during a merge", mergesThroughContexts},
	}
}

func boardsCloseCases() []boardsCase {
	return []boardsCase{
		{"later calls answer closed", boardsClosed},
		{"waits for the calls in flight", boardsCloseWaits},
		{"keeps what was acknowledged", boardsReopen},
		{"ends its goroutines", boardsGoroutines},
	}
}

func boardEndedContext(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w := newTwin(t, b, "board", store.Descending)
	w.best(t, entry("key", 5), entry("other", 3))
	before := w.compare(t)
	ctx := cancelled(t)
	answers := everyBoardCall(ctx, b, "board")
	_, answers["Create"] = b.Create(ctx, "new", store.BoardSpec{Order: store.Descending, Generation: "g"})
	_, answers["List"] = b.List(ctx, "", "", 10)
	answers["Drop"] = b.Drop(ctx, "board")
	for call, err := range answers {
		want(t, call, err, store.ErrUnavailable)
	}
	if diff := cmp.Diff(before, w.compare(t)); diff != "" {
		t.Fatalf("after calls whose context had ended (-before +after):\n%s", diff)
	}
	_, err := b.Info(t.Context(), "new")
	want(t, "Info", err, store.ErrNoBoard)
	w.sum(t, "source", 1, entry("key", 1)) // number 9 was not taken
}

// mergePace is about how long a merge takes here.
func mergePace(t *testing.T, w *twin) time.Duration {
	t.Helper()
	begun := time.Now()
	for i := range 10 {
		w.best(t, entry("pace", int64(i)))
	}
	return time.Since(begun) / 10
}

// sumsThroughContexts sends each batch again, as it is, until it is known to be done.
func sumsThroughContexts(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	pace := mergePace(t, w)
	rng := rand.New(rand.NewPCG(12, 13))
	const batches = 100
	for n := uint64(1); n <= batches; n++ {
		batch := store.Batch{Rule: store.Sum, Source: "source", N: n, Entries: []store.Submission{entry("a", 1), entry(fmt.Sprintf("key/%d", n), 1)}}
		for try := 0; ; try++ {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(2*pace)+1)))
			if try == 3 {
				ctx = t.Context()
			}
			_, err := handles[try%len(handles)].Merge(ctx, "board", batch)
			cancel()
			checkVocabulary(t, "Merge", err)
			if err == nil {
				break
			}
			if try > 3 {
				t.Fatalf("batch %d does not get done: %v", n, err)
			}
		}
	}
	scores, err := handles[0].Scores(t.Context(), "board", "a", "key/1", fmt.Sprintf("key/%d", batches))
	ok(t, "Scores", err)
	if scores["a"].Score != batches || scores["key/1"].Score != 1 || len(scores) != 3 {
		t.Fatalf("scores %+v, want a at %d and each key at 1", scores, batches)
	}
}

// mergesThroughContexts looks whether each merge did what it said.
func mergesThroughContexts(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	pace := mergePace(t, w)
	rng := rand.New(rand.NewPCG(14, 15))
	for n := range 150 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(2*pace)+1)))
		a, b := fmt.Sprintf("key/%d/a", n), fmt.Sprintf("key/%d/b", n)
		_, err := handles[n%len(handles)].Merge(ctx, "board", store.Batch{Rule: store.Best, Entries: []store.Submission{entry(a, 1), entry(b, 1)}})
		cancel()
		checkVocabulary(t, "Merge", err)
		scores, readErr := handles[(n+1)%len(handles)].Scores(t.Context(), "board", a, b)
		ok(t, "Scores", readErr)
		if outcome := store.OutcomeOf(err); len(scores) == 1 || outcome == store.Done && len(scores) != 2 || outcome == store.NotDone && len(scores) != 0 {
			t.Fatalf("a batch of 2 entries was answered %v, and %d are there", err, len(scores))
		}
	}
}

func boardsClosed(t *testing.T, h Harness[store.Boards]) {
	b := h.Open(t)
	newTwin(t, b, "board", store.Descending).best(t, entry("key", 1))
	shut(t, b)
	shut(t, b) // again does nothing
	answers := everyBoardCall(t.Context(), b, "board")
	_, answers["Create"] = b.Create(t.Context(), "new", store.BoardSpec{Order: store.Descending, Generation: "g"})
	_, answers["List"] = b.List(t.Context(), "", "", 10)
	answers["Drop"] = b.Drop(t.Context(), "board")
	for call, err := range answers {
		want(t, call, err, store.ErrClosed)
	}
}

// boardsCloseWaits closes a handle in the middle of many merges.
func boardsCloseWaits(t *testing.T, h Harness[store.Boards]) {
	if !h.Shared && !h.Reopens {
		return // nobody could look
	}
	b := h.Open(t)
	newTwin(t, b, "board", store.Descending)
	const callers, each = 5, 150
	answers := make([]map[string]error, callers)
	ctx := t.Context()
	begun := make(chan struct{}, callers*each)
	together(t, callers+1, func(c int) error {
		if c == callers {
			for range callers * 3 {
				<-begun
			}
			return b.Close(ctx)
		}
		answers[c] = make(map[string]error)
		for n := range each {
			begun <- struct{}{}
			key := fmt.Sprintf("key/%d/%d", c, n)
			_, err := b.Merge(ctx, "board", store.Batch{Rule: store.Best, Entries: []store.Submission{entry(key, 1)}})
			answers[c][key] = err
			if errors.Is(err, store.ErrClosed) {
				return nil
			}
		}
		return nil
	})
	after := open(t, h)
	for c := range answers {
		for key, err := range answers[c] {
			checkVocabulary(t, "Merge", err)
			_, found, readErr := after.Standing(ctx, "board", key, store.Ordinal)
			ok(t, "Standing", readErr)
			if outcome := store.OutcomeOf(err); outcome == store.Done && !found || outcome == store.NotDone && found {
				t.Fatalf("%s was answered %v, found = %v", key, err, found)
			}
		}
	}
}

// boardsReopen closes everything in between: entries, sequences, stamps, numbers, seals,
// generations and hidden keys are as they were, and a walk goes on.
func boardsReopen(t *testing.T, h Harness[store.Boards]) {
	if !h.Reopens {
		return // the memory ends with the last handle
	}
	b := h.Open(t)
	up, down := newTwin(t, b, "up", store.Descending), newTwin(t, b, "down", store.Ascending)
	gone := newTwin(t, b, "gone", store.Descending)
	up.last(t, withMeta(stamped("a", 5, 2, 2), "meta of a"), stamped("b", 5, 2, 2))
	up.sum(t, "source", 4, entry("c", 5), entry("h", 9))
	up.hide(t, true, "h", "i", "j")
	up.hide(t, false, "j")
	down.best(t, entry("x", 3), entry("y", 3))
	down.model.Seal()
	_, err := b.Seal(t.Context(), "down")
	ok(t, "Seal", err)
	ok(t, "Drop", b.Drop(t.Context(), gone.name))
	before := [][]store.Standing{up.compare(t), down.compare(t)}
	infos := []store.BoardInfo{up.info, down.info}
	stroll := beginStroll(t, up)
	stroll.step(t, 1)
	up.best(t, entry("a", 6), entry("new", 7))
	up.hide(t, true, "b")
	before[0], infos[0] = up.compare(t), up.info
	shut(t, b)

	b = open(t, h)
	up.boards, down.boards = b, b
	if diff := cmp.Diff(before, [][]store.Standing{up.compare(t), down.compare(t)}); diff != "" {
		t.Fatalf("opened again (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(infos, []store.BoardInfo{up.info, down.info}); diff != "" {
		t.Fatalf("opened again (-before +after):\n%s", diff)
	}
	_, err = b.Info(t.Context(), "gone")
	want(t, "Info of a dropped board", err, store.ErrNoBoard)
	stroll.finish(t, 1)
	up.compareHidden(t)
	down.best(t, entry("z", 1)) // still sealed
	up.best(t, entry("i", 10))
	up.hide(t, false, "b", "h")
	up.remove(t, "new")
	up.last(t, stamped("a", 9, 2, 1), stamped("b", 4, 2, 3))
	up.sum(t, "source", 4, entry("c", 5))
	up.sum(t, "source", 5, entry("c", 1))
	up.wantOrder(t, "h a c b")
	up.compareHidden(t)
	compareEach(t, up)
	compareEach(t, down)
}

func boardsGoroutines(t *testing.T, h Harness[store.Boards]) {
	before := goleak.IgnoreCurrent()
	b := h.Open(t)
	newTwin(t, b, "board", store.Descending)
	ctx := t.Context()
	together(t, 4, func(c int) error {
		_, err := b.Merge(ctx, "board", store.Batch{Rule: store.Best, Entries: []store.Submission{entry(fmt.Sprint(c), 1)}})
		return err
	})
	_ = everyBoardCall(cancelled(t), b, "board")
	shut(t, b)
	if err := goleak.Find(before); err != nil {
		t.Fatal(err)
	}
}
