package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/shoalworks/shoal/store"
)

func historyCases() []recordsCase {
	return []recordsCase{
		{name: "of one key is linearizable", run: func(t *testing.T, h Harness[store.Records]) { histories(t, h, 0) }},
		{name: "of one key is linearizable with callers that give up", run: func(t *testing.T, h Harness[store.Records]) { histories(t, h, 3) }},
	}
}

// call is the input of an operation of a history; a Write without an Op is a Get.
type call struct{ write store.Write }

// answer is its output. The outcome is 0 for a Get.
type answer struct {
	outcome  store.Outcome
	conflict bool
	version  store.Version // what a Get saw
}

// register is the contract of a single key: its state is the version, and an unknown
// outcome may be either.
func register() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{store.Version(0)} },
		Step: func(state, input, output any) []any {
			return step(state.(store.Version), input.(call).write, output.(answer))
		},
		DescribeOperation: func(input, output any) string {
			w, a := input.(call).write, output.(answer)
			if w.Op == 0 {
				return fmt.Sprintf("get -> %v", a.version)
			}
			return fmt.Sprintf("%s%v -> %v", show(store.Tx{w}), w.Version, a.outcome)
		},
	}
	return model.ToModel()
}

func step(state store.Version, w store.Write, a answer) []any {
	if w.Op == 0 {
		if a.version == state {
			return []any{state}
		}
		return nil
	}
	next := state
	if w.Op != store.Check {
		next = w.Version // 0 for a Delete
	}
	holds := w.If.Holds(state)
	switch {
	case a.outcome == store.Done && holds:
		return []any{next}
	case a.conflict && !holds:
		return []any{state}
	case a.outcome == store.Unknown && holds && next != state:
		return []any{state, next}
	case a.outcome == store.Unknown:
		return []any{state}
	}
	return nil
}

// histories lets callers get, put, delete and check one key at random through all handles,
// and looks for one order that explains every answer. One in so many callers gives up at a
// random moment (0: none).
func histories(t *testing.T, h Harness[store.Records], impatient int) {
	const rounds, callers, each = 20, 5, 14
	handles, m := openSome(t, h, 3), &mint{}
	pace := paceOf(t, handles[0], m)
	for round := range rounds {
		run := &history{key: fmt.Sprintf("key/%d", round), mint: m}
		ctx := t.Context()
		together(t, callers, func(c int) error {
			rng := rand.New(rand.NewPCG(uint64(round), uint64(c)))
			for range each {
				bounded, cancel := ctx, context.CancelFunc(func() {})
				if impatient > 0 && rng.IntN(impatient) == 0 {
					bounded, cancel = context.WithTimeout(ctx, time.Duration(rng.Int64N(int64(2*pace)+1)))
				}
				err := run.one(bounded, handles[c%len(handles)], rng, c)
				cancel()
				if err != nil {
					return err
				}
			}
			return nil
		})
		if run.check(t); t.Failed() {
			t.FailNow()
		}
	}
}

// paceOf is about how long one commit takes here.
func paceOf(t *testing.T, r store.Records, m *mint) time.Duration {
	t.Helper()
	begun := time.Now()
	for i := range 10 {
		mustCommit(t, r, m.put(fmt.Sprintf("pace/%d", i), "value", store.Absent()))
	}
	return time.Since(begun) / 10
}

// history records who asked what and heard what, in the order of a counter.
type history struct {
	key        string
	mint       *mint
	now        atomic.Int64
	mu         sync.Mutex
	operations []porcupine.Operation
	versions   []store.Version // seen or written, to ask for
}

// one does one random operation.
func (h *history) one(ctx context.Context, r store.Records, rng *rand.Rand, client int) error {
	w := h.random(rng)
	called := h.now.Add(1)
	if w.Op == 0 {
		found, err := r.Get(ctx, h.key)
		if err == nil {
			h.add(client, called, h.now.Add(1), w, answer{version: found[0].Version})
		} else if !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return nil
	}
	tx := store.Tx{w}
	if r.Abilities().MultiKey && rng.IntN(4) == 0 {
		tx = append(tx, h.mint.put(h.key+"/beside", "value", store.Any()))
	}
	err := commit(ctx, r, tx...)
	a := answer{outcome: store.OutcomeOf(err), conflict: isConflict(err)}
	returned := h.now.Add(1)
	switch {
	case a.outcome == store.Unknown:
		returned = math.MaxInt64 // it may still come
	case a.outcome == store.NotDone && !a.conflict:
		if !errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return nil // as if never asked
	}
	h.add(client, called, returned, w, a)
	return nil
}

func (h *history) add(client int, called, returned int64, w store.Write, a answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: call{w}, Call: called, Output: a, Return: returned})
	for _, v := range []store.Version{w.Version, a.version} {
		if v != 0 {
			h.versions = append(h.versions, v)
		}
	}
}

// random is a random write of the key, or a Get.
func (h *history) random(rng *rand.Rand) store.Write {
	h.mu.Lock()
	known := store.Version(4242)
	if n := len(h.versions); n > 0 {
		known = h.versions[max(0, n-1-rng.IntN(4))]
	}
	h.mu.Unlock()
	condition := []store.Condition{store.Any(), store.Absent(), store.Is(known), store.Is(known)}[rng.IntN(4)]
	switch rng.IntN(8) {
	case 0, 1, 2:
		return store.Write{}
	case 3:
		return deleteOf(h.key, condition)
	case 4:
		return checkOf(h.key, known)
	}
	return h.mint.put(h.key, "value", condition)
}

// String is the history in the order of the calls.
func (h *history) String() string {
	describe := register().DescribeOperation
	slices.SortFunc(h.operations, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	text := ""
	for _, op := range h.operations {
		text += fmt.Sprintf("%d [%d, %d] %s\n", op.ClientId, op.Call, op.Return, describe(op.Input, op.Output))
	}
	return text
}
