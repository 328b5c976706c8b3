package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// A bid is a score that a player hands to a server. Each can be told from every other one of
// its key by what it does to a board: under store.Best and store.Last by its score, under
// store.Sum by its digit: the bids of a key add 1, 4, 16 and so on, so that the sum says of
// each how often it was counted.

// ownStamps is the board of store.Last whose stamps are the library's: each server has a key of
// its own there, and what it submits later counts.
const ownStamps = "lately"

// digits is how many bids a key of sums has.
const digits = 30

// Bid is a score that was submitted.
type Bid struct {
	board, key string
	proc       *Process
	n          int // the how-manieth of its key
	score      int64
	stamp      store.Stamp

	landed  bool // the board has shown it, or something that counts more, since it was made
	told    bool // acknowledged
	refused bool // it will never be written, the library says
	never   bool // and it was not written before either (store.Sum only)
	removed bool // a removal of its server has, or may have, taken it out of the queue
	void    bool // the submit itself was refused
}

// Submission is the bid for a library.
func (b *Bid) Submission() store.Submission {
	return store.Submission{Key: b.key, Score: b.score, Stamp: b.stamp}
}

// contest is what the ledger knows of boards.
type contest struct {
	rows map[string]*row
	look func(board string) (store.Page, error) // the board as it is now
}

// row is a board.
type row struct {
	name    string
	own     bool // the library makes the stamps
	rule    store.Rule
	order   store.Order
	info    store.BoardInfo
	all     []store.Standing // in the board's order
	entries map[string]store.Entry
	bids    map[string][]*Bid
	removal map[string]map[*Process]removal // the last one that is done, of each process
	asked   map[asking]bool                 // which removals were asked for
	sealed  map[*Process]bool               // whose Seal was answered
	seen    map[*Process]store.BoardInfo    // of the last page that a process served
}

// asking is who was asked to remove a key.
type asking struct {
	p   *Process
	key string
}

// removal is one that was answered: of the bids of its key the first keep may not come back.
type removal struct {
	keep int
	step uint64
}

// Contest has the ledger judge boards.
func (l *Ledger) Contest(boards map[string]board.Config, look func(string) (store.Page, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.contest = contest{rows: make(map[string]*row), look: look}
	for name, cfg := range boards {
		l.mu.contest.rows[name] = &row{
			name: name, own: name == ownStamps, rule: cmp.Or(cfg.Rule, store.Best), order: cmp.Or(cfg.Order, store.Descending),
			bids: make(map[string][]*Bid), removal: make(map[string]map[*Process]removal),
			asked: make(map[asking]bool), sealed: make(map[*Process]bool), seen: make(map[*Process]store.BoardInfo),
		}
	}
}

// Bid makes the next one of a player. A key of sums that has had all its digits is followed
// by another. draw is a chance.
func (l *Ledger) Bid(p *Process, board, player string, draw int) *Bid {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.contest.rows[board]
	key := player
	for life := 1; r.rule == store.Sum && len(r.bids[key]) == digits; life++ {
		key = fmt.Sprintf("%s.%d", player, life)
	}
	b := &Bid{board: board, key: key, proc: p, n: len(r.bids[key])}
	switch r.rule {
	case store.Best:
		b.score = int64(draw)<<16 + int64(b.n)
	case store.Last:
		if b.score = int64(b.n); !r.own {
			b.stamp = store.Stamp{Epoch: 1 + uint64(b.n/3), Revision: uint64(b.n)}
		}
	case store.Sum:
		b.score = 1 << (2 * b.n)
	}
	r.bids[key] = append(r.bids[key], b)
	r.landLocked(key)
	return b
}

// Accepted judges a bid that a server has just taken into memory.
func (l *Ledger) Accepted(b *Bid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.contest.rows[b.board].sealed[b.proc] {
		l.violatedLocked("accepted after the seal", "%s: %s takes a score for %s, and has answered that the board is sealed", b.board, b.proc.Name, b.key)
	}
}

// Rejected notes that a bid was not taken.
func (l *Ledger) Rejected(b *Bid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.void = !b.refused // one that was taken, and refused later, may have been written
	l.mu.events["score refused"]++
}

// Kept judges a bid whose server has acknowledged it.
func (l *Ledger) Kept(b *Bid) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.told = true
	l.mu.events["score acknowledged"]++
	if !b.landed {
		l.violatedLocked("acknowledged, not stored", "%s: %s acknowledges score %d of %s, and the board never showed it", b.board, b.proc.Name, b.score, b.key)
	}
}

