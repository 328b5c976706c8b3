package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Check implements store.Boards. It looks at one shelf at a time, each in a snapshot of its
// own in which counts and entries must agree, so that it holds up nobody; then at the sum of
// the shelves, in one more.
func (h *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	f, err := h.inspect(ctx, board)
	if err != nil {
		return store.BoardCheck{}, err
	}
	check := store.BoardCheck{Entries: f.Entries, Problems: f.Said()}
	if !repair || len(check.Problems) == 0 {
		return check, nil
	}
	if err := h.gate.enter(ctx, "repair board "+board); err != nil {
		return check, err
	}
	err = h.recount(ctx, board, f)
	h.gate.leave()
	if err != nil {
		return check, boardError("repair", board, err)
	}
	again, err := h.inspect(ctx, board)
	check.Repaired = err == nil && len(again.Problems) == 0
	return check, err
}

// inspect finds what is wrong with a board.
func (h *boards) inspect(ctx context.Context, board string) (*standings.Findings, error) {
	c := &checking{Findings: &standings.Findings{}, next: standings.FirstPosition(), more: true}
	for c.more {
		err := h.read(ctx, "check", board, func(ctx context.Context, s *snapshot) error {
			step := *c
			step.Findings = c.Fork()
			err := (&looking{&step, s, boardRow{}}).shelf(ctx, board)
			if err == nil {
				*c = step
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return c.Findings, nil
}

// checking is a check in progress.
type checking struct {
	*standings.Findings
	id   int64
	next standings.Position // where the next shelf starts
	more bool
}

// looking is a check at one shelf, in one snapshot.
type looking struct {
	*checking
	snapshot *snapshot
	row      boardRow
}

// uncountedStep is how many entries without counts are looked at in one snapshot.
const uncountedStep = 64_000

const (
	selectShelfAt = `SELECT place, sequence, entries, buckets FROM {s}.shelves
		WHERE board = ` + boardNamed + ` AND (place, sequence) <= ($2::bigint, $3::bigint) ORDER BY place DESC, sequence DESC LIMIT 1`
	selectShelfAfter = `SELECT place, sequence FROM {s}.shelves
		WHERE board = ` + boardNamed + ` AND (place, sequence) > ($2::bigint, $3::bigint) ORDER BY place, sequence LIMIT 1`
	selectNth = `SELECT place, sequence FROM {s}.entries
		WHERE board = $1::bigint AND (place, sequence) >= ($2::bigint, $3::bigint) ORDER BY place, sequence LIMIT 1 OFFSET $4::bigint`
	countEach = `SELECT e.n, e.newest
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
			WITH ORDINALITY AS u (place, sequence, end_place, end_sequence, i)
		CROSS JOIN LATERAL (SELECT count(*) AS n, coalesce(max(sequence), 0) AS newest FROM {s}.entries
			WHERE board = $1::bigint AND place BETWEEN u.place AND u.end_place
				AND (place, sequence) >= (u.place, u.sequence) AND (place, sequence) < (u.end_place, u.end_sequence)) e
		ORDER BY u.i`
	countBoth = `SELECT count(*) FROM {s}.hidden h JOIN {s}.entries e ON e.board = h.board AND e.key = h.key WHERE h.board = $1::bigint`
)

// shelf checks the shelf that next is on, and the board as a whole after the last.
func (c *looking) shelf(ctx context.Context, board string) error {
	s := c.snapshot
	stored := standings.StoredShelf{End: standings.LastPosition()}
	missing := false
	c.more = false
	b := &pgx.Batch{}
	s.board(b, &c.row, board)
	s.queue(b, selectShelfAt, board, c.next.Place, c.next.Sequence).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&stored.From.Place, &stored.From.Sequence, &stored.Entries, &stored.Buckets)
		if missing = isMissing(err); missing {
			return nil
		}
		return err
	})
	s.queue(b, selectShelfAfter, board, c.next.Place, c.next.Sequence).QueryRow(func(row pgx.Row) error {
		var p standings.Position
		err := row.Scan(&p.Place, &p.Sequence)
		if isMissing(err) {
			return nil
		}
		stored.End, c.more = p, true
		return err
	})
	if err := s.send(ctx, b); err != nil {
		return err
	}
	if c.id != 0 && c.id != c.row.id {
		return fmt.Errorf("%w: it was made anew meanwhile", store.ErrNoBoard)
	}
	c.id = c.row.id
	return c.look(ctx, stored, missing)
}

// look compares what was read with the entries.
func (c *looking) look(ctx context.Context, stored standings.StoredShelf, missing bool) (err error) {
	switch {
	case c.row.counted != nil: // nothing but the end of it makes the counts whole
		c.Add("the counts are being made anew, and end at %s", *c.row.counted)
		c.more = false
	case missing:
		err = c.uncounted(ctx, stored.End)
	default:
		buckets := c.Judge(stored)
		says := buckets != nil
		if !says {
			buckets = []standings.Bucket{{From: stored.From}}
		}
		c.next = stored.End
		err = c.buckets(ctx, buckets, stored.End, says)
	}
	if err != nil || c.more {
		return err
	}
	return c.whole(ctx)
}

// uncounted looks at entries before the first shelf, some at a time.
func (c *looking) uncounted(ctx context.Context, end standings.Position) error {
	s := c.snapshot
	b := &pgx.Batch{}
	s.queue(b, selectNth, c.row.id, c.next.Place, c.next.Sequence, int64(uncountedStep)).QueryRow(func(row pgx.Row) error {
		var p standings.Position
		err := row.Scan(&p.Place, &p.Sequence)
		if isMissing(err) {
			return nil
		}
		if p.Compare(end) < 0 {
			end, c.more = p, true
		}
		return err
	})
	if err := s.send(ctx, b); err != nil {
		return err
	}
	from, before := c.next, c.Entries
	c.next = end
	err := c.buckets(ctx, []standings.Bucket{{From: from}}, end, false)
	if n := c.Entries - before; err == nil && n > 0 {
		c.Add("%d entries from %s on are in no bucket", n, from)
	}
	return err
}

// buckets checks what buckets say, if they say anything.
func (c *looking) buckets(ctx context.Context, buckets []standings.Bucket, end standings.Position, says bool) error {
	n := len(buckets)
	columns := [4][]int64{make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)}
	for i, own := range buckets {
		next := end
		if i+1 < n {
			next = buckets[i+1].From
		}
		columns[0][i], columns[1][i] = own.From.Place, own.From.Sequence
		columns[2][i], columns[3][i] = next.Place, next.Sequence
	}
	b := &pgx.Batch{}
	c.snapshot.queue(b, countEach, c.row.id, columns[0], columns[1], columns[2], columns[3]).Query(func(rows pgx.Rows) error {
		var entries, newest int64
		i := 0
		_, err := pgx.ForEachRow(rows, []any{&entries, &newest}, func() error {
			own := buckets[i]
			i++
			c.Entries, c.Newest = c.Entries+entries, max(c.Newest, newest)
			if says && entries != own.Entries {
				c.Add("bucket at %s: it says %d entries, there are %d", own.From, own.Entries, entries)
			}
			if newest > int64(c.row.info.Sequence) {
				c.Add("an entry from %s on has sequence %d, the board says it has given %d", own.From, newest, c.row.info.Sequence)
			}
			return nil
		})
		return err
	})
	return c.snapshot.send(ctx, b)
}

