package sim_test

import (
	"testing"

	"github.com/shoalworks/shoal/sim"
)

func TestSameSeedSameRun(t *testing.T) {
	for _, s := range sim.Scenarios() {
		for seed := range uint64(40) {
			o := sim.Options{Scenario: s, WorldOptions: sim.WorldOptions{Seed: seed, Apart: seed%2 == 0}}
			first, _ := play(t, o)
			second, _ := play(t, o)
			if first.Hash != second.Hash {
				t.Errorf("%s seed %d: %x and %x after %d and %d steps, twins %d", s.Name, seed, first.Hash, second.Hash, first.Steps, second.Steps, first.Tally.Twins)
			}
		}
	}
}
