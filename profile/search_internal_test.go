package profile

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// The search of PROTOCOL.md B8: everything that can happen to one profile within bounds that
// close, held against the invariants of G. See the other search files for the world and its
// steps, and CONTRIBUTING.md for what the environment asks for:
//
//	SHOAL_SEARCH=full     the bounds of the protocol, some minutes
//	SHOAL_SEARCH_WALKS=n  how many random walks
//	SHOAL_SEARCH_SEED=n   the first of them

// TestSearch searches small bounds, each with other things that go wrong.
func TestSearch(t *testing.T) {
	for _, b := range []bounds{
		{nodes: 2, loads: 2, commits: 2, faults: 1, refusals: 1},                        // lost answer, hand-over
		{nodes: 2, loads: 2, commits: 1, faults: 2},                                     // two of them
		{nodes: 2, loads: 1, commits: 2, faults: 2, refusals: 1, quits: 1, releases: 1}, // one session alone
		{nodes: 2, loads: 2, commits: 1, faults: 1, quits: 1, releases: 1},              // loads that give up
		{nodes: 2, loads: 3, commits: 0, quits: 2},                                      // and who comes after
		{nodes: 2, loads: 3, commits: 1, verdicts: 2},                                   // wrong verdicts
		{nodes: 2, loads: 2, commits: 1, faults: 1, crashes: 1, verdicts: 1},            // a crash beside one
		{nodes: 2, loads: 3, commits: 2, crashes: 1, verdicts: 1},                       // three sessions
		{nodes: 2, loads: 2, commits: 2, forgets: 1, crashes: 1, faults: 1},             // memory loss
		{nodes: 2, loads: 2, commits: 1, forgets: 1, verdicts: 1, faults: 1},            // between seal and claim
		{nodes: 2, loads: 2, commits: 2, claims: 1, crashes: 1, faults: 1},              // claims
		{nodes: 2, loads: 2, commits: 2, claims: 1, robs: 1, crashes: 1, faults: 1},     // and refused ones
		{nodes: 2, loads: 2, commits: 2, restores: 1, crashes: 1, faults: 1},            // an older journal comes back
		{nodes: 2, loads: 2, commits: 2, refusals: 1, verdicts: 1, forgets: 1},          // journaling while saves are refused
		{nodes: 2, loads: 2, commits: 3, refusals: 1, crashes: 1},                       // and a crash then
		{nodes: 2, loads: 3, commits: 2, releases: 2, crashes: 1},                       // release with deletion
		{nodes: 3, loads: 3, commits: 1, crashes: 1, verdicts: 1},                       // two takers
	} {
		t.Run(b.String(), func(t *testing.T) { closes(t, b) })
	}
}

// TestSearchFull searches the bounds of the protocol, when it is asked to.
func TestSearchFull(t *testing.T) {
	if os.Getenv("SHOAL_SEARCH") != "full" {
		t.Log("set SHOAL_SEARCH=full to search the bounds of PROTOCOL.md B8")
		return
	}
	for _, b := range []bounds{
		{nodes: 2, loads: 3, commits: 2, faults: 1, crashes: 1, forgets: 1, verdicts: 1},
		{nodes: 3, loads: 3, commits: 1, faults: 1, crashes: 1, forgets: 1, verdicts: 1},
		{nodes: 2, loads: 3, commits: 2, claims: 1, crashes: 1, verdicts: 1, releases: 1, quits: 1},
		{nodes: 2, loads: 3, commits: 2, restores: 1, crashes: 1, faults: 1, releases: 1},
		{nodes: 2, loads: 2, commits: 3, faults: 2, crashes: 1, forgets: 1},
	} {
		t.Run(b.String(), func(t *testing.T) { closes(t, b) })
	}
}

// closes searches all of what is within bounds.
func closes(t *testing.T, b bounds) {
	t.Helper()
	s := newSearcher(b, sound)
	began := time.Now()
	err := s.run(searchLimit)
	took := time.Since(began).Seconds()
	t.Logf("%d states in %.1f s (%.0f a second), %d at rest, %d losses excused", len(s.origins), took, float64(len(s.origins))/took, s.rests, s.excused)
	if err != nil {
		t.Fatal(err)
	}
	if s.cut > 0 {
		t.Errorf("%d late calls had no room", s.cut)
	}
}

