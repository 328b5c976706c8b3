package sim_test

import (
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/sim"
)

func play(t *testing.T, o sim.Options) (score sim.Score, w *sim.World) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		o.Wait = synctest.Wait
		score, w = sim.Run(o)
	})
	return score, w
}

func TestSim(t *testing.T) {
	for _, s := range sim.Scenarios() {
		for _, apart := range []bool{false, true} {
			score, _ := play(t, sim.Options{Scenario: s, WorldOptions: sim.WorldOptions{Seed: 1, Apart: apart}})
			t.Logf("%-16s apart %-5v steps %7d slow %v lost %d failed %d/%d out %d stale %v learned %v twins %d leaks %d", s.Name, apart, score.Steps, score.SlowOpen, score.StepsLost, score.Failed, score.Opens, score.Outbid, score.StaleOwner, score.Learned, score.Tally.Twins, score.Leaks)
			for _, v := range score.Violations {
				t.Errorf("  %v", v)
			}
		}
	}
}
