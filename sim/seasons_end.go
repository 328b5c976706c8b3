package sim

import (
	"fmt"
	"slices"
	"time"
)

// This file is about what the seasons come to when all is over.

// seasonsAtRest has everything that was played closed and paid, and compares it: what is in the
// profiles, what is in the results, and what was reported as too late.
func (f *Fleet) seasonsAtRest(auditor *Server) {
	if f.Settings.Seasons == nil {
		return
	}
	rules := f.Settings.Seasons
	f.untilEnd(rules.Grace + retried)
	stays := make([]*Stay, 0, len(f.Ledger.reefKeys()))
	for _, key := range f.Ledger.reefKeys() {
		stays = append(stays, f.Angle(auditor, key, resting()))
	}
	for i, st := range stays {
		for range 3 { // one that has waited since the faults may go first
			if !st.AwaitOpen() && refusalOf(st.Err) == Outbid {
				st = f.Angle(auditor, st.Key, st.Outing)
				stays[i] = st
			}
		}
		if !st.AwaitOpen() {
			f.Ledger.Violated("cannot be loaded", fmt.Sprintf("%s, after the faults: %v", st.Key, st.Err))
		}
	}
	f.Script.Sleep(2*rules.FlushEvery + 20*time.Second) // what is owed is sent, or reported
	for _, st := range stays {
		if !isClosed(st.Over) {
			st.Leave()
		}
	}
	for _, st := range stays {
		st.AwaitOver()
	}
	f.Ledger.Tally(f.flawless)
}

// retried is after how long a season that could be closed is closed, when a pass had found
// that it could not.
const retried = 45 * time.Second

func (l *Ledger) reefKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.reef.keys()
}

// Tally compares everything at rest. flawless: nothing may have been lost or too late.
func (l *Ledger) Tally(flawless bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.mu.reef
	if r.first < 0 {
		l.violatedLocked("not closed", "nothing was ever begun")
		return
	}
	for k := r.first; r.clock().After(r.calendar.end(k).Add(r.rules.Grace + retried/2)); k++ {
		if id := r.calendar.id(k); r.results[id] == nil {
			l.violatedLocked("not closed", "%s has no result at rest; through is %d", id, r.through)
		}
	}
	for _, key := range r.keys() {
		l.tallyLocked(r.angler(key), flawless)
	}
	if flawless && len(r.late) > 0 {
		l.violatedLocked("too late", "%v, and no fault excuses it", r.late)
	}
	l.viewsLocked(flawless)
}

// tallyLocked compares what a player has with the results.
func (l *Ledger) tallyLocked(a *angler, flawless bool) {
	r := &l.mu.reef
	var counted, made int64
	for id, n := range a.made {
		final := a.final[id]
		made += n
		if want := a.acked[id]; final[fish] < want[fish] || final[best] < want[best] {
			l.violatedLocked("acknowledged lost", "%s at rest: %v of season %s were acknowledged, the profile had %v", a.key, want, id, final)
		}
		if flawless && final[fish] != n {
			l.violatedLocked("lost", "%s at rest: %d catches of season %s, and the profile had %v; no fault excuses it", a.key, n, id, final)
		}
		if r.results[id] == nil {
			continue
		}
		e, _ := r.entryOf(boardValue{a.key, id, r.rules.Boards[0].Name})
		counted += e.score
		for _, complaint := range r.unsettled(a.key, id, final) {
			l.violatedLocked("silently dropped", "%s at rest: season %s: %s", a.key, id, complaint)
		}
		if r.forgot == 0 && e.score > final[fish] {
			l.violatedLocked("board ahead", "%s at rest: season %s has %d, the profile had %v", a.key, id, e.score, final)
		}
	}
	if counted > made {
		l.violatedLocked("counted twice", "%s: the results say %d, %d catches were made", a.key, counted, made)
	}
	for id, v := range r.results {
		if !a.block.has(v.K) && slices.Contains(a.block.seasons(), id) {
			l.violatedLocked("titles", "%s at rest: %s is not processed: %+v", a.key, id, a.block.Processed)
		}
		for title := range v.titlesOf(a.key, id) {
			if _, ok := a.block.Titles[title]; !ok {
				l.violatedLocked("titles", "%s at rest: no title %s, processed %+v", a.key, title, a.block.Processed)
			}
		}
	}
}

// viewsLocked checks how often a server has read a board for its players: once in CacheFor.
func (l *Ledger) viewsLocked(strict bool) {
	every, tolerance := l.mu.reef.rules.CacheFor, l.tolerance
	for v, times := range l.mu.reef.views {
		span := times[len(times)-1] - times[0] + tolerance // a page's age counts from when its read was sent
		if most := 1 + int(span/every); strict && len(times) > most {
			l.violatedLocked("read too often", "%s reads %s %d times in %v, at most %d expected", v.p.Name, v.board, len(times), span, most)
		}
	}
}
