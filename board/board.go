package board

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
)

// board is one board of a service: its queue, what is on its way to the store, its page.
type board struct {
	name   string
	cfg    Config
	queue  queue
	cache  cache
	mirror mirror
	guard  guard // against banned keys

	sealed atomic.Bool   // the store said so; submits are refused
	warned atomic.Bool   // a refused fraction has been logged
	wrote  atomic.Uint64 // writes of this service that may have changed the board
	counts counts

	keyed    bool         // one key a call: the store is a Backend
	promised atomic.Int64 // entries for which a SubmitDurable waits

	mu struct {
		sync.Mutex
		checked  bool    // the stored board exists and has our order
		paused   int     // drops under way: no window runs meanwhile
		claimed  int     // values taken out by removals under way
		held     []batch // store.Sum: failed batches, the one with an unknown outcome first
		flight   *flight // the write that is under way
		failures int     // failed windows in a row
		retryAt  time.Time
	}
}

// flight is what a window has taken out of a board and not yet settled. Its fields belong to
// the board's mutex.
type flight struct {
	batches []batch
	done    chan struct{} // closed when all of it is settled
}

// counts are the numbers of a board that only grow, but for accepted submits, which the
// queue counts.
type counts struct {
	written, failed, dropped, refused, removed atomic.Uint64
}

func newBoard(name string, cfg Config, maxQueued int) *board {
	b := &board{name: name, cfg: cfg}
	b.mirror.lens = newLens(cfg.From, cfg.Decimals)
	b.queue.rule, b.queue.order, b.queue.limit = cfg.Rule, cfg.Order, int64(maxQueued)
	return b
}

// size is how many values the batches carry.
func size(batches []batch) (n int) {
	for _, c := range batches {
		n += len(c.values)
	}
	return n
}

// waiting is how many values the next window of the board would write, and when it may.
// Batches that are held come before, and without, what is queued.
func (b *board) waiting() (n int, retryAt time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.paused > 0 {
		return 0, time.Time{}
	}
	if n = size(b.mu.held); n == 0 {
		n = int(b.queue.depth.Load())
	}
	return n, b.mu.retryAt
}

// unwritten is how many values wait or are under way, and how many of them may or may not
// have been applied.
func (b *board) unwritten() (all, unsettled int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.mu.held {
		if c.unknown {
			unsettled += len(c.values)
		}
	}
	if b.mu.flight != nil {
		n := size(b.mu.flight.batches)
		unsettled += n
		all += n
	}
	return all + size(b.mu.held) + b.mu.claimed + int(b.queue.depth.Load()), unsettled
}

// oldestHeld is since when the oldest value waits that is held or under way.
func (b *board) oldestHeld() (oldest time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	batches := b.mu.held
	if b.mu.flight != nil {
		batches = slices.Concat(batches, b.mu.flight.batches)
	}
	for _, c := range batches {
		for _, v := range c.values {
			if !ok || v.since < oldest {
				oldest, ok = v.since, true
			}
		}
	}
	return oldest, ok
}

// begin takes out what the next window writes: up to n values that are held, and a batch that
// may still land whatever its size, else up to n values of the queue. It is nil when there is
// nothing.
func (b *board) begin(n int) *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.paused > 0 {
		return nil
	}
	f := &flight{batches: b.takeHeldLocked(n), done: make(chan struct{})}
	if len(f.batches) == 0 {
		values := b.queue.detach(n)
		if len(values) == 0 {
			return nil
		}
		f.batches = []batch{{values: values}}
	}
	b.mu.flight = f
	return f
}

// takeHeldLocked takes out the first batches that are held, up to n values. One that was not
// applied may be cut; one that may have been is sent again as it was.
func (b *board) takeHeldLocked(n int) (out []batch) {
	for len(b.mu.held) > 0 && (n > 0 || b.mu.held[0].unknown) {
		c := b.mu.held[0]
		if !c.unknown && len(c.values) > n {
			b.mu.held[0] = batch{values: c.values[n:]}
			return append(out, batch{values: c.values[:n:n]})
		}
		out, b.mu.held = append(out, c), b.mu.held[1:]
		n -= len(c.values)
	}
	return out
}

// beginOne takes out one value that waited when the window was opened. It is nil when there is
// none.
func (b *board) beginOne() *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.paused > 0 {
		return nil
	}
	v, ok := b.queue.draw()
	if !ok {
		return nil
	}
	b.mu.flight = &flight{batches: []batch{{values: []pending{v}}}, done: make(chan struct{})}
	return b.mu.flight
}

