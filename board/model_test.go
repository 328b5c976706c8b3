package board_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// step is one thing that happens in a history.
type step struct {
	kind  string
	board string
	key   string
	score int64
	wait  time.Duration
	fate  string
}

var (
	modelBoards = boards{
		"Best":  {},
		"Time":  {Order: store.Ascending},
		"Level": {Rule: store.Last},
		"Coins": {Rule: store.Sum},
	}
	fates = map[string]fault{"pass": {}, "not done": notDone, "lost": lost, "vanish": vanish, "late": late, "malformed": {err: store.ErrInvalid}}
)

func drawStep(t *rapid.T) step {
	s := step{kind: rapid.SampledFrom([]string{"submit", "submit", "submit", "submit", "fault", "fault", "wait", "flush", "land", "remove"}).Draw(t, "kind")}
	switch s.kind {
	case "submit":
		s.score = rapid.Int64Range(-9, 9).Draw(t, "score")
		fallthrough
	case "remove":
		s.board = rapid.SampledFrom(slices.Sorted(maps.Keys(modelBoards))).Draw(t, "board")
		s.key = rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key")
		s.fate = rapid.SampledFrom([]string{"pass", "not done", "lost", "vanish"}).Draw(t, "fate")
	case "wait":
		s.wait = time.Duration(rapid.IntRange(1, 40).Draw(t, "tenths")) * 100 * time.Millisecond
	case "fault":
		s.fate = rapid.SampledFrom(slices.Sorted(maps.Keys(fates))).Draw(t, "fate")
	}
	return s
}

// history runs steps against a service and a model.
type history struct {
	r     *rig
	model map[string]map[string]int64
	mu    struct {
		sync.Mutex
		faults map[string][]fault // met by the next calls, by operation
	}
}

// plan has the next calls of an operation meet faults; none means that all pass.
func (h *history) plan(op string, faults ...fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if faults == nil {
		h.mu.faults[op] = nil
	}
	h.mu.faults[op] = append(h.mu.faults[op], faults...)
}

// Any history of submits, failures of every kind, windows and removals leaves in the store
// what the model has: nothing acknowledged is lost, sums count once.
func TestHistoriesEqualTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 60).Draw(rt, "steps")
		writes := rapid.SampledFrom([]int{1, 3, 1000}).Draw(rt, "writes a window")
		var err error
		synctest.Test(t, func(t *testing.T) { err = runHistory(t, writes, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func runHistory(t *testing.T, writes int, steps []step) error {
	t.Helper()
	h := &history{
		r:     start(t, &board.Options{WritesPerFlush: writes, MaxWriteAttempts: -1, Boards: modelBoards}),
		model: map[string]map[string]int64{"Best": {}, "Time": {}, "Level": {}, "Coins": {}},
	}
	h.mu.faults = make(map[string][]fault)
	h.r.store.setRule(h.fate)
	for i, s := range steps {
		if err := h.run(s); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, s, err)
		}
	}
	h.plan("merge")
	h.r.store.land()
	got, err := h.r.Close(t.Context())
	if err != nil || !got.Complete {
		return fmt.Errorf("Close: %+v, %w", got, err)
	}
	return errors.Join(h.check(), h.checkNumbers())
}

func (h *history) fate(c call) (f fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if queue := h.mu.faults[c.Op]; len(queue) > 0 {
		f, h.mu.faults[c.Op] = queue[0], queue[1:]
	}
	return f
}

func (h *history) run(s step) error {
	switch s.kind {
	case "submit":
		if err := h.r.Submit(s.board, s.key, s.score); err != nil {
			return err
		}
		h.count(s)
	case "fault":
		h.plan("merge", fates[s.fate])
	case "wait":
		later(s.wait)
	case "flush":
		_ = h.r.FlushNow(h.r.t.Context())
	case "land":
		h.r.store.land()
	case "remove":
		return h.remove(s)
	}
	return nil
}

func (h *history) count(s step) {
	m := h.model[s.board]
	have, ok := m[s.key]
	switch s.board {
	case "Best":
		if !ok || s.score > have {
			m[s.key] = s.score
		}
	case "Time":
		if !ok || s.score < have {
			m[s.key] = s.score
		}
	case "Level":
		m[s.key] = s.score
	case "Coins":
		m[s.key] += s.score
	}
}

// remove tries until the removal is done. A late write would bring an entry back, as is
// documented: it lands before.
func (h *history) remove(s step) error {
	h.r.store.land()
	h.plan("remove", fates[s.fate])
	for range 20 {
		if _, err := h.r.Remove(h.r.t.Context(), s.board, s.key); err == nil {
			break
		}
		h.r.store.land()
	}
	if got, err := h.r.Scores(h.r.t.Context(), s.board, s.key); err != nil || len(got) > 0 {
		return fmt.Errorf("after the removal: %v, %w", got, err)
	}
	delete(h.model[s.board], s.key)
	return nil
}

func (h *history) check() error {
	for name := range modelBoards {
		p, err := h.r.store.Boards.Page(h.r.t.Context(), name, 0, 100, store.Ordinal)
		if err != nil && !errors.Is(err, store.ErrNoBoard) {
			return err
		}
		got := map[string]int64{}
		for _, e := range p.Entries {
			got[e.Key] = e.Score
		}
		if !maps.Equal(got, h.model[name]) {
			return fmt.Errorf("%s: stored %v, want %v", name, got, h.model[name])
		}
	}
	return nil
}

// checkNumbers sees that a batch of sums is repeated verbatim, and that no number comes after
// a larger one.
func (h *history) checkNumbers() error {
	var last store.Batch
	for _, c := range h.r.store.did("merge") {
		switch b := c.Batch; {
		case b.Rule != store.Sum:
			continue
		case b.N < last.N:
			return fmt.Errorf("sum %d was sent after %d", b.N, last.N)
		case b.N == last.N && fmt.Sprint(b) != fmt.Sprint(last):
			return fmt.Errorf("sum %d was repeated as another: %v, then %v", b.N, last, b)
		default:
			last = b
		}
	}
	return nil
}
