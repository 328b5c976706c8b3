package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Report tells how a Close went.
type Report struct {
	Released   int // sessions stored and freed
	HandedOver int // sessions stored and given to another node that had asked
	Lost       int // sessions that another node had taken
	Left       []Left
	// Running names hooks and listeners that had not returned: "OnLeave game.bye for u_42".
	Running []string
	Took    time.Duration
}

// Left is a profile that could not be freed before the deadline. Other nodes take it over
// as soon as this one is known to have ended.
type Left struct {
	Key    string
	Stored bool // all its commits are stored; only its session is not ended
	// Journaled tells that what is not stored is in the journal: whoever takes it over has it.
	Journaled bool
	Why       string
}

// Complete tells that nothing was left.
func (r Report) Complete() bool { return len(r.Left) == 0 && len(r.Running) == 0 }

type closing struct {
	once   sync.Once
	ended  chan struct{}
	report Report
	err    error
	mu     struct {
		sync.Mutex
		cancel context.CancelFunc
	}
}

// Close refuses new loads, ends those that run, and releases every session, all at once:
// OnLeave functions, final saves. It returns when that is done, or when ctx ends, and
// reports what it could not finish. Callers share one closing and one report. The node
// calls it when it closes.
func (s *Set) Close(ctx context.Context) (Report, error) {
	s.closing.once.Do(func() {
		work, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s.closing.mu.Lock()
		s.closing.mu.cancel = cancel
		s.closing.mu.Unlock()
		go s.close(work)
	})
	select {
	case <-s.closing.ended:
	case <-ctx.Done():
		s.closing.mu.Lock()
		cancel := s.closing.mu.cancel
		s.closing.mu.Unlock()
		cancel()
		<-s.closing.ended
	}
	return s.closing.report, s.closing.err
}

func (s *Set) close(ctx context.Context) {
	defer close(s.closing.ended)
	begun := s.clk.Now()
	s.refuseLoads()
	var r Report
	sessions := s.endSessions(ctx, &r)
	s.awaitLoads(ctx)
	sessions = append(sessions, s.endSessions(ctx, &r)...) // those that had just been opened
	s.awaitOrphans(ctx, &r)
	s.unhandle()
	s.clean(ctx)
	s.eraseAll(ctx, s.journaler.erasures())
	s.crew.dismiss()
	if s.tasks.wait(ctx) { // what was under way may have left something behind
		s.eraseAll(ctx, s.journaler.erasures())
	}
	s.halt()
	r.Running = s.running(sessions)
	slices.SortFunc(r.Left, func(a, b Left) int { return strings.Compare(a.Key, b.Key) })
	r.Took = s.clk.Now().Sub(begun)
	s.closing.report = r
	if !r.Complete() { // callers read it when ended is closed
		s.closing.err = fmt.Errorf("profile: close %s: %d profiles left, %d functions running", s.name, len(r.Left), len(r.Running))
	}
	if len(r.Running) > 0 {
		s.log.WarnContext(ctx, "functions have not returned", "functions", strings.Join(r.Running, ", "))
	}
	s.log.InfoContext(ctx, "profiles closed", "released", r.Released, "handedOver", r.HandedOver, "lost", r.Lost, "left", len(r.Left), "running", len(r.Running), "took", r.Took)
}

// closeWithNode is Close as the node calls it. Functions that have not returned are in the
// log and in the set's own report; only profiles that are left make the node say that it ended
// before its time.
func (s *Set) closeWithNode(ctx context.Context) (left int, err error) {
	report, err := s.Close(ctx)
	if len(report.Left) == 0 {
		return 0, nil
	}
	return len(report.Left), err
}

// refuseLoads ends the loads that run, and refuses more.
func (s *Set) refuseLoads() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closing = true
	s.reaping.end()
	s.trims.end()
	for _, sl := range s.mu.slots {
		if sl.load != nil {
			sl.load.cancel(ErrClosing)
		}
	}
	s.outage.end()
}

// endSessions releases all sessions side by side and counts how they ended.
func (s *Set) endSessions(ctx context.Context, r *Report) []*Session {
	sessions := s.inOrder()
	for _, sess := range sessions {
		sess.leave(Closed, nil)
	}
	for _, sess := range sessions {
		select {
		case <-sess.done:
		case <-ctx.Done():
		}
		sess.reckon(r)
	}
	return sessions
}

// reckon counts a session into the report, and ends it if it is left.
func (s *Session) reckon(r *Report) {
	s.endWith(Closed, func() {
		left := Left{Key: s.key, Stored: !s.dirtyLocked() && !s.mu.void, Why: s.whyLocked()}
		left.Journaled = !left.Stored && !s.mu.void && s.syncedLocked(s.mu.revision)
		s.mu.unstored = fmt.Errorf("left by Close: %s: %w", left.Why, ErrClosing)
		s.mu.left = true
		r.Left = append(r.Left, left)
		s.set.stats.left.Add(1)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.left:
	case s.mu.reason == HandedOver:
		r.HandedOver++
	case s.mu.reason == Lost:
		r.Lost++
	default:
		r.Released++
	}
}

// whyLocked tells what holds up the end of a session.
func (s *Session) whyLocked() string {
	w := &s.mu.write
	switch {
	case s.mu.void:
		return "a claim was refused, and the store refuses what came before it"
	case s.mu.trade != nil:
		return s.mu.trade.whyLocked()
	case s.mu.leaving != nil && !s.mu.leaving.ready:
		return "an OnLeave function has not returned"
	case s.mu.hold.bound():
		return "the answer to the final save was lost"
	case w.fails > 0:
		return "the store refuses the final save"
	case w.working:
		return "the store has not answered"
	}
	return "the final save waits its turn"
}

// awaitLoads waits until the loads have given back what they took.
func (s *Set) awaitLoads(ctx context.Context) {
	s.mu.Lock()
	var gone []chan struct{}
	for _, sl := range s.mu.slots {
		if sl.session == nil {
			gone = append(gone, sl.gone)
		}
	}
	s.mu.Unlock()
	for _, c := range gone {
		select {
		case <-c:
		case <-ctx.Done():
			return
		}
	}
}

// awaitOrphans gives the disowned tokens a last look each. One that may still come to be
// named in a record counts as left, so that the node says that it is closed.
func (s *Set) awaitOrphans(ctx context.Context, r *Report) {
	s.mu.Lock()
	left := make([]*orphan, 0, len(s.mu.disowned))
	for _, o := range s.mu.disowned {
		left = append(left, o)
	}
	s.mu.Unlock()
	slices.SortFunc(left, func(a, b *orphan) int { // so that a run can be repeated
		return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.token, b.token))
	})
	for _, o := range left {
		if s.turnTo(ctx, o) {
			s.freeOrphan(ctx, o)
		}
		s.mu.Lock()
		_, still := s.mu.disowned[o.token]
		still = still && (o.named || len(o.claims) > 0)
		s.mu.Unlock()
		if still {
			r.Left = append(r.Left, Left{Key: o.key, Stored: true, Why: "a claim or a grant may still land"})
		}
	}
}

// running names the hooks and listeners that have not returned.
func (s *Set) running(sessions []*Session) []string {
	out := s.hooks.running()
	for _, sess := range sessions {
		if l := sess.stuckListener(); l != "" {
			out = append(out, "OnCommit "+l+" for "+sess.key)
		}
	}
	return out
}

func isMissing(err error) bool { return errors.Is(err, ErrNoProfile) }
