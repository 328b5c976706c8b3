package node

import "context"

// Pass waits until the budget lets the class make one request of the kind, or ctx ends: then
// the error is an [ErrBudget], which is a store.ErrUnavailable, since the request was not
// made. It is for callers that bound the wait and the request apart, or that decide what to
// send when their turn has come; they then make the request on [Node.Store]. Without limits it
// answers nil at once.
func (n *Node) Pass(ctx context.Context, c Class, k Kind) error {
	return n.passLeaving(ctx, c, c, k)
}

// PassFirst is Pass for the first request of a load. While nobody waits it may take what is
// kept for saves: a load that looks at once asks the holder at once, and what it asks for is a
// save. Every later request of a load leaves the reserve.
func (n *Node) PassFirst(ctx context.Context, k Kind) error {
	return n.passLeaving(ctx, ClassLoad, ClassSave, k)
}

func (n *Node) passLeaving(ctx context.Context, c, leaving Class, k Kind) error {
	if n.gate == nil {
		return nil
	}
	return n.gate.passAs(ctx, c, leaving, oneOf(k))
}

// Turn is a place in a line of those who wait for the budget.
type Turn struct {
	gate   *gate
	waiter *waiter
}

// Enter is Pass in two steps, of which the first does not block: it takes the place in the
// line of the class. A nil Turn without an error means that the request may be made now, as it
// always is without limits. An [ErrBudget] means that the line is too long. Every Turn must be
// waited for.
func (n *Node) Enter(c Class, k Kind) (*Turn, error) {
	if n.gate == nil {
		return nil, nil
	}
	w, err := n.gate.enter(c, c, oneOf(k))
	if w == nil {
		return nil, err
	}
	return &Turn{gate: n.gate, waiter: w}, nil
}

// Wait waits until the request may be made, or gives the place up: see [Node.Pass].
func (t *Turn) Wait(ctx context.Context) error { return t.gate.await(ctx, t.waiter) }

// Hurry has the place be in the line of saves from now on, at its end, whatever it was before.
func (t *Turn) Hurry() { t.gate.hurry(t.waiter) }

// Limited tells that the node has limits, so that a request may have to wait.
func (n *Node) Limited() bool { return n.gate != nil }

func oneOf(k Kind) (d demand) {
	d[k] = 1
	return d
}
