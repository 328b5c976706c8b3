package season

import (
	"cmp"
	"context"
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
	titles, refused, missed, short, panics atomic.Uint64
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
	Panics          uint64 // of the game's callbacks: see PanicError
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
		Short: s.counts.short.Load(), Panics: s.counts.panics.Load(),
	}
}

// Current describes the season that it is, by fleet time.
func (s *Service) Current() Info { return s.cfg.Info(s.n.Now()) }

// Preview describes the season that it will be, or was, at t.
func (s *Service) Preview(t time.Time) Info { return s.cfg.Info(t) }

// Top is the best of a board of the current season, at most count and Config.Top (0: that
// many). The page is shared by everybody and shown for CacheFor (30 s): the store is asked at
// most once in that time, however many look. When the store does not answer, the page before is
// shown for another CacheFor. A board that nobody has written to yet is an empty page; one that
// lost its memory is ErrMemory until somebody writes to it again, and fills up from the profiles
// from then on. Past seasons are read by [Service.Result].
// The entries are shared: read-only.
func (s *Service) Top(ctx context.Context, board string, count int) (store.Page, error) {
	at, err := s.boardNow(board)
	if err != nil {
		return store.Page{}, err
	}
	p, err := s.page(ctx, at)
	if err != nil {
		return store.Page{}, err
	}
	page := p.page
	n := firstOf(len(page.Entries), count)
	page.Entries = page.Entries[:n:n]
	return page, nil
}

// Leaders are what Top is, with names and with the season that they are of.
func (s *Service) Leaders(ctx context.Context, board string, count int) (Leaders, error) {
	at, err := s.boardNow(board)
	if err != nil {
		return Leaders{}, err
	}
	p, err := s.page(ctx, at)
	if err != nil {
		return Leaders{}, err
	}
	n := firstOf(len(p.rows), count)
	return Leaders{
		K: at.k, Season: s.names(at.k).id, Board: board, Title: s.cfg.Boards[at.board].Title,
		Rows: p.rows[:n:n], Total: p.page.Total,
	}, nil
}

// firstOf is how many of n are the first count; 0 is all.
func firstOf(n, count int) int {
	if count <= 0 {
		return n
	}
	return min(n, count)
}

// Standing is the standing of a player on a board of the current season; ok is false when the
// player is not on it. A player on the page that Top shows has the standing shown there, and
// anybody else the exact one, behind the page, read once while the page is shown: so the
// player's card and the board never contradict. A page that has room left is the whole board.
// The board is up to FlushEvery and CacheFor behind the player's counters.
func (s *Service) Standing(ctx context.Context, board, key string) (st store.Standing, ok bool, err error) {
	at, err := s.boardNow(board)
	if err != nil {
		return store.Standing{}, false, err
	}
	st, ok, _, err = s.standingOn(ctx, at, key)
	return st, ok, err
}

// boardNow is a board of the current season.
func (s *Service) boardNow(board string) (boardAt, error) {
	if err := s.ofThisCalendar(); err != nil {
		return boardAt{}, err
	}
	i := slices.IndexFunc(s.cfg.Boards, func(b Board) bool { return b.Name == board })
	if i < 0 {
		return boardAt{}, fmt.Errorf("%w: %q", ErrNoBoard, shown(board))
	}
	return boardAt{k: s.season(), board: i}, nil
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
