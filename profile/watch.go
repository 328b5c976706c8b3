package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/shoalworks/shoal/doc"
)

const (
	// maxWatches bounds the watches of one session; more are refused with ErrBusy.
	maxWatches = 256
	// defaultBacklog is how many commits a watch keeps for its reader without a word about it.
	defaultBacklog = 64
	// maxBacklog is how many it keeps at most.
	maxBacklog = 1024
)

// ErrWatchClosed is what Next answers after the reader has closed its watch.
var ErrWatchClosed = errors.New("watch closed")

// Watch is a copy of a session being kept up to date elsewhere: first the whole data, then
// every commit, in order. It belongs to one reader, who calls Next.
type Watch struct {
	session *Session
	bound   int

	mu struct {
		sync.Mutex
		snapshot *WatchEvent // comes before the backlog; nil: none
		backlog  []Commit
		end      error         // what follows the backlog; nil: more commits
		ready    chan struct{} // closed when there is something again; nil: nobody waits
	}
}

// WatchEvent is one step of a [Watch]: a snapshot, or a commit.
type WatchEvent struct {
	// Revision of the data after this step.
	Revision uint64
	// Snapshot is the whole data, to begin with it, or to begin anew: whatever came before is
	// void. Null in a step that is a commit.
	Snapshot doc.Value
	// Commit is nil in a snapshot. Its edits, applied to the data of the step before, give its
	// Data (doc.ApplyEdits).
	Commit *Commit
	// Missed is, in a snapshot, how many commits the reader did not get because it was too slow.
	Missed int
}

// Watch follows the session: see [Watch.Next]. It never holds up the game: when more than
// buffer commits wait for the reader (0 is 64, at most 1,024) they are dropped, and one new
// snapshot stands for them. What it shows is in memory; a crash may take the last of it back,
// and so may a claim that the store refuses, which shows as a snapshot of an older revision
// before the session's end. A session has 256 watches at most; one more is an ErrBusy. Close
// it when it is not read any more.
func (s *Session) Watch(buffer int) (*Watch, error) {
	if buffer <= 0 {
		buffer = defaultBacklog
	}
	w := &Watch{session: s, bound: min(buffer, maxBacklog)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.endedLocked(); err != nil {
		return nil, err
	}
	if len(s.mu.publish.watches) >= maxWatches {
		return nil, fmt.Errorf("profile: watch %s: there are %d already: %w", s.key, maxWatches, ErrBusy)
	}
	w.mu.snapshot = &WatchEvent{Revision: s.mu.revision, Snapshot: s.mu.data}
	s.mu.publish.watches = append(s.mu.publish.watches, w)
	s.set.stats.watches.Add(1)
	return w, nil
}

// Next waits for the next step and answers it: the first is a snapshot. When the session has
// ended and everything was read it answers an [EndedError] with the reason; after Close,
// ErrWatchClosed; when ctx ends, its error, and the watch goes on.
func (w *Watch) Next(ctx context.Context) (WatchEvent, error) {
	for {
		e, ok, ready, err := w.take()
		if ok || err != nil {
			return e, err
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return WatchEvent{}, context.Cause(ctx)
		}
	}
}

// take answers what is there, or what to wait for.
func (w *Watch) take() (e WatchEvent, ok bool, ready <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &w.mu
	switch {
	case m.snapshot != nil:
		e, m.snapshot = *m.snapshot, nil
		return e, true, nil, nil
	case len(m.backlog) > 0:
		c := m.backlog[0].own()
		m.backlog[0] = Commit{}
		if m.backlog = m.backlog[1:]; len(m.backlog) == 0 {
			m.backlog = nil
		}
		return WatchEvent{Revision: c.Revision, Commit: &c}, true, nil, nil
	case m.end != nil:
		return WatchEvent{}, false, nil, m.end
	}
	if m.ready == nil {
		m.ready = make(chan struct{})
	}
	return WatchEvent{}, false, m.ready, nil
}

// Close ends the watch. It is safe to call it twice, and while somebody is in Next.
func (w *Watch) Close() {
	s := w.session
	s.mu.Lock()
	n := len(s.mu.publish.watches)
	s.mu.publish.watches = slices.DeleteFunc(s.mu.publish.watches, func(o *Watch) bool { return o == w })
	if len(s.mu.publish.watches) < n {
		s.set.stats.watches.Add(-1)
	}
	s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.snapshot, w.mu.backlog, w.mu.end = nil, nil, ErrWatchClosed
	w.wakeLocked()
}

// add takes in a commit.
func (w *Watch) add(c Commit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &w.mu
	if len(m.backlog) < w.bound {
		m.backlog = append(m.backlog, c)
		w.wakeLocked()
		return
	}
	w.session.set.stats.resyncs.Add(1)
	w.resyncLocked(c.Data, c.Revision, 1)
}

// resync drops what the reader has not read yet, and begins anew.
func (w *Watch) resync(data doc.Value, revision uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resyncLocked(data, revision, 0)
}

func (w *Watch) resyncLocked(data doc.Value, revision uint64, missed int) {
	m := &w.mu
	missed += len(m.backlog)
	if m.snapshot != nil {
		missed += m.snapshot.Missed
	}
	m.snapshot, m.backlog = &WatchEvent{Revision: revision, Snapshot: data, Missed: missed}, nil
	w.wakeLocked()
}

func (w *Watch) wakeLocked() {
	if w.mu.ready != nil {
		close(w.mu.ready)
		w.mu.ready = nil
	}
}

// unfollowLocked ends what follows the session, when it has ended.
func (s *Session) unfollowLocked(err error) {
	s.disarmLocked()
	s.endWatchesLocked(err)
}

// endWatchesLocked ends the watches with the session. What they have not read stays readable.
func (s *Session) endWatchesLocked(err error) {
	for _, w := range s.mu.publish.watches {
		w.mu.Lock()
		w.mu.end = err
		w.wakeLocked()
		w.mu.Unlock()
	}
	s.set.stats.watches.Add(-int64(len(s.mu.publish.watches)))
	s.mu.publish.watches = nil
}
