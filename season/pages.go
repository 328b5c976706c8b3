package season

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

const (
	// keptSeasons is how far from each other seasons are whose pages are kept: around a boundary
	// both sides of it are looked at.
	keptSeasons = 2
	// maxBeyond is how many standings are kept beside one page. Beyond it, standings of players
	// that are not kept are read each time.
	maxBeyond = 10_000
)

// Row is a place on a board, with the player's name.
type Row struct {
	Rank  int64
	Key   string
	Score int64
	Name  string // empty when there is none
}

// Leaders are the best of a board of the running season, with their names.
type Leaders struct {
	K      int64
	Season string // the id
	Board  string
	Title  string // what the best are called
	Rows   []Row  // shared: read-only
	Total  int64  // entries of the board
}

// boardAt is one board of one season.
type boardAt struct {
	k     int64
	board int // the index in the configuration
}

// pages are the pages that everybody who looks at a board shares: Top, Leaders, Standing and
// Card. A page is read at most once per CacheFor, whatever is written meanwhile.
type pages struct {
	mu struct {
		sync.RWMutex
		byBoard map[boardAt]*held[*shownPage]
	}
}

// shownPage is a page of a board as it is shown for a while, and whatever is shown beside it.
type shownPage struct {
	page  store.Page
	rows  []Row
	place map[string]int // key → index

	beyond struct {
		sync.Mutex
		byKey map[string]*held[standing]
	}
}

// standing is an answer of Boards.Standing.
type standing struct {
	store.Standing
	ok bool
}

func newShownPage(page store.Page) *shownPage {
	p := &shownPage{page: page, rows: make([]Row, len(page.Entries)), place: make(map[string]int, len(page.Entries))}
	for i, e := range page.Entries {
		p.rows[i] = Row{Rank: e.Rank, Key: e.Key, Score: e.Score, Name: nameOf(e.Meta)}
		p.place[e.Key] = i
	}
	return p
}

// of is where a board's page is kept. Pages of seasons long gone make room.
func (ps *pages) of(at boardAt) *held[*shownPage] {
	ps.mu.RLock()
	h := ps.mu.byBoard[at]
	ps.mu.RUnlock()
	if h != nil {
		return h
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if h = ps.mu.byBoard[at]; h != nil {
		return h
	}
	if ps.mu.byBoard == nil {
		ps.mu.byBoard = make(map[boardAt]*held[*shownPage])
	}
	for old := range ps.mu.byBoard {
		if old.k <= at.k-keptSeasons || old.k >= at.k+keptSeasons {
			delete(ps.mu.byBoard, old)
		}
	}
	h = newHeld[*shownPage]()
	ps.mu.byBoard[at] = h
	return h
}

// page is the page of a board that is shown now.
func (s *Service) page(ctx context.Context, at boardAt) (*shownPage, error) {
	h := s.pages.of(at)
	if a := h.peek(s.clock.Now()); a != nil {
		return a.value, a.err
	}
	return h.get(ctx, s.clock, func(bounded context.Context, before **shownPage) (*shownPage, time.Duration, error) {
		page, err := s.readPage(bounded, at)
		switch {
		case err != nil && (before == nil || ctx.Err() != nil || errors.Is(err, ErrMemory)):
			return nil, s.failedFor(), err
		case err != nil:
			s.log.WarnContext(ctx, "a board cannot be read; the page before is shown for another while",
				"season", s.cfg.ID(at.k), "board", s.cfg.Boards[at.board].Name, "err", err)
			return *before, s.cfg.CacheFor, nil
		case before != nil && samePage(page, (*before).page): // a cache below is about to read anew
			return *before, s.cfg.CacheFor / 16, nil
		}
		return newShownPage(page), s.cfg.CacheFor, nil
	})
}

// failedFor is how long a failed read is told again to those who ask, so that a crowd before a
// store that is down is one call a second.
func (s *Service) failedFor() time.Duration { return min(time.Second, s.cfg.CacheFor) }

// samePage tells that two pages are one in memory.
func samePage(a, b store.Page) bool {
	return len(a.Entries) > 0 && len(a.Entries) == len(b.Entries) && &a.Entries[0] == &b.Entries[0]
}

// readPage reads the page of a board. One that nobody has written to yet is empty.
func (s *Service) readPage(ctx context.Context, at boardAt) (store.Page, error) {
	if err := s.define(at.k); err != nil {
		return store.Page{}, err
	}
	key := s.names(at.k).boards[at.board]
	page, err := s.boards.Top(ctx, key, s.cfg.Top)
	if errors.Is(err, store.ErrNoBoard) || err == nil && page.Info.Generation == "" {
		return store.Page{}, s.whyMissing(ctx, at.k, s.cfg.Boards[at.board].Name)
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("season: top of %s: %w", key, err)
	}
	return page, nil
}

// standingOn is how a key stands on a board beside the page that is shown: on the page as the
// page shows it; anybody else behind it, by a read that is no older than the page. A page
// with room left shows the whole board, so that who is not on it stands nowhere.
func (s *Service) standingOn(ctx context.Context, at boardAt, key string) (st store.Standing, ok bool, total int64, err error) {
	p, err := s.page(ctx, at)
	if err != nil {
		return store.Standing{}, false, 0, err
	}
	total = p.page.Total
	if i, on := p.place[key]; on {
		return p.page.Entries[i], true, total, nil
	}
	if len(p.rows) < s.cfg.Top {
		return store.Standing{}, false, total, nil
	}
	if err := name.CheckKey("key", key); err != nil {
		return store.Standing{}, false, total, fmt.Errorf("season: %w", err)
	}
	found, err := p.behind(key).get(ctx, s.clock, func(ctx context.Context, _ *standing) (standing, time.Duration, error) {
		st, ok, err := s.boards.Standing(ctx, s.names(at.k).boards[at.board], key)
		if err != nil && !errors.Is(err, store.ErrNoBoard) {
			return standing{}, s.failedFor(), fmt.Errorf("season: standing on %s: %w", s.names(at.k).boards[at.board], err)
		}
		return standing{st, ok && err == nil}, farAhead, nil
	})
	if err != nil || !found.ok {
		return store.Standing{}, false, total, err
	}
	found.Rank = max(found.Rank, int64(len(p.rows))+1)
	return found.Standing, true, max(total, found.Rank), nil
}

// farAhead is longer than any page is kept: a standing goes with its page.
const farAhead = 365 * 24 * time.Hour

// behind is where the standing of somebody who is not on the page is kept.
func (p *shownPage) behind(key string) *held[standing] {
	p.beyond.Lock()
	defer p.beyond.Unlock()
	h := p.beyond.byKey[key]
	if h != nil {
		return h
	}
	h = newHeld[standing]()
	if p.beyond.byKey == nil {
		p.beyond.byKey = make(map[string]*held[standing])
	}
	if len(p.beyond.byKey) < maxBeyond {
		p.beyond.byKey[key] = h
	}
	return h
}
