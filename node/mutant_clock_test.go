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

// A node that has no mark cannot tell whether the store's clock has moved since the others
// have beaten: its own beat, sent after the step, is honest. So it judges nobody.
func TestWithoutAMarkNobodyIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, _ := f.start(&node.Options{Name: "a"})
		time.Sleep(500 * time.Millisecond)
		parts := f.engine.Parts()
		parts.Durable = markless{parts.Durable}
		st, err := store.New(parts)
		if err != nil {
			t.Fatal(err)
		}
		b, err := node.Start(t.Context(), st, &node.Options{Name: "b", Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = b.Close(context.Background()) }()
		time.Sleep(5*time.Second - 300*time.Millisecond)
		f.engine.StepClock(memstore.Durable|memstore.Fast, time.Minute) // after a's beat, before b's
		time.Sleep(400 * time.Millisecond)                              // after b's, before a's next
		if v, e := judgeBy(t, b, a.ID(), 0); v != node.Undecided {
			t.Errorf("%v %q", v, e)
		}
	})
}

// After a step of the store's clock every living node has DeadAfter to beat again, as it has
// at any other time.
func TestClockStepAndALateBeatKillNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, tamper := f.start(&node.Options{Name: "a"})
		time.Sleep(500 * time.Millisecond)
		b, _ := f.start(&node.Options{Name: "b"})
		time.Sleep(9*time.Second + 600*time.Millisecond) // 100 ms after a's beat
		f.engine.StepClock(memstore.Durable|memstore.Fast, time.Minute)
		tamper.set(func(store.Tx) (bool, error) { return false, store.ErrUnavailable })
		for range 34 { // until 3.5 s after a's beat
			if v, e := judgeBy(t, b, a.ID(), 0); v == node.Dead {
				t.Fatalf("dead by %s", e)
			}
			time.Sleep(100 * time.Millisecond)
		}
		tamper.set(func(store.Tx) (bool, error) { return true, nil })
		time.Sleep(5 * time.Second)
		if v, e := judgeBy(t, b, a.ID(), 0); v != node.Alive {
			t.Errorf("long after the step: %v %q", v, e)
		}
	})
}
