package board

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Source makes a board the mirror of a set of profiles: the score of a key is a function of
// what the durable store holds of the profile with that key, and nobody submits to it.
//
// The board is told after every save, and when a session opens; a profile without a score
// leaves the board as it is. Under [store.Best] the best state that was ever told counts,
// under [store.Last] the newest; [store.Sum] is refused, because a profile holds a total.
type Source struct {
	// Set is the name of the set of profiles.
	Set string
	// Score is the score of a profile, in the board's unit: with 3 decimals 12.345 is 12345.
	// It is false for a profile that has none. It must be pure and quick: it runs in the
	// goroutine that saves. Default nil: Path.
	Score func(doc.Value) (score int64, ok bool)
	// Path is the JSON Pointer of a number in the profile, which the board takes exactly by
	// its Decimals or not at all. Default "": Score.
	Path string
	// Missing is the score, in the board's unit, of a profile that has nothing, or null, at
	// Path. Default nil: it has no score.
	Missing *int64
	// Meta is what goes with the score, at most store.MaxMeta bytes; more is left out. It is
	// replaced when the score is, and not by itself. Pure and quick as Score. Default nil:
	// MetaPath.
	Meta func(doc.Value) []byte
	// MetaPath is the JSON Pointer of a value in the profile that goes with the score as
	// canonical JSON of at most store.MaxMeta bytes; more is left out. Default "": nothing.
	MetaPath string
}

// FromProfile is the source of a board that mirrors a set by a function: see [Source].
func FromProfile(set string, score func(doc.Value) (score int64, ok bool)) *Source {
	return &Source{Set: set, Score: score}
}

// Profile is a durable state of a profile.
type Profile struct {
	Key  string
	Data doc.Value
	// Stamp is its (epoch, revision).
	Stamp store.Stamp
}

// maxGlimpses is of how many keys a mirrored board remembers what it was last told. When there
// are more it starts afresh, which costs each of them one needless write.
const maxGlimpses = 100_000

// mirrors finds the boards that mirror a set.
type mirrors struct {
	index atomic.Pointer[mirrorIndex]
	once  sync.Once
}

// mirrorIndex is made of one registry.
type mirrorIndex struct {
	of   *registry
	sets map[string][]*board
}

// mirror is what a mirrored board remembers.
type mirror struct {
	lens   *lens       // nil: the board mirrors nothing
	warned atomic.Bool // a value that is no score has been logged
	full   atomic.Bool // the queue was full the last time, which has been logged
	mu     struct {
		sync.Mutex
		told map[string]glimpse // by key
	}
}

// Mirror tells the boards that mirror the set a state of a profile that the durable store
// holds. It never waits: what is new is submitted. What is no score of a board is counted as
// refused there, and the first one is logged.
func (s *Service) Mirror(set string, p Profile) {
	for _, b := range s.mirrored(set) {
		s.reflect(b, p)
	}
}

// Mirrored is what a mirrored board has of a profile, as Mirror submits it; ok is false when
// the profile has no score. The error is a [RefusedError]: the board mirrors nothing, or the
// profile's value is no score of the board.
func (s *Service) Mirrored(board string, p Profile) (e store.Submission, ok bool, err error) {
	b, err := s.board(board)
	if err != nil {
		return store.Submission{}, false, err
	}
	if b.mirror.lens == nil {
		return store.Submission{}, false, &RefusedError{Board: board, Field: "From", Problem: "the board mirrors no profiles", Reason: ErrRule}
	}
	e, ok, err = b.seen(p)
	if err == nil && ok {
		err = b.admit(&submission{key: e.Key, value: value{score: e.Score}, own: true, mirrored: true})
	}
	if err != nil {
		return store.Submission{}, false, numberError(b, err)
	}
	if b.cfg.Rule != store.Last {
		e.Stamp = store.Stamp{}
	}
	return e, ok, nil
}

