package sim_test

import (
	"testing"

	"github.com/shoalworks/shoal/sim"
)

// What a draw yields does not depend on the draws for other things.
func TestDrawsGoByWhatTheyAreFor(t *testing.T) {
	process := func(seed uint64) *sim.Process {
		return sim.NewWorld(sim.WorldOptions{Seed: seed}, nil).NewProcess("A", 0)
	}
	a, b := process(1), process(1)
	save, other, again := a.Random("save", "p1"), a.Random("append", "p1"), a.Random("save", "p1")
	if b.Random("append", "p1") != other || b.Random("save", "p1") != save || b.Random("save", "p1") != again {
		t.Error("another order of draws yields others")
	}
	seen := map[uint64]bool{save: true, other: true, again: true}
	for _, x := range []uint64{a.Random("save", "p2"), a.Random("sav", "ep1"), process(2).Random("save", "p1")} {
		seen[x] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d of 6 draws differ", len(seen))
	}
}
