package profile

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// Nodes that take turns in looking for markers begin each at a place of its own, and go round: so
// those whose names come late are not found last by everybody.
func TestWideRoundsBeginAtPlacesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := memstore.New(nil).Store()
		if err != nil {
			t.Fatal(err)
		}
		const marked = 2*maxMarked + 44
		all := make(map[string]bool)
		for i := range marked {
			id := fmt.Sprintf("node-%03d", i)
			all[id] = true
			key := markerPrefix(id, "players") + "u"
			if err := st.Fast().Commit(t.Context(), store.Tx{{Key: key, Op: store.Put, Value: []byte("{}"), If: store.Any(), Version: store.Version(i + 1)}})[0]; err != nil {
				t.Fatal(err)
			}
		}
		first := make(map[string]bool)
		for _, name := range []string{"a", "node-2", "z"} {
			n, err := node.Start(t.Context(), st, &node.Options{Name: name, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			set, err := New(n, "players", &Options{ReapEvery: -1})
			if err != nil {
				t.Fatal(err)
			}
			seen := make(map[string]bool)
			for round := range 3 {
				portion := set.markedNodes(t.Context())
				if len(portion) == 0 || len(portion) > maxMarked {
					t.Fatalf("%s, round %d: %d nodes", name, round, len(portion))
				}
				if round == 0 {
					first[portion[0]] = true
				}
				for _, id := range portion {
					seen[id] = true
				}
			}
			for id := range all {
				if !seen[id] {
					t.Fatalf("%s never looks at %s", name, id)
				}
			}
			if _, err := n.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"node-000", "node-200"}
		for _, id := range want {
			if !first[id] {
				t.Errorf("nobody begins at %s: %v", id, first)
			}
		}
		if len(first) != len(want) {
			t.Errorf("they begin at %v", first)
		}
	})
}

// Where there is less than one portion, a round finds all of it once, wherever it begins.
func TestAWideRoundGoesRoundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, err := memstore.New(nil).Store()
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"a", "b", "y", "z"}
		for i, id := range want {
			if err := st.Fast().Commit(t.Context(), store.Tx{{Key: markerPrefix(id, "players") + "u", Op: store.Put, Value: []byte("{}"), If: store.Any(), Version: store.Version(i + 1)}})[0]; err != nil {
				t.Fatal(err)
			}
		}
		n, err := node.Start(t.Context(), st, &node.Options{Name: "m", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		set, err := New(n, "players", &Options{ReapEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			got := set.markedNodes(t.Context())
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		if _, err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// However many nodes there are, each has its turn long before what it looks for is swept away.
func TestEveryNodeHasItsTurnInADay(t *testing.T) {
	for _, nodes := range []int{1, 9, 1000, 10_000} {
		for i := range 50 {
			turn := 0
			for !isWide(turn*wideEvery, fmt.Sprintf("node-%d", i), nodes) {
				if turn++; turn >= maxTurns {
					t.Fatalf("node %d of %d has no turn in %d", i, nodes, turn)
				}
			}
		}
	}
}
