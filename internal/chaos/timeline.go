package chaos

import (
	"slices"
	"sync"
	"time"
)

// settle is how long a fleet without trouble takes, at the most, until the journals that the
// fast store forgot are there again: a beat, and time for a busy machine.
const settle = 5 * time.Second

// everybody is the daemon of trouble that all have.
const everybody = -1

// span is when something was wrong. One that has not ended ends never.
type span struct {
	from, to time.Duration
	daemon   int  // whom it concerned
	memory   bool // the fast store's memory was lost
}

// timeline is when what was wrong, as it happened.
type timeline struct {
	mu struct {
		sync.Mutex
		spans []*span
	}
}

const never = time.Duration(1<<63 - 1)

// begin notes trouble; end is called when it is over.
func (t *timeline) begin(at time.Duration, daemon int, memory bool) (end func(at time.Duration)) {
	s := &span{from: at, to: never, daemon: daemon, memory: memory}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.spans = append(t.mu.spans, s)
	return func(at time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		s.to = at
	}
}

// lostBoth tells whether, between two times, a daemon was in trouble when what it had journaled
// may have been nowhere but with it: from when the fast store's memory was lost (or from before,
// if the daemon was in trouble already) until it had time, without any trouble, to write it again.
func (t *timeline) lostBoth(daemon int, from, to time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, loss := range t.mu.spans {
		if !loss.memory || loss.to < from-settle || loss.from > to {
			continue
		}
		again := t.recoveredLocked(daemon, loss.to)
		if slices.ContainsFunc(t.mu.spans, func(s *span) bool {
			return s.daemon == daemon && s.to >= from && s.from <= min(again, to)
		}) {
			return true
		}
	}
	return false
}

// recoveredLocked is when a daemon has had time without trouble of its own or of everybody.
func (t *timeline) recoveredLocked(daemon int, from time.Duration) time.Duration {
	if from == never {
		return never
	}
	again := from + settle
	for _, s := range t.mu.spans { // in the order in which they began
		if (s.daemon == daemon || s.daemon == everybody) && s.to > from && s.from <= again {
			if s.to == never {
				return never
			}
			again = max(again, s.to+settle)
		}
	}
	return again
}

// forgot tells whether the fast store's memory was lost at some time since.
func (t *timeline) forgot(since time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.mu.spans, func(s *span) bool { return s.memory && s.to >= since })
}
