package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
)

func randomCases() []boardsCase {
	return []boardsCase{
		{"histories answer as the model does", randomHistories},
	}
}

// randomHistories runs random histories on board and model, each on a board of its own, and
// compares every answer and, after every step, the whole board.
func randomHistories(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	boards := 0
	rapid.Check(t, func(t *rapid.T) {
		boards++
		order := rapid.SampledFrom([]store.Order{store.Descending, store.Ascending}).Draw(t, "order")
		w := newTwin(t, handles[0], fmt.Sprintf("board/%d", boards), order)
		turn := 0
		var strolls []*stroll
		t.Repeat(map[string]func(*rapid.T){
			"merge": func(t *rapid.T) { w.merge(t, drawBatch(t)) },
			"more":  func(t *rapid.T) { w.merge(t, drawBatch(t)) },
			"remove": func(t *rapid.T) {
				w.remove(t, rapid.SliceOfNDistinct(drawKey(), 1, 3, rapid.ID[string]).Draw(t, "keys")...)
			},
			"erase": func(t *rapid.T) {
				w.erase(t, rapid.SliceOfNDistinct(drawKey(), 1, 2, rapid.ID[string]).Draw(t, "keys")...)
				if w.model.sealed {
					strolls = nil // they may have ended
				}
			},
			"hide": func(t *rapid.T) {
				hidden := rapid.IntRange(0, 2).Draw(t, "hide") > 0
				w.hide(t, hidden, rapid.SliceOfNDistinct(drawKey(), 1, 3, rapid.ID[string]).Draw(t, "keys")...)
			},
			"walk": func(t *rapid.T) { strolls = walkSome(t, w, strolls) },
			"read": func(t *rapid.T) { readSome(t, w) },
			"seal": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					w.model.Seal()
					_, err := w.boards.Seal(t.Context(), w.name)
					wantWord(t, "Seal", err, nil)
				}
			},
			"": func(t *rapid.T) {
				turn++
				w.boards = handles[turn%len(handles)]
				w.compare(t)
				w.compareHidden(t)
			},
		})
	})
}

// walkSome begins a walk or goes on with one, and returns those that are under way.
func walkSome(t *rapid.T, w *twin, strolls []*stroll) []*stroll {
	size := rapid.IntRange(1, 4).Draw(t, "page")
	at := rapid.IntRange(0, 4).Draw(t, "walk")
	if at >= len(strolls) {
		s := beginStroll(t, w)
		s.step(t, size)
		return append(strolls, s)
	}
	if strolls[at].step(t, size) && rapid.Bool().Draw(t, "done") {
		return slices.Delete(strolls, at, at+1)
	}
	return strolls
}

func drawKey() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "A"})
}

// drawBatch draws few keys, scores that often tie, and now and then the limits.
func drawBatch(t *rapid.T) store.Batch {
	score := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64 - 1, math.MaxInt64}))
	batch := store.Batch{Rule: rapid.SampledFrom([]store.Rule{store.Best, store.Last, store.Sum}).Draw(t, "rule")}
	if batch.Rule == store.Sum {
		batch.Source = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "source")
		batch.N = rapid.Uint64Range(1, 12).Draw(t, "n")
	}
	for _, key := range rapid.SliceOfNDistinct(drawKey(), 1, 5, rapid.ID[string]).Draw(t, "keys") {
		s := entry(key, score.Draw(t, "score"))
		if batch.Rule == store.Last {
			s.Stamp = store.Stamp{Epoch: rapid.Uint64Range(0, 2).Draw(t, "epoch"), Revision: rapid.Uint64Range(0, 3).Draw(t, "revision")}
		}
		if rapid.Bool().Draw(t, "with metadata") {
			s.Meta = []byte(rapid.StringN(0, 3, store.MaxMeta).Draw(t, "meta"))
		}
		batch.Entries = append(batch.Entries, s)
	}
	return batch
}

// readSome compares one read of each kind.
func readSome(t *rapid.T, w *twin) {
	key := drawKey().Draw(t, "key")
	mode := rapid.SampledFrom(rankModes()).Draw(t, "mode")
	wanted, wantFound := w.model.Standing(key, mode)
	one, found, err := w.boards.Standing(t.Context(), w.name, key, mode)
	wantWord(t, "Standing", err, nil)
	blind := cmpopts.IgnoreFields(store.Entry{}, "Sequence")
	if diff := cmp.Diff(wanted, one, blind); diff != "" || found != wantFound {
		t.Fatalf("Standing %s, found %v, want %v (-want +got):\n%s", key, found, wantFound, diff)
	}
	n := rapid.IntRange(0, 9).Draw(t, "reach")
	page, err := w.boards.Around(t.Context(), w.name, key, n, mode)
	wantWord(t, "Around", err, nil)
	blindPage := cmp.Options{blind, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(store.BoardInfo{}, "Sequence", "Generation")}
	if diff := cmp.Diff(w.model.Around(key, n, mode), page, blindPage); diff != "" {
		t.Fatalf("%d around %s (-want +got):\n%s", n, key, diff)
	}
	offset := rapid.Int64Range(0, 9).Draw(t, "offset")
	page, err = w.boards.Page(t.Context(), w.name, offset, n, mode)
	wantWord(t, "Page", err, nil)
	if diff := cmp.Diff(w.model.Page(offset, n, mode), page, blindPage); diff != "" {
		t.Fatalf("Page at %d of %d (-want +got):\n%s", offset, n, diff)
	}
}
