package sim_test

import (
	"testing"

	"github.com/shoalworks/shoal/sim"
)

func TestSameSeedSameRun(t *testing.T) {
	for i, s := range sim.Scenarios() {
		if s.Few {
			continue // the others have everything that these have
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			o := sim.Options{Scenario: s, WorldOptions: sim.WorldOptions{Seed: uint64(100 + i), Apart: i%2 == 0}}
			first, world := play(t, o)
			compare(t, o, &first, world)
			o.Seed++
			if other, _ := play(t, o); other.Hash == first.Hash {
				t.Error("another seed gives the same run")
			}
		})
	}
}
