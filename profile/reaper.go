package profile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// The reaper saves the journaled sessions of dead nodes. A journal lives in the fast store,
// which is not made to keep things for the months until a player comes back.

const (
	reapers    = 4    // sessions that are saved at once
	maxMarkers = 4096 // markers of one dead node that are looked at in one round
	wideEvery  = 40   // rounds from one that looks for markers of nodes without a beat to the next
	maxMarked  = 256  // nodes with markers that such a round looks at
	wideNodes  = 8    // nodes of a larger fleet that have such a round in wideEvery rounds: they all would find the same
	maxTurns   = 64   // in a still larger one more do, so that each does before the janitor sweeps: not every node has every set
)

// reaping is the state of the reaper of a set: one round at a time.
type reaping struct {
	mu struct {
		sync.Mutex
		due  time.Time
		busy bool
		stop context.CancelFunc // ends the round; nil: there is none
	}
	rounds int                  // so far; of the loop
	from   string               // where the next wide round begins; of the round
	absent map[string]node.Look // first looks at nodes that have markers and no beat; of the round
}

// end ends the round that is under way, if there is one.
func (r *reaping) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.stop != nil {
		r.mu.stop()
	}
}

// reapDue starts a round when it is time and there are dead nodes, and tells when to look
// again.
func (s *Set) reapDue(ctx context.Context, now time.Time) time.Time {
	if s.opts.ReapEvery <= 0 {
		return time.Time{}
	}
	m := &s.reaping.mu
	m.Lock()
	defer m.Unlock()
	if m.due.IsZero() {
		m.due = now.Add(s.opts.ReapEvery/2 + time.Duration(s.node.Random("reap", s.name)%uint64(s.opts.ReapEvery)))
	}
	switch {
	case m.busy:
		return time.Time{} // the end of the round wakes
	case now.Before(m.due):
		return m.due
	}
	m.due = now.Add(s.opts.ReapEvery)
	scan := isWide(s.reaping.rounds, s.node.ID(), s.node.Nodes())
	s.reaping.rounds++
	if dead := s.node.Dead(); (scan || len(s.reaping.absent) > 0 || len(dead) > 0) && !s.isClosing() {
		m.busy = true
		ctx, m.stop = context.WithCancel(ctx)
		s.tasks.start(func() { s.reapRound(ctx, dead, scan) })
	}
	return m.due
}

// isWide tells which rounds of a node in a fleet of so many are wide. In a fleet of more than
// wideNodes the nodes take turns, at most maxTurns, each at a time of its own.
func isWide(round int, id string, nodes int) bool {
	if round%wideEvery != 0 {
		return false
	}
	turns := min(max(1, (nodes+wideNodes-1)/wideNodes), maxTurns)
	return (round/wideEvery+int(spread(id, time.Duration(turns))))%turns == 0
}

// reapRound looks after all dead nodes, and now and then for nodes that have left markers and
// have no beat: they could not tidy up before their end, or the fast store has forgotten them.
func (s *Set) reapRound(ctx context.Context, dead []node.Death, scan bool) {
	for _, d := range dead {
		s.reapNode(ctx, d.Node, node.Look{})
	}
	s.reapGone(ctx, scan)
	s.reaping.end()
	m := &s.reaping.mu
	m.Lock()
	m.busy = false
	m.Unlock()
	s.plan.wake()
}

// reapGone looks after nodes that have markers and no beat, in two looks: those that were
// looked at before, and, in a scan, others.
func (s *Set) reapGone(ctx context.Context, scan bool) {
	ids := slices.Sorted(maps.Keys(s.reaping.absent))
	if scan {
		ids = append(ids, s.markedNodes(ctx)...)
	}
	absent := make(map[string]node.Look)
	for _, id := range ids {
		if _, again := absent[id]; again || id == s.node.ID() {
			continue
		}
		look, err := s.lookAt(ctx, id)
		if err != nil || look.Present || !s.marked(ctx, id) {
			continue
		}
		first := node.FirstLook(s.reaping.absent[id], look)
		absent[id] = first
		if verdict, _ := node.Judge(node.Held{Beating: true}, first, look, s.node.Rules()); verdict == node.Dead {
			s.reapNode(ctx, id, first)
		}
	}
	s.reaping.absent = absent
}

// markedNodes are nodes that have left markers in this set, as many as one round looks at; the
// next one goes on behind them. The first begins where this node's own would be, and behind the
// last comes the first: nodes that take turns would else all look at the same ones.
func (s *Set) markedNodes(ctx context.Context) (out []string) {
	all := store.Prefix(node.EstateFolder)
	if s.reaping.from == "" {
		s.reaping.from = node.EstateFolder + s.node.ID()
	}
	begin := s.reaping.from
	part, round := store.Range{From: begin, To: all.To, Limit: 1}, false
	for range maxMarked {
		id, err := s.firstEstate(ctx, part)
		if err == nil && id == "" && !round {
			part, round = store.Range{From: all.From, To: begin, Limit: 1}, true
			id, err = s.firstEstate(ctx, part)
		}
		if err != nil {
			break
		}
		if id == "" { // that were all
			return out
		}
		if s.marked(ctx, id) {
			out = append(out, id)
		}
		part.From = node.EstateFolder + id + "0" // behind all of "<id>/"
		if part.From >= part.To {
			return out
		}
	}
	s.reaping.from = part.From
	return out
}

