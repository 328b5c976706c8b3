package node

import (
	"context"
	"sync"
)

// This file has a caller wait for the budget before it decides what to write.

// Prepaid are writes to boards that the budget has let through before they are made. Nil is
// none.
type Prepaid struct {
	gate  *gate
	class Class
	mu    struct {
		sync.Mutex
		left int
	}
}

// prepaidKey is where a context holds what was prepaid.
type prepaidKey struct{}

// changing is what n writes of entries of a board ask for.
func changing(n int) demand { return demand{KindOrderedRead: n, KindOrderedWrite: n} }

// Prepay waits in the line of the class, until ctx ends, for the budget of n writes of entries
// of boards: an error is an [ErrBudget]. n beyond what the budget ever holds goes when it is
// full. Calls of the class whose context comes from [Prepaid.With] spend it, in place of
// waiting; who has prepaid calls [Prepaid.Refund] in the end. Without limits it answers nil.
func (n *Node) Prepay(ctx context.Context, c Class, entries int) (*Prepaid, error) {
	if n.gate == nil {
		return nil, nil
	}
	if err := n.gate.pass(ctx, c, changing(entries)); err != nil {
		return nil, err
	}
	p := &Prepaid{gate: n.gate, class: c}
	p.mu.left = entries
	return p, nil
}

// With is ctx for the calls that spend what was prepaid.
func (p *Prepaid) With(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	return context.WithValue(ctx, prepaidKey{}, p)
}

// Left is how many writes are not spent.
func (p *Prepaid) Left() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.left
}

// Refund gives back to the budget what was not spent.
func (p *Prepaid) Refund() {
	if p == nil {
		return
	}
	p.mu.Lock()
	left := p.mu.left
	p.mu.left = 0
	p.mu.Unlock()
	if left > 0 {
		p.gate.refund(changing(left))
	}
}

// spend takes n writes of a class, if there are so many.
func (p *Prepaid) spend(g *gate, c Class, n int) bool {
	if p == nil || p.gate != g || p.class != c {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.left < n {
		return false
	}
	p.mu.left -= n
	return true
}

func (g *gate) refund(d demand) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	g.refillLocked(now)
	for k, n := range d {
		g.mu.purses[k] = g.mu.purses[k].spent(-n)
	}
	g.serveLocked(now)
}

// fairPart is the part of a caller who stands in line: a sixth of what the budget holds: what it gains in less than ten seconds.
const fairPart = 6

// FairShare is how many entries a caller of the class who stands in line should prepay, so that
// it and the others come to the same: as many as calls of the class, and of those that go
// first, wait for what a write of an entry asks for; but no more than the budget gains in some
// seconds, for whoever comes behind waits for all of it. It is 0 while nobody waits.
func (n *Node) FairShare(c Class) int {
	if n.gate == nil {
		return 0
	}
	one := changing(1)
	others := n.gate.waiting(c, one)
	return min(others, max(1, n.gate.holds(c, one)/fairPart))
}

// waiting is how many calls of the class, and of those that go first, wait for a kind of d.
func (g *gate) waiting(c Class, d demand) (most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var sum demand
	for i := range int(c) {
		sum = sum.plus(g.mu.want[i], 1)
	}
	for k, wanted := range d {
		if wanted > 0 {
			most = max(most, sum[k])
		}
	}
	return most
}

// changing lets n writes of entries through, and answers the context of the request.
func (g gatedBoards) changing(ctx context.Context, n int) (context.Context, context.CancelFunc, error) {
	t := termsOf(ctx, g.class)
	if p, ok := ctx.Value(prepaidKey{}).(*Prepaid); ok && p.spend(g.gate, t.Class, n) {
		call, end := g.gate.request(ctx, t)
		return call, end, nil
	}
	return g.gate.on(ctx, g.class, changing(n))
}