// mirrored are the boards that mirror the set.
func (s *Service) mirrored(set string) []*board {
	r := s.boards.Load()
	index := s.mirrors.index.Load()
	if index == nil || index.of != r {
		index = &mirrorIndex{of: r, sets: make(map[string][]*board)}
		for _, b := range r.sorted {
			if l := b.mirror.lens; l != nil {
				index.sets[l.Set] = append(index.sets[l.Set], b)
			}
		}
		if len(index.sets) > 0 {
			s.mirrors.once.Do(func() { s.OnRefused(s.unseen) })
		}
		s.mirrors.index.Store(index)
	}
	return index.sets[set]
}

// unseen forgets that a board was told what will never be written, so that the next save
// tells it again.
func (s *Service) unseen(r Refusal) {
	b, ok := s.boards.Load().byName[r.Board]
	if !ok || b.mirror.lens == nil {
		return
	}
	for _, v := range r.Values {
		b.mirror.forget(v.Key)
	}
}

// forget forgets what the board was told of keys that have no entry any more.
func (m *mirror) forget(keys ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.mu.told, key)
	}
}

func (m *mirror) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.told = nil
}

// anew notes that the stored board may have been made anew, without its entries.
func (b *board) anew() {
	b.guard.reset()
	b.mirror.forgetAll()
}

// reflect tells one board.
func (s *Service) reflect(b *board, p Profile) {
	e, ok, err := b.seen(p)
	if err != nil {
		b.counts.refused.Add(1)
		s.warnMirror(b, p, numberError(b, err))
		return
	}
	next := glimpse{stamp: e.Stamp, score: e.Score}
	if !ok || !b.mirror.wants(b.cfg, e.Key, next) {
		return
	}
	err = s.submitMirrored(b, e)
	switch {
	case err == nil:
		b.mirror.tell(e.Key, next)
		if b.mirror.full.Load() {
			b.mirror.full.Store(false)
		}
	case misfit(err):
		s.warnMirror(b, p, err)
	case errors.Is(err, ErrClosed), errors.Is(err, ErrBanned), errors.Is(err, store.ErrSealed): // tells nobody anything new
	case !b.mirror.full.Swap(true): // the queue is full: the next save tells it again
		s.host.logger.Warn("mirrored scores are not queued", "board", b.name, "key", e.Key, "err", err)
	}
}

// seen is what the board has of a profile. A Backend stores scores only.
func (b *board) seen(p Profile) (e store.Submission, ok bool, err error) {
	e, ok, err = b.mirror.lens.see(p)
	if b.keyed {
		e.Meta = nil
	}
	return e, ok, err
}

// submitMirrored queues what a profile has.
func (s *Service) submitMirrored(b *board, e store.Submission) error {
	sub := submission{key: e.Key, value: value{score: e.Score, meta: string(e.Meta)}, own: true, mirrored: true}
	if b.cfg.Rule == store.Last {
		sub.stamp, sub.own = e.Stamp, false
	}
	return s.submit(b.name, &sub)
}

// warnMirror logs the first value of a board that is no score: it is usually every player's.
func (s *Service) warnMirror(b *board, p Profile, err error) {
	if !b.mirror.warned.Swap(true) {
		s.host.logger.Warn("profiles with a value that is no score of the board are left out", "board", b.name, "key", p.Key, "err", err)
	}
}

// wants tells whether the board needs to be told.
func (m *mirror) wants(cfg Config, key string, next glimpse) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.mu.told[key]
	return !known || news(cfg.Rule, cfg.Order, last, next)
}

// tell notes that the board was told.
func (m *mirror) tell(key string, next glimpse) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.told == nil || len(m.mu.told) >= maxGlimpses {
		m.mu.told = make(map[string]glimpse)
	}
	if last, known := m.mu.told[key]; !known || next.stamp.After(last.stamp) {
		m.mu.told[key] = next
	}
}
