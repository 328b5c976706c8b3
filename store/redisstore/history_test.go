package redisstore_test

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
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// asked is a write of a history, or a read when it has no Op; told is what was answered.
type (
	asked struct{ write store.Write }
	told  struct {
		err  error
		seen store.Version
	}
)

// register is one key, whose state is its version. What is not known may be either, and may
// still come.
func register() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{store.Version(0)} },
		Step: func(state, input, output any) []any {
			now, w, a := state.(store.Version), input.(asked).write, output.(told)
			holds, next := w.If.Holds(now), w.Version
			switch {
			case w.Op == 0 && a.seen == now:
				return []any{now}
			case w.Op != 0 && a.err == nil && holds:
				return []any{next}
			case errors.Is(a.err, store.ErrConflict) && !holds:
				return []any{now}
			case errors.Is(a.err, store.ErrUnknown) && holds:
				return []any{now, next}
			case errors.Is(a.err, store.ErrUnknown):
				return []any{now}
			}
			return nil
		},
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%+v -> %+v", input.(asked).write, output.(told))
		},
	}
	return model.ToModel()
}

// record is the history of one key.
type record struct {
	key  string
	time atomic.Int64
	next atomic.Uint64
	mu   struct {
		sync.Mutex
		operations []porcupine.Operation
		known      []store.Version
		unknown    int
	}
}

// operate does one random operation and writes down what came of it. What is not done is as
// if it had never been asked.
func (h *record) operate(ctx context.Context, r store.Records, rng *rand.Rand, client int) error {
	w := h.choose(rng)
	called := h.time.Add(1)
	var a told
	if w.Op == 0 {
		found, err := r.Get(ctx, h.key)
		if a.err = err; err == nil {
			a.seen = found[0].Version
		}
	} else {
		a.err = commit(ctx, r, store.Tx{w})
	}
	returned := h.time.Add(1)
	switch {
	case errors.Is(a.err, store.ErrUnavailable):
		return nil
	case errors.Is(a.err, store.ErrUnknown) && w.Op != 0:
		returned = math.MaxInt64
	case a.err != nil && !errors.Is(a.err, store.ErrConflict):
		return a.err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.operations = append(h.mu.operations, porcupine.Operation{ClientId: client, Input: asked{w}, Call: called, Output: a, Return: returned})
	if returned == math.MaxInt64 {
		h.mu.unknown++
	}
	for _, v := range []store.Version{w.Version, a.seen} {
		if v != 0 {
			h.mu.known = append(h.mu.known, v)
		}
	}
	return nil
}

func (h *record) choose(rng *rand.Rand) store.Write {
	h.mu.Lock()
	last := store.Version(0)
	if n := len(h.mu.known); n > 0 {
		last = h.mu.known[max(0, n-1-rng.IntN(3))]
	}
	h.mu.Unlock()
	condition := []store.Condition{store.Any(), store.Is(last), store.Is(last), store.Absent()}[rng.IntN(4)]
	switch rng.IntN(6) {
	case 0, 1:
		return store.Write{}
	case 2:
		return store.Write{Key: h.key, Op: store.Delete, If: condition}
	}
	return store.Write{Key: h.key, Op: store.Put, Value: []byte("v"), If: condition, Version: store.Version(h.next.Add(1))}
}

// Callers on three engines write one key at a time while connections break, answers are lost,
// scripts are forgotten, and the server is killed and comes back with all that it has
// acknowledged. One order explains every answer: nothing is done twice, nothing that is called
// not done is there, and nothing that is called done is missing.
func TestHistoriesUnderFaults(t *testing.T) {
	server := enginetest.OwnRedis(t, &engines.RedisOptions{AppendOnly: true})
	proxies := []*engines.Proxy{enginetest.Proxy(t, server.Addr()), enginetest.Proxy(t, server.Addr())}
	o := &redisstore.Options{Connections: 1, AnswerTimeout: time.Second, DialTimeout: time.Second}
	handles := []store.Records{
		open(t, server.URL("p"), o).Fast(), open(t, server.URLAt(proxies[0].Addr(), "p"), o).Fast(), open(t, server.URLAt(proxies[1].Addr(), "p"), o).Fast(),
	}
	troubles := []func() error{
		func() error { proxies[0].Reset(); return nil },
		func() error { proxies[1].Reset(); return nil },
		func() error { <-proxies[0].DropAnswers(); proxies[0].Heal(); return nil },
		func() error { <-proxies[1].DropAnswers(); proxies[1].Reset(); proxies[1].Heal(); return nil },
		func() error { _, err := server.Do(t.Context(), "SCRIPT", "FLUSH"); return err },
		func() error { return errors.Join(server.Kill(), server.Start(t.Context())) },
	}
	unknown := 0
	for round := range 12 {
		h := &record{key: []string{journal, beat, note}[round%3] + fmt.Sprint(round)}
		unknown += h.play(t, handles, troubles[round%len(troubles)])
	}
	if unknown == 0 {
		t.Error("every outcome was known: the faults have hit nothing")
	}
}

// play lets callers operate until a trouble has happened among them.
func (h *record) play(t *testing.T, handles []store.Records, trouble func() error) (unknown int) {
	t.Helper()
	const callers, each = 6, 12
	ctx := t.Context()
	var (
		wg   sync.WaitGroup
		over atomic.Bool
		errs = make([]error, callers+1)
	)
	for c := range callers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), uint64(len(h.key))))
			at := c % len(handles)
			for n := 0; n < each || at > 0 && !over.Load(); n++ { // a fault of a proxy waits to be met
				if errs[c] = h.operate(ctx, handles[at], rng, c); errs[c] != nil {
					return
				}
			}
		})
	}
	wg.Go(func() {
		errs[callers] = trouble()
		over.Store(true)
	})
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	result, _ := porcupine.CheckOperationsVerbose(register(), h.mu.operations, storetest.Patience)
	if result != porcupine.Ok {
		for _, op := range h.mu.operations {
			t.Logf("%d [%d, %d] %s", op.ClientId, op.Call, op.Return, register().DescribeOperation(op.Input, op.Output))
		}
		t.Fatalf("%s: no order explains the answers (%s)", h.key, result)
	}
	return h.mu.unknown
}
