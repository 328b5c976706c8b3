package board

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// MaxBans is how many keys may be banned. A ban beyond them is refused with [ErrFull].
const MaxBans = 100_000

// mostBans is how many a service reads: bans that were made at the same time may be a few too
// many.
const mostBans = MaxBans + MaxBans/10

// errBansUnread is that the list of bans could not be read.
var errBansUnread = errors.New("bans")

// banList is the list of banned keys as a service knows it. It follows the records: once as a
// whole, and then by the marks, which stay longer than the list may be old.
type banList struct {
	keys atomic.Pointer[map[string]struct{}] // replaced, never changed, by who holds turn
	turn chan struct{}                       // held by the one who reads
	mu   struct {
		sync.Mutex
		begun   uint64        // readings that have begun
		through uint64        // the last of them that succeeded
		read    time.Duration // when that one began
		whole   time.Duration // when the last one of the whole list began
		fresh   []string      // newly banned: their values may wait in queues
		late    []string      // learned of later than the marks promise: to be hidden here
	}
}

func (l *banList) init() {
	l.turn = make(chan struct{}, 1)
	l.keys.Store(&map[string]struct{}{})
}

// has tells whether a key is banned.
func (l *banList) has(key string) bool {
	keys := l.keys.Load()
	if keys == nil || len(*keys) == 0 {
		return false
	}
	_, ok := (*keys)[key]
	return ok
}

// refreshBans brings the list up to what was stored when it was called. Callers that come
// while others wait share a reading that begins after they came.
func (s *Service) refreshBans(ctx context.Context) error {
	if !s.moderated() {
		return nil
	}
	// Others wait for this reading: it is not put off as the work of one of them may be.
	ctx, cancel := s.bounded(s.inside(node.WithoutTerms(ctx)))
	defer cancel()
	l := &s.moderation.list
	l.mu.Lock()
	seen := l.mu.begun
	l.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w: %w", errBansUnread, store.ErrUnavailable, context.Cause(ctx))
	}
	l.mu.Lock()
	if l.mu.through > seen {
		l.mu.Unlock()
		return nil
	}
	l.mu.begun++
	number, first := l.mu.begun, l.mu.through == 0
	now := s.uptime()
	whole := first || now-l.mu.read > trustFor || now-l.mu.whole > wholeEvery
	late := !first && now-l.mu.read > trustFor
	l.mu.Unlock()
	next, err := s.readBans(ctx, whole, *l.keys.Load())
	if errors.Is(err, store.ErrUnsupported) {
		return nil // a store that cannot list has no bans
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errBansUnread, err)
	}
	s.installBans(next, number, now, whole, late)
	return nil
}

// readBans reads the whole list, or what the marks say of the one before. It is given the
// number of marks, so that more than one look can read lead to the whole.
func (s *Service) readBans(ctx context.Context, whole bool, before map[string]struct{}) (map[string]struct{}, error) {
	marks, err := s.readMarks(ctx, markBan)
	if err != nil {
		return nil, err
	}
	s.see(markBan, marks)
	if whole || len(marks) == maxMarks {
		return s.readAllBans(ctx)
	}
	if len(marks) == 0 {
		return before, nil
	}
	keys := make([]string, len(marks))
	for i, rec := range marks {
		keys[i] = banKey(markBan.marked(rec.Key))
	}
	recs, err := s.get(ctx, keys...)
	if err != nil {
		return nil, err
	}
	next := maps.Clone(before)
	for i, rec := range recs {
		key := markBan.marked(marks[i].Key)
		if in, err := readIntent(rec, store.Record{}); err != nil || in.banned() {
			next[key] = struct{}{} // what a later release wrote is taken for a ban
		} else {
			delete(next, key)
		}
	}
	return next, nil
}

func (s *Service) readAllBans(ctx context.Context) (map[string]struct{}, error) {
	next := make(map[string]struct{})
	for rec, err := range s.host.records.Scan(ctx, store.Prefix(banFolder)) {
		if err != nil {
			return nil, err
		}
		if in, err := readIntent(rec, store.Record{}); err == nil && !in.banned() {
			continue // lifted lately
		}
		if len(next) == mostBans {
			s.host.logger.ErrorContext(ctx, "more bans than are kept: the last ones hold only on boards that were there before them", "kept", mostBans)
			break
		}
		next[rec.Key[len(banFolder):]] = struct{}{}
	}
	return next, nil
}

