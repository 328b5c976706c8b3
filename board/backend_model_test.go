package board_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// keyStep is a step of a history on a Backend.
type keyStep struct {
	kind       string // "submit", "durable" or "flush"
	board, key string
	score      int64
}

func drawKeyStep(rt *rapid.T) keyStep {
	return keyStep{
		kind:  rapid.SampledFrom([]string{"submit", "submit", "submit", "durable", "flush"}).Draw(rt, "kind"),
		board: rapid.SampledFrom([]string{"A", "B", "C"}).Draw(rt, "board"),
		key:   fmt.Sprintf("u%d", rapid.IntRange(0, 4).Draw(rt, "key")),
		score: rapid.Int64Range(-9, 9).Draw(rt, "score"),
	}
}

// keyHistory is a service on a Backend beside its model.
type keyHistory struct {
	r     *rig
	s     *shelf
	sets  bool
	most  int
	fates []int // of the writes, in turn
	model map[string]map[string]int64
}

// Any history of submits, windows, failures and lost answers, drained in the end, leaves in
// the Backend what a map has: the best of all that was accepted, or the newest; no window
// tries a key twice or more keys than its cap; and what a SubmitDurable was answered is there.
func TestBackendHistoriesEqualTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := keyHistory{
			sets:  rapid.Bool().Draw(rt, "sets"),
			most:  rapid.IntRange(1, 8).Draw(rt, "writes a window"),
			fates: rapid.SliceOfN(rapid.IntRange(0, 5), 1, 40).Draw(rt, "fates"),
			model: map[string]map[string]int64{"A": {}, "B": {}, "C": {}},
		}
		steps := rapid.SliceOfN(rapid.Custom(drawKeyStep), 1, 50).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(t *testing.T) { err = h.play(t, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func (h *keyHistory) play(t *testing.T, steps []keyStep) error {
	t.Helper()
	h.s = newShelf()
	h.s.onPut = h.fate
	var b board.Backend = submitShelf{h.s}
	if h.sets {
		b = setShelf{h.s}
	}
	h.r = shelved(t, b, board.Options{
		WritesPerFlush: h.most, MaxWriteAttempts: -1, FlushEvery: time.Hour,
		Boards: boards{"A": {}, "B": {Order: store.Ascending}, "C": {Rule: store.Last}},
	})
	for i, s := range steps {
		if err := h.run(t.Context(), s); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, s, err)
		}
	}
	h.s.onPut = nil
	if got, err := h.r.Close(t.Context()); err != nil || !got.Complete {
		return fmt.Errorf("close: %+v, %w", got, err)
	}
	for name, keys := range h.model {
		for key, score := range keys {
			if got, ok := h.s.get(name, key); !ok || got != score {
				return fmt.Errorf("%s/%s: stored %d, %v, want %d", name, key, got, ok, score)
			}
		}
	}
	return nil
}

// fate of a write: a third of them fail, not applied, in doubt, or applied.
func (h *keyHistory) fate(_ context.Context, w put) error {
	f := h.fates[0]
	h.fates = append(h.fates[1:], f)
	switch {
	case f == 0:
		return errShut
	case f == 1 && !h.sets:
		h.s.store(w)
		return errBackend
	case f == 1:
		return errBackend
	}
	return nil
}

func (h *keyHistory) run(ctx context.Context, s keyStep) error {
	switch s.kind {
	case "submit":
		h.count(s)
		return h.r.Submit(s.board, s.key, s.score)
	case "durable":
		return h.durable(ctx, s)
	default:
		h.s.puts()
		_ = h.r.FlushNow(ctx) // may fail
		return checkWindow(h.s.puts(), h.most)
	}
}

// count is what the model makes of a submit.
func (h *keyHistory) count(s keyStep) {
	old, ok := h.model[s.board][s.key]
	if !ok || s.board == "C" || s.board == "A" && s.score > old || s.board == "B" && s.score < old {
		h.model[s.board][s.key] = s.score
	}
}

func (h *keyHistory) durable(ctx context.Context, s keyStep) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Hour)
	defer cancel()
	h.count(s)
	err := h.r.SubmitDurable(ctx, s.board, sub(s.key, s.score))
	synctest.Wait() // for the rest of the window
	var open *board.OpenError
	if err != nil {
		if !errors.As(err, &open) {
			return err
		}
		return nil
	}
	if got, _ := h.s.get(s.board, s.key); got != h.model[s.board][s.key] {
		return fmt.Errorf("acknowledged, stored %d, want %d", got, h.model[s.board][s.key])
	}
	return nil
}

func checkWindow(puts []put, most int) error {
	if len(puts) > most {
		return fmt.Errorf("a window of %d writes, at most %d", len(puts), most)
	}
	seen := map[string]bool{}
	for _, w := range puts {
		key := w.Board + "/" + w.Key
		if seen[key] {
			return fmt.Errorf("%s was tried twice in %v", key, puts)
		}
		seen[key] = true
	}
	return nil
}
