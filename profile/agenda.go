package profile

import (
	"container/heap"
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"
)

// agenda is what sessions have to do later: one heap and one loop for the whole set. A
// session is in it at most once, and only while something is due.
type agenda struct {
	kick chan struct{}
	mu   struct {
		sync.Mutex
		heap dueHeap
	}
}

type appointment struct {
	session *Session
	due     time.Time
	index   int
}

type dueHeap struct {
	list []*appointment
	of   map[*Session]*appointment
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h *dueHeap) Len() int           { return len(h.list) }
func (h *dueHeap) Less(i, j int) bool { return h.list[i].due.Before(h.list[j].due) }
func (h *dueHeap) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

func (h *dueHeap) Push(x any) {
	a, ok := x.(*appointment)
	if !ok {
		panic("profile: no appointment")
	}
	a.index = len(h.list)
	h.list = append(h.list, a)
}

func (h *dueHeap) Pop() any {
	last := len(h.list) - 1
	a := h.list[last]
	h.list[last] = nil
	h.list = h.list[:last]
	return a
}

// at sets when something is due for the session, in place of what was said before.
func (g *agenda) at(s *Session, due time.Time) {
	g.mu.Lock()
	h := &g.mu.heap
	if h.of == nil {
		h.of = make(map[*Session]*appointment)
	}
	if a := h.of[s]; a != nil {
		a.due = due
		heap.Fix(h, a.index)
	} else {
		a = &appointment{session: s, due: due}
		h.of[s] = a
		heap.Push(h, a)
	}
	first := h.list[0].session == s
	g.mu.Unlock()
	if first {
		g.wake()
	}
}

// drop takes the session out.
func (g *agenda) drop(s *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &g.mu.heap
	if a := h.of[s]; a != nil {
		heap.Remove(h, a.index)
		delete(h.of, s)
	}
}

// wake has the loop look again.
func (g *agenda) wake() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// due takes out what is due now, and tells when the next is; zero when nothing is.
func (g *agenda) due(now time.Time) (out []*Session, next time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := &g.mu.heap
	for len(h.list) > 0 {
		a := h.list[0]
		if a.due.After(now) {
			return out, a.due
		}
		heap.Pop(h)
		delete(h.of, a.session)
		out = append(out, a.session)
	}
	return out, time.Time{}
}

// loop wakes when something is due, and not at all while nothing is.
func (s *Set) loop() {
	ctx, closing := s.life(), s.node.Closing()
	w := watch{beating: true, forgot: s.node.Forgot()}
	timer := s.clk.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := s.step(ctx, &w, s.clk.Now())
		timer.Stop()
		wait := timer.C()
		if next.IsZero() {
			wait = nil
		} else {
			timer.Reset(next.Sub(s.clk.Now()))
		}
		select {
		case <-wait:
		case <-s.plan.kick:
		case <-closing:
			closing = nil
			s.refuseLoads()
		case <-ctx.Done():
			return
		}
	}
}

// step does what is due and tells when to look again; zero: when kicked.
func (s *Set) step(ctx context.Context, w *watch, now time.Time) time.Time {
	due, next := s.plan.due(now)
	for _, sess := range due {
		sess.rise()
	}
	next = earlier(next, s.watchBeats(ctx, w, now))
	next = earlier(next, s.freeOrphans(ctx, now))
	next = earlier(next, s.journalDue(now))
	next = earlier(next, s.reapDue(ctx, now))
	return earlier(next, s.sweep(now))
}

// earlier is the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// rise queues what is due for the session. While a worker is at it, the worker plans anew
// when it is done.
func (s *Session) rise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.mu.write
	switch {
	case w.working || s.mu.reason != 0:
	case s.mu.leaving != nil && s.mu.leaving.ready:
		s.queueLocked(urgent)
	case w.owed || s.dirtyLocked() || s.fallbackLocked():
		w.owed = true
		s.queueLocked(plain)
	}
}

// planLocked enters into the agenda when something is due next for the session.
func (s *Session) planLocked() {
	if due := s.dueLocked(s.set.clk.Now()); !due.IsZero() {
		s.set.plan.at(s, due)
		return
	}
	s.set.plan.drop(s)
}

// dueLocked tells when; zero: nothing is.
func (s *Session) dueLocked(now time.Time) time.Time {
	w, o := &s.mu.write, &s.set.opts
	var due time.Time
	switch {
	case s.mu.reason != 0, s.mu.frozen && (s.mu.leaving == nil || !s.mu.leaving.ready): // whoever makes it ready queues it
		return time.Time{}
	case s.mu.leaving != nil && s.mu.leaving.ready, w.owed:
		return w.retry
	case s.fallbackLocked():
		due = nextSlot(s.set.began.Add(spread(s.key, o.FallbackSave)), o.FallbackSave, w.last)
		if back := s.set.back.Load(); back != nil {
			no := s.set.node.Options()
			due = earlier(due, latest(back.Add(spread(s.key, no.DeadAfter)), w.last.Add(no.Beat)))
		}
	}
	if s.dirtyLocked() {
		due = earlier(due, s.saveDueLocked(now))
	}
	if !due.IsZero() && w.fails > 0 && due.Before(w.retry) {
		return w.retry
	}
	return due
}

