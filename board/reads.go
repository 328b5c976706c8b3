package board

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// mostKeys is how many keys one call of Scores takes.
const mostKeys = 10 * store.MaxPage

// reads are the reads of a service that are in flight, and what callers share of them.
type reads struct {
	slots   chan struct{} // one for each exact read
	running sync.WaitGroup
	mu      struct {
		sync.Mutex
		ended   bool
		cancels map[int]context.CancelFunc
		next    int
		shared  map[readKey]*sharedRead
	}
}

// readKey names a read, so that identical ones are shared. wrote keeps a caller from joining
// a read that began before a write this service has been answered since.
type readKey struct {
	kind  readKind
	board string
	wrote uint64
	mode  store.RankMode
	key   string
	n     int
}

type readKind uint8

const (
	readTop readKind = iota + 1
	readStanding
	readAround
	readScores
)

// sharedRead is a read that callers wait for.
type sharedRead struct {
	done  chan struct{}
	value any
	err   error
}

func (r *reads) init(atOnce int) {
	r.slots = make(chan struct{}, atOnce)
	r.mu.cancels = make(map[int]context.CancelFunc)
	r.mu.shared = make(map[readKey]*sharedRead)
}

// begin registers a read, whose context ends with the service; ok is false when it has ended.
func (r *reads) begin(cancel context.CancelFunc) (done func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.ended {
		cancel()
		return nil, false
	}
	r.mu.next++
	id := r.mu.next
	r.mu.cancels[id] = cancel
	r.running.Add(1)
	return func() {
		cancel()
		r.mu.Lock()
		delete(r.mu.cancels, id)
		r.mu.Unlock()
		r.running.Done()
	}, true
}

// close cancels what is in flight; nothing begins any more.
func (r *reads) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.ended = true
	for _, cancel := range r.mu.cancels {
		cancel()
	}
}

// over tells that close has been called: a read that failed may have failed for that.
func (r *reads) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.ended
}

func (r *reads) wait() { r.running.Wait() }

// join is the read with the key, when one is in flight.
func (r *reads) join(key readKey) *sharedRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.shared[key]
}

// open is the read with the key; mine tells that the caller is to run it.
func (r *reads) open(key readKey) (f *sharedRead, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f = r.mu.shared[key]; f != nil {
		return f, false
	}
	f = &sharedRead{done: make(chan struct{})}
	r.mu.shared[key] = f
	return f, true
}

func (r *reads) settle(key readKey, f *sharedRead, value any, err error) {
	r.mu.Lock()
	delete(r.mu.shared, key)
	r.mu.Unlock()
	f.value, f.err = value, err
	close(f.done)
}

// share reads, together with whoever asks the same meanwhile. A caller that goes away strands
// nobody: the read goes on, within CallTimeout.
func share[V any](ctx context.Context, s *Service, key readKey, read func(context.Context) (V, error)) (v V, err error) {
	f := s.reads.join(key)
	if f == nil {
		if err := s.enter(ctx, key.board); err != nil {
			return v, err
		}
		var mine bool
		if f, mine = s.reads.open(key); mine {
			startShared(ctx, s, key, f, read)
		} else {
			s.leave()
		}
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return v, context.Cause(ctx)
	case <-s.drain.begun:
		return v, closedError(key.board)
	}
	if f.err != nil && s.reads.over() {
		return v, closedError(key.board)
	}
	if f.err != nil {
		return v, f.err
	}
	return f.value.(V), nil //nolint:forcetypeassert // the key's kind decides the type
}

// startShared runs a shared read on a goroutine of its own.
func startShared[V any](ctx context.Context, s *Service, key readKey, f *sharedRead, read func(context.Context) (V, error)) {
	ctx, cancel := s.bounded(context.WithoutCancel(ctx))
	done, ok := s.reads.begin(cancel)
	if !ok {
		s.leave()
		s.reads.settle(key, f, nil, closedError(key.board))
		return
	}
	go func() {
		defer done()
		v, err := guarded(s, func() (V, error) { return read(ctx) })
		s.leave()
		s.reads.settle(key, f, v, err)
	}()
}

// enter waits for a free place among the exact reads.
func (s *Service) enter(ctx context.Context, board string) error {
	if s.drain.hasBegun() {
		return closedError(board)
	}
	select {
	case s.reads.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.drain.begun:
		return closedError(board)
	}
}

func (s *Service) leave() { <-s.reads.slots }

// standing is an answer of Standing.
type standing struct {
	store.Standing
	ok bool
}

// Standing is the exact standing of a key, read from the store; ok is false when it has no
// entry. What waits in the queue is not in it.
//
// It is as of now, and a page of Top may be CacheFor old: the two may contradict each other.
// [Service.Card] is the standing to show beside a page.
func (s *Service) Standing(ctx context.Context, board, key string) (st store.Standing, ok bool, err error) {
	return s.standing(ctx, store.Ordinal, board, key)
}

