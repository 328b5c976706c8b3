package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/season"
)

func TestClosingState(t *testing.T) {
	epoch := time.Unix(1_800_000_000, 0).UTC()
	rules := fishing.Fast(epoch, time.Minute, titled) // with a grace of 4 s
	waiting := []season.Waiting{{K: 1, Season: "C1S2", Why: "board Fish: store down"}}
	for _, c := range []struct {
		after  time.Duration // since the epoch
		wait   []season.Waiting
		closed string
		want   string
	}{
		{30 * time.Second, nil, "", "no season is over yet"},
		{61 * time.Second, nil, "", "C1S1 is over and takes late values for 3s"},
		{64 * time.Second, nil, "", "C1S1 is being closed"},
		{65 * time.Second, nil, "C1S1", "C1S1 was closed by reef2"},
		{126 * time.Second, waiting, "C1S1", "C1S2 is not closed yet: board Fish: store down"},
		{186 * time.Second, waiting, "C1S3", "C1S3 was closed by reef2"},
	} {
		now := season.Status{Current: rules.Info(epoch.Add(c.after)), Waiting: c.wait}
		if got := closingState(rules, now, c.closed, "reef2"); got != c.want {
			t.Errorf("after %v: %q, want %q", c.after, got, c.want)
		}
	}
}

func TestScreenShowsTheReef(t *testing.T) {
	s := status{
		season:  season.Info{ID: "C1S2", Name: "Cycle 1 Season 2", Remaining: 12 * time.Second},
		closing: "C1S1 was closed by reef2", lastTitles: []string{"#1 SEA KING (S1) for Ann"},
		boards: []boardStatus{{name: "Fish", title: "SEA KING", total: 9, top: []season.Row{{Rank: 1, Key: "fisher-001", Name: "Bob", Score: 7}}}},
	}
	for _, want := range []string{"Cycle 1 Season 2 (C1S2) ends in 12s · C1S1 was closed by reef2", "SEA KING", "9 entries", "1. Bob 7", "#1 SEA KING (S1) for Ann"} {
		if got := s.screen(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := s.line(); !strings.Contains(got, "Fish Bob 7") || strings.Contains(got, "\n") {
		t.Error(got)
	}
}
