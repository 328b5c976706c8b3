package shoal_test

import (
	"testing"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/profile"
)

// Who erases a profile in a set that writes nothing takes nobody off the boards.
func TestErasingACopyLeavesTheBoards(t *testing.T) {
	for _, mode := range []profile.Mode{profile.Copy, profile.Memory} {
		t.Run(mode.String(), func(t *testing.T) {
			n := started(t, &shoal.Options{
				Sets:   map[string]*profile.Options{"players": {Mode: mode}},
				Boards: map[string]board.Config{"Kills": {}},
			})
			if err := n.Boards().Submit("Kills", "ann", 7); err != nil {
				t.Fatal(err)
			}
			if err := n.Boards().FlushNow(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := n.Set("players").Load(t.Context(), "ann", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Set("players").Erase(t.Context(), "ann", profile.Source{Actor: "test"}, nil); err != nil {
				t.Fatal(err)
			}
			if e, err := n.Boards().Page(t.Context(), "Kills", 0, 10); err != nil || len(e.Entries) != 1 {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}
