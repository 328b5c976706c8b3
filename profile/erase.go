package profile

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/store"
)

// erasure is a journal, or the marker of one, that nobody needs any more. It is removed if it
// is still that one: best effort, since what is left behind harms nothing.
type erasure struct {
	key    string // of the profile's journal, or its marker
	marker bool
	token  string        // of the session that it belongs to
	is     store.Version // as it is known to stand; 0: to be read first
	until  time.Time     // a write of it may still land: come back until then
	tries  int
	due    time.Time
	end    time.Time // when it is given up
}

const (
	// maxErasures bounds what waits to be removed; more is left behind.
	maxErasures = 16384
	// tidyAfter is how long a removal waits for others to go with it.
	tidyAfter = 250 * time.Millisecond
	// eraseFor is how long one removal is tried: longer than a fast store is down.
	eraseFor = 10 * time.Minute
)

// tidyLocked has removed what a session leaves behind: its marker, and its journal unless
// another session needs it. An append under way is awaited.
func (s *Session) tidyLocked(journal bool) {
	j := &s.mu.journal
	if j.working {
		j.tidy = max(j.tidy, tidyMarker)
		if journal {
			j.tidy = tidyBoth
		}
		return
	}
	if journal && (j.hold.version != 0 || !j.strays.IsZero()) {
		e := erasure{key: journalKey(s.set.name, s.key), token: s.token, until: j.strays}
		if len(j.hold.sent) == 0 {
			e.is = j.hold.version
		}
		s.set.journaler.erase(e)
	}
	if j.marked {
		j.marked = false
		s.set.journaler.erase(erasure{
			key: markerPrefix(s.set.node.ID(), s.set.name) + s.key, marker: true, token: s.token, is: j.marker, until: j.strays,
		})
	}
}

// tidy is what is to be removed when the append under way has been answered.
type tidy uint8

const (
	tidyMarker tidy = iota + 1
	tidyBoth
)

// tidiedLocked does what has waited for the append.
func (s *Session) tidiedLocked() {
	if t := s.mu.journal.tidy; t != 0 {
		s.mu.journal.tidy = 0
		s.tidyLocked(t == tidyBoth)
	}
}

// erase has something removed.
func (g *journaler) erase(list ...erasure) {
	if len(list) == 0 {
		return
	}
	soon := g.clk.Now().Add(tidyAfter)
	g.mu.Lock()
	if len(g.mu.gone)+len(list) <= maxErasures {
		for _, e := range list {
			e.due = latest(e.due, soon)
			if e.end.IsZero() {
				e.end = soon.Add(eraseFor)
			}
			g.mu.gone = append(g.mu.gone, e)
			g.mu.goneDue = earlier(g.mu.goneDue, e.due)
		}
	}
	g.mu.Unlock()
	g.wake()
}

// dueErasuresLocked takes out what is due, and tells when the next is.
func (g *journaler) dueErasuresLocked(now time.Time) (due []erasure, next time.Time) {
	if g.mu.ending {
		return nil, time.Time{}
	}
	if now.Before(g.mu.goneDue) {
		return nil, g.mu.goneDue
	}
	var rest []erasure
	for _, e := range g.mu.gone {
		if e.due.After(now) {
			rest, next = append(rest, e), earlier(next, e.due)
		} else {
			due = append(due, e)
		}
	}
	g.mu.gone, g.mu.goneDue = rest, next
	return due, next
}

// erasures takes out all that waits, for Close. From then on nobody else is given any: what the
// loop took after Close has waited for its tasks would end with the set.
func (g *journaler) erasures() []erasure {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.ending = true
	gone := g.mu.gone
	g.mu.gone, g.mu.goneDue = nil, time.Time{}
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
	seen, again := s.sighted(gone)
	used := make(map[string]bool, len(seen))
	var batch []erasure
	var txs []store.Tx
	for _, e := range seen {
		if used[e.key] { // a key goes once into a call
			again = append(again, e)
			continue
		}
		used[e.key] = true
		batch = append(batch, e)
		txs = append(txs, store.Tx{{Key: e.key, Op: store.Delete, If: store.Is(e.is)}})
	}
	if len(txs) == 0 {
		return again
	}
	ctx, cancel := s.journalCall()
	defer cancel()
	for i, err := range s.fast.Commit(ctx, txs...) {
		e := batch[i]
		failed := err != nil && !isConflict(err) // a conflict: what it was is gone
		if (failed || e.mayCome(s)) && e.later(s) {
			e.is = 0
			again = append(again, e)
		}
	}
	return again
}

// later puts a removal off; false gives it up.
func (e *erasure) later(s *Set) bool {
	e.tries++
	e.due = s.clk.Now().Add(backoff(e.tries+3, s.node.Random("erase retry", e.key)))
	return e.due.Before(e.end)
}

// mayCome tells that a write of it may still land.
func (e *erasure) mayCome(s *Set) bool { return s.clk.Now().Before(e.until) }

// sighted reads what is not known for certain, and leaves out what is gone or of another
// session. What could not be read, or may still come, is for later.
func (s *Set) sighted(gone []erasure) (seen, again []erasure) {
	var keys []string
	for _, e := range gone {
		if e.is == 0 {
			keys = append(keys, e.key)
		}
	}
	if len(keys) == 0 {
		return gone, nil
	}
	ctx, cancel := s.journalCall()
	defer cancel()
	recs, err := s.fast.Get(ctx, keys...)
	for _, e := range gone {
		switch {
		case e.is != 0:
			seen = append(seen, e)
			continue
		case err == nil:
			rec := recs[0]
			recs = recs[1:]
			if e.owns(rec) {
				e.is = rec.Version
				seen = append(seen, e)
				continue
			}
			if !e.mayCome(s) {
				continue
			}
		}
		if e.later(s) {
			again = append(again, e)
		}
	}
	return seen, again
}

// owns tells that what stands there belongs to the session.
func (e *erasure) owns(rec store.Record) bool {
	switch {
	case rec.Missing():
		return false
	case e.marker:
		return markerToken(rec.Value) == e.token
	}
	j := journalReadingOf(rec)
	return j.problem == nil && j.journal.token == e.token
}
