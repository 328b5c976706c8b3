package board_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// A process sleeps for a minute with a write on its way: before it lands, or before its answer
// comes. Another node writes meanwhile. What was newer or better stays, sums count once, and
// what the sleeper has since is written.
func TestProcessThatSleepsInAWrite(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, c := range []struct {
			rule                   store.Rule
			sleeper, other, sleep2 int64
			want                   int64
		}{
			{store.Best, 5, 9, 7, 9},
			{store.Best, 9, 5, 10, 10},
			{store.Last, 5, 3, 4, 4},
			{store.Sum, 5, 3, 4, 12},
		} {
			t.Run(c.rule.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newScript()
					o := &board.Options{Boards: boards{"K": {Rule: c.rule}}}
					n, sleeper := startNode(t, s, o)
					m, other := startNode(t, s, o)
					slept := false
					s.setRule(func(call call) fault {
						if call.Op != "merge" || slept {
							return fault{}
						}
						slept = true
						return fault{delay: time.Minute, stubborn: true, after: after}
					})
					if err := sleeper.Submit("K", "u1", c.sleeper); err != nil {
						t.Fatal(err)
					}
					later(10 * time.Second)
					if err := other.Submit("K", "u1", c.other); err != nil {
						t.Fatal(err)
					}
					later(10 * time.Second)
					if err := sleeper.Submit("K", "u1", c.sleep2); err != nil {
						t.Fatal(err)
					}
					later(2 * time.Minute)
					want(t, "stored", score(t, s, "K", "u1"), c.want)
					_, first := n.Close(t.Context())
					_, second := m.Close(t.Context())
					if err := errors.Join(first, second); err != nil {
						t.Fatal(err)
					}
				})
			})
		}
	}
}