// next is the batch to be sent now. It stays part of the flight until it is settled. Sums
// are numbered as they are sent, so that a number never comes after a larger one.
func (b *board) next(f *flight, number func() uint64) (batch, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(f.batches) == 0 {
		return batch{}, false
	}
	if b.cfg.Rule == store.Sum && f.batches[0].n == 0 {
		f.batches[0].n = number()
	}
	return f.batches[0], true
}

// settle takes the batch that was sent out of the flight. back waits again; halves are sent
// later in this flight.
func (b *board) settle(f *flight, back batch, halves ...batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.batches = append(f.batches[1:], halves...)
	b.putBackLocked(back)
}

// land ends the flight. What was not sent waits again as it was.
func (b *board) land(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.putBackLocked(f.batches...)
	f.batches = nil
	b.mu.flight = nil
	close(f.done)
}

// putBackLocked queues batches again. Sums are held apart: a batch that may still land keeps
// its number and goes first; the others may not have room beside what is newer.
func (b *board) putBackLocked(back ...batch) {
	for _, c := range back {
		switch {
		case len(c.values) == 0:
		case b.keyed:
			b.queue.returns(c.values)
		case b.cfg.Rule != store.Sum:
			b.queue.giveBack(c.values)
		case c.unknown:
			b.mu.held = slices.Insert(b.mu.held, 0, c)
		default:
			b.mu.held = append(b.mu.held, batch{values: c.values})
		}
	}
}

// outcome notes whether the window of the board failed, and answers how many failed in a
// row before and with it.
func (b *board) outcome(ok bool, now time.Time, every time.Duration) (before, failures int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before = b.mu.failures
	if ok {
		b.mu.failures, b.mu.retryAt = 0, time.Time{}
		return before, 0
	}
	b.mu.failures++
	b.mu.retryAt = now.Add(every)
	if !b.keyed {
		b.mu.retryAt = now.Add(retryDelay(every, b.mu.failures))
	}
	return before, b.mu.failures
}

// check notes whether the stored board was seen to exist with our order.
func (b *board) check(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.checked = is
}

func (b *board) checked() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.checked
}

// claim takes what waits for the keys out of the queue, for a removal. It takes nothing
// while some of it is under way: then landing is closed when that is settled. held tells
// that a failed batch of sums has one of the keys: it must be settled first.
func (b *board) claim(keys []string) (taken []pending, landing <-chan struct{}, held bool) {
	wanted := make(map[string]struct{}, len(keys))
	for _, key := range keys {
		wanted[key] = struct{}{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.mu.flight; f != nil && touch(f.batches, wanted) {
		return nil, f.done, false
	}
	if touch(b.mu.held, wanted) {
		return nil, nil, true
	}
	taken = b.queue.take(keys)
	b.mu.claimed += len(taken)
	return taken, nil, false
}

// touch tells whether the batches have one of the keys.
func touch(batches []batch, keys map[string]struct{}) bool {
	for _, c := range batches {
		for _, v := range c.values {
			if _, ok := keys[v.key]; ok {
				return true
			}
		}
	}
	return false
}

// claimAll pauses the windows of the board and takes out all that waits, for a drop. It
// does neither while a write is under way: then landing is closed when that is settled.
func (b *board) claimAll() (taken []batch, landing <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.mu.flight; f != nil {
		return nil, f.done
	}
	b.mu.paused++
	taken, b.mu.held = b.mu.held, nil
	taken = append(taken, batch{values: b.queue.detach(int(b.queue.depth.Load()))})
	b.mu.claimed += size(taken)
	return taken, nil
}

// release ends a claim. When the removal was not done, what was taken waits again.
func (b *board) release(taken []batch, removed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.claimed -= size(taken)
	if removed {
		b.counts.removed.Add(uint64(size(taken)))
		for _, c := range taken {
			settleLost(c.values, ErrRemoved)
		}
		return
	}
	b.putBackLocked(taken...)
}

// resume ends the pause of claimAll.
func (b *board) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.paused--
}

// removing tells that a removal is under way.
func (b *board) removing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.paused > 0 || b.mu.claimed > 0
}

// await waits for a flight to land, or for the end of ctx.
func await(ctx context.Context, landing <-chan struct{}) error {
	select {
	case <-landing:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