func (s *Service) standing(ctx context.Context, mode store.RankMode, board, key string) (st store.Standing, ok bool, err error) {
	b, err := s.readable(board, key)
	if err != nil {
		return store.Standing{}, false, err
	}
	id := readKey{kind: readStanding, board: board, wrote: b.wrote.Load(), mode: mode, key: key}
	got, err := share(ctx, s, id, func(ctx context.Context) (standing, error) {
		st, ok, err := s.host.boards.Standing(ctx, board, key, mode)
		return standing{st, ok}, orMissing(err)
	})
	if err != nil {
		return store.Standing{}, false, readError("standing", board, key, err)
	}
	return got.Standing, got.ok, nil
}

// Around is the standings around a key, read from the store: n above, itself, n below,
// clamped at both ends. Without an entry the page has no entries. The entries are shared:
// read-only. n is at most (store.MaxPage-1)/2.
func (s *Service) Around(ctx context.Context, board, key string, n int) (store.Page, error) {
	return s.around(ctx, store.Ordinal, board, key, n)
}

func (s *Service) around(ctx context.Context, mode store.RankMode, board, key string, n int) (store.Page, error) {
	b, err := s.readable(board, key)
	if err != nil {
		return store.Page{}, err
	}
	if err := checkCount(board, "count", n, (store.MaxPage-1)/2); err != nil {
		return store.Page{}, err
	}
	id := readKey{kind: readAround, board: board, wrote: b.wrote.Load(), mode: mode, key: key, n: n}
	page, err := share(ctx, s, id, func(ctx context.Context) (store.Page, error) {
		page, err := s.host.boards.Around(ctx, board, key, n, mode)
		return b.orEmpty(page, err)
	})
	return page, readError("around", board, key, err)
}

// Scores are the stored entries of those keys that have one, read from the store. What waits
// in the queue is not in them. It takes up to ten times store.MaxPage keys, and reads them
// in parts, each of one state of the board. Keys may repeat.
func (s *Service) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	if err := checkCount(board, "keys", len(keys), mostKeys); err != nil {
		return nil, err
	}
	b, err := s.readable(board, keys...)
	if err != nil {
		return nil, err
	}
	unique := slices.Compact(slices.Sorted(slices.Values(keys)))
	out := make(map[string]store.Entry, len(unique))
	for part := range slices.Chunk(unique, store.MaxPage) {
		id := readKey{kind: readScores, board: board, wrote: b.wrote.Load(), key: strings.Join(part, " ")}
		got, err := share(ctx, s, id, func(ctx context.Context) (map[string]store.Entry, error) {
			got, err := s.host.boards.Scores(ctx, board, part...)
			return got, orMissing(err)
		})
		if err != nil {
			return nil, readError("scores", board, part[0], err)
		}
		maps.Copy(out, got)
	}
	return out, nil
}

// Page is the standings from offset (0 is the best) on, at most limit of them and
// store.MaxPage, read from the store at the time of the call and shared with nobody. A board
// that is missing answers store.ErrNoBoard. The board need not be defined.
func (s *Service) Page(ctx context.Context, board string, offset int64, limit int) (store.Page, error) {
	return s.page(ctx, store.Ordinal, board, offset, limit)
}

func (s *Service) page(ctx context.Context, mode store.RankMode, board string, offset int64, limit int) (store.Page, error) {
	if err := s.direct(board); err != nil {
		return store.Page{}, err
	}
	if err := checkCount(board, "count", limit, store.MaxPage); err != nil {
		return store.Page{}, err
	}
	if offset < 0 {
		return store.Page{}, &RefusedError{Board: board, Field: "offset", Problem: fmt.Sprintf("0 or more expected, got %d", offset), Reason: ErrCount}
	}
	if err := s.enter(ctx, board); err != nil {
		return store.Page{}, readError("page", board, "", err)
	}
	defer s.leave()
	page, err := s.host.boards.Page(ctx, board, offset, limit, mode)
	return page, readError("page", board, "", err)
}

// readable finds the board of a read and checks the keys.
func (s *Service) readable(board string, keys ...string) (*board, error) {
	b, err := s.board(board)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := checkKey(board, key); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func checkCount(board, field string, n, most int) error {
	if n >= 0 && n <= most {
		return nil
	}
	return &RefusedError{Board: board, Field: field, Problem: fmt.Sprintf("0 to %d expected, got %d", most, n), Reason: ErrCount}
}

// orMissing takes a board that was never written for an empty one.
func orMissing(err error) error {
	if errors.Is(err, store.ErrNoBoard) {
		return nil
	}
	return err
}

// orEmpty is orMissing for a page.
func (b *board) orEmpty(page store.Page, err error) (store.Page, error) {
	if errors.Is(err, store.ErrNoBoard) {
		return store.Page{Info: store.BoardInfo{Order: b.cfg.Order}}, nil
	}
	return page, err
}

func readError(op, board, key string, err error) error {
	var bad *RefusedError
	if err == nil || errors.As(err, &bad) {
		return err
	}
	if key != "" {
		board += " " + key
	}
	return fmt.Errorf("board: %s %s: %w", op, board, err)
}
