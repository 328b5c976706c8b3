package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// This file follows the boards of the seasons, their registers and their results.

// life is what a board holds between two losses of its memory.
type life struct {
	entries map[string]boardEntry
	drawn   uint64
	sealed  bool
}

// boardEntry is a player's entry on a board.
type boardEntry struct {
	score int64
	stamp store.Stamp
	drawn uint64 // grows with each score
}

// verdict is a season's result as it was first written.
type verdict struct {
	resultForm
	raw   []byte
	lives map[string]*life // of which it was made, by board
}

// titlesOf are the titles that a player has earned.
func (v *verdict) titlesOf(key, id string) map[string]titleForm {
	out := make(map[string]titleForm)
	for _, b := range v.Boards {
		for _, at := range b.Top {
			if at.Key == key {
				out[b.Board+"@"+id] = titleForm{at.Rank, at.Score}
			}
		}
	}
	return out
}

// entryOf is a player's entry on the board that a closed season was closed with; before that,
// on the board that the register names.
func (r *reef) entryOf(of boardValue) (boardEntry, bool) {
	if v := r.results[of.season]; v != nil {
		if l := v.lives[of.board]; l != nil {
			e, ok := l.entries[of.key]
			return e, ok
		}
		return boardEntry{}, false
	}
	l := r.lifeOf(of.season, of.board)
	if l == nil {
		return boardEntry{}, false
	}
	e, ok := l.entries[of.key]
	return e, ok
}

// lifeOf is the life of a board that the register names.
func (r *reef) lifeOf(id, board string) *life {
	g := r.registers[id].Boards[board]
	if g.Generation == "" || g.Late {
		return nil
	}
	return r.boards[reefPrefix+board+"/"+id][g.Generation]
}

// rankedSeasonLocked follows a call of a season's board.
func (l *Ledger) rankedSeasonLocked(p *Process, c *BoardCall) {
	r := &l.mu.reef
	board, id, ok := seasonBoard(c.Board)
	if !ok || r.anglers == nil {
		return
	}
	if c.Op == "page" && r.clock().Before(r.calendar.end(r.calendar.number(id)).Add(r.rules.Grace)) {
		r.views[view{p, c.Board}] = append(r.views[view{p, c.Board}], l.now())
	}
	info, err := r.look(c.Board)
	if errors.Is(err, store.ErrNoBoard) {
		return
	}
	if r.boards[c.Board] == nil {
		r.boards[c.Board] = make(map[string]*life)
	}
	at := r.boards[c.Board][info.Generation]
	if at == nil {
		at = &life{entries: make(map[string]boardEntry)}
		r.boards[c.Board][info.Generation] = at
	}
	switch c.Op {
	case "merge":
		r.wrote[view{p, c.Board}]++
		l.mergedLocked(p, board, id, at, c.Batch)
	case "seal":
		at.sealed = true
	}
}

// mergedLocked takes values into the model of a board, as store.Last says.
func (l *Ledger) mergedLocked(p *Process, board, id string, at *life, batch store.Batch) {
	if batch.Rule != store.Last {
		l.violatedLocked("nobody's value", "%s of %s: %s writes by the rule %v", board, id, p.Name, batch.Rule)
	}
	for _, e := range batch.Entries {
		if a := l.mu.reef.angler(e.Key); e.Score > a.made[id] {
			l.violatedLocked("nobody's value", "%s of %s: %s writes %d for %s, who has made %d catches", board, id, p.Name, e.Score, e.Key, a.made[id])
		}
		old, had := at.entries[e.Key]
		switch {
		case at.sealed:
			l.violatedLocked("written after the seal", "%s of %s: %s writes %d for %s", board, id, p.Name, e.Score, e.Key)
		case had && !e.Stamp.After(old.stamp):
		case had && old.score == e.Score:
			old.stamp = e.Stamp
			at.entries[e.Key] = old
		default:
			at.drawn++
			at.entries[e.Key] = boardEntry{e.Score, e.Stamp, at.drawn}
		}
	}
}

// standings are the places of a board.
func (at *life) standings() (out []placeForm) {
	type row struct {
		key string
		boardEntry
	}
	var rows []row
	for key, e := range at.entries {
		rows = append(rows, row{key, e})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.drawn, b.drawn), strings.Compare(a.key, b.key))
	})
	for i, r := range rows {
		out = append(out, placeForm{i + 1, r.key, r.score})
	}
	return out
}

// firstWroteLocked judges the record of the first season.
func (l *Ledger) firstWroteLocked(p *Process, w store.Write) {
	var form struct {
		K int64 `json:"k"`
	}
	r := &l.mu.reef
	err := json.Unmarshal(w.Value, &form)
	if err != nil || r.first >= 0 || w.Op != store.Put {
		l.violatedLocked("first changed", "%s writes %q, it was %d", p.Name, w.Value, r.first)
		return
	}
	r.first = form.K
	r.through = max(r.through, form.K-1)
}

