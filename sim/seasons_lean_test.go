package sim_test

import (
	"testing"
	"time"

	"github.com/shoalworks/shoal/sim"
)

// Closing waits for what loads leave of the budget: with it they take as long as without, up
// to a call of the store more.
func TestClosingDelaysNoLoad(t *testing.T) {
	t.Parallel()
	var with, without sim.Score
	for seed := range uint64(3) {
		for name, score := range map[string]*sim.Score{"seasonsLean": &with, "idle": &without} {
			s := sim.Lean(name == "idle")
			one, _ := play(t, sim.Options{Scenario: s, WorldOptions: sim.WorldOptions{Seed: seed}})
			score.Add(&one)
		}
	}
	a, b := with.Loads(), without.Loads()
	t.Logf("%d loads with closing: %v; %d without: %v", len(with.Waits), a, len(without.Waits), b)
	if with.Events["season closed"] < 60 || without.Events["season closed"] > 0 {
		t.Errorf("closed: %d with closing, %d without", with.Events["season closed"], without.Events["season closed"])
	}
	const call = 250 * time.Millisecond
	if a.Most > b.Most+call || a.Half > b.Half+call {
		t.Errorf("with closing: %v; without: %v", a, b)
	}
}
