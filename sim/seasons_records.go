package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file follows the records of those who play the seasons.

// anglerWroteLocked judges a write to a player's record: a block never goes back, nothing that
// was counted leaves it before it is in a result or reported, and titles come once, with their
// coin and their mark.
func (l *Ledger) anglerWroteLocked(p *Process, w store.Write) {
	key := w.Key[len(anglerPrefix):]
	if w.Op != store.Put {
		return
	}
	rec, err := parseRecord(w.Value)
	if err != nil {
		l.violatedLocked("not a record", "%s: %s writes %.200q: %v", key, p.Name, w.Value, err)
		return
	}
	next, err := blockOf(rec.data)
	if err != nil {
		l.violatedLocked("not a block", "%s: %s writes %v", key, p.Name, err)
		return
	}
	a := l.mu.reef.angler(key)
	before := a.block
	a.block, a.away = next, false
	l.blockMovedLocked(p, a, before, next)
	l.owedLocked(p, a, before, next)
	l.titlesLocked(p, a, before, next)
}

// blockMovedLocked judges a block's season and counters.
func (l *Ledger) blockMovedLocked(p *Process, a *angler, before, next blockForm) {
	r := &l.mu.reef
	was, k := r.calendar.number(before.Season), r.calendar.number(next.Season)
	if k < was {
		l.violatedLocked("block back", "%s: %s writes a block of %q after one of %s", a.key, p.Name, next.Season, before.Season)
	}
	for _, id := range next.seasons() {
		now, _ := next.of(id)
		had := a.final[id]
		if now[fish] < had[fish] || now[best] < had[best] {
			l.violatedLocked("counters back", "%s: %s writes %v of season %s after %v", a.key, p.Name, now, id, had)
		}
		if now[fish] > a.made[id] {
			l.violatedLocked("nobody's catch", "%s: %s writes %d catches of season %s, %d were made", a.key, p.Name, now[fish], id, a.made[id])
		}
		if now != nil {
			a.final[id] = now
		}
	}
	for id, c := range before.Owed {
		if now, ok := next.Owed[id]; ok && !maps.Equal(now, c) {
			l.violatedLocked("owed changed", "%s: %s writes %v owed to %s after %v", a.key, p.Name, now, id, c)
		}
	}
}

// owedLocked judges what leaves a block: the season has its result, and each board has the
// value, or it was reported.
func (l *Ledger) owedLocked(p *Process, a *angler, before, next blockForm) {
	for _, id := range before.seasons() {
		had, _ := before.of(id)
		if _, still := next.of(id); still || len(had) == 0 {
			continue
		}
		l.mu.events["owed paid"]++
		if l.mu.reef.results[id] == nil {
			l.violatedLocked("owed cleared", "%s: %s takes %v of %s out of the block, and the season has no result", a.key, p.Name, had, id)
			continue
		}
		for _, complaint := range l.mu.reef.unsettled(a.key, id, had) {
			l.violatedLocked("owed cleared", "%s: %s takes %v of %s out of the block, and %s", a.key, p.Name, had, id, complaint)
		}
	}
}

// unsettled says where a closed season's final values are neither counted nor reported.
func (r *reef) unsettled(key, id string, final counters) (out []string) {
	for _, b := range r.rules.Boards {
		want, has := final[b.Stat]
		if !has {
			continue
		}
		of := boardValue{key, id, b.Name}
		e, counted := r.entryOf(of)
		late, reported := r.late[of]
		settled := counted && e.score == want || reported && late >= want || r.amnesia && r.placeless(id, b.Name, want)
		if !settled {
			out = append(out, fmt.Sprintf("%s has %d (%v), %d (%v) was reported, %d is final", b.Name, e.score, counted, late, reported, want))
		}
	}
	return out
}

// placeless tells that a value would have no place in a result: when the boards are gone,
// nobody can tell whether it was counted.
func (r *reef) placeless(id, board string, value int64) bool {
	for _, b := range r.results[id].Boards {
		if n := len(b.Reserve); b.Board == board {
			return n > 0 && b.Total > int64(len(b.Top)+n) && value <= b.Reserve[n-1].Score
		}
	}
	return false
}

// titlesLocked judges the titles of a block.
func (l *Ledger) titlesLocked(p *Process, a *angler, before, next blockForm) {
	r := &l.mu.reef
	for key, t := range before.Titles {
		if now, ok := next.Titles[key]; !ok || now != t {
			l.violatedLocked("title changed", "%s: %s writes %s as %+v after %+v", a.key, p.Name, key, now, t)
		}
	}
	for key := range next.Titles {
		if _, had := before.Titles[key]; !had {
			l.mu.events["title stored"]++
		}
	}
	if next.coins != int64(len(next.Titles)) {
		l.violatedLocked("reward", "%s: %s writes %d coins for %d titles", a.key, p.Name, next.coins, len(next.Titles))
	}
	if before.Processed != nil {
		if next.Processed == nil || next.Processed.Through < before.Processed.Through ||
			slices.ContainsFunc(before.Processed.Extra, func(k int64) bool { return !next.has(k) }) {
			l.violatedLocked("processed back", "%s: %s writes %v after %v", a.key, p.Name, next.Processed, before.Processed)
		}
	}
	want := make(map[string]titleForm)
	for id, v := range r.results {
		if next.has(v.K) {
			maps.Copy(want, v.titlesOf(a.key, id))
		}
	}
	if !maps.Equal(want, next.Titles) && (len(want) > 0 || len(next.Titles) > 0) {
		l.violatedLocked("titles", "%s: %s writes %v, processed %+v; the results say %v", a.key, p.Name, next.Titles, next.Processed, want)
	}
	if next.Processed != nil && r.first >= 0 {
		for k := max(r.first, r.created(a)); k <= next.Processed.Through; k++ {
			if r.results[r.calendar.id(k)] == nil {
				l.violatedLocked("titles", "%s: %s writes %+v, and season %s has no result", a.key, p.Name, next.Processed, r.calendar.id(k))
			}
		}
	}
}

// created is the season in which a player was first met: those before have nothing for them.
func (r *reef) created(a *angler) int64 {
	out := r.calendar.at(r.clock())
	for id := range a.final {
		out = min(out, r.calendar.number(id))
	}
	return out
}
