package profile

import (
	"os"
	"testing"
	"time"
)

// The search of trades: everything that can happen to two profiles and a trade between them
// within bounds that close. The other search has one profile, with its journal. The environment
// asks for the same:
//
//	SHOAL_SEARCH=full     larger bounds, some minutes

// TestSearchTrade searches small bounds, each with other things that go wrong.
func TestSearchTrade(t *testing.T) {
	for _, b := range []tradeBounds{
		{marks: 2, trades: 1, commits: 2, faults: 3, quits: 1},                                  // answers lost, and saves around it
		{marks: 2, trades: 1, commits: 2, faults: 1, refusals: 3, asks: 1},                      // refused for certain
		{marks: 2, trades: 1, commits: 1, faults: 2, asks: 2, quits: 1},                         // asks
		{marks: 1, trades: 1, faults: 2, takes: 2, others: 3},                                   // takers, who push the ids out
		{marks: 2, trades: 1, commits: 1, faults: 2, takes: 1, others: 1, crashes: 1, frees: 1}, // a crash
		{marks: 1, trades: 1, commits: 1, faults: 1, takes: 2, others: 2, frees: 1, erases: 1},  // an erasure
		{marks: 2, trades: 1, commits: 1, faults: 2, releases: 2, refusals: 1, quits: 1},        // ends
		{marks: 1, trades: 2, commits: 2, faults: 2},                                            // two trades
		{marks: 1, trades: 2, faults: 1, asks: 1, takes: 1, others: 1},                          // and what others do to them
	} {
		t.Run(b.String(), func(t *testing.T) { tradeCloses(t, b) })
	}
}

// TestSearchTradeFull searches larger bounds, when it is asked to.
func TestSearchTradeFull(t *testing.T) {
	if os.Getenv("SHOAL_SEARCH") != "full" {
		t.Log("set SHOAL_SEARCH=full to search larger bounds")
		return
	}
	for _, b := range []tradeBounds{
		{marks: 2, trades: 2, commits: 2, faults: 2, refusals: 1, asks: 1, quits: 1},
		{marks: 1, trades: 1, commits: 1, faults: 3, takes: 2, others: 2, refusals: 1, asks: 1},
		{marks: 1, trades: 1, commits: 1, faults: 2, takes: 2, others: 3, crashes: 1, frees: 1},
		{marks: 1, trades: 2, commits: 1, faults: 1, takes: 2, others: 2, asks: 1, erases: 1},
		{marks: 2, trades: 1, commits: 2, faults: 2, takes: 1, others: 1, asks: 1, releases: 1, refusals: 1},
	} {
		t.Run(b.String(), func(t *testing.T) { tradeCloses(t, b) })
	}
}

// tradeCloses searches all of what is within bounds.
func tradeCloses(t *testing.T, b tradeBounds) {
	t.Helper()
	s := newTradeSearcher(b, tradeSound)
	began := time.Now()
	err := s.run(searchLimit)
	took := time.Since(began).Seconds()
	t.Logf("%d states in %.2f s (%.0f a second); told of the first trade: done in %d, refused in %d, unknown in %d",
		len(s.origins), took, float64(len(s.origins))/took, s.told[toldDone], s.told[toldRefused], s.told[toldUnknown])
	if err != nil {
		t.Fatal(err)
	}
}

// TestSearchTradeFindsBrokenRules: a search that could not fail would prove nothing.
func TestSearchTradeFindsBrokenRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken tradeMutant
		bounds tradeBounds
	}{
		{"no fence", noFence, tradeBounds{quits: 1, marks: 2, trades: 1, faults: 1}},
		{"refused lands", refusedLands, tradeBounds{quits: 1, marks: 2, trades: 1, faults: 1, asks: 1}},
		{"landed refused", landedRefused, tradeBounds{quits: 1, marks: 2, trades: 1, faults: 1}},
		{"no marks", noMarks, tradeBounds{quits: 1, marks: 2, trades: 1, faults: 1, asks: 1}},
		{"marks forgotten", marksForgotten, tradeBounds{quits: 1, marks: 1, trades: 1, faults: 1, takes: 2, others: 2}},
		{"thaws unknown", thawsUnknown, tradeBounds{marks: 2, trades: 1, faults: 1}},
		{"resends blindly", resendsBlindly, tradeBounds{marks: 2, trades: 1, faults: 1, refusals: 1}},
		{"adopts lost", adoptsLost, tradeBounds{marks: 2, trades: 1, faults: 1, takes: 1}},
		{"two writes", twoWrites, tradeBounds{marks: 2, trades: 1}},
		{"memory left", memoryLeft, tradeBounds{marks: 2, trades: 1}},
		{"fences latest", fencesLatest, tradeBounds{quits: 1, marks: 2, trades: 1, faults: 1}},
		{"unknown refused", unknownRefused, tradeBounds{quits: 1, marks: 2, trades: 1, faults: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTradeSearcher(c.bounds, c.broken)
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
