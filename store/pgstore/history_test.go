package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// answer is the output of an operation: how a write ended, or what a Get saw.
type answer struct {
	outcome  store.Outcome // 0 for a Get
	conflict bool
	version  store.Version
}

// register is the contract of one key. Its state is the version; a write whose outcome is
// unknown may have been applied or not.
func register() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{store.Version(0)} },
		Step: func(state, input, output any) []any {
			return step(state.(store.Version), input.(store.Write), output.(answer))
		},
		DescribeOperation: func(input, output any) string {
			w, a := input.(store.Write), output.(answer)
			return fmt.Sprintf("%d %v to %d: %+v", w.Op, w.If, w.Version, a)
		},
	}
	return model.ToModel()
}

func step(state store.Version, w store.Write, a answer) []any {
	holds := w.If.Holds(state)
	switch {
	case w.Op == 0 && a.version == state, a.conflict && !holds, a.outcome == store.Unknown && !holds:
		return []any{state}
	case a.outcome == store.Unknown:
		return []any{state, w.Version}
	case a.outcome == store.Done && holds:
		return []any{w.Version}
	}
	return nil
}

// history is the operations on one key, in the order of a counter.
type history struct {
	key string
	now *atomic.Int64
	mu  struct {
		sync.Mutex
		operations []porcupine.Operation
		known      []store.Version
	}
}

// one does one random operation and notes it.
func (h *history) one(ctx context.Context, r store.Records, rng *rand.Rand, client int) error {
	w := h.random(rng)
	called := h.now.Add(1)
	if w.Op == 0 {
		found, err := r.Get(ctx, h.key)
		switch {
		case err == nil:
			h.note(client, called, h.now.Add(1), w, answer{version: found[0].Version})
		case !errors.Is(err, store.ErrUnavailable):
			return err
		}
		return nil
	}
	tx := store.Tx{w}
	if rng.IntN(4) == 0 { // as a transaction of several keys
		beside := store.Write{Key: h.key + "/beside", Op: store.Put, Value: []byte("x"), Version: w.Version + 1}
		tx = append(tx, beside)
	}
	err := r.Commit(ctx, tx)[0]
	a := answer{outcome: store.OutcomeOf(err), conflict: errors.Is(err, store.ErrConflict)}
	switch {
	case a.outcome == store.Unknown:
		h.note(client, called, math.MaxInt64, w, a) // it may still come
	case a.outcome == store.Done || a.conflict:
		h.note(client, called, h.now.Add(1), w, a)
	case !errors.Is(err, store.ErrUnavailable):
		return err
	}
	return nil
}

func (h *history) note(client int, called, returned int64, w store.Write, a answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.operations = append(h.mu.operations, porcupine.Operation{ClientId: client, Input: w, Call: called, Output: a, Return: returned})
	for _, v := range []store.Version{w.Version, a.version} {
		if v != 0 {
			h.mu.known = append(h.mu.known, v)
		}
	}
}

// random is a random write of the key, or a Get.
func (h *history) random(rng *rand.Rand) store.Write {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := store.Version(7)
	if n := len(h.mu.known); n > 0 {
		known = h.mu.known[max(0, n-1-rng.IntN(3))]
	}
	condition := []store.Condition{store.Any(), store.Absent(), store.Is(known), store.Is(known), store.Is(known)}[rng.IntN(5)]
	switch rng.IntN(6) {
	case 0, 1:
		return store.Write{}
	case 2:
		return store.Write{Key: h.key, Op: store.Delete, If: condition}
	}
	return store.Write{Key: h.key, Op: store.Put, Value: []byte("value"), If: condition, Version: store.VersionFrom(rng.Uint64())}
}

// check fails unless one order explains every answer.
func (h *history) check(t *testing.T) {
	t.Helper()
	if result := porcupine.CheckOperationsTimeout(register(), h.mu.operations, storetest.Patience); result != porcupine.Ok {
		text := ""
		for _, op := range h.mu.operations {
			text += fmt.Sprintf("%d [%d, %d] %s\n", op.ClientId, op.Call, op.Return, register().DescribeOperation(op.Input, op.Output))
		}
		t.Errorf("%s: no order explains the answers (%s):\n%s", h.key, result, text)
	}
}

// mishaps are what befalls a server while it is used.
func mishaps(ctx context.Context, pg *engines.Postgres) []func() error {
	again := func(f func() error) func() error {
		return func() error { return errors.Join(f(), pg.Start(ctx)) }
	}
	return []func() error{
		again(pg.Kill),
		again(pg.Stop),
		func() error { return errors.Join(pg.Pause(), pg.Continue()) },
		func() error {
			return pg.Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
		},
	}
}

// chronicle is histories of one key each, one after the other.
type chronicle struct {
	now, asked atomic.Int64
	mu         struct {
		sync.Mutex
		histories []*history
	}
}

// perHistory is how many operations a key sees.
const perHistory = 60

// current is the history of the key that is in use.
func (c *chronicle) current() *history {
	n := int(c.asked.Add(1)-1) / perHistory
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.mu.histories) <= n {
		c.mu.histories = append(c.mu.histories, &history{key: fmt.Sprintf("key/%d", len(c.mu.histories)), now: &c.now})
	}
	return c.mu.histories[n]
}

// While the server is killed, restarted, held, and its sessions are ended, the answers about
// each key are those of some order: nothing that was acknowledged is lost, nothing that was
// refused comes.
// case S14.
func TestHistoriesUnderMishaps(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	underMishaps(t, pg.URL("shoal"), mishaps(t.Context(), pg))
}

// The same through a pooler, which is killed, too.
func TestHistoriesUnderMishapsThroughPooler(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	pooler := enginetest.PgBouncer(t, pg)
	underMishaps(t, pooler.URL("shoal"), []func() error{
		func() error { return errors.Join(pg.Kill(), pg.Start(t.Context())) },
		func() error { return errors.Join(pooler.Kill(), pooler.Start(t.Context())) },
	})
}

// underMishaps lets six callers work through three engines, and what befalls befall twice.
func underMishaps(t *testing.T, url string, mishaps []func() error) {
	t.Helper()
	const callers, rounds = 6, 2
	var handles []store.Records
	for range 3 {
		handles = append(handles, open(t, url, nil).Durable())
	}
	var over atomic.Bool
	var all sync.WaitGroup
	c := &chronicle{}
	for caller := range callers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(11, uint64(caller)))
			for !over.Load() {
				bounded, done := context.WithTimeout(t.Context(), time.Duration(1+rng.IntN(400))*time.Millisecond)
				err := c.current().one(bounded, handles[caller%len(handles)], rng, caller)
				done()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range rounds {
		for _, mishap := range mishaps {
			reach := c.asked.Load() + 150
			until(t, "operations between mishaps", func() bool { return c.asked.Load() >= reach })
			if err := mishap(); err != nil {
				t.Error(err)
			}
		}
	}
	over.Store(true)
	all.Wait()
	c.check(t)
}

// check looks at each history, and that all outcomes were seen.
func (c *chronicle) check(t *testing.T) {
	t.Helper()
	seen := make(map[store.Outcome]int)
	for _, h := range c.mu.histories {
		h.check(t)
		for _, op := range h.mu.operations {
			seen[op.Output.(answer).outcome]++
		}
	}
	t.Logf("%d asked, by outcome %v", c.asked.Load(), seen)
	if seen[store.Done] == 0 || seen[store.NotDone] == 0 || seen[store.Unknown] == 0 {
		t.Errorf("the histories prove little: by outcome %v", seen)
	}
}