// Refused notes that a server says of accepted scores that they will never be written.
func (l *Ledger) Refused(p *Process, board string, values []store.Submission, unknown bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.mu.contest.rows[board]
	for _, v := range values {
		l.mu.events["score given up"]++
		for _, b := range r.within(p, v) {
			b.refused, b.never = true, r.rule == store.Sum && !unknown
			if b.told && !b.landed {
				l.violatedLocked("acknowledged lost", "%s: %s gives up score %d of %s, which it had acknowledged", board, p.Name, b.score, b.key)
			}
		}
		if has := r.entries[v.Key].Score; r.rule == store.Sum && !unknown && has&v.Score != 0 {
			l.violatedLocked("refused, but stored", "%s: %s gives up %d of %s, and the board has counted it", board, p.Name, v.Score, v.Key)
		}
	}
}

// within are the bids of a server that a value of its queue holds: those that it counts, or
// that count for less.
func (r *row) within(p *Process, v store.Submission) (out []*Bid) {
	for _, b := range r.bids[v.Key] {
		if b.proc == p && !b.void && r.covers(v.Key, v.Score, b) {
			out = append(out, b)
		}
	}
	return out
}

// covers tells that an entry with the score needs no more of the bid.
func (r *row) covers(key string, score int64, b *Bid) bool {
	switch r.rule {
	case store.Best:
		return !r.order.Better(b.score, score)
	case store.Last:
		has := r.bidOf(key, score)
		return has != nil && has.n >= b.n
	case store.Sum:
		return digit(score, b.n) > 0
	}
	return false
}

// bidOf is the bid of a key with the score; nil: nobody made it.
func (r *row) bidOf(key string, score int64) *Bid {
	for _, b := range r.bids[key] {
		if b.score == score {
			return b
		}
	}
	return nil
}

// digit is how often the n-th bid of a key of sums is counted.
func digit(sum int64, n int) int64 { return sum >> (2 * n) & 3 }

// landLocked marks the bids of a key that the board shows.
func (r *row) landLocked(key string) {
	e, ok := r.entries[key]
	if !ok {
		return
	}
	for _, b := range r.bids[key] {
		b.landed = b.landed || r.covers(key, e.Score, b)
	}
}

// Ranked implements Watcher.
func (l *Ledger) Ranked(p *Process, c *BoardCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rankedSeasonLocked(p, c)
	r := l.mu.contest.rows[c.Board]
	if r == nil {
		return
	}
	switch c.Op {
	case "page", "standing", "around":
		l.readLocked(p, r, c)
		return
	case "merge":
		for _, e := range c.Batch.Entries {
			l.offeredLocked(p, r, e, c.Made)
		}
	case "create", "remove", "seal", "drop":
	default:
		return
	}
	l.mu.events["board "+c.Op]++
	l.changedLocked(p, r, c)
}

// offeredLocked judges what a server writes for a key: scores that it was given, and none that
// it has removed.
func (l *Ledger) offeredLocked(p *Process, r *row, e store.Submission, made uint64) {
	var from []*Bid
	rest := e.Score
	for _, b := range r.bids[e.Key] {
		switch {
		case b.proc != p || b.void:
		case r.rule == store.Sum && digit(e.Score, b.n) == 1:
			rest -= b.score
			from = append(from, b)
		case r.rule != store.Sum && b.score == e.Score && (r.own || b.stamp == e.Stamp):
			rest, from = 0, append(from, b)
		}
	}
	if rest != 0 || len(from) == 0 {
		l.violatedLocked("nobody's score", "%s: %s writes %d for %s, which nobody gave it", r.name, p.Name, e.Score, e.Key)
	}
	gone, ok := r.removal[e.Key][p]
	if !ok || made <= gone.step {
		return
	}
	for _, b := range from {
		if b.n < gone.keep {
			l.violatedLocked("came back", "%s: %s writes score %d of %s, which it had removed", r.name, p.Name, b.score, e.Key)
		}
	}
}

