package node

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

// crowdOf counts the players and nodes among the members, with its own number as it is now.
func (n *Node) crowdOf(members []Member) crowd {
	c := crowd{here: n.countPlayers(), nodes: 1}
	c.fleet = c.here
	for _, m := range members {
		if m.Alive && m.ID != n.id {
			c.nodes++
			c.fleet += m.Players
		}
	}
	return c
}

// settled is the crowd to go by: when the fleet seems to have shrunk by more than half, the one
// before, until a second census says so too. After a step of the store's clock, or when the
// fast store has forgotten the beats, everybody else seems gone for a moment, and each node
// would take the whole fleet's share.
func (n *Node) settled(c crowd) crowd {
	last := n.census.crowd
	if 2*c.nodes < last.nodes && !n.census.shrunk {
		n.census.shrunk = true
		return crowd{here: c.here, nodes: last.nodes, fleet: max(last.fleet, c.fleet)}
	}
	n.census.crowd, n.census.shrunk = c, false
	return c
}