// TestSearchFindsBrokenRules: a search that could not fail would prove nothing.
func TestSearchFindsBrokenRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken mutant
		bounds bounds
	}{
		{"no disown", noDisown, bounds{nodes: 2, loads: 2, faults: 1, quits: 1}},
		{"conflict lost", conflictLost, bounds{nodes: 2, loads: 1, commits: 1, faults: 1}},
		{"unfreezes", unfreezes, bounds{nodes: 2, loads: 1, commits: 2, faults: 1, refusals: 1, releases: 1}},
		{"stale version", staleVersion, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		{"token per load", tokenPerLoad, bounds{nodes: 2, loads: 3, verdicts: 2}},
		{"acks unknown", acksUnknown, bounds{nodes: 2, loads: 1, commits: 1, faults: 1}},
		{"base started", baseStarted, bounds{nodes: 2, loads: 1, commits: 2, crashes: 1}},
		{"empties journal", emptiesJournal, bounds{nodes: 2, loads: 1, commits: 3, crashes: 1}},
		{"no filter", noFilter, bounds{nodes: 2, loads: 2, commits: 2, crashes: 1}},
		{"seal empties", sealEmpties, bounds{nodes: 3, loads: 3, commits: 2, crashes: 2}},
		{"sealed lost", sealedLost, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1, quits: 1}},
		{"opening trusted", openingTrusted, bounds{nodes: 2, loads: 2, commits: 1, verdicts: 1}},
		{"opening read", openingRead, bounds{nodes: 2, loads: 2, commits: 1, verdicts: 1}},
		{"chained early", chainedEarly, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		{"older accepted", olderAccepted, bounds{nodes: 2, loads: 2, commits: 2, faults: 1, verdicts: 1, forgets: 1}},
		{"no epoch", noEpoch, bounds{nodes: 2, loads: 3, commits: 1, verdicts: 1, crashes: 1}},
		{"overwrites foreign", overwritesForeign, bounds{nodes: 2, loads: 2, commits: 3, verdicts: 1}},
		{"continues sealed", continuesSealed, bounds{nodes: 2, loads: 3, commits: 2, verdicts: 2}},
		{"claim journaled", claimJournaled, bounds{nodes: 2, loads: 1, commits: 1, claims: 1}},
		{"deletes any", deletesAny, bounds{nodes: 2, loads: 2, commits: 3, releases: 1}},
		{"last effects", lastEffects, bounds{nodes: 2, loads: 2, commits: 3, crashes: 1}},
		{"appends blindly", appendsBlindly, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		{"never seals", neverSeals, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		{"keeps claim", keepsClaim, bounds{nodes: 2, loads: 1, commits: 1, claims: 1, robs: 1}},
		{"journal ignored", journalIgnored, bounds{nodes: 2, loads: 2, commits: 2, crashes: 1}},
		// No rule is broken here, but this is what PROTOCOL.md C says is not kept: a living
		// holder is taken over, and the fast store goes back to before the seal.
		{"seal reverted", sound, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1, restores: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSearcher(c.bounds, c.broken)
			err := s.run(searchLimit)
			switch {
			case err == nil && searchLimit == 0:
				t.Fatalf("the broken rule was not found in %d states", len(s.origins))
			case err == nil:
				t.Logf("not found in the first %d states", len(s.origins))
				return
			}
			t.Logf("found in %d steps, after %d states: %v", s.depth, len(s.origins), err)
		})
	}
}

// TestSearchFindsNothingInHarmlessShells: what looks like a broken rule, and is none. A lost
// session's journal that stands at a version of its own was not sealed, so nothing in it was
// acknowledged. What is appended behind a final save is in that save, since the session is
// frozen. A revision that is kept when the journal was forgotten is lower than that of the
// append which found out.
func TestSearchFindsNothingInHarmlessShells(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken mutant
		bounds bounds
	}{
		{"deletes lost", deletesLost, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1, crashes: 1}},
		{"appends frozen", appendsFrozen, bounds{nodes: 2, loads: 2, commits: 2, releases: 1, crashes: 1}},
		{"revision kept", revKept, bounds{nodes: 2, loads: 2, commits: 2, forgets: 1, crashes: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSearcher(c.bounds, c.broken)
			if err := s.run(searchLimit); err != nil {
				t.Fatal(err)
			}
			t.Logf("nothing in %d states", len(s.origins))
		})
	}
}

// TestSearchWalks goes beyond what can be searched.
func TestSearchWalks(t *testing.T) {
	n, from := uint64(3000), uint64(0)
	if searchLimit > 0 {
		n = 100
	}
	if text := os.Getenv("SHOAL_SEARCH_WALKS"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SHOAL_SEARCH_WALKS: %v", err)
		}
	}
	if text := os.Getenv("SHOAL_SEARCH_SEED"); text != "" {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SHOAL_SEARCH_SEED: %v", err)
		}
	}
	steps, excused := 0, 0
	for seed := from; seed < from+n; seed++ {
		k, x, err := walk(seed, sound)
		if err != nil {
			t.Fatal(err)
		}
		steps, excused = steps+k, excused+x
	}
	t.Logf("walks %d to %d: %d steps, %d losses excused", from, from+n-1, steps, excused)
}
