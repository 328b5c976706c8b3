package profile

import (
	"context"
	"errors"
	"fmt"
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
)

// reaping is the state of the reaper of a set: one round at a time.
type reaping struct {
	mu struct {
		sync.Mutex
		due  time.Time
		busy bool
		stop context.CancelFunc // ends the round; nil: there is none
	}
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
		m.due = now.Add(s.opts.ReapEvery/2 + time.Duration(s.node.Random()%uint64(s.opts.ReapEvery)))
	}
	switch {
	case m.busy:
		return time.Time{} // the end of the round wakes
	case now.Before(m.due):
		return m.due
	}
	m.due = now.Add(s.opts.ReapEvery)
	if dead := s.node.Dead(); len(dead) > 0 && !s.isClosing() {
		m.busy = true
		ctx, m.stop = context.WithCancel(ctx)
		s.tasks.start(func() {
			for _, d := range dead {
				s.reapNode(ctx, d.Node)
			}
			s.reaping.end()
			m.Lock()
			m.busy = false
			m.Unlock()
			s.plan.wake()
		})
	}
	return m.due
}

// reapNode saves and frees the journaled sessions of one dead node.
func (s *Set) reapNode(ctx context.Context, dead string) {
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
			s.reap(ctx, dead, marker)
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
func (s *Set) reap(ctx context.Context, dead string, marker store.Record) {
	key := strings.TrimPrefix(marker.Key, markerPrefix(dead, s.name))
	done, err := s.reapSession(ctx, dead, key)
	if err != nil && !errors.Is(err, errStartOver) && ctx.Err() == nil {
		s.log.WarnContext(ctx, "journaled session of a dead node not saved yet", "key", key, "dead", dead, "err", err)
	}
	if done {
		s.journaler.erase(erasure{key: marker.Key, marker: true, token: markerToken(marker.Value), is: marker.Version})
	}
}

// reapSession takes a session over from a node that is dead, and frees it. done tells that
// the marker has nothing left to say.
func (s *Set) reapSession(ctx context.Context, dead, key string) (done bool, err error) {
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
	first := look
	first.Sent, first.At = look.Since, look.Since
	verdict, evidence := node.Judge(node.Held{Beating: r.record.session.beating, Age: r.age}, first, look, s.node.Rules())
	if verdict != node.Dead {
		return false, nil
	}
	z := seizure{set: s, key: key, by: s.node.NewToken(), schema: s.opts.Schema}
	if _, err := s.setFree(ctx, &z, r, evidence); err != nil {
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
