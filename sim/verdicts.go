package sim

import (
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// lookKey is a process that looks at a host's beat.
type lookKey struct {
	proc   *Process
	holder string
}

// look is a read of a beat, with the reader's own, as the store answered it.
type look struct{ answered time.Duration }

// maxLooks is how many looks of one process at one holder are kept.
const maxLooks = 16

// Saw implements Watcher: it remembers who looked at whose beat, and who knows what is stored.
func (l *Ledger) Saw(p *Process, recs []store.Record, _ time.Duration) {
	if !l.exact {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, rec := range recs {
		l.resultSeenLocked(p, rec)
		switch {
		case strings.HasPrefix(rec.Key, beatPrefix):
			k := lookKey{p, rec.Key[len(beatPrefix):]}
			seen := append(l.mu.looks[k], look{answered: l.now()})
			l.mu.looks[k] = seen[max(0, len(seen)-maxLooks):]
		case strings.HasPrefix(rec.Key, recordPrefix):
			l.tellLocked(p, rec.Key[len(recordPrefix):], rec.Version)
		}
	}
}

// judgedLocked checks a takeover against rule B2.
func (l *Ledger) judgedLocked(p *Process, before, next *recordForm) {
	evidence := next.TookFrom.Evidence
	l.mu.events["takeover by "+evidence]++
	if evidence == "policy" || evidence == "orphan" {
		return
	}
	holder := l.hostLocked(before.Session.Node)
	if holder.proc != nil && !holder.proc.Gone() && !holder.closed {
		l.mu.wrong++
		l.say("wrong verdict: %s judges %s dead by %s", p.Name, holder.proc.Name, evidence)
	}
	if !l.mayJudgeLocked(p, l.mu.ids[p], before.Session.Node) {
		l.violatedLocked("verdict", "%s judges %s dead by %s, and may not judge", p.Name, before.Session.Node, evidence)
	}
	if evidence == "age" || evidence == "unmoved" || evidence == "absent" {
		if !before.Session.Beating {
			l.violatedLocked("verdict", "%s judges %s dead by %s, and the record does not vouch for its beat", p.Name, before.Session.Node, evidence)
		}
	}
}

// mayJudgeLocked tells that one of the last looks came in a run of landed beats, none more
// than 1.5 beats after the one before, that had begun 1.5 beats earlier.
func (l *Ledger) mayJudgeLocked(p *Process, me, holder string) bool {
	limit, tolerance := l.beat+l.beat/2, l.tolerance
	for _, k := range l.mu.looks[lookKey{p, holder}] {
		var last, run time.Duration
		for _, b := range l.hostLocked(me).beats {
			if b > k.answered+tolerance {
				break
			}
			if run == 0 || b-last > limit+2*tolerance {
				run = b
			}
			last = b
		}
		if run > 0 && k.answered-last <= limit+tolerance && k.answered-run >= limit-2*tolerance {
			return true
		}
	}
	return false
}
