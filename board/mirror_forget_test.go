package board_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// What a board has lost, a mirrored one is told again with the next save, also when the save
// brings nothing that would have been new before.
func TestAMirrorForgetsWhatTheBoardHasLost(t *testing.T) {
	for name, lose := range map[string]func(r *rig) error{
		"remove": func(r *rig) error {
			_, err := r.Remove(r.t.Context(), "Last", "ann")
			if err == nil {
				_, err = r.Remove(r.t.Context(), "Best", "ann")
			}
			return err
		},
		"drop": func(r *rig) error {
			if err := r.Drop(r.t.Context(), "Last"); err != nil {
				return err
			}
			return r.Drop(r.t.Context(), "Best")
		},
		"memory loss": func(r *rig) error {
			r.store.engine.Forget(memstore.Boards)
			r.Mirror("players", profileOf("bob", map[string]any{"kills": 1}, 1, 1)) // finds out
			r.flush()
			return nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t, &board.Options{Boards: boards{
				"Last": {Rule: store.Last, From: board.FromProfile("players", kills)},
				"Best": {From: board.FromProfile("players", kills)},
			}})
			r.Mirror("players", profileOf("ann", map[string]any{"kills": 9}, 1, 1))
			r.flush()
			if err := lose(r); err != nil {
				t.Fatal(err)
			}
			r.Mirror("players", profileOf("ann", map[string]any{"kills": 9}, 1, 2)) // as it was
			r.flush()
			for _, b := range []string{"Last", "Best"} {
				e, err := r.Scores(t.Context(), b, "ann")
				if err != nil || e["ann"].Score != 9 {
					t.Errorf("%s: %s: %v, %v", name, b, e, err)
				}
			}
		})
	}
}

// A full queue is logged once, however many profiles meet it, and again the next time.
func TestAMirrorsFullQueueIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxQueued: 1, Boards: boards{"Last": {Rule: store.Last, From: board.FromProfile("players", kills)}}})
		for round := range 2 {
			for i := range 5 {
				r.Mirror("players", profileOf(fmt.Sprintf("u%d", i), map[string]any{"kills": 9 + round}, uint64(1+round), 1))
			}
			if n := r.log.count("not queued"); n != 1+round {
				t.Errorf("round %d: %d lines", round, n)
			}
			want(t, "refused", r.Stats().Boards["Last"].Refused, uint64(4*(1+round)))
			r.flush()
		}
	})
}
