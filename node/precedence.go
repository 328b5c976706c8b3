package node

import (
	"context"
	"sync"
	"time"
)

// precedence lets a beat that takes long go first: whatever else the node wants to do in bulk
// waits until it is answered. A node that has too much to do is late with that; it must not be
// late with its beats, by which others judge it.
type precedence struct {
	mu struct {
		sync.Mutex
		since time.Time     // when the beat under way was sent; zero: none is
		over  chan struct{} // closed when it has been answered; nil: nobody waits
	}
}

func (p *precedence) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.since = now
}

func (p *precedence) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.since = time.Time{}
	if p.mu.over != nil {
		close(p.mu.over)
		p.mu.over = nil
	}
}

// slowLocked tells that there is a beat that was sent before.
func (p *precedence) slowLocked(before time.Time) bool {
	return !p.mu.since.IsZero() && p.mu.since.Before(before)
}

// wait is what to wait for; nil when there is no beat that was sent before.
func (p *precedence) wait(before time.Time) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.slowLocked(before) {
		return nil
	}
	if p.mu.over == nil {
		p.mu.over = make(chan struct{})
	}
	return p.mu.over
}

// GiveWay waits while a beat of this node has been under way for more than an eighth of a beat,
// until it is answered or has used up its time, or ctx ends: at most for one beat. It is for
// those who are about to do much, and is no promise: another beat may be as slow.
func (n *Node) GiveWay(ctx context.Context) {
	over := n.precedence.wait(n.slowBefore())
	if over == nil {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// BeatIsSlow tells that GiveWay would wait now. It does no I/O.
func (n *Node) BeatIsSlow() bool {
	before := n.slowBefore()
	n.precedence.mu.Lock()
	defer n.precedence.mu.Unlock()
	return n.precedence.slowLocked(before)
}

// slowBefore is when a beat was sent at the latest that is slow now.
func (n *Node) slowBefore() time.Time {
	const part = 8
	return n.opts.Clock.Now().Add(-n.opts.Beat / part)
}
