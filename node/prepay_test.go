package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

func bests(n int) store.Batch { return store.Batch{Rule: store.Best, Entries: entries(n)} }

// What is prepaid was waited for, is spent by the calls of its context, and what is left of it
// is given back.
func TestPrepaidIsSpentOrGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, kills := meteredBoards(t, 60, 60)
		all := room(n)
		p, err := n.Prepay(t.Context(), node.ClassBoard, all)
		if err != nil || room(n) != 0 {
			t.Fatalf("room %d, %v", room(n), err)
		}
		began := time.Now()
		if _, err := kills.Merge(p.With(t.Context()), "Kills", bests(20)); err != nil || time.Since(began) != 0 {
			t.Fatalf("a prepaid write took %v: %v", time.Since(began), err)
		}
		if p.Left() != all-20 {
			t.Errorf("left %d of %d", p.Left(), all)
		}
		p.Refund()
		p.Refund()
		if room(n) != all-20 || p.Left() != 0 {
			t.Errorf("room %d, left %d; %d given back", room(n), p.Left(), all-20)
		}
		if _, err := kills.Merge(p.With(t.Context()), "Kills", bests(all)); err != nil || time.Since(began) < 20*time.Second {
			t.Errorf("a write beyond what was prepaid took %v: %v", time.Since(began), err)
		}
		// Another class does not spend it.
		q, err := n.Prepay(t.Context(), node.ClassBoard, 5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.For(node.ClassSave).Boards().Merge(q.With(t.Context()), "Kills", bests(1)); err != nil || q.Left() != 5 {
			t.Errorf("left %d of 5: %v", q.Left(), err)
		}
		q.Refund()
	})
}

// Who prepays waits in line, and is counted there.
func TestPrepayWaitsInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, kills := meteredBoards(t, 60, 60)
		if _, err := kills.Merge(t.Context(), "Kills", bests(50)); err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 2)
		go func() {
			_, _, _ = kills.Standing(t.Context(), "Kills", "u1", store.Ordinal)
			order <- "read"
		}()
		synctest.Wait()
		began := time.Now()
		go func() {
			p, err := n.Prepay(t.Context(), node.ClassBoard, 3)
			if err != nil || p.Left() != 3 {
				t.Errorf("prepaid %d: %v", p.Left(), err)
			}
			order <- fmt.Sprint("prepaid after ", time.Since(began).Round(time.Second))
		}()
		synctest.Wait()
		if w := n.FairShare(node.ClassBoard); w != 2 {
			t.Errorf("a share of %d beside two others", w)
		}
		if w := n.FairShare(node.ClassSave); w != 0 {
			t.Errorf("a share of %d, and nobody waits before saves", w)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := n.Prepay(ctx, node.ClassBoard, 1); !errors.Is(err, node.ErrBudget) || store.OutcomeOf(err) != store.NotDone {
			t.Errorf("a caller who goes away: %v", err)
		}
		if a, b := <-order, <-order; a != "read" || b != "prepaid after 4s" {
			t.Errorf("%s, %s", a, b)
		}
	})
}

// However many others wait, the share is what comes in within seconds, and at least one.
func TestFairShareIsBounded(t *testing.T) {
	for perMinute, want := range map[int]int{60: 8, 5: 1} {
		synctest.Test(t, func(t *testing.T) {
			n, _, kills := meteredBoards(t, perMinute, perMinute)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 200 {
				go func() { _, _, _ = kills.Standing(ctx, "Kills", "u1", store.Ordinal) }()
			}
			synctest.Wait()
			if w := n.FairShare(node.ClassBoard); w != want {
				t.Errorf("with %d a minute a share of %d, want %d", perMinute, w, want)
			}
		})
	}
}

// Without limits nothing is to be paid.
func TestPrepayWithoutLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, kills := meteredBoards(t, 0, 0)
		p, err := n.Prepay(t.Context(), node.ClassBoard, 5)
		if p != nil || err != nil || n.FairShare(node.ClassBoard) != 0 {
			t.Fatalf("%v, %v", p, err)
		}
		if _, err := kills.Merge(p.With(t.Context()), "Kills", bests(5)); err != nil || p.Left() != 0 {
			t.Error(err)
		}
		p.Refund()
	})
}
