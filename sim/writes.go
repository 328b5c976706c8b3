package sim

import (
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// hostEntry is a server as records name it.
type hostEntry struct {
	proc   *Process
	closed bool            // it has ended in order
	beats  []time.Duration // when its beats landed
}

// Register tells which process an id names.
func (l *Ledger) Register(id string, p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hostLocked(id).proc = p
	l.mu.ids[p] = id
}

// HostClosed notes that a server has ended in order.
func (l *Ledger) HostClosed(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hostLocked(id).closed = true
}

func (l *Ledger) hostLocked(id string) *hostEntry {
	h := l.mu.hosts[id]
	if h == nil {
		h = new(hostEntry)
		l.mu.hosts[id] = h
	}
	return h
}

// Wrote implements Watcher: every transaction that was applied.
func (l *Ledger) Wrote(p *Process, tx store.Tx, made uint64) {
	if !l.exact {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tradedLocked(tx)
	for _, w := range tx {
		l.seasonWroteLocked(p, w)
		switch {
		case strings.HasPrefix(w.Key, recordPrefix):
			l.recordLocked(p, w, made)
		case strings.HasPrefix(w.Key, journalPrefix):
			l.journalLocked(p, w)
		case strings.HasPrefix(w.Key, beatPrefix) && w.Op == store.Put:
			h := l.hostLocked(w.Key[len(beatPrefix):])
			h.beats = append(h.beats, l.now())
			if h.proc == nil {
				h.proc = p
			}
		}
	}
	l.claimedLocked(p, tx)
}

// Heard implements Watcher.
func (l *Ledger) Heard(*Process, []byte) {}

// recordLocked checks a write to a profile's record.
func (l *Ledger) recordLocked(p *Process, w store.Write, made uint64) {
	key := w.Key[len(recordPrefix):]
	pg := l.pageLocked(key)
	if w.Op != store.Put {
		if w.Op == store.Delete {
			l.violatedLocked("deleted", "%s: %s deletes the record", key, p.Name)
			pg.rec = nil
		}
		return
	}
	next, err := parseRecord(w.Value)
	if err != nil {
		l.violatedLocked("not a record", "%s: %s writes %.200q: %v", key, p.Name, w.Value, err)
		return
	}
	before := pg.rec
	if before != nil && before.data.Equal(next.data) {
		next.at = before.at
	} else {
		next.at = l.resolveLocked(pg, next.data, "written by "+p.Name)
	}
	for _, complaint := range l.complaintsLocked(pg, p, before, next) {
		l.violatedLocked(complaint.kind, "%s: %s: %s (epoch %d revision %d session %s, before: %s)",
			key, p.Name, complaint.text, next.Epoch, next.Revision, next.token(), shownRecord(before))
	}
	if before != nil {
		l.successorLocked(pg, p, before, next)
	}
	pg.rec = next
	l.savedLocked(pg, w.Version, next)
	l.noteWriteLocked(pg, p, before, next)
	if before != nil {
		l.chainLocked(pg, p, before, made)
	}
	l.replayLocked(pg)
	l.safeLocked(pg)
}

func shownRecord(r *recordForm) string {
	if r == nil {
		return "none"
	}
	return "epoch " + number(r.Epoch) + " revision " + number(r.Revision) + " session " + r.token()
}

type complaint struct{ kind, text string }

// complaintsLocked are the rules of PROTOCOL.md B3 and B4 about one write.
func (l *Ledger) complaintsLocked(pg *page, p *Process, before, next *recordForm) (out []complaint) {
	add := func(kind, text string) { out = append(out, complaint{kind, text}) }
	if before == nil {
		if next.Epoch != 1 || next.Revision != 0 || next.at.t != nil || next.Session == nil {
			add("bad create", "a new profile starts at epoch 1, revision 0, with the template and a session")
		}
		return out
	}
	if next.Epoch < before.Epoch || next.Epoch > before.Epoch+1 {
		add("epoch", "an epoch follows the one before")
	}
	if next.Revision < before.Revision {
		add("revision back", "the revision goes back")
	}
	if (next.Epoch != before.Epoch) != (next.token() != before.token() && next.token() != "") {
		add("epoch", "each session has an epoch, and each epoch a session")
	}
	changed := !before.data.Equal(next.data)
	switch kind := l.kindLocked(p, before, next); kind {
	case writeForeign:
		add("foreign write", "written by a node that does not hold the session")
	case writeClaim, writeAsk:
		if changed || next.Revision != before.Revision {
			add("changed", "a claim and an ask change nothing")
		}
	case writeTakeover, writeHolder:
		if changed && !follows(pg, before, next) {
			add("foreign data", "data that the session named in the record has not made")
		}
		if kind == writeTakeover && next.Session != nil && !p.owns(l, next) {
			add("foreign write", "a takeover for somebody else")
		}
	}
	return out
}

// follows tells that the data written is a later state of the session that held the record.
func follows(pg *page, before, next *recordForm) bool {
	t := pg.byEpoch[before.Epoch]
	return t != nil && next.at.t == t && next.at.n >= 1 && next.at.n <= len(t.commits) &&
		next.Revision >= t.commits[next.at.n-1].revision
}

// owns tells that the session that the record names is of this process.
func (p *Process) owns(l *Ledger, r *recordForm) bool {
	return r.Session != nil && l.hostLocked(r.Session.Node).proc == p
}

// writeKind is what a write to a record is.
type writeKind uint8

const (
	writeForeign  writeKind = iota
	writeClaim              // of a free record
	writeHolder             // by the process that the record names
	writeAsk                // by an asker: only the ask changes
	writeTakeover           // of another's session
)

func (l *Ledger) kindLocked(p *Process, before, next *recordForm) writeKind {
	switch {
	case before.Session == nil && p.owns(l, next):
		return writeClaim
	case before.Session == nil:
		return writeForeign
	case p.owns(l, before):
		return writeHolder
	case before.token() == next.token() && before.Epoch == next.Epoch && before.Session.Beating == next.Session.Beating:
		return writeAsk
	case next.token() != before.token() && next.TookFrom != nil && next.TookFrom.Token == before.token():
		return writeTakeover // also by a reaper, which frees at once
	}
	return writeForeign
}

// noteWriteLocked draws the conclusions from a write.
func (l *Ledger) noteWriteLocked(pg *page, p *Process, before, next *recordForm) {
	if next.Session != nil && !next.Session.Beating {
		l.mu.events["fallback"]++
	}
	if before == nil {
		return
	}
	switch kind := l.kindLocked(p, before, next); {
	case kind == writeAsk:
		l.mu.events["ask in the record"]++
	case kind == writeTakeover:
		l.mu.events["takeover"]++
		if next.Revision > before.Revision {
			l.mu.events["replay"]++
		}
		l.judgedLocked(p, before, next)
	case kind == writeHolder && next.Session != nil && next.token() != before.token():
		if next.TookFrom != nil && next.TookFrom.Token == before.token() {
			l.mu.events["orphan taken"]++
			break
		}
		l.mu.events["grant"]++
	}
	if t := pg.byEpoch[before.Epoch]; t != nil && next.Epoch > before.Epoch && !t.over {
		t.taken = l.now()
	}
}
