package node_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// stuck boards do not answer a Merge.
type stuck struct{ store.Boards }

func (stuck) Merge(ctx context.Context, _ string, _ store.Batch) ([]store.Change, error) {
	<-ctx.Done()
	return nil, store.ErrUnknown
}

// A call goes in the line that its terms name, whatever view it is made on.
func TestTermsNameTheClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, kills := meteredBoards(t, 60, 60)
		ctx, end := n.On(t.Context(), node.Terms{Class: node.ClassBackground})
		defer end()
		if _, err := kills.Seal(ctx, "Kills"); err != nil {
			t.Fatal(err)
		}
		if _, err := kills.Info(node.WithoutTerms(ctx), "Kills"); err != nil {
			t.Fatal(err)
		}
		g := n.Gate()
		if g[node.ClassBackground].Passed != 1 || g[node.ClassBoard].Passed != 1 {
			t.Errorf("background %+v, boards %+v", g[node.ClassBackground], g[node.ClassBoard])
		}
	})
}

// What a call waits for the budget is bounded by Wait, and not taken from the time of the
// request; a call in parts has Call for each.
func TestTermsBoundTheWaitAndTheRequestApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, kills := meteredBoards(t, 60, 60)
		terms := func(wait time.Duration) context.Context {
			ctx, end := n.On(t.Context(), node.Terms{Wait: wait, Call: time.Second})
			t.Cleanup(end)
			return ctx
		}
		began := time.Now()
		if _, err := kills.Merge(terms(2*time.Minute), "Kills", bests(110)); err != nil {
			t.Fatalf("in parts, after %v: %v", time.Since(began), err)
		}
		if d := time.Since(began); d < time.Minute {
			t.Errorf("110 entries took %v of a budget of 60 a minute", d)
		}
		began = time.Now()
		_, err := kills.Merge(terms(10*time.Second), "Kills", bests(50))
		if d := time.Since(began); !errors.Is(err, node.ErrBudget) || store.OutcomeOf(err) != store.NotDone || d != 10*time.Second {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

// A request that hangs is cut after Call, with limits and without.
func TestTermsBoundARequestThatHangs(t *testing.T) {
	for name, limits := range map[string]node.Limits{
		"limits": {Node: node.Rates{OrderedRead: node.Rate{Base: 60}, OrderedWrite: node.Rate{Base: 60}}},
		"none":   {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := memstore.New(nil)
				st, err := store.New(store.Parts{Durable: e.Records(), Boards: stuck{e.Boards()}, Bus: e.Bus()})
				if err != nil {
					t.Fatal(err)
				}
				n, err := node.Start(t.Context(), st, &node.Options{Logger: slog.New(slog.DiscardHandler), Limits: limits})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _, _ = n.Close(context.WithoutCancel(t.Context())) }()
				ctx, end := n.On(t.Context(), node.Terms{Call: 15 * time.Second})
				defer end()
				began := time.Now()
				if _, err := n.For(node.ClassBoard).Boards().Merge(ctx, "Kills", bests(1)); store.OutcomeOf(err) != store.Unknown {
					t.Errorf("%v", err)
				}
				if d := time.Since(began); d != 15*time.Second {
					t.Errorf("cut after %v", d)
				}
			})
		})
	}
}

// Terms of a context bind no call that is made without limits, and zero terms are none.
func TestZeroTermsAreTheCallsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, kills := meteredBoards(t, 60, 60)
		ctx, end := n.On(t.Context(), node.Terms{})
		defer end()
		if node.WithoutTerms(t.Context()) != t.Context() {
			t.Error("a context without terms was changed")
		}
		if _, err := kills.Merge(ctx, "Kills", bests(3)); err != nil {
			t.Fatal(err)
		}
		if g := n.Gate(); g[node.ClassBoard].Passed != 1 {
			t.Errorf("%+v", g)
		}
	})
}
