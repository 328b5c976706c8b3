package server

import (
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/season"
)

// seasonNumbers are those of a competition.
type seasonNumbers struct {
	season.Status

	waited  time.Duration // of the season that has been due for longest
	watches int64
}

func newSeasonNumbers(st season.Status, now time.Time, watches int64) seasonNumbers {
	n := seasonNumbers{Status: st, watches: watches}
	for _, w := range st.Waiting {
		n.waited = max(n.waited, now.Sub(w.Since))
	}
	return n
}

// closedThrough is the number of the last season up to which every one has a result.
func (n seasonNumbers) closedThrough() float64 {
	if !n.Started {
		return 0
	}
	return float64(n.Through + 1)
}

// seasonSeries are the competitions.
func (s *Server) seasonSeries() *series[seasonNumbers] {
	rows := []row[seasonNumbers]{
		gauge("shoal_season_number", "Number of the current season, the one that titles carry; the first is 1.", func(n seasonNumbers) float64 { return float64(n.Current.Number) }),
		gauge("shoal_season_remaining_seconds", "Time until the current season ends, in seconds.", func(n seasonNumbers) float64 { return seconds(n.Current.Remaining) }),
		gauge("shoal_season_started", "1 once somebody has played: the first season is stored.", func(n seasonNumbers) float64 { return flag(n.Started) }),
		gauge("shoal_season_closed_through_number", "Number of the season up to which every season has a result, as this node last read it; 0 while nobody has played.", seasonNumbers.closedThrough),
		gauge("shoal_season_waiting_seasons", "Seasons that are over and due, and could not be closed yet. The daemon's log says why.", func(n seasonNumbers) float64 { return float64(len(n.Waiting)) }),
		gauge("shoal_season_waiting_seconds", "For how long, in seconds, the season that has waited longest could not be closed; 0 when none waits.", func(n seasonNumbers) float64 { return seconds(n.waited) }),
		gauge("shoal_season_players", "Open sessions of players that the season follows on this node now.", func(n seasonNumbers) float64 { return float64(n.Players) }),
		gauge("shoal_season_watches", "Callers that follow a player's counters now (SeasonService.Watch).", func(n seasonNumbers) float64 { return float64(n.watches) }),
		gauge("shoal_season_outbox_values", "Values of earlier seasons or left players that wait for their boards now.", func(n seasonNumbers) float64 { return float64(n.Outbox) }),
		counter("shoal_season_short_flushes_total", "Times that values had to wait for their boards because the request budget was used up.", func(n seasonNumbers) uint64 { return n.Short }),
		counter("shoal_season_panics_total", "Panics of the game's callbacks (rewards, titles, closes) that were caught. The daemon's log has them.", func(n seasonNumbers) uint64 { return n.Panics }),
		counter("shoal_season_titles_total", "Titles that players of this node were told of.", func(n seasonNumbers) uint64 { return n.Titles }),
		counter("shoal_season_refused_values_total", "Values that came too late for their season's boards.", func(n seasonNumbers) uint64 { return n.Refused }),
		counter("shoal_season_missed_values_total", "Last values of leaving players that could not be collected; they go to the boards when the player is loaded again.", func(n seasonNumbers) uint64 { return n.Missed }),
	}
	return newSeries(rows, func(show func(seasonNumbers, ...string)) {
		now := s.node.Now()
		for _, name := range s.seasonNames {
			show(newSeasonNumbers(s.seasons[name].Status(), now, s.following[name].Load()), name)
		}
	}, "season")
}

// following counts the watches of each competition.
type following map[string]*atomic.Int64

func newFollowing(names []string) following {
	f := make(following, len(names))
	for _, name := range names {
		f[name] = new(atomic.Int64)
	}
	return f
}

// enter counts a watch until leave is called.
func (f following) enter(name string) (leave func()) {
	f[name].Add(1)
	return func() { f[name].Add(-1) }
}
