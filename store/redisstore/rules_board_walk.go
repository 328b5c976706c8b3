package redisstore

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// This file holds what a board tells of how it was, without I/O.
//
// A walk shows the board as it was at a version: the board's sequence when the walk began. An
// entry has stood at its position since the version that its sequence is, unless it was hidden
// and shown again meanwhile. While somebody walks, the board logs what leaves a position, with
// the versions in which it stood there, and what is shown again: see board_log.lua. The board
// at version V is then: the entries whose sequence is at most V, without those of which a row
// says that they stand there only since a version after V, and the rows with since ≤ V < at.
//
// Every script that changes a board writes its log in the same go, and every script looks
// whether the log has as many rows as the board says: it never has a gap.

// walkLogSize is the length of the field walk.
const walkLogSize = 32

// walkBoard is a board, its log, and how long ago the last call of a walk was written down.
type walkBoard struct {
	info store.BoardInfo
	log  standings.WalkLog
	idle time.Duration
}

// readLog reads the field walk of the board. A log that is not whole is none.
func (b *walkBoard) readLog(f field, whole bool, now time.Duration) error {
	if !f.known {
		return nil
	}
	if len(f.text) != walkLogSize {
		return fmt.Errorf("%w: a log of %d bytes", errShape, len(f.text))
	}
	if whole {
		b.log.From = int64(number64(f.text)) //nolint:gosec // sequences are of 63 bits
	}
	b.log.Upto = int64(number64(f.text[8:])) //nolint:gosec // sequences are of 63 bits
	called := math.Float64frombits(number64(f.text[24:]))
	b.idle = max(0, now-time.Duration(called)*time.Microsecond)
	return nil
}

// walkRow is an entry that a walk meets, and where it stands.
type walkRow struct {
	at    position
	entry store.Entry
}

// stretch is what one script of a walk has read: members of the standings and rows of the
// log, both in the order of the board. A list of at least limit may go on behind its end.
type stretch struct {
	version uint64
	order   store.Order
	limit   int
	members []walkRow
	moved   []movedRow
}

// movedRow is a row of the log.
type movedRow struct {
	walkRow
	at, since uint64 // it stood there in the versions from since to before at
}

// stillThere is the at of a row that says: it was shown again, and stands there.
const stillThere = math.MaxUint64

// movedOf reads a row of the log.
func movedOf(order store.Order, s string) (movedRow, error) {
	const head = positionSize + 8 + 8 + 1
	if len(s) < head || len(s) < head+int(s[head-1]) {
		return movedRow{}, fmt.Errorf("%w: a row of the log of %d bytes", errShape, len(s))
	}
	key, meta := s[head:head+int(s[head-1])], s[head+int(s[head-1]):]
	e, err := entryOf(order, key, s, "")
	if meta != "" {
		e.Meta = []byte(meta)
	}
	return movedRow{
		walkRow: walkRow{at: position(s[:positionSize]), entry: e},
		at:      number64(s[positionSize:]), since: number64(s[positionSize+8:]),
	}, err
}

// stood is the entries that stood in the stretch at its version, in order, up to the end; more
// tells that others stand behind it.
func (s stretch) stood() (rows []walkRow, end position, more bool) {
	if n := len(s.members); n >= s.limit {
		end, more = s.members[n-1].at, true
	}
	if n := len(s.moved); n >= s.limit && (!more || s.moved[n-1].walkRow.at < end) {
		end, more = s.moved[n-1].walkRow.at, true
	}
	inside := func(p position) bool { return !more || p <= end }
	shown := make(map[position]bool)
	for _, m := range s.moved {
		switch {
		case !inside(m.walkRow.at):
		case m.at == stillThere:
			shown[m.walkRow.at] = m.since > s.version
		case m.since <= s.version && s.version < m.at:
			rows = append(rows, m.walkRow)
		}
	}
	for _, m := range s.members {
		if inside(m.at) && m.at.sequence() <= s.version && !shown[m.at] {
			rows = append(rows, m)
		}
	}
	slices.SortFunc(rows, func(a, b walkRow) int { return strings.Compare(string(a.at), string(b.at)) })
	return rows, end, more
}

// behind is the bound from which on everything stands behind the position.
func behind(p position) string { return "[" + string(p) + strings.Repeat("\xff", 9) }

// denseSlice takes the standings of a whole walk, one after the other, gives them dense ranks,
// and keeps some: those from offset on, limit of them, or, when a key is given, its own and
// reach on both sides.
type denseSlice struct {
	offset, limit int64
	key           string
	reach         int

	rank  int64
	score int64
	kept  []store.Standing
	first int64 // the ordinal rank of the first that is kept
	left  int   // to be kept behind the key
	found bool
}

// add takes the next standing, and tells whether nothing more is wanted.
func (d *denseSlice) add(s store.Standing) (done bool) {
	ordinal := s.Rank
	if ordinal == 1 || s.Score != d.score {
		d.rank, d.score = d.rank+1, s.Score
	}
	s.Rank = d.rank
	if d.key == "" {
		if ordinal > d.offset && d.limit > 0 {
			d.keep(s, ordinal)
		}
		return ordinal >= d.offset+d.limit
	}
	switch d.keep(s, ordinal); {
	case d.found:
		d.left--
	case s.Key == d.key:
		d.found, d.left = true, d.reach
	case len(d.kept) > d.reach:
		d.kept, d.first = d.kept[1:], d.first+1
	}
	return d.found && d.left == 0
}

func (d *denseSlice) keep(s store.Standing, ordinal int64) {
	if len(d.kept) == 0 {
		d.first = ordinal
	}
	d.kept = append(d.kept, s)
}

// page is what was kept.
func (d *denseSlice) page(info store.BoardInfo) store.Page {
	page := store.Page{Total: info.Count, Info: info}
	if len(d.kept) > 0 && (d.key == "" || d.found) {
		page.Entries, page.Offset = d.kept, d.first-1
	}
	return page
}
