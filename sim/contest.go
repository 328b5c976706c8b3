package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// This file holds those who compete: what they do on a server is done by an actor of its own
// in that server's process, which a crash ends and a pause stops.

// allBoards are one of each rule.
func allBoards() map[string]board.Config {
	return map[string]board.Config{
		"kills":   {},
		"laps":    {Order: store.Ascending},
		"level":   {Rule: store.Last},
		ownStamps: {Rule: store.Last, Order: store.Ascending},
		"coins":   {Rule: store.Sum},
		"tickets": {Rule: store.Sum, Order: store.Ascending},
	}
}

// Contest is how likely it is, at each move, that somebody does a thing on a board.
type Contest struct{ Submit, Durable, Flush, Read, Remove float64 }

// lively is the usual contest.
func lively() Contest { return Contest{Submit: 0.9, Durable: 0.5, Flush: 0.1, Read: 0.4, Remove: 0.05} }

// contend begins what there is to do.
func (f *Fleet) contend(c Contest) {
	for _, do := range []struct {
		name   string
		chance float64
		run    func(a *Actor, s *Server, l Ladder, board, player string)
	}{
		{"submit", c.Submit, f.submit},
		{"durable", c.Durable, f.durable},
		{"flush", c.Flush, func(_ *Actor, s *Server, l Ladder, _, _ string) { _ = l.Flush(s.Context()) }},
		{"read", c.Read, f.look},
		{"remove", c.Remove, f.remove},
	} {
		if f.rng.chance(do.chance) {
			f.compete(do.name, do.run)
		}
	}
}

// players is how many compete.
const players = 6

// compete has a drawn server do something on a drawn board.
func (f *Fleet) compete(name string, do func(a *Actor, s *Server, l Ladder, board, player string)) {
	boards := slices.Sorted(maps.Keys(f.Settings.Boards))
	s, on := f.servers[f.rng.below(len(f.servers))], boards[f.rng.below(len(boards))]
	player := fmt.Sprintf("p%d", f.rng.below(players))
	l := s.ladder()
	if !s.Up() || l == nil {
		return
	}
	if on == ownStamps {
		player = s.Name
	}
	f.contests++
	f.Go(s.Process, fmt.Sprintf("%s %d", name, f.contests), func(a *Actor) { do(a, s, l, on, player) })
}

// ladder is the boards of a server; nil: it has none.
func (s *Server) ladder() Ladder {
	if r, ok := s.Host.(Ranking); ok {
		return r.Ladder()
	}
	return nil
}

// submit hands in one score, or several.
func (f *Fleet) submit(a *Actor, s *Server, l Ladder, board, player string) {
	for range 1 + a.rng.below(3) {
		b := f.Ledger.Bid(s.Process, board, player, a.rng.below(1000))
		err := l.Submit(board, b.Submission())
		f.say(s.Process, "score %d of %s on %s: %v", b.score, b.key, board, err)
		if err != nil {
			f.Ledger.Rejected(b)
			continue
		}
		f.Ledger.Accepted(b)
	}
}

// durable hands in a score and waits until it is stored.
func (f *Fleet) durable(a *Actor, s *Server, l Ladder, board, player string) {
	b := f.Ledger.Bid(s.Process, board, player, a.rng.below(1000))
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	answer, done := Unsure, make(chan struct{})
	go func() {
		answer = l.Durable(ctx, board, b.Submission())
		switch {
		case s.Gone():
		case answer == Done:
			f.Ledger.Kept(b)
		case answer == Undone:
			f.Ledger.Rejected(b)
		default:
			f.Ledger.Met("score unknown")
		}
		close(done)
	}()
	closed, alive := a.AwaitFor(a.rng.within(Span{Min: 0, Max: 3 * callTimeout}), done)
	if alive && !closed {
		cancel() // it has no time any more
		if !a.Await(done) {
			return
		}
	}
	if alive {
		f.say(s.Process, "durable score %d of %s on %s: %v", b.score, b.key, board, [...]string{"unknown", "done", "not done"}[answer])
	}
}

// patient is for how long those who remove and seal wait.
func (s *Server) patient() (context.Context, context.CancelFunc) {
	return clock.WithTimeout(s.Context(), s.Clock(), callTimeout)
}

// look reads what a server shows, and what the store has.
func (f *Fleet) look(a *Actor, s *Server, l Ladder, board, player string) {
	page, err := l.Top(s.Context(), board, 0)
	if a.Alive() && err == nil {
		f.Ledger.Served(s.Process, board, page)
	}
	_ = l.Look(s.Context(), board, player)
}

// remove takes a player off a board, who may have handed in something just before.
func (f *Fleet) remove(a *Actor, s *Server, l Ladder, board, player string) {
	if a.rng.chance(0.5) {
		f.submit(a, s, l, board, player)
	}
	if a.rng.chance(0.3) {
		a.Sleep(a.rng.within(Span{Max: 2 * time.Second}))
	}
	began := f.Ledger.Removing(s.Process, board, player)
	ctx, cancel := s.patient()
	defer cancel()
	answer := l.Remove(ctx, board, player)
	if !a.Alive() {
		return
	}
	f.say(s.Process, "removes %s from %s: %v", player, board, [...]string{"unknown", "done", "not done"}[answer])
	f.Ledger.Removed(s.Process, board, player, began, answer)
}

// seal ends a board.
func (f *Fleet) seal(a *Actor, s *Server, l Ladder, board, _ string) {
	ctx, cancel := s.patient()
	defer cancel()
	answer := l.Seal(ctx, board)
	if a.Alive() && answer == Done {
		f.Ledger.Sealed(s.Process, board)
	}
}

// forgetBoards has the boards lose their memory.
func (f *Fleet) forgetBoards() {
	f.Script.Do(func() {
		f.say(nil, "the boards forget")
		f.engine.Forget(memstore.Boards)
		f.Ledger.forgotBoards()
	})
}

// startBoards has the ledger judge the boards of the fleet.
func (f *Fleet) startBoards() {
	if f.Settings.Boards == nil {
		return
	}
	f.Ledger.Contest(f.Settings.Boards, func(name string) (store.Page, error) {
		return f.boards.Page(context.Background(), name, 0, store.MaxPage, store.Ordinal)
	})
}

// closeBoards takes in what a server that has closed says of its boards. After the faults
// nothing may be left.
func (f *Fleet) closeBoards(s *Server, quiet bool) {
	l := s.ladder()
	if l == nil {
		return
	}
	left := l.Left()
	f.Ledger.BoardsClosed(s.Process, left)
	if left > 0 && quiet {
		f.Ledger.Violated("scores left", fmt.Sprintf("%s closes after the faults, and leaves %d scores", s.Name, left))
	}
}
