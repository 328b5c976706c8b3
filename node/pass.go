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
	var d demand
	d[k] = 1
	return n.gate.passAs(ctx, c, leaving, d)
}

// Limited tells that the node has limits, so that a call may have to wait.
func (n *Node) Limited() bool { return n.gate != nil }
