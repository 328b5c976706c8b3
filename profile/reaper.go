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
		s.tasks.start(func() {
			for _, d := range dead {
				s.reapNode(ctx, d.Node)
			}
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
	look, err := s.lookAt(ctx, dead)
	if err != nil {
		return
	}
	r := store.Prefix(markerPrefix(dead, s.name))
	r.Limit = maxMarkers
	var (
		wg   sync.WaitGroup
		turn = make(chan struct{}, reapers)
	)
	for marker, err := range s.fast.Scan(ctx, r) {
		if err != nil || s.isClosing() || ctx.Err() != nil {
			break
		}
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			s.reap(ctx, dead, marker, look)
		})
	}
	wg.Wait()
}

func (s *Set) lookAt(ctx context.Context, holder string) (node.Look, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	return s.node.Look(ctx, holder)
}

// reap deals with one marker. When it fails, the next round tries again.
func (s *Set) reap(ctx context.Context, dead string, marker store.Record, look node.Look) {
	key := strings.TrimPrefix(marker.Key, markerPrefix(dead, s.name))
	done, err := s.reapSession(ctx, dead, key, look)
	if err != nil && !errors.Is(err, errStartOver) {
		s.log.WarnContext(ctx, "journaled session of a dead node not saved yet", "key", key, "dead", dead, "err", err)
	}
	if done {
		s.eraseMarker(dead, key)
	}
}

// reapSession takes a session over from a node that is dead, and frees it. done tells that
// the marker has nothing left to say.
func (s *Set) reapSession(ctx context.Context, dead, key string, look node.Look) (done bool, err error) {
	r, err := s.read(ctx, key)
	if err != nil {
		return false, err
	}
	if r.holder() == "" || r.record.session.node != dead {
		return true, s.eraseStale(ctx, key, r)
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
		s.eraseJournal(key, r.holder(), z.sealed, false)
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
		s.eraseJournal(key, j.journal.token, j.version, false)
	}
	return nil
}
