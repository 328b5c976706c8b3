package profile

import (
	"os"
	"strconv"
	"testing"
	"time"
)

func TestSearch(t *testing.T) {
	for name, b := range map[string]bounds{
		"lost answer, hand-over":  {nodes: 2, loads: 2, commits: 2, faults: 1, refusals: 1},
		"wrong verdict, crash":    {nodes: 2, loads: 2, commits: 1, faults: 1, verdicts: 1, crashes: 1},
		"two wrong verdicts":      {nodes: 2, loads: 3, commits: 1, verdicts: 2},
		"given up":                {nodes: 2, loads: 2, commits: 1, faults: 1, quits: 1},
		"given up, three loads":   {nodes: 2, loads: 3, quits: 1},
		"given up, release":       {nodes: 2, loads: 2, commits: 1, quits: 1, releases: 1},
		"two faults, one session": {nodes: 2, loads: 1, commits: 2, faults: 2, refusals: 1, releases: 1, quits: 1},
		"two faults, two loads":   {nodes: 2, loads: 2, commits: 1, faults: 2},
		"memory loss, verdict":    {nodes: 2, loads: 2, commits: 1, verdicts: 1, forgets: 1, faults: 1},
		"claims":                  {nodes: 2, loads: 2, commits: 2, claims: 1, crashes: 1, faults: 1},
		"three sessions":          {nodes: 2, loads: 3, commits: 2, crashes: 1, verdicts: 1},
	} {
		t.Run(name, func(t *testing.T) { closes(t, b) })
	}
}

// closes searches all of what is within bounds.
func closes(t *testing.T, b bounds) {
	t.Helper()
	s := newSearcher(b, sound)
	began := time.Now()
	err := s.run(0)
	took := time.Since(began)
	t.Logf("%+v: %d states (%d at rest), %.1f s, %.0f states/s, %d losses excused", b, len(s.origins), s.rests, took.Seconds(),
		float64(len(s.origins))/took.Seconds(), s.excused)
	if err != nil {
		t.Fatal(err)
	}
}

// TestSearchFindsBrokenRules: a search that could not fail would prove nothing.
func TestSearchFindsBrokenRules(t *testing.T) {
	for name, c := range map[string]struct {
		broken mutant
		bounds bounds
	}{
		"no disown":          {noDisown, bounds{nodes: 2, loads: 2, faults: 1, quits: 1}},
		"conflict lost":      {conflictLost, bounds{nodes: 2, loads: 1, commits: 1, faults: 1}},
		"unfreezes":          {unfreezes, bounds{nodes: 2, loads: 1, commits: 2, faults: 1, refusals: 1, releases: 1}},
		"stale version":      {staleVersion, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		"token per load":     {tokenPerLoad, bounds{nodes: 2, loads: 3, verdicts: 2}},
		"acks unknown":       {acksUnknown, bounds{nodes: 2, loads: 1, commits: 1, faults: 1}},
		"base started":       {baseStarted, bounds{nodes: 2, loads: 1, commits: 2, crashes: 1}},
		"empties journal":    {emptiesJournal, bounds{nodes: 2, loads: 1, commits: 3, crashes: 1}},
		"no filter":          {noFilter, bounds{nodes: 2, loads: 2, commits: 2, crashes: 1}},
		"seal empties":       {sealEmpties, bounds{nodes: 3, loads: 3, commits: 2, crashes: 2}},
		"sealed lost":        {sealedLost, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1, quits: 1, crashes: 1}},
		"opening trusted":    {openingTrusted, bounds{nodes: 2, loads: 2, commits: 1, verdicts: 1}},
		"opening read":       {openingRead, bounds{nodes: 2, loads: 2, commits: 1, verdicts: 1}},
		"chained early":      {chainedEarly, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		"older accepted":     {olderAccepted, bounds{nodes: 2, loads: 2, commits: 2, faults: 1, verdicts: 1, forgets: 1}},
		"no epoch":           {noEpoch, bounds{nodes: 2, loads: 3, commits: 1, verdicts: 1, crashes: 1}},
		"overwrites foreign": {overwritesForeign, bounds{nodes: 2, loads: 2, commits: 3, verdicts: 1, crashes: 1}},
		"continues sealed":   {continuesSealed, bounds{nodes: 3, loads: 3, commits: 2, verdicts: 2}},
		"claim journaled":    {claimJournaled, bounds{nodes: 2, loads: 1, commits: 1, claims: 1}},
		"deletes lost":       {deletesLost, bounds{nodes: 2, loads: 3, commits: 2, verdicts: 2, restores: 1}},
		"deletes any":        {deletesAny, bounds{nodes: 2, loads: 2, commits: 3, releases: 1}},
		"appends frozen":     {appendsFrozen, bounds{nodes: 2, loads: 3, commits: 2, releases: 2, faults: 1, verdicts: 1}},
		"revision kept":      {revKept, bounds{nodes: 2, loads: 2, commits: 2, forgets: 1, crashes: 1}},
		"last effects":       {lastEffects, bounds{nodes: 2, loads: 2, commits: 3, crashes: 1}},
		"appends blindly":    {appendsBlindly, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		"never seals":        {neverSeals, bounds{nodes: 2, loads: 2, commits: 2, verdicts: 1}},
		"journal ignored":    {journalIgnored, bounds{nodes: 2, loads: 2, commits: 2, crashes: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSearcher(c.bounds, c.broken)
			err := s.run(2_000_000)
			if err == nil {
				t.Fatalf("the broken rule was not found in %d states", len(s.origins))
			}
			t.Logf("found in %d steps, after %d states: %v", s.depth, len(s.origins), err)
		})
	}
}

// TestSearchWalks goes beyond what can be searched.
func TestSearchWalks(t *testing.T) {
	n, from := uint64(3000), uint64(0)
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
