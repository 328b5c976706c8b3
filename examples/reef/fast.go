package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/season"
)

// show is a game to watch: two servers in this process, and seasons of seconds.
type show struct {
	*game

	length           time.Duration
	seasons, players int
	servers          []*shoal.Node
}

// asked is the server that is asked for cards, leaders and results.
const asked = "east"

// titled is how many places of a board get a title.
const titled = 3

// run plays the seasons and ends in order.
func (s *show) run(ctx context.Context) error {
	for _, name := range []string{asked, "west"} {
		server, err := s.serve(ctx, name)
		if err != nil {
			return errors.Join(err, s.end(ctx))
		}
		s.servers = append(s.servers, server)
	}
	s.say("Rod and Reef: %d players, two servers on one store, seasons of %v.", s.players, s.length)
	var result *season.Result
	var err error
	for n := 0; n < s.seasons && err == nil; n++ {
		result, err = s.season(ctx)
		if n == 0 && err == nil {
			err = s.disqualify(ctx, result)
		}
	}
	return errors.Join(err, s.end(context.WithoutCancel(ctx))) // Ctrl-C ends the show in order, too
}

// end closes the servers: players are released first, then boards are written.
func (s *show) end(ctx context.Context) (err error) {
	for _, server := range s.servers {
		_, closeErr := server.Close(ctx)
		err = errors.Join(err, closeErr)
	}
	return err
}

// season is one season, from now until everybody has what they won.
func (s *show) season(ctx context.Context) (*season.Result, error) {
	reef := s.servers[0].Season("reef")
	now := reef.Current()
	for now.Remaining < s.length/3 { // too late to begin
		if err := pause(ctx, now.Remaining+time.Millisecond); err != nil {
			return nil, err
		}
		now = reef.Current()
	}
	s.say("\n%s (%s) ends in %v. All counters are at zero.", now.Name, now.ID, now.Remaining.Round(time.Second))
	if err := s.fish(ctx, now); err != nil {
		return nil, err
	}

	s.say("\n%s is over, and everybody goes home. Any server may close it in %v, when late values are in.", now.ID, s.rules.Grace)
	result, err := s.result(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	by, err := reef.ClosedBy(ctx, now.ID)
	if err != nil {
		return nil, err
	}
	s.say("%s has closed it. The result, which never changes:", by.Node)
	for _, b := range result.Boards {
		s.places(b.Title, b.Top)
	}

	s.say("\nWho comes back gets titles:")
	return result, s.visit(ctx)
}

// fish has everybody fish until the season ends, and tells how it goes.
func (s *show) fish(ctx context.Context, now season.Info) error {
	end := time.Now().Add(now.Remaining)
	g, ctx := errgroup.WithContext(ctx)
	for i := range s.players {
		g.Go(func() error { return s.fishAs(ctx, i, end) })
	}
	g.Go(func() error { return s.tell(ctx, end) })
	return g.Wait()
}

// fishAs is a player's season: some casts here, some casts there.
func (s *show) fishAs(ctx context.Context, i int, end time.Time) error {
	rng := rand.New(rand.NewPCG(uint64(i), uint64(end.UnixNano())))
	for stay := i; time.Now().Before(end); stay++ {
		a, err := arrive(ctx, s.servers[stay%len(s.servers)], keyOf(i), fishing.Name(i))
		if err != nil {
			return err
		}
		for casts := 5 + rng.IntN(10); casts > 0 && time.Now().Before(end); casts-- {
			if _, err := a.cast(rng); err != nil {
				return err
			}
			if err := pause(ctx, time.Duration(50+rng.IntN(150))*time.Millisecond); err != nil {
				return err
			}
		}
		if i == 0 && stay == 1 {
			err = s.show(ctx, a)
		}
		if err := errors.Join(err, a.leave(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// show shows a player's card.
func (s *show) show(ctx context.Context, a angler) error {
	card, err := a.reef.Card(ctx, a.Session)
	if err == nil {
		s.say("  %s looks at the card:\n%s", nameIn(a.Data()), describe(card))
	}
	return err
}

// tell says every two seconds who leads, until the season ends.
func (s *show) tell(ctx context.Context, end time.Time) error {
	const every = 2 * time.Second
	reef := s.servers[0].Season("reef")
	for time.Until(end) > every {
		if err := pause(ctx, every); err != nil {
			return err
		}
		line := fmt.Sprintf("  %v left", time.Until(end).Round(time.Second))
		for _, b := range s.rules.Boards {
			best, err := reef.Leaders(ctx, b.Name, 1)
			if err != nil {
				return err
			}
			for _, row := range best.Rows {
				line += fmt.Sprintf(" · %s: %s %d", b.Name, row.Name, row.Score)
			}
		}
		s.say("%s", line)
	}
	return pause(ctx, time.Until(end))
}

// result waits until the server that is asked has a season's result, whoever closes it.
func (s *show) result(ctx context.Context, id string) (*season.Result, error) {
	for {
		select {
		case c := <-s.closed:
			if c.server == asked && c.result.Season == id {
				return c.result, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// visit has everybody come back for a moment: titles are granted and corrected on the way.
func (s *show) visit(ctx context.Context) error {
	for i := range s.players {
		a, err := arrive(ctx, s.servers[0], keyOf(i), fishing.Name(i))
		if err != nil {
			return err
		}
		if err := a.leave(ctx); err != nil {
			return err
		}
	}
	return nil
}

// disqualify takes the best fisher out, and shows what that changes.
func (s *show) disqualify(ctx context.Context, r *season.Result) error {
	best := r.Boards[0].Top
	if len(best) == 0 {
		return nil
	}
	s.say("\n%s had a net, and is disqualified. The result stays, the standings move up:", best[0].Name)
	standings, err := s.servers[0].Season("reef").Disqualify(ctx, r.Season, season.Ruling{
		Key: best[0].Key, By: "the referee", Reason: "a net is no rod",
	})
	if err != nil {
		return err
	}
	for _, b := range standings.Boards {
		s.places(b.Title, b.Top)
	}
	s.say("\nTitles and prizes follow when their owners come back:")
	return s.visit(ctx)
}

// places prints the best of a board.
func (s *show) places(title string, top []season.Placed) {
	line := fmt.Sprintf("  %-16s", title)
	for _, p := range top {
		line += fmt.Sprintf("  #%d %s %d", p.Rank, p.Name, p.Score)
	}
	s.say("%s", line)
}

func keyOf(i int) string { return fmt.Sprintf("u_%d", i) }

func pause(ctx context.Context, d time.Duration) error { return clock.Sleep(ctx, clock.System(), d) }
