package profile

import "testing"

// TestSearchBeyond searches bounds that a mutant was found to need: within those of TestSearch
// nothing saw it.
func TestSearchBeyond(t *testing.T) {
	for _, b := range []bounds{
		{nodes: 2, loads: 2, commits: 2, faults: 1, verdicts: 1, forgets: 1}, // an older append lands once more
		{nodes: 3, loads: 3, commits: 2, crashes: 2},                         // a token without a session beside another's
	} {
		t.Run(b.String(), func(t *testing.T) { closes(t, b) })
	}
}
