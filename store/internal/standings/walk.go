package standings

import (
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds what a board has to remember for walks.

// WalkLog is the log of a board, or that it has none. A driver keeps it in the board's row,
// together with when the last call of a walk was written down; how long ago that is, by the
// engine's clock and never negative, is the idle of the methods.
type WalkLog struct {
	Number int64 // of this log, or of the last one: rows of others mean nothing
	From   int64 // it is complete for this version and all later ones; 0: there is none
	Upto   int64 // the latest version that somebody walks, or walked in the last log
	Rows   int64 // entries in it
	Shown  int64 // rows that were made for entries that were shown
	Stale  bool  // rows of ended logs are left

	// Tagged says that the engine may go back in time, so that only versions in Walked, with
	// their tags, are walked. They outlive the log.
	Tagged bool
	Walked Walked

	Changed bool // the board's row is out of date
}

// A call is written down only when the last one that was is longer ago than callsFor. Because
// there may have been others since, the log is kept by so much longer than was promised.
const (
	callsFor = store.WalkFor / 2

	// LogFor is how long a log is kept after the last call that was written down.
	LogFor = store.WalkFor + callsFor
)

// Fresh tells that the log is kept: the last call of a walk is not too long ago.
func (l *WalkLog) Fresh(idle time.Duration) bool { return l.From > 0 && idle <= LogFor }

// Forget ends a log whose time is over. Who changes the board does so before.
func (l *WalkLog) Forget(idle time.Duration) {
	if !l.Fresh(idle) {
		l.End()
	}
}

// covers tells that the board at this version can still be told.
func (l *WalkLog) covers(version uint64, idle time.Duration) bool {
	return l.Fresh(idle) && version >= uint64(l.From) && version <= uint64(l.Upto)
}

// Keep notes a call of a walk through a version that the log covers, or the present one. The
// driver writes down that the call was now.
func (l *WalkLog) Keep(version uint64, idle time.Duration) {
	if l.Forget(idle); l.From == 0 {
		l.Number++
		l.From = int64(version)
		l.Walked = l.Walked.only(version)
	}
	l.Upto, l.Changed = max(l.Upto, int64(version)), true
}

// End ends the log. Its rows are removed later.
func (l *WalkLog) End() {
	if l.From == 0 {
		return
	}
	l.Stale = l.Stale || l.Rows > 0 || l.Shown > 0
	l.From, l.Rows, l.Shown, l.Changed = 0, 0, 0, true
}

// Wants tells that an entry which stood at its position since this version, and leaves it
// now, or stands there again, is a matter of some walk.
func (l *WalkLog) Wants(since int64) bool { return l.From > 0 && since <= l.Upto }

// Add counts a row, and ends the log when it has more than most.
func (l *WalkLog) Add(most int64) {
	l.Rows++
	if l.Changed = true; l.Rows > most {
		l.End()
	}
}

// Walkable is where the walk at the cursor stands, which begins with the zero one, or
// store.ErrCursor when the board at its version cannot be told any more. Keep says that this
// call has to be written down (see [WalkLog.Keep] and [WalkLog.Tag]) before it may be answered:
// others may change the board before the next one.
func Walkable(info store.BoardInfo, log WalkLog, idle time.Duration, from store.Cursor) (at store.Cursor, keep bool, err error) {
	ages := idle > callsFor // a call has to be written down again
	if from == (store.Cursor{}) {
		at = store.Cursor{Generation: info.Generation, Version: info.Sequence, Total: info.Count}
		at.Tag = log.Walked.tag(at.Version)
		untold := !info.Sealed && (!log.covers(at.Version, idle) || ages)
		return at, untold || log.Tagged && at.Tag == 0, nil
	}
	if from.Generation != info.Generation || from.Version > info.Sequence {
		return from, false, store.ErrCursor
	}
	current := from.Version == info.Sequence
	switch covered := log.covers(from.Version, idle); {
	case from.Done():
		return from, false, nil // nothing is left to tell
	case log.Tagged && !log.Walked.has(from.Version, from.Tag):
		return from, false, store.ErrCursor // this version of another history
	case current && info.Sealed:
		return from, false, nil // it never changes
	case covered:
		return from, ages, nil
	case current && from.Version == uint64(log.Upto):
		return from, true, nil // nothing has changed for long
	}
	return from, false, store.ErrCursor
}

// Seen is the cursor behind a page.
func Seen(from store.Cursor, page []store.Standing) store.Cursor {
	if n := len(page); n > 0 {
		from.Seen += int64(n)
		from.Score, from.Sequence = page[n-1].Score, page[n-1].Sequence
	}
	return from
}

// After is the position behind which a walk goes on.
func After(order store.Order, from store.Cursor) Position {
	if from.Seen == 0 {
		return FirstPosition()
	}
	return Position{Place: PlaceOf(order, from.Score), Sequence: int64(from.Sequence)}
}

// WalkRow is an entry that a walk meets.
type WalkRow struct {
	At    Position
	Entry store.Entry
}

// Weave merges two sorted lists without common positions.
func Weave(a, b []WalkRow) []WalkRow {
	out := make([]WalkRow, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		next := &a
		if b[0].At.Compare(a[0].At) < 0 {
			next = &b
		}
		out, *next = append(out, (*next)[0]), (*next)[1:]
	}
	return append(append(out, a...), b...)
}

// WalkPage is a page of a walk that stands at from: the rows as standings.
func WalkPage(order store.Order, from store.Cursor, rows []WalkRow) store.Page {
	page := store.Page{Total: from.Total, Info: store.BoardInfo{
		Order: order, Generation: from.Generation, Count: from.Total, Sequence: from.Version,
	}}
	for i, r := range rows {
		page.Offset = from.Seen
		page.Entries = append(page.Entries, store.Standing{Entry: r.Entry, Rank: from.Seen + int64(i) + 1})
	}
	return page
}
