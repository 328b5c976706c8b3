package board

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// cache is the page of a board that everybody shares.
type cache struct {
	current atomic.Pointer[cachedPage] // replaced, never changed, under mu
	mu      struct {
		sync.Mutex
		reading *pageRead // the read in flight
		news    *store.Page
		telling bool // a goroutine is calling the listeners
	}
}

// cachedPage is a page and whether it is still fresh. A timer says when it no longer is: to
// read a clock would cost half of a Top.
type cachedPage struct {
	page  store.Page // by ordinal ranks
	views *views     // by the other ranks
	stale atomic.Bool
	timer clock.Timer // nil when the page was never fresh
}

func newCachedPage(page store.Page, views *views, fresh time.Duration, c clock.Clock) *cachedPage {
	p := &cachedPage{page: page, views: views}
	if fresh <= 0 {
		p.stale.Store(true)
		return p
	}
	p.timer = c.AfterFunc(fresh, func() { p.stale.Store(true) })
	return p
}

// fresh is false for no page.
func (p *cachedPage) fresh() bool { return p != nil && !p.stale.Load() }

// end makes the page stale, and takes its timer away.
func (p *cachedPage) end() {
	if p == nil {
		return
	}
	p.stale.Store(true)
	if p.timer != nil {
		p.timer.Stop()
	}
}

// top is the page with no more than count entries, unless count is 0.
func (p *cachedPage) top(mode store.RankMode, count int) store.Page {
	return first(p.views.of(p.page, mode), count)
}

// pageRead is a read that callers wait for. page and err stand when done is closed.
type pageRead struct {
	done chan struct{}
	page *cachedPage
	err  error
	late bool // the board was written meanwhile: what is read is not fresh; guarded by the cache's mutex
}

// Top is the best entries of a board, at most count of them (0: as many as the cached page
// has). They come from a page that is at most CacheFor old, counted from when its read
// began; one read of the store a window serves every caller. A failed read keeps the earlier
// page for another whole window; without an earlier page the answer is [ErrNoPage], with the
// store's error, and the next call tries again. A read that panics answers all who wait for
// it with a [PanicError]. A board that was never written is empty.
//
// More entries than the cached page has, up to store.MaxPage, are read from the store, as one
// page of one state; identical calls that overlap share it.
//
// The entries are shared between callers: they are read-only. After Close the cached page is
// served, however old.
func (s *Service) Top(ctx context.Context, board string, count int) (store.Page, error) {
	return s.top(ctx, store.Ordinal, board, count)
}

func (s *Service) top(ctx context.Context, mode store.RankMode, board string, count int) (store.Page, error) {
	b, err := s.board(board)
	if err != nil {
		return store.Page{}, err
	}
	if uint(count) > uint(b.cfg.MaxEntries) {
		return s.deepTop(ctx, mode, b, count)
	}
	p, err := s.cached(ctx, b)
	if err != nil {
		return store.Page{}, err
	}
	return p.top(mode, count), nil
}

// cached is the page of the board that is served now.
func (s *Service) cached(ctx context.Context, b *board) (*cachedPage, error) {
	if p := b.cache.current.Load(); p.fresh() {
		return p, nil
	}
	return s.sharedTop(ctx, b)
}

// first is the page with no more than count entries, unless count is 0.
func first(page store.Page, count int) store.Page {
	if count > 0 && count < len(page.Entries) {
		page.Entries = page.Entries[:count:count]
	}
	return page
}

// deepTop reads more than the cached page holds. The page begins with the best: its ranks
// follow from its scores, so that one read serves every mode.
func (s *Service) deepTop(ctx context.Context, mode store.RankMode, b *board, count int) (store.Page, error) {
	if err := checkCount(b.name, "count", count, store.MaxPage); err != nil {
		return store.Page{}, err
	}
	id := readKey{kind: readTop, board: b.name, wrote: b.wrote.Load(), n: count}
	page, err := share(ctx, s, id, func(ctx context.Context) (store.Page, error) {
		return b.orEmpty(s.host.boards.Page(ctx, b.name, 0, count, store.Ordinal))
	})
	return rankedPage(page, mode), readError("top", b.name, "", err)
}

// sharedTop waits for the read of the page, which the first caller starts.
func (s *Service) sharedTop(ctx context.Context, b *board) (*cachedPage, error) {
	c := &b.cache
	c.mu.Lock()
	if p := c.current.Load(); p.fresh() {
		c.mu.Unlock()
		return p, nil
	}
	r := c.mu.reading
	if r == nil {
		callCtx, cancel := s.bounded(context.WithoutCancel(ctx))
		done, ok := s.reads.begin(cancel)
		if !ok {
			c.mu.Unlock()
			return s.lastTop(b)
		}
		r = &pageRead{done: make(chan struct{})}
		c.mu.reading = r
		go s.readTop(callCtx, b, r, done)
	}
	c.mu.Unlock()
	if p := c.current.Load(); p != nil && s.readsWait() {
		return p, nil
	}
	select {
	case <-r.done:
		if r.err != nil && s.reads.over() {
			return s.lastTop(b)
		}
		return r.page, r.err
	case <-ctx.Done():
		return nil, readError("top", b.name, "", context.Cause(ctx))
	case <-s.drain.begun:
		return s.lastTop(b)
	}
}

