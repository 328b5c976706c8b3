package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// raceClosers is how many nodes close a season at once.
const raceClosers = 10

// closeResult is the close of one season.
type closeResult struct {
	closers, entries int // entries of each board
	store            time.Duration
	wall             time.Duration // until the last closer has the result
	landed           int           // writes of the result that were done
	calls            int           // of the one that wrote it
}

// close fills the boards of a season, and has so many nodes close it at once. The store time is
// that of the node that wrote the result: all its calls about this season, added up.
func (b *seasonBench) close(ctx context.Context, closers int) (r closeResult, err error) {
	name := fmt.Sprintf("close%d", closers)
	rules := season.Reef()
	// The season ends in a moment, and the next one not for long.
	rules.Length = 24 * time.Hour
	rules.Epoch = b.clk.Now().Add(3*time.Second - rules.Length).UTC()
	rules.Grace, rules.FlushEvery = time.Second, 100*time.Millisecond
	rules.FirstClose, rules.CloseEvery = time.Hour, time.Hour // they close when they are told to
	r.closers, r.entries = closers, b.entries
	var seats []*seat
	defer func() {
		for _, s := range seats {
			err = errors.Join(err, s.leave(ctx))
		}
	}()
	for range closers {
		s, err := b.sit(ctx, name, rules)
		if err != nil {
			return r, err
		}
		seats = append(seats, s)
	}
	id, err := b.fillSeason(ctx, seats[0], name)
	if err != nil {
		return r, err
	}
	return r, b.closeAll(ctx, seats, name, id, &r)
}

// fillSeason plays the first season until its boards are there, and fills them.
func (b *seasonBench) fillSeason(ctx context.Context, s *seat, name string) (id string, err error) {
	id, end := s.next(name)
	players, err := s.load(ctx, 1)
	if err != nil {
		return "", err
	}
	if err := s.Season(name).Record(players[0], caught()...); err != nil { //nolint:contextcheck // an event waits for nothing
		return "", err
	}
	boards := season.Reef().Boards
	for len(s.calls.done("merge", id)) < len(boards) {
		if s.Now().After(end.Add(time.Minute)) {
			return "", errors.New("the season's boards are not there")
		}
		if err := clock.Sleep(ctx, b.clk, 10*time.Millisecond); err != nil {
			return "", err
		}
	}
	for _, board := range boards {
		if err := b.fillBoard(ctx, s.store.Boards(), season.BoardKey(name, board.Name, id)); err != nil {
			return "", err
		}
	}
	return id, b.until(ctx, s, end.Add(1500*time.Millisecond))
}

// fillBoard brings a board to its size.
func (b *seasonBench) fillBoard(ctx context.Context, boards store.Boards, key string) error {
	random := rand.New(rand.NewPCG(3, 3))
	for from := 1; from < b.entries; from += store.MaxMerge {
		entries := make([]store.Submission, min(store.MaxMerge, b.entries-from))
		for i := range entries {
			entries[i] = store.Submission{Key: benchKey(from + i), Score: random.Int64N(1 << 40), Stamp: store.Stamp{Epoch: 1}}
		}
		if _, err := boards.Merge(ctx, key, store.Batch{Rule: store.Last, Entries: entries}); err != nil {
			return err
		}
	}
	return nil
}

// closeAll has all seats close the season at once.
func (b *seasonBench) closeAll(ctx context.Context, seats []*seat, name, id string, r *closeResult) error {
	begun := b.clk.Now()
	here := make([]bool, len(seats))
	errs := make([]error, len(seats))
	var wg sync.WaitGroup
	for i, s := range seats {
		wg.Go(func() {
			var closed []season.Closed
			closed, errs[i] = s.Season(name).CloseDue(ctx)
			for _, c := range closed {
				here[i] = here[i] || c.ID == id && c.Here
			}
		})
	}
	wg.Wait()
	r.wall = b.clk.Now().Sub(begun)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, s := range seats {
		var mine []call
		for _, c := range s.calls.of(id) {
			if !c.begun.Before(begun) {
				mine = append(mine, c)
			}
			if c.op == "commit" && c.err == nil && strings.HasSuffix(c.key, "/result") {
				r.landed++
			}
		}
		if here[i] {
			r.calls = len(mine)
			for _, c := range mine {
				r.store += c.end.Sub(c.begun)
			}
		}
	}
	if r.landed != 1 {
		return fmt.Errorf("%d results of %s were written", r.landed, id)
	}
	return nil
}
