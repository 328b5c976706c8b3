package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/store"
)

// reads opens the store again and measures what is read.
func (b *boardBench) reads(ctx context.Context, n int, c *curve) (err error) {
	s, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if c.first, err = b.firstRank(ctx, s, n); err != nil {
		return err
	}
	for i, offset := range [...]int64{0, int64(n / 2), int64(n - min(n, asked))} {
		if c.rank[i], err = b.ranks(ctx, s, offset, store.Ordinal); err != nil {
			return err
		}
	}
	middle := int64(n / 2)
	if c.shared, err = b.ranks(ctx, s, middle, store.Competition); errors.Is(err, store.ErrUnsupported) {
		err = nil
	}
	if err == nil {
		c.top, err = b.pages(ctx, s, 0)
	}
	if err == nil {
		c.deep, err = b.pages(ctx, s, middle)
	}
	if err == nil {
		c.around, err = b.arounds(ctx, s, middle)
	}
	if err == nil {
		c.walk, err = b.walks(ctx, s)
	}
	if err != nil {
		return err
	}
	b.say("%s entries: ranks under writes", count(n))
	stop := b.writer(ctx, s, n)
	c.busy, err = b.ranks(ctx, s, middle, store.Ordinal)
	written, writing := stop()
	c.written = written
	return errors.Join(err, writing)
}

// firstRank is the time of the first rank of a store that has just been opened.
func (b *boardBench) firstRank(ctx context.Context, s *session, n int) (time.Duration, error) {
	start := b.clk.Now()
	_, ok, err := s.boards.Standing(ctx, benchBoard, benchKey(n/3), store.Ordinal)
	if err == nil && !ok {
		err = fmt.Errorf("bench: %s has no entry", benchKey(n/3))
	}
	return b.clk.Now().Sub(start), err
}

// asked is of how many keys around a depth ranks are asked.
const asked = 200

// ranks measures the ranks of the keys that are at a depth now.
func (b *boardBench) ranks(ctx context.Context, s *session, offset int64, mode store.RankMode) (spread, error) {
	page, err := s.boards.Page(ctx, benchBoard, offset, asked, store.Ordinal)
	if err != nil {
		return spread{}, err
	}
	if len(page.Entries) == 0 {
		return spread{}, fmt.Errorf("bench: no entries at %d", offset)
	}
	i := 0
	return b.latencies(ctx, func() error {
		i++
		_, _, err := s.boards.Standing(ctx, benchBoard, page.Entries[i%len(page.Entries)].Key, mode)
		return err
	})
}

func (b *boardBench) pages(ctx context.Context, s *session, offset int64) (spread, error) {
	return b.latencies(ctx, func() error {
		_, err := s.boards.Page(ctx, benchBoard, offset, 50, store.Ordinal)
		return err
	})
}

func (b *boardBench) arounds(ctx context.Context, s *session, offset int64) (spread, error) {
	page, err := s.boards.Page(ctx, benchBoard, offset, asked, store.Ordinal)
	if err != nil {
		return spread{}, err
	}
	i := 0
	return b.latencies(ctx, func() error {
		i++
		_, err := s.boards.Around(ctx, benchBoard, page.Entries[i%len(page.Entries)].Key, 10, store.Ordinal)
		return err
	})
}

// walks walks the board, again and again, and answers the rate.
func (b *boardBench) walks(ctx context.Context, s *session) (float64, error) {
	var at store.Cursor
	took, seen := time.Duration(0), 0
	err := b.repeat(ctx, func() error {
		start := b.clk.Now()
		page, next, err := s.boards.Walk(ctx, benchBoard, at, store.MaxPage)
		took, seen, at = took+b.clk.Now().Sub(start), seen+len(page.Entries), next
		if next.Done() {
			at = store.Cursor{}
		}
		return err
	})
	if errors.Is(err, store.ErrUnsupported) {
		return 0, nil
	}
	return perSecond(seen, took), err
}

// inMemory measures what needs no store.
func (b *boardBench) inMemory(ctx context.Context) (rates []submitRate, top time.Duration, err error) {
	b.say("in memory: scores handed in, and cached pages")
	s, err := b.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if _, err = s.svc.Top(ctx, benchBoard, 50); err != nil {
		return nil, 0, err
	}
	if top, err = b.cachedTops(ctx, s); err != nil {
		return nil, 0, err
	}
	keys := make([]string, smallest)
	for i := range keys {
		keys[i] = benchKey(i)
	}
	for _, goroutines := range [...]int{1, 4, 16} {
		each, err := b.submits(ctx, s, keys, goroutines)
		if err != nil {
			return nil, 0, err
		}
		rates = append(rates, submitRate{goroutines, each})
	}
	return rates, top, nil
}

// burst is how many calls are made between two looks at the clock.
const burst = 10_000

func (b *boardBench) cachedTops(ctx context.Context, s *session) (time.Duration, error) {
	var all []time.Duration
	err := b.repeat(ctx, func() error {
		if _, err := s.svc.Top(ctx, benchBoard, 50); err != nil { // read anew when its time is over
			return err
		}
		start := b.clk.Now()
		for range burst {
			if _, err := s.svc.Top(ctx, benchBoard, 50); err != nil {
				return err
			}
		}
		all = append(all, b.clk.Now().Sub(start)/burst)
		return nil
	})
	return spreadOf(all).p50, err
}

// submits is the time of a Submit when so many goroutines hand in scores, by the clock on the
// wall: of two at once each counts half.
func (b *boardBench) submits(ctx context.Context, s *session, keys []string, goroutines int) (time.Duration, error) {
	n, took := 0, time.Duration(0)
	err := b.repeat(ctx, func() error {
		var wg sync.WaitGroup
		failures := make([]error, goroutines)
		start := b.clk.Now()
		for g := range goroutines {
			wg.Go(func() {
				for i := range burst {
					if err := s.svc.Submit(queueBoard, keys[(i+977*g)%len(keys)], int64(i)); err != nil {
						failures[g] = err
					}
				}
			})
		}
		wg.Wait()
		took, n = took+b.clk.Now().Sub(start), n+burst*goroutines
		return errors.Join(failures...)
	})
	return took / time.Duration(max(n, 1)), err
}
