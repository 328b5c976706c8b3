package sim_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/shoalworks/shoal/sim"
)

func TestDebugDiff(t *testing.T) {
	name, seed := os.Getenv("DBG"), os.Getenv("DBGSEED")
	if name == "" {
		return
	}
	n, _ := strconv.ParseUint(seed, 10, 64)
	for _, s := range sim.Scenarios() {
		if s.Name != name {
			continue
		}
		for try := range 20 {
			o := sim.Options{Scenario: s, WorldOptions: sim.WorldOptions{Seed: n, Apart: n%2 == 0, Trace: true}}
			_, a := play(t, o)
			_, b := play(t, o)
			x, y := a.Words(), b.Words()
			if a.Hash() != b.Hash() {
				t.Logf("try %d: hashes differ", try)
			}
			for i := range x {
				if i >= len(y) || strip(x[i]) != strip(y[i]) {
					for j := max(0, i-12); j < i+4; j++ {
						t.Logf("try %d\n  %.260s\n  %.260s", try, x[j], y[j])
					}
					return
				}
			}
		}
	}
}

var volatile = regexp.MustCompile(`\[.*|is at [0-9a-z]+|receives.*|"token":"[0-9a-z]+"|"for":"[0-9a-z]+"`)

func strip(s string) string { return volatile.ReplaceAllString(s, "") }
