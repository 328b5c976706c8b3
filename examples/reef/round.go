package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/examples/reef/fishing"
)

// round is one evening at the reef, in a season of 45 days. What is caught is kept.
type round struct {
	*game

	folder, name string
	in           io.Reader
}

func (r *round) run(ctx context.Context) error {
	server, err := r.serve(ctx, "pier")
	if err != nil {
		return err
	}
	err = r.play(ctx, server)
	_, closeErr := server.Close(context.WithoutCancel(ctx))
	return errors.Join(err, closeErr)
}

func (r *round) play(ctx context.Context, server *shoal.Node) error {
	reef := server.Season("reef")
	now := reef.Current()
	for _, s := range reef.Config().Ahead(now.K, 3, now.Start) {
		r.say("%-16s %-5s %s to %s", s.Name, s.ID, s.Start.Format(time.DateOnly), s.End.Format(time.DateOnly))
	}
	r.say("%s ends in %d days. Its best become:", now.ID, int(now.Remaining.Hours()/24))
	for _, b := range reef.Config().Boards {
		r.say("  %-11s %s", b.Name, b.Title)
	}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	if err := r.others(ctx, server, rng); err != nil {
		return err
	}
	you, err := arrive(ctx, server, "angler-"+r.name, r.name)
	if err != nil {
		return err
	}
	r.say("\nEnter casts the line; q and Enter leaves.")
	if err := r.fish(ctx, you, rng); err != nil {
		return err
	}
	end := context.WithoutCancel(ctx) // Ctrl-C ends the evening in order
	if err := you.leave(end); err != nil {
		return err
	}
	card, err := reef.CardOf(end, you.Key(), you.Data(), you.Created())
	if err != nil {
		return err
	}
	r.say("\n%s in %s, with %d coins in the purse:\n%s", r.name, now.ID, coinsIn(you.Data()), describe(card))
	r.say("\nIt is kept in %s: come back with the same command, or look from outside:", r.folder)
	r.say("  go run ./cmd/shoal season show --store %s", r.folder)
	return nil
}

// fish casts the line for each line that is typed, until there are no more.
func (r *round) fish(ctx context.Context, you angler, rng *rand.Rand) error {
	keys := typed(ctx, r.in)
	for {
		select {
		case key, ok := <-keys:
			if !ok || key == "q" {
				return nil
			}
			text, err := you.cast(rng)
			if err != nil {
				return err
			}
			r.say("%s", text)
		case <-ctx.Done():
			return nil
		}
	}
}

// typed is what is typed, line by line, until the input or ctx ends.
func typed(ctx context.Context, in io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			select {
			case out <- strings.TrimSpace(lines.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// others cast a few lines first, so that you are not alone on the boards.
func (r *round) others(ctx context.Context, server *shoal.Node, rng *rand.Rand) error {
	for i := range 5 {
		other, err := arrive(ctx, server, keyOf(i), fishing.Name(i))
		if err != nil {
			return err
		}
		for range 1 + rng.IntN(8) {
			if _, err := other.cast(rng); err != nil {
				return err
			}
		}
		if err := other.leave(ctx); err != nil {
			return err
		}
	}
	return nil
}
