package node

import "context"

// crowdEvery is after how many beats the players of the fleet are counted anew.
const crowdEvery = 10

// CountPlayers tells the node how to count the players it has: the beat says it, and limits
// grow with it. It is called from the node's loops and must be quick.
func (n *Node) CountPlayers(count func() int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.mu.players
	n.mu.players = func() int {
		if before == nil {
			return count()
		}
		return before() + count()
	}
}

func (n *Node) countPlayers() int {
	n.mu.Lock()
	count := n.mu.players
	n.mu.Unlock()
	if count == nil {
		return 0
	}
	return count()
}

// countCrowd is one step of the crowd loop: it reads all beats, for this node's share.
func (n *Node) countCrowd(ctx context.Context) error {
	c := crowd{here: n.countPlayers(), nodes: 1}
	c.fleet = c.here
	members, err := n.Fleet(ctx)
	if err != nil {
		n.opts.Logger.DebugContext(ctx, "fleet not counted", "node", n.id, "err", err)
		return nil
	}
	for _, m := range members {
		if m.Alive && m.ID != n.id {
			c.nodes++
			c.fleet += m.Players
		}
	}
	n.gate.setCrowd(c)
	return nil
}
