package profile

import (
	"fmt"
	"testing"
)

// In a small fleet every node looks for markers in its first round, and every wideEvery rounds
// from then on. In a large one a few do, each node at some time.
func TestWideRoundsOfAFleet(t *testing.T) {
	for _, nodes := range []int{1, 2, wideNodes} {
		for round := range 3 * wideEvery {
			if got, want := isWide(round, "n-1", nodes), round%wideEvery == 0; got != want {
				t.Fatalf("%d nodes, round %d: got %v", nodes, round, got)
			}
		}
	}
	const nodes = 300
	turns := (nodes + wideNodes - 1) / wideNodes
	had := make([]int, nodes)
	for turn := range turns {
		wide := 0
		for i := range nodes {
			if isWide(turn*wideEvery, fmt.Sprintf("node-%d", i), nodes) {
				wide++
				had[i]++
			}
			if isWide(turn*wideEvery+1, fmt.Sprintf("node-%d", i), nodes) {
				t.Fatal("a wide round too many")
			}
		}
		if wide > 4*wideNodes {
			t.Errorf("turn %d: %d nodes look at the same time", turn, wide)
		}
	}
	for i, n := range had {
		if n != 1 {
			t.Errorf("node %d had %d wide rounds in %d turns", i, n, turns)
		}
	}
}
