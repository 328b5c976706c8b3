package profile

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/store"
)

// erasure is a journal, or the marker of one, that nobody needs any more. It is removed if it
// is still that one: best effort, since what is left behind harms nothing.
type erasure struct {
	key   string // of the profile
	write store.Write
	token string // of the journal's session; empty for a marker
	look  bool   // the journal's version is not certain: read it first
	tries int
	due   time.Time
}

const (
	// maxErasures bounds what waits to be removed; more is left behind.
	maxErasures = 16384
	// maxEraseTries is how often one removal is tried.
	maxEraseTries = 8
)

// eraseJournal has a journal removed.
func (s *Set) eraseJournal(key, token string, v store.Version, look bool) {
	s.journaler.erase(erasure{
		key: key, token: token, look: look,
		write: store.Write{Key: journalKey(s.name, key), Op: store.Delete, If: store.Is(v)},
	})
}

// eraseMarker has the marker of a node's session removed.
func (s *Set) eraseMarker(nodeID, key string) {
	s.journaler.erase(erasure{
		key: key, write: store.Write{Key: markerPrefix(nodeID, s.name) + key, Op: store.Delete, If: store.Any()},
	})
}

// eraseLocked has removed what the session leaves behind: its journal, unless another session
// needs it, and its marker.
func (s *Session) eraseLocked(journal bool) {
	j := &s.mu.journal
	look := j.working || len(j.hold.sent) > 0 || j.fails > 0
	if journal && (j.hold.version != 0 || look) {
		s.set.eraseJournal(s.key, s.token, j.hold.version, look || j.hold.version == 0)
	}
	if j.marked {
		j.marked = false
		s.set.eraseMarker(s.set.node.ID(), s.key)
	}
}

// erase has something removed.
func (g *journaler) erase(list ...erasure) {
	g.mu.Lock()
	if len(g.mu.gone)+len(list) <= maxErasures {
		g.mu.gone = append(g.mu.gone, list...)
	}
	g.mu.Unlock()
	g.wake()
}

// dueErasuresLocked takes out what is due, and tells when the next is.
func (g *journaler) dueErasuresLocked(now time.Time) (due []erasure, next time.Time) {
	var rest []erasure
	for _, e := range g.mu.gone {
		if e.due.After(now) {
			rest, next = append(rest, e), earlier(next, e.due)
		} else {
			due = append(due, e)
		}
	}
	g.mu.gone = rest
	return due, next
}

// erasures takes out all that waits.
func (g *journaler) erasures() []erasure {
	g.mu.Lock()
	defer g.mu.Unlock()
	gone := g.mu.gone
	g.mu.gone = nil
	return gone
}

// eraseAll removes what nobody needs.
func (s *Set) eraseAll(ctx context.Context, gone []erasure) {
	for len(gone) > 0 && ctx.Err() == nil {
		n := min(len(gone), maxBatch)
		s.journaler.erase(s.eraseBatch(gone[:n])...)
		gone = gone[n:]
	}
}

// eraseBatch is one call, with one to look before it if need be. It answers what to try again.
func (s *Set) eraseBatch(gone []erasure) (again []erasure) {
	used := make(map[string]bool, len(gone))
	var batch []erasure
	var txs []store.Tx
	for _, e := range s.sighted(gone) {
		switch {
		case used[e.write.Key]: // a key goes once into a call
			again = append(again, e)
		case e.token != "" || !s.marks(e.key, e.write.Key):
			used[e.write.Key] = true
			batch, txs = append(batch, e), append(txs, store.Tx{e.write})
		}
	}
	if len(txs) == 0 {
		return again
	}
	ctx, cancel := s.journalCall()
	defer cancel()
	for i, err := range s.fast.Commit(ctx, txs...) {
		e := batch[i]
		e.look = e.token != ""
		if err != nil && e.later(s) {
			again = append(again, e)
		}
	}
	return again
}

// later puts a removal off that failed; false gives it up.
func (e *erasure) later(s *Set) bool {
	e.tries++
	e.due = s.clk.Now().Add(backoff(e.tries+3, s.node.Random()))
	return e.tries < maxEraseTries
}

// marks tells that a session here has put the marker anew.
func (s *Set) marks(key, marker string) bool {
	sess, ok := s.Session(key)
	if !ok || marker != markerPrefix(s.node.ID(), s.name)+key {
		return false
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.mu.journal.marked
}

// sighted reads the journals of which the version is not certain, and leaves out those that
// are gone, or of another session.
func (s *Set) sighted(gone []erasure) []erasure {
	var keys []string
	for _, e := range gone {
		if e.look {
			keys = append(keys, e.write.Key)
		}
	}
	if len(keys) == 0 {
		return gone
	}
	ctx, cancel := s.journalCall()
	defer cancel()
	recs, err := s.fast.Get(ctx, keys...)
	out := make([]erasure, 0, len(gone))
	for _, e := range gone {
		if !e.look {
			out = append(out, e)
			continue
		}
		if err != nil { // what is certain is removed, the rest later
			if e.later(s) {
				s.journaler.erase(e)
			}
			continue
		}
		j := journalReadingOf(recs[0])
		recs = recs[1:]
		if !j.missing() && j.problem == nil && j.journal.token == e.token {
			e.write.If, e.look = store.Is(j.version), false
			out = append(out, e)
		}
	}
	return out
}