// throughWroteLocked judges closedThrough: it never goes back, and covers closed seasons only.
func (l *Ledger) throughWroteLocked(p *Process, w store.Write) {
	var form struct {
		Through int64 `json:"through"`
	}
	r := &l.mu.reef
	if err := json.Unmarshal(w.Value, &form); err != nil || form.Through < r.through || w.Op != store.Put {
		l.violatedLocked("closed back", "%s writes %q after %d", p.Name, w.Value, r.through)
		return
	}
	for k := max(r.first, 0); k <= form.Through; k++ {
		if r.results[r.calendar.id(k)] == nil {
			l.violatedLocked("closed back", "%s writes that all is closed through %d, and %s has no result", p.Name, form.Through, r.calendar.id(k))
		}
	}
	r.through = form.Through
}

// registerWroteLocked takes in which lives of the boards count.
func (l *Ledger) registerWroteLocked(p *Process, id string, w store.Write) {
	var form registerForm
	r := &l.mu.reef
	if err := json.Unmarshal(w.Value, &form); err != nil || w.Op != store.Put {
		l.violatedLocked("not a register", "%s: %s writes %q: %v", id, p.Name, w.Value, err)
		return
	}
	if form.Unplayed {
		l.mu.events["season unplayed"]++
	}
	for board, now := range form.Boards {
		had := r.registers[id].Boards[board]
		if now.Rebuilt && !had.Rebuilt {
			l.mu.events["season rebuilt"]++
		}
		if had.Generation != "" && now.Generation != had.Generation && !now.Rebuilt {
			l.violatedLocked("generation", "%s of %s: %s names another life, and has not rebuilt it", board, id, p.Name)
		}
	}
	r.registers[id] = form
}

// resultWroteLocked judges a result: the first one is the only one, comes after Grace by the
// store's clock, and is what the sealed boards that the register names say.
func (l *Ledger) resultWroteLocked(p *Process, id string, w store.Write) {
	r := &l.mu.reef
	if old := r.results[id]; old != nil || w.Op != store.Put {
		l.violatedLocked("result changed", "%s: %s writes it again, the same: %v", id, p.Name, old != nil && bytes.Equal(old.raw, w.Value))
		return
	}
	v := &verdict{raw: slices.Clone(w.Value), lives: make(map[string]*life)}
	if err := json.Unmarshal(w.Value, &v.resultForm); err != nil || r.calendar.id(v.K) != id || v.Season != id {
		l.violatedLocked("not a result", "%s: %s writes %.300q: %v", id, p.Name, w.Value, err)
		return
	}
	l.mu.events["season closed"]++
	if r.unclosedBefore(v.K) {
		l.mu.events["closed out of order"]++
	}
	if now, due := r.clock(), r.calendar.end(v.K).Add(r.rules.Grace); now.Before(due) {
		l.violatedLocked("closed early", "%s: %s closes it at %v by the store's clock, %v before its time", id, p.Name, now, due.Sub(now))
	}
	if v.Unplayed != r.registers[id].Unplayed || len(v.Boards) != len(r.rules.Boards) {
		l.violatedLocked("another result", "%s: %s writes unplayed %v, %d boards; the register says %v", id, p.Name, v.Unplayed, len(v.Boards), r.registers[id].Unplayed)
	}
	for i := range v.Boards {
		l.madeOfLocked(p, id, v, i)
	}
	r.results[id] = v
}

// unclosedBefore tells that a season before k has no result.
func (r *reef) unclosedBefore(k int64) bool {
	for before := max(r.first, r.through); before < k; before++ {
		if before >= 0 && r.results[r.calendar.id(before)] == nil {
			return true
		}
	}
	return false
}

// madeOfLocked compares a list of a result with the board that it has to be made of.
func (l *Ledger) madeOfLocked(p *Process, id string, v *verdict, i int) {
	r, b := &l.mu.reef, v.Boards[i]
	at := r.lifeOf(id, b.Board)
	v.lives[b.Board] = at
	var want []placeForm
	switch {
	case v.Unplayed:
	case at == nil:
		l.violatedLocked("generation", "%s: %s closes it, and the register names no life of %s", id, p.Name, b.Board)
	default:
		want = at.standings()
		if !at.sealed {
			l.violatedLocked("no seal", "%s: %s closes it, and %s is not sealed", id, p.Name, b.Board)
		}
	}
	top, keep := min(len(want), r.rules.Top), min(len(want), r.rules.Keep)
	if b.Total != int64(len(want)) || !slices.Equal(b.Top, want[:top]) || !slices.Equal(b.Reserve, want[top:keep]) {
		l.violatedLocked("another result", "%s: %s writes %v and %v of %d for %s; the board says %v", id, p.Name, b.Top, b.Reserve, b.Total, b.Board, want)
	}
}

// resultSeenLocked judges a result that a server reads.
func (l *Ledger) resultSeenLocked(p *Process, rec store.Record) {
	rest, ok := strings.CutPrefix(rec.Key, reefPrefix)
	id, is := strings.CutSuffix(rest, "/result")
	if !ok || !is || rec.Missing() || l.mu.reef.anglers == nil {
		return
	}
	if v := l.mu.reef.results[id]; v == nil || !bytes.Equal(v.raw, rec.Value) {
		l.violatedLocked("result changed", "%s: %s reads %.300q", id, p.Name, rec.Value)
	}
}
