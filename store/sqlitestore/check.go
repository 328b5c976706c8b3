package sqlitestore

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// Check implements store.Boards. It looks at one shelf at a time, each in a snapshot of its
// own in which counts and entries must agree, so that it holds up nobody and no log grows
// meanwhile; then at the sum of the shelves, in one more.
func (h *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	f, err := h.inspect(ctx, board)
	if err != nil {
		return store.BoardCheck{}, err
	}
	check := store.BoardCheck{Entries: f.entries, Problems: f.said()}
	if !repair || len(check.Problems) == 0 {
		return check, nil
	}
	if err := h.recount(ctx, board, f); err != nil {
		return check, fmt.Errorf("sqlitestore: repair board %s: %w", board, err)
	}
	again, err := h.inspect(ctx, board)
	check.Repaired = err == nil && len(again.problems) == 0
	return check, err
}

// inspect finds what is wrong with a board.
func (h *boards) inspect(ctx context.Context, board string) (*findings, error) {
	f := &findings{}
	var id int64
	for at, more := firstPosition(), true; more; {
		step, next, anew := f.and(), at, false
		err := h.read(ctx, "check", board, func(ctx context.Context, c *conn, b boardRow) (err error) {
			if step, next = f.and(), at; id == 0 {
				id = b.id
			}
			if anew = b.id != id; anew {
				return nil
			}
			if b.counted != nil {
				more = false // nothing but the end of it makes the counts whole
				step.add("the counts are being made anew, and end at %s", *b.counted)
				return nil
			}
			next, more, err = step.shelf(ctx, c, b, at)
			return err
		})
		if err != nil {
			return nil, err
		}
		if anew {
			return nil, fmt.Errorf("sqlitestore: check of board %s: %w: it was made anew meanwhile", board, store.ErrNoBoard)
		}
		f, at = step, next
	}
	var whole *findings
	err := h.read(ctx, "check", board, func(ctx context.Context, c *conn, b boardRow) error {
		whole = f.and()
		return whole.whole(ctx, c, b)
	})
	return whole, err
}

// uncountedStep is how many entries without counts are looked at in one snapshot.
const uncountedStep = 64_000

const (
	selectShelfAt = `SELECT place, sequence, entries, buckets FROM shelves
		WHERE board = ? AND (place, sequence) <= (?, ?) ORDER BY place DESC, sequence DESC LIMIT 1`
	selectShelfAfter = `SELECT place, sequence FROM shelves INDEXED BY shelf_counts
		WHERE board = ? AND (place, sequence) > (?, ?) ORDER BY place, sequence LIMIT 1`
	countBetween = `SELECT count(*), max(sequence) FROM entries INDEXED BY standings
		WHERE board = ? AND (place, sequence) >= (?, ?) AND (place, sequence) <= (?, ?)`
	sumAllShelves = `SELECT coalesce(sum(entries), 0) FROM shelves INDEXED BY shelf_counts WHERE board = ?`
	lookHidden    = `SELECT count(*), max(sequence), sum(scored) FROM hidden WHERE board = ?`
	countBoth     = `SELECT count(*) FROM hidden h CROSS JOIN entries e ON e.board = h.board AND e.key = h.key WHERE h.board = ?`
)

// shelf checks the shelf that at is on, and answers where the next one starts.
func (f *findings) shelf(ctx context.Context, c *conn, b boardRow, at position) (next position, more bool, err error) {
	row, err := c.first(ctx, selectShelfAt, b.id, at.place, at.sequence)
	if err != nil {
		return at, false, err
	}
	if row == nil {
		return f.uncounted(ctx, c, b, at)
	}
	s := storedShelf{
		from: position{place: integer(row[0]), sequence: integer(row[1])}, entries: integer(row[2]), buckets: blob(row[3]),
	}
	if s.end, more, err = b.nextShelf(ctx, c, at); err != nil {
		return at, false, err
	}
	buckets := f.judge(s)
	says := buckets != nil
	if !says {
		buckets = []bucket{{from: s.from}}
	}
	for i, own := range buckets {
		end := s.end
		if i+1 < len(buckets) {
			end = buckets[i+1].from
		}
		if err := f.bucket(ctx, c, b, stretch{own, end, says}); err != nil {
			return at, false, err
		}
	}
	return s.end, more, nil
}

// nextShelf is where the first shelf after at starts; more is false when there is none.
func (b boardRow) nextShelf(ctx context.Context, c *conn, at position) (next position, more bool, err error) {
	row, err := c.first(ctx, selectShelfAfter, b.id, at.place, at.sequence)
	if err != nil || row == nil {
		return lastPosition(), false, err
	}
	return position{place: integer(row[0]), sequence: integer(row[1])}, true, nil
}

// uncounted looks at entries before the first shelf, some at a time.
func (f *findings) uncounted(ctx context.Context, c *conn, b boardRow, at position) (next position, more bool, err error) {
	end, more, err := b.nextShelf(ctx, c, at)
	if err != nil {
		return at, false, err
	}
	row, err := c.first(ctx, selectNth, b.id, at.place, at.sequence, int64(uncountedStep))
	if err != nil {
		return at, false, err
	}
	if row != nil {
		if p := (position{place: integer(row[0]), sequence: integer(row[1])}); p.compare(end) < 0 {
			end, more = p, true
		}
	}
	before := f.entries
	if err := f.bucket(ctx, c, b, stretch{bucket: bucket{from: at}, end: end}); err != nil {
		return at, false, err
	}
	if f.entries > before {
		f.add("%d entries from %s on are in no bucket", f.entries-before, at)
	}
	return end, more, nil
}

// stretch is a bucket, or entries without one.
type stretch struct {
	bucket
	end  position
	says bool // it says how many entries there are
}

// bucket checks what a bucket says.
func (f *findings) bucket(ctx context.Context, c *conn, b boardRow, s stretch) error {
	last := position{place: s.end.place, sequence: s.end.sequence - 1}
	if s.end == lastPosition() {
		last = s.end
	}
	row, err := c.first(ctx, countBetween, b.id, s.from.place, s.from.sequence, last.place, last.sequence)
	if err != nil {
		return err
	}
	n, newest := integer(row[0]), integer(row[1])
	f.entries, f.newest = f.entries+n, max(f.newest, newest)
	if s.says && n != s.entries {
		f.add("bucket at %s: it says %d entries, there are %d", s.from, s.entries, n)
	}
	if newest > int64(b.info.Sequence) {
		f.add("an entry from %s on has sequence %d, the board says it has given %d", s.from, newest, b.info.Sequence)
	}
	return nil
}

// whole checks what the board's row says.
func (f *findings) whole(ctx context.Context, c *conn, b boardRow) error {
	sum, err := c.number(ctx, sumAllShelves, b.id)
	if err != nil {
		return err
	}
	if sum != b.info.Count && b.counted == nil {
		f.add("the board says %d entries, its shelves %d", b.info.Count, sum)
	}
	row, err := c.first(ctx, lookHidden, b.id)
	if err != nil {
		return err
	}
	hidden, newest := integer(row[0]), integer(row[1])
	f.entries, f.newest = f.entries+integer(row[2]), max(f.newest, newest)
	if hidden != b.info.Hidden {
		f.add("the board says %d hidden keys, there are %d", b.info.Hidden, hidden)
	}
	if newest > int64(b.info.Sequence) {
		f.add("a hidden entry has sequence %d, the board says it has given %d", newest, b.info.Sequence)
	}
	both, err := c.number(ctx, countBoth, b.id)
	if err == nil && both > 0 {
		f.add("%d hidden keys are ranked", both)
	}
	return err
}
