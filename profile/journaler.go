package profile

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// journaler gathers what sessions have to journal, so that many appends are one call. It
// costs nothing while nothing changes. The list is as long as there are sessions at most.
type journaler struct {
	every time.Duration
	clk   clock.Clock
	wake  func()
	mu    struct {
		sync.Mutex
		list    []*Session // something to journal: each once
		hurried []*Session // at once: somebody waits in Sync
		since   time.Time  // when the first of these was seen; zero: not yet
		gone    []erasure  // what nobody needs any more
		goneDue time.Time  // when the first of these is due
		ending  bool       // Close removes them
		tick    time.Time  // when the list is looked at next; zero: not yet set
		usual   int        // how long the list was when it was looked at last
		batches int        // calls under way
	}
}

const (
	// ticks is how many times in one JournalEvery the list is looked at: a change that comes
	// after a while waits for a fraction of JournalEvery only.
	ticks = 4
	// moment is for how long those who hurry wait for each other: what comes at one time, from
	// however many goroutines, goes in one call.
	moment = time.Nanosecond
	// maxBatches is how many calls are under way at once; what comes meanwhile goes with the
	// next.
	maxBatches = 4
	// maxBatch and maxBatchBytes bound one call.
	maxBatch      = 256
	maxBatchBytes = 4 << 20
)

// add enters a session that has something to journal.
func (g *journaler) add(s *Session) {
	g.mu.Lock()
	if g.mu.list == nil {
		g.mu.list = make([]*Session, 0, g.mu.usual+1)
	}
	g.mu.list = append(g.mu.list, s)
	first := len(g.mu.list) == 1
	g.mu.Unlock()
	if first {
		g.wake()
	}
}

// hurry has a session looked at now.
func (g *journaler) hurry(s *Session) {
	g.mu.Lock()
	g.mu.hurried = append(g.mu.hurried, s)
	first := len(g.mu.hurried) == 1
	g.mu.Unlock()
	if first {
		g.wake()
	}
}

// work is what is to be done in one go.
type work struct {
	hurried []*Session
	listed  []*Session
	gone    []erasure
}

// take is what to look at now, and when to come again; zero: when woken.
func (g *journaler) take(now time.Time) (w work, some bool, next time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.batches >= maxBatches {
		return work{}, false, time.Time{} // the end of a batch wakes
	}
	if len(g.mu.list) == 0 {
		g.mu.tick = time.Time{}
	} else if g.mu.tick.IsZero() {
		g.mu.tick = now.Add(g.every / ticks)
	}
	if g.gatheringLocked(now) {
		return work{}, false, now.Add(moment)
	}
	w.hurried, g.mu.hurried, g.mu.since = g.mu.hurried, nil, time.Time{}
	if len(g.mu.list) > 0 && !now.Before(g.mu.tick) {
		w.listed, g.mu.list, g.mu.tick, g.mu.usual = g.mu.list, nil, time.Time{}, len(g.mu.list)
	}
	next = g.mu.tick
	if len(g.mu.list) == 0 || len(w.hurried) > 0 || len(g.mu.gone) >= maxBatch {
		var due time.Time
		w.gone, due = g.dueErasuresLocked(now)
		next = earlier(next, due)
	}
	some = len(w.hurried) > 0 || len(w.listed) > 0 || len(w.gone) > 0
	if some {
		g.mu.batches++
	}
	return w, some, next
}

// gatheringLocked tells that more may come at this moment from those who hurry.
func (g *journaler) gatheringLocked(now time.Time) bool {
	if len(g.mu.hurried) == 0 {
		return false
	}
	if g.mu.since.IsZero() {
		g.mu.since = now
	}
	return !now.After(g.mu.since)
}

// back enters sessions again that are not due yet.
func (g *journaler) back(list []*Session) {
	if len(list) == 0 {
		return
	}
	g.mu.Lock()
	first := len(g.mu.list) == 0
	g.mu.list = append(g.mu.list, list...)
	g.mu.Unlock()
	if first {
		g.wake()
	}
}