// changedLocked looks at a board after a write to it, and judges what has changed.
func (l *Ledger) changedLocked(p *Process, r *row, c *BoardCall) {
	page, err := l.mu.contest.look(r.name)
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		l.violatedLocked("store", "%s: %v", r.name, err)
		return
	}
	before, was := r.entries, r.info
	r.info, r.all = page.Info, slices.Clone(page.Entries)
	l.sortedLocked(r, page)
	r.entries = make(map[string]store.Entry, len(r.all))
	for _, s := range r.all {
		r.entries[s.Key] = s.Entry
	}
	same := was.Generation == r.info.Generation
	changed := 0
	for key, e := range before {
		if _, has := r.entries[key]; !has {
			changed++
			if same && (c.Op != "remove" || !slices.Contains(c.Keys, key) || !r.asked[asking{p, key}]) {
				l.violatedLocked("lost", "%s: after a %s of %s the entry %s=%d is gone", r.name, c.Op, p.Name, key, e.Score)
			}
		}
	}
	for _, s := range r.all {
		old, had := before[s.Key]
		if had && same && old.Score == s.Score && old.Sequence == s.Sequence {
			continue
		}
		changed++
		l.enteredBoardLocked(p, r, old, had && same, s.Entry)
		r.landLocked(s.Key)
		if same && s.Sequence <= was.Sequence {
			l.violatedLocked("sequence", "%s: %s=%d has sequence %d, the board had given %d already", r.name, s.Key, s.Score, s.Sequence, was.Sequence)
		}
	}
	l.grownLocked(p, r, was, same, changed)
}

// grownLocked judges the board's own numbers after a write.
func (l *Ledger) grownLocked(p *Process, r *row, was store.BoardInfo, same bool, changed int) {
	switch {
	case !same:
	case was.Sealed && changed > 0:
		l.violatedLocked("written after the seal", "%s: %s changes %d entries of a sealed board", r.name, p.Name, changed)
	case r.info.Sequence < was.Sequence, changed > 0 && r.info.Sequence == was.Sequence:
		l.violatedLocked("sequence", "%s: %d after a write of %s that changed %d entries, %d before", r.name, r.info.Sequence, p.Name, changed, was.Sequence)
	case was.Sealed && !r.info.Sealed:
		l.violatedLocked("unsealed", "%s: after a write of %s the seal is gone", r.name, p.Name)
	}
	if int(r.info.Count) != len(r.all) {
		l.violatedLocked("count", "%s: %d entries, the board says %d", r.name, len(r.all), r.info.Count)
	}
}

// enteredBoardLocked judges one entry that a write has made or changed.
func (l *Ledger) enteredBoardLocked(p *Process, r *row, old store.Entry, had bool, e store.Entry) {
	if r.rule == store.Sum {
		l.countedLocked(p, r, old, had, e)
		return
	}
	b := r.bidOf(e.Key, e.Score)
	if b == nil || b.void {
		l.violatedLocked("nobody's score", "%s: after a write of %s %s has %d, which nobody made", r.name, p.Name, e.Key, e.Score)
		return
	}
	if !had {
		return
	}
	if before := r.bidOf(e.Key, old.Score); before != nil && !r.covers(e.Key, e.Score, before) {
		l.violatedLocked("went back", "%s: after a write of %s %s has %d, it had %d", r.name, p.Name, e.Key, e.Score, old.Score)
	}
}

