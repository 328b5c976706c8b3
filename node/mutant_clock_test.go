package node_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// This file holds tests that a mutant was found to need: nothing else saw it.

// markless takes no marks.
type markless struct{ store.Records }

func (m markless) Commit(ctx context.Context, txs ...store.Tx) []error {
	if strings.HasPrefix(txs[0][0].Key, "mark/") {
		return []error{store.ErrUnavailable}
	}
	return m.Records.Commit(ctx, txs...)
}

// lagging answers beats long after they were applied.
type lagging struct{ store.Records }

func (r lagging) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := r.Records.Commit(ctx, txs...)
	if strings.HasPrefix(txs[0][0].Key, "node/") {
		time.Sleep(800 * time.Millisecond)
	}
	return errs
}

// startOn starts a node on a store whose records are wrapped.
func startOn(t *testing.T, f *fleet, name string, wrap func(store.Records) store.Records) *node.Node {
	t.Helper()
	parts := f.engine.Parts()
	parts.Durable = wrap(parts.Durable)
	st, err := store.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.Start(t.Context(), st, &node.Options{Name: name, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = n.Close(context.Background()) })
	return n
}

// A node that has no mark cannot tell whether the store's clock has moved since the others
// have beaten: its own beat, sent after the step, is honest. So it judges nobody.
func TestWithoutAMarkNobodyIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		time.Sleep(500 * time.Millisecond)
		b := startOn(t, f, "b", func(r store.Records) store.Records { return markless{r} })
		time.Sleep(5*time.Second - 300*time.Millisecond)
		f.engine.StepClock(memstore.Durable|memstore.Fast, time.Minute) // after a's beat, before b's
		time.Sleep(400 * time.Millisecond)                              // after b's, before a's next
		look, err := b.Look(t.Context(), a.ID())
		if err != nil || look.MayJudge {
			t.Errorf("it may judge by %+v, %v", look, err)
		}
	})
}

// After a step of the store's clock every living node has DeadAfter to beat again, as it has
// at any other time; whether the looker's own beat shows the step or, after the next one, only
// a mark.
func TestClockStepAndALateBeatKillNobody(t *testing.T) {
	for name, first := range map[string]int{"shown by the own beat": 0, "shown by a mark": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				a, tamper := f.start(&node.Options{Name: "a"})
				time.Sleep(500 * time.Millisecond)
				b, _ := f.start(&node.Options{Name: "b"})
				time.Sleep(9*time.Second + 600*time.Millisecond) // 100 ms after a's beat
				f.engine.StepClock(memstore.Durable|memstore.Fast, time.Minute)
				tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
				for i := range 35 { // until 3.6 s after a's beat
					if i >= first {
						if v, e := judgeBy(t, b, a.ID(), 0); v == node.Dead {
							t.Fatalf("dead by %s", e)
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
				tamper.set(func(store.Tx) (bool, error) { return true, nil })
				time.Sleep(5 * time.Second)
				if v, e := judgeBy(t, b, a.ID(), 0); v != node.Alive {
					t.Errorf("long after the step: %v %q", v, e)
				}
			})
		})
	}
}

// The age of the own beat counts from when it was sent: the store may have stamped it long
// before it was answered, and a slow answer is no step of the clock.
func TestSlowAnswersToBeatsAreNoClockStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		b := startOn(t, f, "b", func(r store.Records) store.Records { return lagging{r} })
		time.Sleep(5500 * time.Millisecond)
		tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
		for range 80 {
			time.Sleep(100 * time.Millisecond)
			if v, e := judgeBy(t, b, a.ID(), 0); v == node.Dead && e == node.EvidenceAge {
				return
			}
		}
		t.Error("eight seconds after its last beat a node is not dead")
	})
}