func (g *journaler) done() {
	g.mu.Lock()
	g.mu.batches--
	g.mu.Unlock()
	g.wake()
}

// journalDue sends what is due, and tells when to look again.
func (s *Set) journalDue(now time.Time) time.Time {
	s.tasks.begin() // Close waits for what is taken and not started yet, too
	defer s.tasks.end()
	w, some, next := s.journaler.take(now)
	if some {
		s.tasks.start(func() {
			defer s.journaler.done()
			s.journalAll(w.hurried, false)
			s.journalAll(w.listed, true)
			s.eraseAll(s.life(), w.gone)
		})
	}
	return next
}

// journalAll appends for those of the sessions that have something to append now. listed
// tells that they come from the list.
func (s *Set) journalAll(sessions []*Session, listed bool) {
	now := s.clk.Now()
	var (
		later []*Session
		batch []*draft
		bytes int
		place desk
	)
	for _, sess := range sessions {
		ready, again := sess.dueAppend(now, listed)
		if again {
			later = append(later, sess)
		}
		if !ready {
			continue
		}
		d, ok := sess.draft(&place)
		if !ok {
			continue
		}
		if !d.encode(&place) {
			sess.tooLarge()
			continue
		}
		batch, bytes = append(batch, d), bytes+len(d.text)
		if len(batch) == maxBatch || bytes >= maxBatchBytes {
			s.sendBatch(batch)
			batch, bytes = nil, 0
		}
	}
	s.journaler.back(later)
	if len(batch) > 0 {
		s.sendBatch(batch)
	}
}

// journalCall is the context of one call for the journal: shorter than others, since a
// session that cannot be journaled is to be saved soon.
func (s *Set) journalCall() (context.Context, context.CancelFunc) {
	return clock.WithTimeout(s.life(), s.clk, min(s.opts.CallTimeout, s.node.Options().DeadAfter/2))
}

// sendBatch is one call for many sessions, and a second one to read what the first left open.
// Its order is that of the keys, not of who came first.
func (s *Set) sendBatch(batch []*draft) {
	slices.SortFunc(batch, func(a, b *draft) int { return strings.Compare(a.session.key, b.session.key) })
	ctx, cancel := s.journalCall()
	errs := s.fast.Commit(ctx, s.txsOf(batch)...)
	cancel()
	open := s.appendedAll(batch, errs)
	if len(open) == 0 {
		return
	}
	ctx, cancel = s.journalCall()
	defer cancel()
	readings, err := s.readJournals(ctx, open)
	for i, d := range open {
		var r journalReading
		if err == nil {
			r = readings[i]
		}
		d.session.found(d, r, err)
	}
}

// txsOf are the appends of a batch, and behind them the markers that go with some.
func (s *Set) txsOf(batch []*draft) []store.Tx {
	n := len(batch)
	for _, d := range batch {
		if d.marker != 0 {
			n++
		}
	}
	writes := make([]store.Write, 0, n) // never moves: each transaction is a part of it
	for _, d := range batch {
		writes = append(writes, d.write())
	}
	for _, d := range batch {
		if d.marker != 0 {
			writes = append(writes, s.mark(d))
		}
	}
	txs := make([]store.Tx, n)
	for i := range txs {
		txs[i] = store.Tx(writes[i : i+1 : i+1])
	}
	return txs
}

// appendedAll takes in the answers to a call, and tells which journals are to be read.
func (s *Set) appendedAll(batch []*draft, errs []error) (open []*draft) {
	marks := errs[len(batch):]
	for _, d := range batch {
		if d.marker != 0 {
			d.session.markedBy(d.marker, marks[0])
			marks = marks[1:]
		}
	}
	for i, d := range batch {
		if d.session.appended(d, errs[i]) == appendReadBack {
			open = append(open, d)
		}
	}
	return open
}