// countedLocked judges a sum, digit by digit.
func (l *Ledger) countedLocked(p *Process, r *row, old store.Entry, had bool, e store.Entry) {
	bids := r.bids[e.Key]
	for n := range digits + 1 {
		times := digit(e.Score, n)
		switch {
		case times > 0 && (n >= len(bids) || bids[n].void):
			l.violatedLocked("nobody's score", "%s: after a write of %s %s has %d, of which score %d was never made", r.name, p.Name, e.Key, e.Score, n)
		case times > 0 && bids[n].never:
			l.violatedLocked("refused, but stored", "%s: after a write of %s %s has counted score %d, which was given up", r.name, p.Name, e.Key, n)
		case times > 1:
			l.violatedLocked("counted twice", "%s: after a write of %s %s has counted score %d %d times", r.name, p.Name, e.Key, n, times)
		case times == 0 && had && digit(old.Score, n) > 0:
			l.violatedLocked("went back", "%s: after a write of %s %s has not counted score %d, it had", r.name, p.Name, e.Key, n)
		}
	}
}

// sortedLocked compares a whole board with a full sort of its entries.
func (l *Ledger) sortedLocked(r *row, page store.Page) {
	slices.SortFunc(r.all, func(a, b store.Standing) int {
		switch {
		case r.order.Better(a.Score, b.Score):
			return -1
		case r.order.Better(b.Score, a.Score):
			return 1
		}
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), strings.Compare(a.Key, b.Key))
	})
	for i := range r.all {
		r.all[i].Rank = int64(i) + 1
	}
	l.sameLocked(r, "the whole board", r.all, page.Entries, store.Ordinal)
}

// sameLocked compares entries that were read with those of a full sort.
func (l *Ledger) sameLocked(r *row, what string, want, got []store.Standing, mode store.RankMode) {
	bad := len(want) != len(got)
	for i := 0; !bad && i < len(want); i++ {
		w, g := want[i], got[i]
		bad = w.Key != g.Key || w.Score != g.Score || w.Sequence != g.Sequence || g.Rank != r.rank(w, mode)
	}
	if bad {
		l.violatedLocked("rank", "%s: %s in %v ranks is %s, a full sort says %s", r.name, what, mode, brief(got), brief(want))
	}
}

// rank is that of a standing of the full sort in a mode.
func (r *row) rank(s store.Standing, mode store.RankMode) int64 {
	before, scores := int64(1), int64(1)
	for i, o := range r.all {
		if !r.order.Better(o.Score, s.Score) {
			break
		}
		before++
		if i == 0 || o.Score != r.all[i-1].Score {
			scores++
		}
	}
	switch mode {
	case store.Competition:
		return before
	case store.Dense:
		return scores
	case store.Ordinal:
	}
	return s.Rank
}

func brief(rows []store.Standing) string {
	out := make([]string, 0, len(rows))
	for _, s := range rows {
		out = append(out, fmt.Sprintf("%d. %s=%d", s.Rank, s.Key, s.Score))
	}
	return "[" + strings.Join(out, " ") + "]"
}

// readLocked compares the answer of a read with a full sort of what the board has.
func (l *Ledger) readLocked(p *Process, r *row, c *BoardCall) {
	read := c.Read
	at := slices.IndexFunc(r.all, func(s store.Standing) bool { return s.Key == read.Key })
	first, last := 0, 0
	switch {
	case c.Op == "page":
		first = min(int(read.Offset), len(r.all))
		last = min(first+read.Limit, len(r.all))
	case at < 0:
	case c.Op == "standing":
		first, last = at, at+1
	default:
		first, last = max(0, at-read.Limit), min(at+1+read.Limit, len(r.all))
	}
	l.mu.events["board "+c.Op]++
	l.sameLocked(r, fmt.Sprintf("the %s of %q from %d for %s", c.Op, read.Key, read.Offset, p.Name), r.all[first:last], read.Page.Entries, read.Mode)
	if c.Op != "standing" && read.Page.Total != int64(len(r.all)) {
		l.violatedLocked("count", "%s: a read of %s says %d entries, there are %d", r.name, p.Name, read.Page.Total, len(r.all))
	}
}

// forgotBoards notes that the boards have lost their memory: what they held is gone, and no
// promise is broken by that. What is acknowledged from now on is kept.
func (l *Ledger) forgotBoards() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.mu.contest.rows {
		r.entries, r.all, r.info = nil, nil, store.BoardInfo{}
		clear(r.sealed)
	}
	l.mu.events["boards forgotten"]++
}