// saveDueLocked tells when a changed session saves by itself: at its next slot, or sooner if
// the journal does not take what has changed; a large one not more often than
// WriteBytesPerMinute allows.
func (s *Session) saveDueLocked(now time.Time) time.Time {
	w, o, j := &s.mu.write, &s.set.opts, &s.mu.journal
	var due time.Time
	if o.Autosave > 0 {
		due = nextSlot(w.anchor, o.Autosave, latest(now, w.anchor))
	}
	if j.over || j.hold.state == journalBarred {
		due = earlier(due, latest(now, w.last.Add(o.JournalEvery)))
	}
	if !due.IsZero() && o.WriteBytesPerMinute > 0 {
		pause := time.Duration(float64(s.mu.data.Size()) / float64(o.WriteBytesPerMinute) * float64(time.Minute))
		due = latest(due, w.last.Add(pause))
	}
	if j.fails >= maxFails { // nothing else holds what has changed
		due = earlier(due, nextSlot(s.set.began.Add(spread(s.key, o.FallbackSave)), o.FallbackSave, w.last))
	}
	return due
}

// fallbackLocked tells that the record does not vouch for the node's beats, so that it is to
// be saved every FallbackSave, changed or not, and until it vouches again.
func (s *Session) fallbackLocked() bool {
	return s.mu.rec.session != nil && !s.mu.rec.session.beating
}

// nextSlot is the first of start + n × period after t.
func nextSlot(start time.Time, period time.Duration, t time.Time) time.Time {
	into := t.Sub(start) % period
	if into < 0 {
		into += period
	}
	return t.Add(period - into)
}

// spread is a part of period that depends on the key alone, so that sessions opened or
// changed together are not saved together.
func spread(key string, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return time.Duration(h.Sum64() % uint64(period))
}

// watch is what the loop remembers of the node's beats.
type watch struct {
	beating bool
	last    time.Time // when the loop last looked; zero while there was no session
	forgot  uint64    // how often the fast store had lost its memory
}

// watchBeats looks whether the node's beats land, as long as there are sessions, and so often
// that there is time left before others judge. When they cease, all sessions are saved, so that their records say so: changed and asked
// ones first. So they are after a pause of this process, which may have been taken for dead
// and would not know.
func (s *Set) watchBeats(ctx context.Context, w *watch, now time.Time) time.Time {
	if s.open.Load() == 0 {
		w.last = time.Time{}
		return time.Time{}
	}
	o := s.node.Options()
	if next := w.last.Add(o.Beat / 4); !w.last.IsZero() && now.Before(next) {
		return next
	}
	paused := !w.last.IsZero() && now.Sub(w.last) > o.DeadAfter-o.Beat-o.Beat/2
	beating := s.node.Beating()
	if paused || w.beating && !beating {
		s.renewAll(ctx, beating)
	}
	if forgot := s.node.Forgot(); forgot != w.forgot { // and with it the journals
		w.forgot = forgot
		s.saveChanged(ctx)
		s.lookForAllMail()
	}
	if beating && !w.beating {
		s.vouchAgain(now)
		s.lookForAllMail() // nobody could leave a note
	}
	if !beating {
		s.back.Store(nil)
	}
	w.beating, w.last = beating, now
	return now.Add(o.Beat / 4)
}

// vouchAgain has the sessions whose records do not vouch for the node's beats saved within
// DeadAfter, now that they land again: until then a crash would keep their players waiting.
func (s *Set) vouchAgain(now time.Time) {
	s.back.Store(&now)
	for _, sess := range s.Sessions() {
		sess.mu.Lock()
		sess.planLocked()
		sess.mu.Unlock()
	}
}

// saveChanged saves what no save holds yet. A session that has nothing more to journal would
// not find out for long that its journal is gone.
func (s *Set) saveChanged(ctx context.Context) {
	s.log.WarnContext(ctx, "the fast store has lost its memory: saving what was only journaled")
	for _, sess := range s.Sessions() {
		if sess.importance() > 0 {
			sess.renew()
		}
	}
}

func (s *Set) renewAll(ctx context.Context, beating bool) {
	sessions := s.inOrder()
	s.log.WarnContext(ctx, "saving all sessions", "sessions", len(sessions), "beating", beating)
	rank := make(map[*Session]int, len(sessions))
	for _, sess := range sessions {
		rank[sess] = sess.importance()
	}
	slices.SortStableFunc(sessions, func(a, b *Session) int { return rank[b] - rank[a] })
	for _, sess := range sessions {
		sess.renew()
	}
}

func (s *Session) importance() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mu.leaving != nil:
		return 2
	case s.dirtyLocked():
		return 1
	}
	return 0
}

// renew has the session written although nothing may have changed.
func (s *Session) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.write.owed = true
	s.queueLocked(plain)
	s.rushLocked()
}
