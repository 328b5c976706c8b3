package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

const (
	// censusEvery is after how many beats the node reads the beats of all nodes again.
	censusEvery = 10
	// maxCensusLooks bounds the nodes that are looked at more closely after one census; the
	// others have their turn after the next.
	maxCensusLooks = 64
)

// Death is a node that counts as dead.
type Death struct {
	Node     string   // its id
	Evidence Evidence // closed, age or unmoved
	// At is the local time of the look that decided; Age is the age of the last beat then, by
	// the store's clock.
	At  time.Time
	Age time.Duration
}

// Dead are the nodes that this node knows to be dead now, in byte order of id: their beats
// are still there, and two looks, at least DeadAfter apart, gave the evidence. A node reads
// all beats every 10 beats, so that a death is known after 10 to 20. A node that closed in
// order has removed its beat and is not among them. While this node is suspect itself it
// answers none.
//
// It is no leave to take anything: a session of a dead node is judged by itself, with the
// record that names it (see [Judge]). It tells where to look. The call does no I/O.
func (n *Node) Dead() []Death {
	if !n.Beating() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]Death, 0, len(n.mu.deaths))
	for _, d := range n.mu.deaths {
		out = append(out, d.Death)
	}
	slices.SortFunc(out, func(a, b Death) int { return strings.Compare(a.Node, b.Node) })
	return out
}

// death is a Death with the beat that it was found by.
type death struct {
	Death
	version store.Version
}

// sight is how long this node has seen one beat of another.
type sight struct {
	version store.Version
	since   time.Time // local, when the first answer that showed it came
}

// takeCensus is one step of the census loop: one Scan of all beats. From it the node knows
// its share of the fleet's limits, which beats have stood still, and whom to look at again.
func (n *Node) takeCensus(ctx context.Context) error {
	recs, err := n.readBeats(ctx)
	if err != nil {
		n.opts.Logger.DebugContext(ctx, "fleet not counted", "node", n.id, "err", err)
		return nil
	}
	if n.gate != nil {
		n.gate.setCrowd(n.settled(n.crowdOf(n.membersOf(ctx, recs))))
	} else { // only what is new is read: a large fleet has many beats
		n.membersOf(ctx, n.strangers(recs))
	}
	suspects := n.takeIn(recs)
	for _, id := range suspects[:min(len(suspects), maxCensusLooks)] {
		n.examine(ctx, id)
	}
	n.tidy(ctx, recs)
	return nil
}

// readBeats reads the beat records of all nodes.
func (n *Node) readBeats(ctx context.Context) ([]store.Record, error) {
	r := store.Prefix(beatPrefix)
	r.Limit = maxMembers
	var recs []store.Record
	for rec, err := range n.st.Fast().Scan(ctx, r) {
		if err != nil {
			return nil, fmt.Errorf("node: fleet: %w", err)
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

// strangers are the beats of nodes that the census before did not see.
func (n *Node) strangers(recs []store.Record) (out []store.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rec := range recs {
		if _, known := n.mu.seen[strings.TrimPrefix(rec.Key, beatPrefix)]; !known && rec.Key != n.beatKey() {
			out = append(out, rec)
		}
	}
	return out
}

// Nodes is how many nodes had a beat at the last census, or look, this one included: at least 1.
// It does no I/O.
func (n *Node) Nodes() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.mu.seen) + 1
}

// takeIn remembers which beats have stood still since when, forgets the deaths of nodes that
// are gone or have moved, and answers the nodes that may be dead and are not known to be.
func (n *Node) takeIn(recs []store.Record) (suspects []string) {
	now := n.opts.Clock.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	seen := make(map[string]sight, len(recs))
	for _, rec := range recs {
		id := strings.TrimPrefix(rec.Key, beatPrefix)
		if id == n.id {
			continue
		}
		s, ok := n.mu.seen[id]
		if !ok || s.version != rec.Version {
			s = sight{rec.Version, now}
		}
		seen[id] = s
		if d, ok := n.mu.deaths[id]; ok && d.version == rec.Version {
			continue
		}
		if now.Sub(s.since) >= n.opts.DeadAfter {
			suspects = append(suspects, id)
		}
	}
	for id, d := range n.mu.deaths {
		if seen[id].version != d.version {
			delete(n.mu.deaths, id)
		}
	}
	n.mu.seen = seen
	return suspects
}

// examine looks once more at a node whose beat has stood still for DeadAfter.
func (n *Node) examine(ctx context.Context, id string) {
	latest, err := n.Look(ctx, id)
	if err != nil || !latest.Present || latest.Sent.Sub(latest.Since) < n.opts.DeadAfter {
		return
	}
	verdict, evidence := Judge(Held{Beating: true}, latest.earliest(), latest, n.Rules())
	if verdict != Dead {
		return
	}
	n.mu.Lock()
	_, known := n.mu.deaths[id]
	n.mu.deaths[id] = death{Death{id, evidence, latest.At, latest.Age}, latest.Version}
	n.mu.Unlock()
	if !known {
		n.opts.Logger.InfoContext(ctx, "a node is dead", "node", n.id, "dead", id, "evidence", string(evidence), "age", latest.Age)
	}
}

// sightLocked takes in that a look has shown version as the beat of id, by an answer that came
// at answered, and tells since when this node has seen it. The memory is as large as the fleet.
func (n *Node) sightLocked(id string, version store.Version, answered time.Time) (since time.Time) {
	if s, ok := n.mu.seen[id]; ok && s.version == version {
		return s.since
	}
	if _, ok := n.mu.seen[id]; ok || len(n.mu.seen) < maxMembers {
		n.mu.seen[id] = sight{version, answered}
	}
	return answered
}

// keepCensus takes the first census at once, the second after a time that differs from node
// to node, and from then on one a period.
func (n *Node) keepCensus(ctx context.Context, offset time.Duration) {
	period := censusEvery * n.opts.Beat
	for _, wait := range []time.Duration{0, offset} {
		if clock.Sleep(ctx, n.opts.Clock, wait) != nil {
			return
		}
		call, cancel := clock.WithTimeout(ctx, n.opts.Clock, period)
		_ = n.takeCensus(call) // it logs what is wrong
		cancel()
	}
	n.every(ctx, period, n.takeCensus)
}
