package board

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shoalworks/shoal/store"
)

// promise is one call of SubmitDurable that waits for its entries.
type promise struct {
	board *board
	keys  []string
	done  chan struct{} // closed when nothing is open any more
	gone  atomic.Bool   // the caller has ceased to wait
	mu    struct {
		sync.Mutex
		open    int
		settled []bool
		errs    []error // of the entries
	}
}

func newPromise(b *board, entries []store.Submission) *promise {
	p := &promise{board: b, keys: make([]string, len(entries)), done: make(chan struct{})}
	for i, e := range entries {
		p.keys[i] = e.Key
	}
	p.mu.open, p.mu.settled, p.mu.errs = len(entries), make([]bool, len(entries)), make([]error, len(entries))
	if len(entries) == 0 {
		close(p.done)
	}
	return p
}

// ticket makes the entry with the index wait.
func (p *promise) ticket(i int) *tickets {
	p.board.promised.Add(1)
	return &tickets{ticket{p, i}}
}

// settle says what became of an entry; nil is stored.
func (p *promise) settle(i int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone.Load() {
		p.board.promised.Add(-1)
	}
	p.mu.errs[i], p.mu.settled[i] = err, true
	if p.mu.open--; p.mu.open == 0 {
		close(p.done)
	}
}

// leave ends the waiting of the caller, with what is known now: no window hurries for it any
// more. Afterwards its tickets may be dropped, and what they say is no answer.
func (p *promise) leave(cause error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone.Store(true)
	p.board.promised.Add(-int64(p.mu.open))
	return p.resultLocked(cause)
}

// result is what is known now; entries that are still open are so for the cause.
func (p *promise) result(cause error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resultLocked(cause)
}

func (p *promise) resultLocked(cause error) error {
	errs := slices.DeleteFunc(slices.Clone(p.mu.errs), func(err error) bool { return err == nil })
	var open []string
	for i, settled := range p.mu.settled {
		if !settled {
			open = append(open, p.keys[i])
		}
	}
	if len(open) > 0 {
		errs = append(errs, &OpenError{Board: p.board.name, Keys: open, Cause: cause})
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// ticket is an entry of a promise that waits with a value.
type ticket struct {
	of    *promise
	entry int
}

// tickets are all who wait with a value. Nil is nobody.
type tickets []ticket

// and is both. Those who have gone away are dropped as the list grows, so that it is no longer
// than twice the number of callers who wait.
func (t *tickets) and(more *tickets) *tickets {
	if t == nil {
		return more
	}
	if more == nil {
		return t
	}
	if len(*t)+len(*more) > cap(*t) {
		*t = slices.DeleteFunc(*t, ticket.abandoned)
	}
	*t = append(*t, *more...)
	return t
}

// abandoned settles a ticket for which nobody waits, and tells so.
func (t ticket) abandoned() bool {
	if !t.of.gone.Load() {
		return false
	}
	t.of.settle(t.entry, nil) // nobody looks
	return true
}

// settle says to all who wait what became of the value.
func (t *tickets) settle(err error) {
	if t == nil {
		return
	}
	for _, each := range *t {
		each.of.settle(each.entry, err)
	}
}

// settleStored says to all who wait for the values that they are stored.
func settleStored(values []pending) {
	for _, v := range values {
		v.awaits.settle(nil)
	}
}

// settleLost says to all who wait for the values why they will not be written, and whether an
// earlier write of them may count after all.
func settleLost(values []pending, reason error) {
	doubt := fmt.Errorf("%w: %w", reason, store.ErrUnknown)
	for _, v := range values {
		if v.doubt {
			v.awaits.settle(doubt)
		} else {
			v.awaits.settle(reason)
		}
	}
}
