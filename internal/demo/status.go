package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shoalworks/shoal/season"
)

// status is one look at the fleet, ready to be shown. Plain data.
type status struct {
	elapsed time.Duration
	nodes   []nodeStatus
	season  season.Info
	closing string // how the season before is
	boards  []boardStatus

	loads, handovers, takeovers, outbid, failed, crashes int64
	casts, syncs, saves, closes, titles                  int64
	handover, takeover                                   worst
	lastTitles                                           []string
	broken                                               int
}

type nodeStatus struct {
	id       string
	sessions int
	beating  bool
}

type boardStatus struct {
	name, title string
	total       int64
	top         []season.Row
}

const topShown = 3

// look reads the fleet: counters from memory, the boards through a node's cache.
func (w *world) look(ctx context.Context, elapsed time.Duration) status {
	s := status{
		elapsed: elapsed,
		loads:   w.tally.loads.Load(), handovers: w.tally.handovers.Load(), takeovers: w.tally.takeovers.Load(),
		outbid: w.tally.outbid.Load(), failed: w.tally.failedLoads.Load(), crashes: w.tally.crashes.Load(),
		casts: w.tally.casts.Load(), syncs: w.tally.syncs.Load(), saves: w.tally.saves.Load(), closes: w.tally.closes.Load(), titles: w.tally.titles.Load(),
	}
	s.handover, s.takeover = w.tally.waits()
	s.broken, _ = w.ledger.verdict()
	members := w.living()
	for _, m := range members {
		s.nodes = append(s.nodes, nodeStatus{m.node.ID(), len(m.node.Set(playersSet).Sessions()), m.node.Beating()})
	}
	reef := members[0].node.Season(reefSeason)
	s.season = reef.Current()
	var closed, by string
	s.lastTitles, closed, by = w.tally.news()
	s.closing = closingState(reef.Config(), reef.Status(), closed, by)
	for _, b := range reef.Config().Boards {
		best, err := reef.Leaders(ctx, b.Name, topShown)
		if err != nil {
			best = season.Leaders{}
		}
		s.boards = append(s.boards, boardStatus{b.Name, b.Title, best.Total, best.Rows})
	}
	return s
}

// closingState says what has become of the season before the current one.
func closingState(rules season.Config, now season.Status, closed, by string) string {
	if now.Current.K == 0 {
		return "no season is over yet"
	}
	before := rules.ID(now.Current.K - 1)
	if closed == before {
		return before + " was closed by " + by
	}
	for _, w := range now.Waiting {
		if w.Season == before {
			return before + " is not closed yet: " + w.Why
		}
	}
	elapsed := rules.Length - now.Current.Remaining
	if left := rules.Grace - elapsed; left > 0 {
		return fmt.Sprintf("%s is over and takes late values for %v", before, left.Round(time.Second))
	}
	return before + " is being closed"
}

// line is the status in one line.
func (s *status) line() string {
	sessions := 0
	for _, n := range s.nodes {
		sessions += n.sessions
	}
	return fmt.Sprintf("%4.0fs  nodes %d  sessions %d  loads %d  hand-overs %d (mean %v)  takeovers %d (mean %v)  crashes %d  season %s ends in %v  %s  closed %d  titles %d  violations %d",
		s.elapsed.Seconds(), len(s.nodes), sessions, s.loads, s.handovers, short(s.handover.mean()), s.takeovers, short(s.takeover.mean()),
		s.crashes, s.season.ID, s.season.Remaining.Round(time.Second), s.leaders(), s.closes, s.titles, s.broken)
}

// leaders is who leads on each board.
func (s *status) leaders() string {
	var out []string
	for _, board := range s.boards {
		if len(board.top) > 0 {
			out = append(out, fmt.Sprintf("%s %s %d", board.name, board.top[0].Name, board.top[0].Score))
		}
	}
	return strings.Join(out, ", ")
}

// screen is the status on several lines, for a terminal.
func (s *status) screen() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Shoal demo · %v · Ctrl-C ends it in order\n\n", s.elapsed.Round(time.Second))
	for _, n := range s.nodes {
		state := "beating"
		if !n.beating {
			state = "suspect"
		}
		fmt.Fprintf(&b, "  %-16s %-8s %4d sessions\n", n.id, state, n.sessions)
	}
	fmt.Fprintf(&b, "\n  loads       %6d   hand-overs %6d  mean %-8v longest %v\n", s.loads, s.handovers, short(s.handover.mean()), short(s.handover.longest))
	fmt.Fprintf(&b, "  crashes     %6d   takeovers  %6d  mean %-8v longest %v\n", s.crashes, s.takeovers, short(s.takeover.mean()), short(s.takeover.longest))
	fmt.Fprintf(&b, "  casts       %6d   syncs      %6d  saves %d, outbid %d, failed loads %d\n", s.casts, s.syncs, s.saves, s.outbid, s.failed)
	s.reef(&b)
	fmt.Fprintf(&b, "\n  violations  %6d\n", s.broken)
	return b.String()
}

// reef is the season's part of the screen.
func (s *status) reef(b *strings.Builder) {
	fmt.Fprintf(b, "\n  %s (%s) ends in %v · %s\n\n", s.season.Name, s.season.ID, s.season.Remaining.Round(time.Second), s.closing)
	for _, board := range s.boards {
		fmt.Fprintf(b, "  %-11s %-16s %5d entries ", board.name, board.title, board.total)
		for _, e := range board.top {
			fmt.Fprintf(b, "  %d. %s %d", e.Rank, e.Name, e.Score)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "\n  closed %6d   titles    %6d   %s\n", s.closes, s.titles, strings.Join(s.lastTitles, " · "))
}

// short rounds a wait to what a person wants to see.
func short(d time.Duration) time.Duration {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond)
	case d < time.Second:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
