package profile

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// outage is what the loads of a set share while the durable store does not answer: one asks
// for all of them, and the first answer releases the rest. A store that comes back is not met
// by all of them at once, again and again, and a small budget is not spent on looking.
type outage struct {
	mu struct {
		sync.Mutex
		over chan struct{} // closed when the store has answered; nil: it is not known to be down
		stop context.CancelFunc
		gone bool // the set closes: nobody asks any more
	}
}

// end ends the looking: the set closes.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.gone = true
	if o.mu.stop != nil {
		o.mu.stop()
	}
}

const (
	firstProbe = 100 * time.Millisecond // after the failure that began it
	probeEvery = time.Second
)

// speaksOfAnOutage tells that a call failed for the store's own state, not for what was asked.
func speaksOfAnOutage(err error) bool {
	return !errors.Is(err, node.ErrBudget) &&
		(errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, context.DeadlineExceeded))
}

// down begins an outage, or joins the one there is. The channel is closed at its end.
func (s *Set) down() <-chan struct{} {
	o := &s.outage.mu
	o.Lock()
	defer o.Unlock()
	if o.over == nil {
		over := make(chan struct{})
		if o.gone {
			close(over)
			return over
		}
		ctx, stop := context.WithCancel(s.life())
		o.over, o.stop = over, stop
		s.tasks.start(func() {
			defer stop()
			s.probe(ctx)
			o.Lock()
			defer o.Unlock()
			o.over = nil
			close(over)
		})
	}
	return o.over
}

// sitOut waits for the end of an outage, if the last read failed for one, or for a kick.
func (v *vigil) sitOut(ctx context.Context) {
	if !speaksOfAnOutage(v.load.err) {
		return
	}
	select {
	case <-v.load.set.down():
	case <-v.load.kick:
		v.load.wake() // it is for the look that follows
	case <-ctx.Done():
	}
}

// probe returns when the durable store answers, or the set ends.
func (s *Set) probe(ctx context.Context) {
	for wait := firstProbe; clock.Sleep(ctx, s.clk, wait) == nil; wait = probeEvery {
		call, cancel := s.within(ctx)
		_, err := s.durable.Now(call)
		cancel()
		if err == nil {
			return
		}
	}
}
