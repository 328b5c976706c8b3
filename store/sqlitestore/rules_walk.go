package sqlitestore

import "github.com/shoalworks/shoal/store"

// This file holds what a board has to remember for walks, without I/O.
//
// A walk shows the board as it was at a version: the board's sequence when the walk began.
// An entry stands at a position in the versions from since to before at. Positions are given
// once, so what stands at one now has stood there from its own sequence on, unless it was
// hidden and shown again meanwhile.
//
// While somebody walks the board logs what leaves a position, with its versions, and what is
// shown again, with the version from which it stands there; that row is closed when the entry
// leaves. The board at version V is then: the entries whose sequence is at most V, without
// those whose row says that they stand there only since a version after V, and the logged
// ones with since ≤ V < at.
//
// Whether a log is complete is in the board's row, which every change of the board reads in
// its own transaction: a log never has a gap, whatever clocks say and whoever is killed.

// walkLog is the log of a board, or that it has none.
type walkLog struct {
	number int64 // of this log, or of the last one: rows of others mean nothing
	from   int64 // it is complete for this version and all later ones; 0: there is none
	upto   int64 // the latest version that somebody walks, or walked in the last log
	rows   int64 // entries in it
	shown  int64 // rows that were made for entries that were shown
	called moment
	stale  bool // rows of ended logs are left

	changed bool // the board's row is out of date
}

// A call is written down only when the last one that was is longer ago than callsFor. Because
// there may have been others since, the log is kept by so much longer than was promised.
const (
	callsFor = store.WalkFor / 2
	logFor   = store.WalkFor + callsFor
)

// fresh tells that the log is kept: the last call of a walk is not too long ago.
func (l *walkLog) fresh(now moment) bool { return l.from > 0 && l.called.since(now) <= logFor }

// forget ends a log whose time is over. Who changes the board does so before.
func (l *walkLog) forget(now moment) {
	if !l.fresh(now) {
		l.end()
	}
}

// covers tells that the board at this version can still be told.
func (l *walkLog) covers(version uint64, now moment) bool {
	return l.fresh(now) && version >= uint64(l.from) && version <= uint64(l.upto)
}

// ages tells that a call has to be written down again.
func (l *walkLog) ages(now moment) bool { return l.called.since(now) > callsFor }

// keep notes a call of a walk through a version that the log covers, or the present one.
func (l *walkLog) keep(version uint64, now moment) {
	if l.forget(now); l.from == 0 {
		l.number++
		l.from = int64(version)
	}
	l.upto, l.called, l.changed = max(l.upto, int64(version)), now, true
}

// end ends the log. Its rows are removed later.
func (l *walkLog) end() {
	if l.from == 0 {
		return
	}
	l.stale = l.stale || l.rows > 0 || l.shown > 0
	l.from, l.rows, l.shown, l.changed = 0, 0, 0, true
}

// wants tells that an entry which stood at its position since this version, and leaves it
// now, or stands there again, is a matter of some walk.
func (l *walkLog) wants(since int64) bool { return l.from > 0 && since <= l.upto }

// add counts a row, and ends the log when it has too many.
func (l *walkLog) add(most int64) {
	l.rows++
	if l.changed = true; l.rows > most {
		l.end()
	}
}

// walkable is where the walk at the cursor stands, which begins with the zero one, or
// ErrCursor when the board at its version cannot be told any more. Keep says that this call
// has to be written down before it may be answered: others may change the board before the
// next one.
func (b boardRow) walkable(from store.Cursor, now moment) (at store.Cursor, keep bool, err error) {
	info := b.info
	if from == (store.Cursor{}) {
		at = store.Cursor{Generation: info.Generation, Version: info.Sequence, Total: info.Count}
		return at, !info.Sealed && (!b.log.covers(at.Version, now) || b.log.ages(now)), nil
	}
	if from.Generation != info.Generation || from.Version > info.Sequence {
		return from, false, store.ErrCursor
	}
	current := from.Version == info.Sequence
	switch covered := b.log.covers(from.Version, now); {
	case from.Done(), current && info.Sealed:
		return from, false, nil // nothing is left to tell, or it never changes
	case covered:
		return from, b.log.ages(now), nil
	case current && from.Version == uint64(b.log.upto):
		return from, true, nil // nothing has changed for long
	}
	return from, false, store.ErrCursor
}

// seen is the cursor behind a page.
func seen(from store.Cursor, page []store.Standing) store.Cursor {
	if n := len(page); n > 0 {
		from.Seen += int64(n)
		from.Score, from.Sequence = page[n-1].Score, page[n-1].Sequence
	}
	return from
}

// after is the position behind which a walk goes on.
func after(order store.Order, from store.Cursor) position {
	if from.Seen == 0 {
		return firstPosition()
	}
	return position{place: placeOf(order, from.Score), sequence: int64(from.Sequence)}
}

// walkRow is an entry that a walk meets.
type walkRow struct {
	at    position
	entry store.Entry
}

// weave merges two sorted lists without common positions.
func weave(a, b []walkRow) []walkRow {
	out := make([]walkRow, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		next := &a
		if b[0].at.compare(a[0].at) < 0 {
			next = &b
		}
		out, *next = append(out, (*next)[0]), (*next)[1:]
	}
	return append(append(out, a...), b...)
}
