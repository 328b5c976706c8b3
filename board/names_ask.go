package board

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// names is what is known of names, and what is being asked.
//
// A key that is wanted and not known is put into the queue, together with those who wait for
// it. One goroutine at a time takes batches out of the queue and calls the resolver, until
// nothing is queued. When a call fails all who wait go on without, and nothing is queued for
// a while. The queue never holds more than the budget allows to be asked.
type names struct {
	opts *NameOptions
	mu   struct {
		sync.Mutex
		known   *lru[knownName]
		absent  *lru[time.Time] // until when
		waiting map[string][]*nameWaiter
		queue   []string            // keys of waiting that are not being asked yet
		calling bool                // a goroutine takes from the queue
		stale   map[string]struct{} // keys being asked whose names were forgotten meanwhile
		hung    []string            // keys of a call that was cut and has not returned; nil: none
		retryAt time.Time           // nothing is queued before
		spend   spend
	}
}

type knownName struct {
	name  Name
	until time.Time // zero: for ever
}

// nameWaiter is a call of Names that waits. Its fields belong to the mutex of names until
// done is closed.
type nameWaiter struct {
	done   chan struct{}
	found  map[string]Name
	left   int  // keys that are not settled; negative when the caller has gone
	failed bool // a call for one of the keys failed
}

func (n *names) init(o *NameOptions) {
	n.opts = o
	n.mu.known, n.mu.absent = newLRU[knownName](o.Cache), newLRU[time.Time](o.Cache)
	n.mu.waiting, n.mu.stale = make(map[string][]*nameWaiter), make(map[string]struct{})
	n.mu.spend = spend{limit: o.PerMinute, within: time.Minute}
}

// want adds the names that are known to found, and asks for the others if it may. w is nil
// when there is nothing to wait for; call tells the caller to run the resolver.
func (n *names) want(found map[string]Name, keys []string, now time.Time) (w *nameWaiter, call bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	room := n.roomLocked(now)
	for _, key := range keys {
		name, ok, current := n.knownLocked(key, now)
		if ok {
			found[key] = name
		}
		if current {
			continue
		}
		waiters, asked := n.mu.waiting[key]
		if !asked {
			if room <= 0 {
				continue
			}
			room--
			n.mu.queue = append(n.mu.queue, key)
			n.mu.waiting[key] = nil
		}
		if ok || w != nil && slices.Contains(waiters, w) { // the old name will do; the key repeats
			continue
		}
		if w == nil {
			w = &nameWaiter{done: make(chan struct{}), found: found}
		}
		w.left++
		n.mu.waiting[key] = append(waiters, w)
	}
	if len(n.mu.queue) == 0 || n.mu.calling {
		return w, false
	}
	n.mu.calling = true
	return w, true
}

// roomLocked is how many keys may be queued.
func (n *names) roomLocked(now time.Time) int {
	if n.opts.Resolve == nil || n.mu.hung != nil || now.Before(n.mu.retryAt) {
		return 0
	}
	left := n.mu.spend.left(now)
	if n.opts.PerMinute < 0 {
		left = n.opts.Cache
	}
	return left - len(n.mu.queue)
}

// knownLocked is what is remembered of a key; current tells that there is no need to ask.
func (n *names) knownLocked(key string, now time.Time) (name Name, ok, current bool) {
	if k, ok := n.mu.known.get(key); ok {
		return k.name, true, k.until.IsZero() || now.Before(k.until)
	}
	until, ok := n.mu.absent.get(key)
	return Name{}, false, ok && (until.IsZero() || now.Before(until))
}

// leave is what a caller who waits no longer has got. It strands nobody: the call goes on.
func (n *names) leave(w *nameWaiter) map[string]Name {
	n.mu.Lock()
	defer n.mu.Unlock()
	w.left = -1
	return w.found
}

// next is the keys of the next call; without any the goroutine that asks has ended.
func (n *names) next(now time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	size := min(len(n.mu.queue), n.opts.Batch)
	if size == 0 {
		n.mu.calling, n.mu.queue = false, nil
		return nil
	}
	batch := n.mu.queue[:size:size]
	n.mu.queue = n.mu.queue[size:]
	n.mu.spend.pay(now, size)
	return batch
}

