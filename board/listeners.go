package board

import (
	"sync"

	"github.com/shoalworks/shoal/store"
)

// Refusal is values that Submit accepted and that will never be written.
type Refusal struct {
	Board  string
	Values []store.Submission
	// Err is store.ErrSealed (no write was or will be applied after the seal), ErrOverflow (a
	// sum left the range of int64; the stored score is unchanged), ErrBanned (the key was banned
	// while the values waited) or ErrAttempts (wrapping the store's last answer).
	Err error
	// Unknown tells that an earlier write of the values had an unknown outcome: they may be
	// counted after all.
	Unknown bool
}

// listeners are functions to be called when something happens.
type listeners[F any] struct {
	mu struct {
		sync.Mutex
		next  int
		byAge []listener[F]
	}
}

type listener[F any] struct {
	id int
	fn F
}

// add has fn called from now on, after those that were added before; stop ends it. A call
// that has begun may still be running when stop returns.
func (l *listeners[F]) add(fn F) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.next++
	id := l.mu.next
	l.mu.byAge = append(l.mu.byAge[:len(l.mu.byAge):len(l.mu.byAge)], listener[F]{id, fn})
	return func() { l.remove(id) }
}

func (l *listeners[F]) remove(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := make([]listener[F], 0, len(l.mu.byAge))
	for _, e := range l.mu.byAge {
		if e.id != id {
			rest = append(rest, e)
		}
	}
	l.mu.byAge = rest
}

// all are the functions as of now.
func (l *listeners[F]) all() []listener[F] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.byAge
}

// listening calls a listener. Its panic is logged, and is nobody else's trouble.
func (s *Service) listening(call func()) {
	_, _ = guarded(s, func() (struct{}, error) {
		call()
		return struct{}{}, nil
	})
}
