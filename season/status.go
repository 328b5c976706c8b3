package season

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
)

// counts are what a Status counts since the start.
type counts struct {
	titles, refused, missed, short atomic.Uint64
}

// Waiting is a season that is due and could not be closed.
type Waiting struct {
	K      int64
	Season string
	Why    string
	Since  time.Time // fleet time
}

// waits are the seasons that wait; the oldest stay when there are too many.
type waits struct {
	mu struct {
		sync.Mutex
		byK map[int64]Waiting
	}
}

const maxWaits = 64

func (w *waits) note(x Waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.byK == nil {
		w.mu.byK = make(map[int64]Waiting)
	}
	if old, ok := w.mu.byK[x.K]; ok {
		x.Since = old.Since
	} else if len(w.mu.byK) >= maxWaits {
		return
	}
	w.mu.byK[x.K] = x
}

func (w *waits) clear(k int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mu.byK, k)
}

func (w *waits) list() []Waiting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Values(w.mu.byK), func(a, b Waiting) int { return cmp.Compare(a.K, b.K) })
}

// Status is how the seasons are, on this node.
type Status struct {
	Set     string
	Current Info
	// Started, First and Through are what is stored, as last read: the set's first season and
	// the last one up to which every season has a result (First-1 when none has).
	Started        bool
	First, Through int64
	Waiting        []Waiting // due and not closed, with the reason
	Fresh          bool      // fleet time is fresh, so that seasons may be closed
	// ClockDifference is the local clock's lead over fleet time.
	ClockDifference time.Duration
	Players         int    // open sessions
	Outbox          int    // values that wait for their boards
	Titles          uint64 // titles told since the start
	Refused         uint64 // values that came too late
	Missed          uint64 // last writes at leaving that could not be collected
	Short           uint64 // flushes that the request budget cut short: the rest waits in the outbox
}

// Status answers from memory.
func (s *Service) Status() Status {
	now, fresh := s.n.FleetTime()
	local := s.clock.Now()
	p := s.shelf.stored()
	return Status{
		Set: s.set, Current: s.cfg.Info(now), Started: p.started, First: p.first, Through: p.through,
		Waiting: s.waits.list(), Fresh: fresh, ClockDifference: local.Round(0).Sub(now.Round(0)),
		Players: len(s.players.all()), Outbox: s.outbox.size(),
		Titles: s.counts.titles.Load(), Refused: s.counts.refused.Load(), Missed: s.counts.missed.Load(),
		Short: s.counts.short.Load(),
	}
}

// Current describes the season that it is, by fleet time.
func (s *Service) Current() Info { return s.cfg.Info(s.n.Now()) }

// Preview describes the season that it will be, or was, at t.
func (s *Service) Preview(t time.Time) Info { return s.cfg.Info(t) }

// Top is the best of a board of the current season, at most count, from the boards' cache
// (30 s by default). A board that nobody has written to yet is an empty page; one that lost
// its memory is ErrMemory until it is refilled. Past seasons are read by [Service.Result].
func (s *Service) Top(ctx context.Context, board string, count int) (store.Page, error) {
	k, key, err := s.boardNow(board)
	if err != nil {
		return store.Page{}, err
	}
	page, err := s.boards.Top(ctx, key, count)
	if errors.Is(err, store.ErrNoBoard) || err == nil && page.Info.Generation == "" {
		return store.Page{}, s.whyMissing(ctx, k, board)
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("season: top of %s: %w", key, err)
	}
	return page, nil
}

// Standing is the standing of a player on a board of the current season; ok is false when the
// player is not on it. A player on the cached page has the standing shown there, and anybody
// else the exact one, behind the page: so the player's card and the board never contradict.
// The board is up to FlushEvery behind the player's counters.
func (s *Service) Standing(ctx context.Context, board, key string) (st store.Standing, ok bool, err error) {
	_, boardKey, err := s.boardNow(board)
	if err != nil {
		return store.Standing{}, false, err
	}
	page, err := s.Top(ctx, board, s.cfg.Top)
	if err != nil || page.Info.Generation == "" {
		return store.Standing{}, false, err
	}
	for _, e := range page.Entries {
		if e.Key == key {
			return e, true, nil
		}
	}
	st, ok, err = s.boards.Standing(ctx, boardKey, key)
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		return store.Standing{}, false, fmt.Errorf("season: standing on %s: %w", boardKey, err)
	}
	if !ok {
		return store.Standing{}, false, nil
	}
	st.Rank = max(st.Rank, int64(len(page.Entries))+1)
	return st, true, nil
}

// boardNow is the key of a board of the current season.
func (s *Service) boardNow(board string) (k int64, key string, err error) {
	i := slices.IndexFunc(s.cfg.Boards, func(b Board) bool { return b.Name == board })
	if i < 0 {
		return 0, "", fmt.Errorf("%w: %q", ErrNoBoard, shown(board))
	}
	k = s.season()
	if err := s.define(k); err != nil {
		return 0, "", err
	}
	return k, s.names(k).boards[i], nil
}

// blank remembers, for as long as a page is cached, that a season's boards are missing because
// nobody has written to them yet.
type blank struct {
	mu struct {
		sync.Mutex
		k     int64
		known bool
		until time.Time
	}
}

func (b *blank) is(k int64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.known && b.mu.k == k && now.Before(b.mu.until)
}

func (b *blank) set(k int64, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.k, b.mu.known, b.mu.until = k, true, until
}

// whyMissing is nil when a board is missing because nobody has written to it yet.
func (s *Service) whyMissing(ctx context.Context, k int64, board string) error {
	now := s.clock.Now()
	if s.blank.is(k, now) {
		return nil
	}
	rec, err := s.read(ctx, registerKey(s.set, s.cfg.ID(k)))
	if err != nil {
		return err
	}
	if rec.Missing() {
		s.blank.set(k, now.Add(s.cfg.CacheFor))
		return nil
	}
	reg, err := decodeRegister(rec.Value)
	if err != nil {
		return err
	}
	if reg.Boards[board].Generation == "" {
		return nil
	}
	return fmt.Errorf("%w: %s of %s", ErrMemory, board, reg.Season)
}