// settle notes the answer to a call. After one that failed nobody waits any more.
func (n *names) settle(keys []string, got map[string]Name, failed bool, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.learnLocked(keys, got, failed, now)
	for _, key := range keys {
		n.releaseLocked(key, failed)
	}
	if failed {
		n.mu.retryAt = now.Add(n.opts.RetryAfter)
		for _, key := range n.mu.queue {
			n.releaseLocked(key, true)
			delete(n.mu.stale, key)
		}
		n.mu.queue = nil
	}
}

// learnLocked remembers an answer, and hands it to those who wait.
func (n *names) learnLocked(keys []string, got map[string]Name, failed bool, now time.Time) {
	for _, key := range keys {
		name, ok := got[key]
		_, stale := n.mu.stale[key]
		if n.mu.hung == nil { // else the answer may still come
			delete(n.mu.stale, key)
		}
		switch {
		case stale:
		case ok:
			n.mu.absent.remove(key)
			n.mu.known.put(key, knownName{name, until(now, n.opts.KeepFor)})
		case !failed:
			n.mu.known.remove(key)
			n.mu.absent.put(key, until(now, n.opts.AbsentFor))
		}
		for _, w := range n.mu.waiting[key] {
			if ok && w.left > 0 {
				w.found[key] = name
			}
		}
	}
}

// forget drops what is remembered of keys, and what a call in flight will answer.
func (n *names) forget(keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		n.mu.known.remove(key)
		n.mu.absent.remove(key)
		if _, asked := n.mu.waiting[key]; asked || slices.Contains(n.mu.hung, key) {
			n.mu.stale[key] = struct{}{}
		}
	}
}

// until is the end of d from now on; for ever when it is negative.
func until(now time.Time, d time.Duration) time.Time {
	if d < 0 {
		return time.Time{}
	}
	return now.Add(d)
}

// releaseLocked settles a key for those who wait for it.
func (n *names) releaseLocked(key string, failed bool) {
	for _, w := range n.mu.waiting[key] {
		w.failed = w.failed || failed
		if w.left--; w.left == 0 {
			close(w.done)
		}
	}
	delete(n.mu.waiting, key)
}

// hang holds up all calls until the one that was cut returns.
func (n *names) hang(keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.hung = keys
}

// back ends hang. Names that came too late for those who asked are names.
func (n *names) back(keys []string, got map[string]Name, failed bool, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.hung = nil
	n.learnLocked(keys, got, failed, now)
}

// resolve calls the resolver until nothing is queued.
func (s *Service) resolve(ctx context.Context) {
	for {
		keys := s.names.next(s.host.clock.Now())
		if keys == nil {
			return
		}
		s.resolveBatch(ctx, keys)
	}
}

// resolved is an answer of the resolver.
type resolved struct {
	names map[string]Name
	err   error
}

// resolveBatch makes one call. Those who wait go on when its time is over, even if it does
// not return then; but no other call is made before it does.
func (s *Service) resolveBatch(ctx context.Context, keys []string) {
	ctx, cancel := s.bounded(ctx)
	done, ok := s.reads.begin(cancel)
	if !ok {
		s.names.settle(keys, nil, true, s.host.clock.Now())
		return
	}
	answers := make(chan resolved, 1)
	go func() {
		a := resolved{err: errNoAnswer}
		defer func() { answers <- a }()
		a.names, a.err = guarded(s, func() (map[string]Name, error) { return s.opts.Names.Resolve(ctx, slices.Clone(keys)) })
	}()
	select {
	case a := <-answers:
		s.settleNames(keys, a)
		done()
	case <-ctx.Done():
		s.names.hang(keys)
		s.settleNames(keys, resolved{err: context.Cause(ctx)})
		done()
		late := <-answers
		s.names.back(keys, late.names, late.err != nil, s.host.clock.Now())
	}
}

// errNoAnswer is a resolver that ended its goroutine.
var errNoAnswer = errors.New("board: the resolver did not return")

func (s *Service) settleNames(keys []string, a resolved) {
	if a.err != nil && !s.drain.hasBegun() {
		s.host.logger.Warn("names could not be looked up", "node", s.host.id, "keys", len(keys), "err", a.err)
	}
	s.names.settle(keys, a.names, a.err != nil, s.host.clock.Now())
}
