package sqlitestore

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Check implements store.Boards. It looks at one shelf at a time, each in a snapshot of its
// own in which counts and entries must agree, so that it holds up nobody and no log grows
// meanwhile; then at the sum of the shelves, in one more.
func (h *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	f, err := h.inspect(ctx, board)
	if err != nil {
		return store.BoardCheck{}, err
	}
	check := store.BoardCheck{Entries: f.Entries, Problems: f.Said()}
	if !repair || len(check.Problems) == 0 {
		return check, nil
	}
	if err := h.recount(ctx, board, f); err != nil {
		return check, fmt.Errorf("sqlitestore: repair board %s: %w", board, err)
	}
	again, err := h.inspect(ctx, board)
	check.Repaired = err == nil && len(again.Problems) == 0
	return check, err
}

// findings are what Check has found.
type findings struct{ standings.Findings }

// and is f with room of its own for what a reading adds that may have to be done again.
func (f *findings) and() *findings { return &findings{*f.Fork()} }

// inspect finds what is wrong with a board.
func (h *boards) inspect(ctx context.Context, board string) (*findings, error) {
	f := &findings{}
	var id int64
	for at, more := standings.FirstPosition(), true; more; {
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
				step.Add("the counts are being made anew, and end at %s", *b.counted)
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
func (f *findings) shelf(ctx context.Context, c *conn, b boardRow, at standings.Position) (next standings.Position, more bool, err error) {
	row, err := c.first(ctx, selectShelfAt, b.id, at.Place, at.Sequence)
	if err != nil {
		return at, false, err
	}
	if row == nil {
		return f.uncounted(ctx, c, b, at)
	}
	s := standings.StoredShelf{
		From: standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}, Entries: integer(row[2]), Buckets: blob(row[3]),
	}
	if s.End, more, err = b.nextShelf(ctx, c, at); err != nil {
		return at, false, err
	}
	buckets := f.Judge(s)
	says := buckets != nil
	if !says {
		buckets = []standings.Bucket{{From: s.From}}
	}
	for i, own := range buckets {
		end := s.End
		if i+1 < len(buckets) {
			end = buckets[i+1].From
		}
		if err := f.bucket(ctx, c, b, stretch{own, end, says}); err != nil {
			return at, false, err
		}
	}
	return s.End, more, nil
}

// nextShelf is where the first shelf after at starts; more is false when there is none.
func (b boardRow) nextShelf(ctx context.Context, c *conn, at standings.Position) (next standings.Position, more bool, err error) {
	row, err := c.first(ctx, selectShelfAfter, b.id, at.Place, at.Sequence)
	if err != nil || row == nil {
		return standings.LastPosition(), false, err
	}
	return standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}, true, nil
}

// uncounted looks at entries before the first shelf, some at a time.
func (f *findings) uncounted(ctx context.Context, c *conn, b boardRow, at standings.Position) (next standings.Position, more bool, err error) {
	end, more, err := b.nextShelf(ctx, c, at)
	if err != nil {
		return at, false, err
	}
	row, err := c.first(ctx, selectNth, b.id, at.Place, at.Sequence, int64(uncountedStep))
	if err != nil {
		return at, false, err
	}
	if row != nil {
		if p := (standings.Position{Place: integer(row[0]), Sequence: integer(row[1])}); p.Compare(end) < 0 {
			end, more = p, true
		}
	}
	before := f.Entries
	if err := f.bucket(ctx, c, b, stretch{Bucket: standings.Bucket{From: at}, end: end}); err != nil {
		return at, false, err
	}
	if f.Entries > before {
		f.Add("%d entries from %s on are in no bucket", f.Entries-before, at)
	}
	return end, more, nil
}

// stretch is a bucket, or entries without one.
type stretch struct {
	standings.Bucket
	end  standings.Position
	says bool // it says how many entries there are
}

// bucket checks what a bucket says.
func (f *findings) bucket(ctx context.Context, c *conn, b boardRow, s stretch) error {
	last := standings.Position{Place: s.end.Place, Sequence: s.end.Sequence - 1}
	if s.end == standings.LastPosition() {
		last = s.end
	}
	row, err := c.first(ctx, countBetween, b.id, s.From.Place, s.From.Sequence, last.Place, last.Sequence)
	if err != nil {
		return err
	}
	n, newest := integer(row[0]), integer(row[1])
	f.Entries, f.Newest = f.Entries+n, max(f.Newest, newest)
	if s.says && n != s.Entries {
		f.Add("bucket at %s: it says %d entries, there are %d", s.From, s.Entries, n)
	}
	if newest > int64(b.info.Sequence) {
		f.Add("an entry from %s on has sequence %d, the board says it has given %d", s.From, newest, b.info.Sequence)
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
		f.Add("the board says %d entries, its shelves %d", b.info.Count, sum)
	}
	row, err := c.first(ctx, lookHidden, b.id)
	if err != nil {
		return err
	}
	hidden, newest := integer(row[0]), integer(row[1])
	f.Entries, f.Newest = f.Entries+integer(row[2]), max(f.Newest, newest)
	if hidden != b.info.Hidden {
		f.Add("the board says %d hidden keys, there are %d", b.info.Hidden, hidden)
	}
	if newest > int64(b.info.Sequence) {
		f.Add("a hidden entry has sequence %d, the board says it has given %d", newest, b.info.Sequence)
	}
	both, err := c.number(ctx, countBoth, b.id)
	if err == nil && both > 0 {
		f.Add("%d hidden keys are ranked", both)
	}
	return err
}