// installBans replaces the list, and notes who is new on it.
func (s *Service) installBans(next map[string]struct{}, number uint64, now time.Duration, whole, late bool) {
	l := &s.moderation.list
	before := *l.keys.Load()
	var fresh []string
	for key := range next {
		if _, ok := before[key]; !ok {
			fresh = append(fresh, key)
		}
	}
	slices.Sort(fresh)
	l.keys.Store(&next)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.through, l.mu.read = number, now
	if whole {
		l.mu.whole = now
	}
	l.mu.fresh = joined(l.mu.fresh, fresh, next)
	if late {
		l.mu.late = joined(l.mu.late, fresh, next)
	}
}

// joined are the keys of both that are banned, each once: who writes nothing for long does not
// pile up what others ban and unban.
func joined(waiting, fresh []string, banned map[string]struct{}) []string {
	if len(fresh) == 0 {
		return waiting
	}
	all := slices.Concat(waiting, fresh)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(key string) bool {
		_, ok := banned[key]
		return !ok
	})
}

// takeFresh are the keys that were newly banned since the last call.
func (l *banList) takeFresh() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.mu.fresh
	l.mu.fresh = nil
	return fresh
}

func (l *banList) takeLate() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := l.mu.late
	l.mu.late = nil
	return late
}

// hideLate hides, on the boards that this service has written to, whom it learned of late: it
// may have written their scores to a board that was made anew meanwhile.
func (s *Service) hideLate(ctx context.Context) error {
	late := s.moderation.list.takeLate()
	if len(late) == 0 {
		return nil
	}
	var errs []error
	for _, b := range s.boards.Load().sorted {
		if b.wrote.Load() == 0 {
			continue
		}
		if _, err := s.hideOn(ctx, b.name, true, late); err != nil && !beyond(err) {
			errs = append(errs, err)
		}
	}
	err := errors.Join(errs...)
	if err != nil {
		l := &s.moderation.list
		l.mu.Lock()
		l.mu.late = append(l.mu.late, late...)
		l.mu.Unlock()
	}
	return err
}

// guard is what a board remembers of its bans.
type guard struct {
	mu struct {
		sync.Mutex
		life  uint64 // grows when the board may have been made anew
		fresh bool   // the list was read after the board was seen to exist
	}
}

// reset forgets: the board may have been made anew.
func (g *guard) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.life++
	g.mu.fresh = false
}

func (g *guard) state() (life uint64, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.life, g.mu.fresh
}

// note has the guard remember that the list was read, unless the board may have been made anew
// meanwhile.
func (g *guard) note(life uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.life == life {
		g.mu.fresh = true
	}
}

// watch comes before a write to a board that is there. It reads the list of bans, when that
// has not been done since the board was first seen, and hides those of the keys that are
// banned: a score of theirs that is on its way already is written, hidden.
//
// So no ban is missed. Either its record was stored before this reading of the list; or the
// board was there before the record, and with it before the ban listed the boards, and then
// the board hides the key itself, whoever writes.
func (s *Service) watch(ctx context.Context, board string, g *guard, batch []store.Submission) error {
	if !s.moderated() {
		return nil
	}
	life, fresh := g.state()
	if !fresh {
		if err := s.refreshBans(ctx); err != nil {
			return err
		}
	}
	hits := s.moderation.list.among(batch)
	if len(hits) > 0 {
		_, err := s.hideOn(ctx, board, true, hits)
		switch {
		case errors.Is(err, store.ErrUnsupported): // a Backend: the value waits until it is taken out
			return fmt.Errorf("%s: %w", hits[0], ErrBanned)
		case errors.Is(err, store.ErrTooLarge): // it would be so for ever, for all the others too
			s.host.logger.WarnContext(ctx, "a board holds no more hidden keys, and shows who is banned", "board", board, "key", hits[0], "keys", len(hits))
		case err != nil && !beyond(err):
			return fmt.Errorf("hide the banned: %w", err)
		}
	}
	g.note(life)
	return nil
}

// among are those keys of the batch that are banned.
func (l *banList) among(batch []store.Submission) (keys []string) {
	for _, e := range batch {
		if l.has(e.Key) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}