// firstEstate is the node whose estate comes first in a range; empty: there is none.
func (s *Set) firstEstate(ctx context.Context, r store.Range) (id string, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	for rec, err := range s.fast.Scan(ctx, r) {
		if err != nil {
			return "", err
		}
		id, _, _ = strings.Cut(strings.TrimPrefix(rec.Key, node.EstateFolder), "/")
	}
	return id, nil
}

// marked tells that a node has markers in this set.
func (s *Set) marked(ctx context.Context, id string) bool {
	ctx, cancel := s.within(ctx)
	defer cancel()
	r := store.Prefix(markerPrefix(id, s.name))
	r.Limit = 1
	for _, err := range s.fast.Scan(ctx, r) {
		return err == nil
	}
	return false
}

// reapNode saves and frees the journaled sessions of one dead node. first is an earlier look
// at it, if it has no beat.
func (s *Set) reapNode(ctx context.Context, dead string, first node.Look) {
	markers, err := s.markersOf(ctx, dead)
	if err != nil {
		s.log.WarnContext(ctx, "journals of a dead node not listed", "dead", dead, "err", err)
	}
	var (
		wg   sync.WaitGroup
		turn = make(chan struct{}, reapers)
	)
	for _, marker := range markers {
		if ctx.Err() != nil {
			break
		}
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			s.reap(ctx, dead, marker, first)
		})
	}
	wg.Wait()
}

// markersOf lists the markers of a node, or what of them could be read in time.
func (s *Set) markersOf(ctx context.Context, dead string) (markers []store.Record, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	r := store.Prefix(markerPrefix(dead, s.name))
	r.Limit = maxMarkers
	for marker, err := range s.fast.Scan(ctx, r) {
		if err != nil {
			return markers, err
		}
		markers = append(markers, marker)
	}
	return markers, nil
}

func (s *Set) lookAt(ctx context.Context, holder string) (node.Look, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	return s.node.Look(ctx, holder)
}

// reap deals with one marker. When it fails, the next round tries again.
func (s *Set) reap(ctx context.Context, dead string, marker store.Record, first node.Look) {
	key := strings.TrimPrefix(marker.Key, markerPrefix(dead, s.name))
	done, err := s.reapSession(ctx, dead, key, first)
	if err != nil && !errors.Is(err, errStartOver) && ctx.Err() == nil {
		s.log.WarnContext(ctx, "journaled session of a dead node not saved yet", "key", key, "dead", dead, "err", err)
	}
	if done {
		s.journaler.erase(erasure{key: marker.Key, marker: true, token: markerToken(marker.Value), is: marker.Version})
	}
}

// reapSession takes a session over from a node that is dead, and frees it. done tells that
// the marker has nothing left to say.
func (s *Set) reapSession(ctx context.Context, dead, key string, first node.Look) (done bool, err error) {
	r, err := s.readAs(ctx, node.ClassBackground, key)
	if err != nil || r.problem != nil {
		return false, err
	}
	if r.holder() == "" || r.record.session.node != dead {
		return true, s.eraseStale(ctx, key, r)
	}
	// The look comes after the read: it is this version of the record that is judged.
	look, err := s.lookAt(ctx, dead)
	if err != nil {
		return false, err
	}
	if first.At.IsZero() || look.Present {
		first = look
		first.Sent, first.At = look.Since, look.Since
	}
	verdict, evidence := node.Judge(node.Held{Beating: r.record.session.beating, Age: r.idle()}, first, look, s.node.Rules())
	if verdict != node.Dead {
		return false, nil
	}
	z := seizure{set: s, key: key, by: s.node.NewToken("reap", key), schema: s.opts.Schema}
	if _, err := s.setFree(ctx, node.ClassBackground, &z, r, evidence); err != nil {
		return false, fmt.Errorf("reap: %w", err)
	}
	s.stats.reaped.Add(1)
	s.log.InfoContext(ctx, "saved the journaled session of a dead node", "key", key, "dead", dead, "evidence", string(evidence))
	if z.sealed != 0 {
		s.journaler.erase(erasure{key: journalKey(s.name, key), token: r.holder(), is: z.sealed})
	}
	if evidence != node.EvidenceClosed {
		n := s.noteTaken(key, z.by, r.holder())
		s.tasks.start(func() { s.tellTaken(dead, n) })
	}
	return true, nil
}

// eraseStale removes a journal that no takeover will ever read, because the record, which was
// read before, is of a later session, or free.
func (s *Set) eraseStale(ctx context.Context, key string, r reading) error {
	j, err := s.readJournal(ctx, key)
	if err != nil {
		return err
	}
	if staleJournal(r, *j) {
		s.journaler.erase(erasure{key: journalKey(s.name, key), token: j.journal.token, is: j.version})
	}
	return nil
}