// lastTop is what a closed service serves.
func (s *Service) lastTop(b *board) (*cachedPage, error) {
	if p := b.cache.current.Load(); p != nil {
		return p, nil
	}
	return nil, closedError(b.name)
}

// readTop runs a read of the page. What it learns is noted before those who wait go on.
func (s *Service) readTop(ctx context.Context, b *board, r *pageRead, done func()) {
	began := s.host.clock.Now()
	page, err := guarded(s, func() (store.Page, error) {
		return b.orEmpty(s.host.boards.Page(ctx, b.name, 0, b.cfg.MaxEntries, store.Ordinal))
	})
	current := false
	if err != nil {
		b.cache.fail(r, fmt.Errorf("board: top %s: %w: %w", b.name, ErrNoPage, err), b.cfg.CacheFor, s.host.clock)
	} else {
		left := b.cfg.CacheFor - s.host.clock.Now().Sub(began)
		if s.drain.hasBegun() {
			left = 0
		}
		current = b.cache.install(r, newCachedPage(page, new(views), left, s.host.clock), &b.sealed)
	}
	close(r.done)
	done()
	if current {
		b.cache.tell(func(page store.Page) {
			for _, l := range s.onUpdated.all() {
				s.listening(func() { l.fn(b.name, page) })
			}
		})
	}
}

// install ends a read with its page, and tells whether it is the page to be served now: not
// when the pages were dropped after the read began. sealed follows the page, under the mutex,
// so that a seal that drops the pages has the last word.
func (c *cache) install(r *pageRead, p *cachedPage, sealed *atomic.Bool) (current bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.page = p
	if c.mu.reading != r {
		p.end()
		return false
	}
	c.mu.reading = nil
	if r.late {
		p.end()
	}
	c.replaceLocked(p)
	sealed.Store(p.page.Info.Sealed)
	c.mu.news = &p.page
	return true
}

// fail ends a read without a page. The one before, if there is one, is served for a while;
// but a panic is told to everybody who waited for it.
func (c *cache) fail(r *pageRead, err error, again time.Duration, local clock.Clock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.err = err
	if c.mu.reading != r {
		return
	}
	c.mu.reading = nil
	if p := c.current.Load(); p != nil {
		p = newCachedPage(p.page, p.views, again, local)
		c.replaceLocked(p)
		if !panicked(err) {
			r.page, r.err = p, nil
		}
	}
}

func (c *cache) replaceLocked(p *cachedPage) {
	c.current.Load().end()
	c.current.Store(p)
}

// drop forgets the page, and what a read in flight will bring: entries were taken away.
func (c *cache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replaceLocked(nil)
	c.mu.reading, c.mu.news = nil, nil
}

// expire has the next Top read the store: entries were added. A read in flight may have
// missed them, and is not taken for fresh.
func (c *cache) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.Load().end()
	if c.mu.reading != nil {
		c.mu.reading.late = true
	}
}

// stop takes the timer away; the page is stale from now on.
func (c *cache) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current.Load().end()
}

// tell calls fn with the newest page, unless a goroutine is calling already: then that one
// will. So pages are told in order, and a slow listener holds up one goroutine.
func (c *cache) tell(fn func(store.Page)) {
	for page := c.takeNews(true); page != nil; page = c.takeNews(false) {
		fn(*page)
	}
}

// takeNews is a page that was not told yet; the caller tells from the first one on until
// there is none.
func (c *cache) takeNews(first bool) *store.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first && c.mu.telling {
		return nil
	}
	page := c.mu.news
	c.mu.news, c.mu.telling = nil, page != nil
	return page
}

// affects tells whether a merge may have changed what a page of at most size entries shows.
func affects(page store.Page, size int, batch store.Batch, changes []store.Change) bool {
	listed := make(map[string]struct{}, len(page.Entries))
	for _, e := range page.Entries {
		listed[e.Key] = struct{}{}
	}
	for i, c := range changes {
		if i >= len(batch.Entries) || c.Effect != store.Created && c.Effect != store.Changed {
			continue
		}
		if _, ok := listed[batch.Entries[i].Key]; ok || len(page.Entries) < size {
			return true
		}
		if last := page.Entries[len(page.Entries)-1]; page.Info.Order.Better(c.New, last.Score) {
			return true
		}
	}
	return false
}