// whole checks what the board's row says.
func (c *looking) whole(ctx context.Context) error {
	s, r := c.snapshot, c.row
	var sum, hidden, newest, scored, both int64
	b := &pgx.Batch{}
	s.queue(b, sumAllShelves, r.id).QueryRow(func(row pgx.Row) error { return row.Scan(&sum) })
	s.queue(b, lookHidden, r.id).QueryRow(func(row pgx.Row) error { return row.Scan(&hidden, &newest, &scored) })
	s.queue(b, countBoth, r.id).QueryRow(func(row pgx.Row) error { return row.Scan(&both) })
	if err := s.last(ctx, b); err != nil {
		return err
	}
	c.Entries, c.Newest = c.Entries+scored, max(c.Newest, newest)
	if sum != r.info.Count && r.counted == nil {
		c.Add("the board says %d entries, its shelves %d", r.info.Count, sum)
	}
	if hidden != r.info.Hidden {
		c.Add("the board says %d hidden keys, there are %d", r.info.Hidden, hidden)
	}
	if newest > int64(r.info.Sequence) {
		c.Add("a hidden entry has sequence %d, the board says it has given %d", newest, r.info.Sequence)
	}
	if both > 0 {
		c.Add("%d hidden keys are ranked", both)
	}
	return nil
}
