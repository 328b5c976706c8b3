package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/shoalworks/shoal/store"
)

// Troubled is a store whose engine gets into trouble while it is used: it is killed, its
// connections break, its answers are lost.
type Troubled struct {
	// Handles are open on the one store. Callers share them.
	Handles []store.Records

	// Troubles are what happens, each between some operations, one after the other. Each
	// returns when it is over, and the store can be used again. What waits to be met by a
	// call will be: callers go on meanwhile.
	Troubles []func() error

	// Rounds is how often all of them happen, 1 at least.
	Rounds int

	// Key is the n-th key that is used. Default: "key/<n>".
	Key func(n int) string

	// GiveUp has each caller give up after a random time below. Default 0: they wait.
	GiveUp time.Duration
}

const (
	// troubledCallers operate at the same time.
	troubledCallers = 6
	// operationsOfKey is how many operations a key sees, since what explains many takes long to find.
	operationsOfKey = 60
	// operationsBetween is how many operations are asked for between two troubles.
	operationsBetween = 150
)

// Troubles lets callers put, delete, check and read single keys at random (where the store takes
// several keys, some with another one beside) while the store gets into trouble, and fails unless
// one order explains all answers about each key: nothing that was acknowledged is lost, nothing
// that was refused comes, and nothing is done twice. It also fails when there was no trouble to
// speak of: every outcome must have been seen.
func Troubles(t *testing.T, s Troubled) {
	t.Helper()
	c := &chronicle{key: s.Key}
	if c.key == nil {
		c.key = func(n int) string { return fmt.Sprintf("key/%d", n) }
	}
	var over atomic.Bool
	var all sync.WaitGroup
	for caller := range troubledCallers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(11, uint64(caller)))
			for !over.Load() && !t.Failed() {
				if err := c.one(t.Context(), s, rng, caller); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range max(1, s.Rounds) {
		for _, trouble := range s.Troubles {
			c.await(t, operationsBetween)
			if err := trouble(); err != nil {
				t.Error(err)
			}
		}
	}
	over.Store(true)
	all.Wait()
	c.check(t)
}

// chronicle is histories of one key each, one after the other.
type chronicle struct {
	key   func(n int) string
	mint  mint
	asked atomic.Int64
	mu    struct {
		sync.Mutex
		histories []*history
	}
}

// current is the history of the key that is in use.
func (c *chronicle) current() *history {
	n := int(c.asked.Add(1)-1) / operationsOfKey
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.mu.histories) <= n {
		c.mu.histories = append(c.mu.histories, &history{key: c.key(len(c.mu.histories)), mint: &c.mint})
	}
	return c.mu.histories[n]
}

// one does one operation.
func (c *chronicle) one(ctx context.Context, s Troubled, rng *rand.Rand, caller int) error {
	if s.GiveUp > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, time.Duration(1+rng.Int64N(int64(s.GiveUp))))
		defer done()
	}
	return c.current().one(ctx, s.Handles[caller%len(s.Handles)], rng, caller)
}

// await waits for so many more operations, or a failure.
func (c *chronicle) await(t *testing.T, more int64) {
	t.Helper()
	reach := c.asked.Load() + more
	for begun := time.Now(); c.asked.Load() < reach && !t.Failed(); runtime.Gosched() {
		if time.Since(begun) > Patience {
			t.Errorf("%d operations are not asked within %v", more, Patience)
		}
	}
}

// check looks at each history, and that all outcomes were seen.
func (c *chronicle) check(t *testing.T) {
	t.Helper()
	seen := make(map[store.Outcome]int)
	for _, h := range c.mu.histories {
		h.check(t)
		for _, op := range h.operations {
			seen[op.Output.(answer).outcome]++
		}
	}
	t.Logf("%d asked, by outcome %v", c.asked.Load(), seen)
	if seen[store.Done] == 0 || seen[store.NotDone] == 0 || seen[store.Unknown] == 0 {
		t.Errorf("the histories prove little: by outcome %v", seen)
	}
}

// check fails the test unless one order explains every answer.
func (h *history) check(t *testing.T) {
	t.Helper()
	model := register()
	result, info := porcupine.CheckOperationsVerbose(model, h.operations, Patience)
	if result == porcupine.Ok {
		return
	}
	path := t.ArtifactDir() + "/history.html"
	if err := porcupine.VisualizePath(model, info, path); err != nil {
		path = err.Error()
	}
	t.Errorf("%s: no order explains the answers (%s; -artifacts keeps %s):\n%s", h.key, result, path, h)
}
