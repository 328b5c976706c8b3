package node

import (
	"context"
	"fmt"
	"time"
)

// maxSkew is the difference of the local clock to fleet time above which it is reported.
const maxSkew = 5 * time.Second

// keepTime is one step of the clock loop.
func (n *Node) keepTime(ctx context.Context) error {
	if err := n.refreshTime(ctx); err != nil {
		n.opts.Logger.DebugContext(ctx, "fleet time not refreshed", "node", n.id, "err", err)
	}
	return nil
}

// refreshTime reads the durable store's clock.
func (n *Node) refreshTime(ctx context.Context) error {
	sent := n.opts.Clock.Now()
	t, err := n.st.Durable().Now(ctx)
	if err != nil {
		return fmt.Errorf("node: fleet time: %w", err)
	}
	answered := n.opts.Clock.Now()
	e := estimateFrom(sent, answered, t)
	skew := e.store.Sub(e.local.Round(0))
	off := skew > maxSkew || skew < -maxSkew

	n.mu.Lock()
	n.mu.estimate = e
	report := off && !n.mu.skewed
	n.mu.skewed = off
	n.mu.Unlock()
	if report {
		n.opts.Logger.WarnContext(ctx, "the local clock differs from the store's; the store's is used", "node", n.id, "by", skew)
	}
	return nil
}
