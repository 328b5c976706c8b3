package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// sweepEntries is how many rows one step of the sweeper removes: some ten milliseconds.
const sweepEntries = 2000

// sweeping is what the sweepers of one handle remember from step to step.
type sweeping struct {
	board int64
	after string // entries up to this key have gone, so that nobody has to look past them again
}

const (
	selectDropped = `SELECT ` + boardColumns + ` FROM {s}.boards b WHERE b.name IS NULL ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED`
	selectStale   = `SELECT ` + boardColumns + ` FROM {s}.boards b WHERE b.stale ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED`
	selectRecount = `SELECT ` + boardColumns + ` FROM {s}.boards b WHERE b.counted_place IS NOT NULL ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED`
	selectEnded   = `SELECT ` + boardColumns + ` FROM {s}.boards b WHERE b.log_from > 0
			AND b.log_called < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint
		ORDER BY b.id LIMIT 1 FOR UPDATE SKIP LOCKED`
	// anythingLeft tells whether there is work, and whether there are logs, which will be some.
	anythingLeft = `SELECT EXISTS (SELECT 1 FROM {s}.boards WHERE name IS NULL)
			OR EXISTS (SELECT 1 FROM {s}.boards WHERE stale)
			OR EXISTS (SELECT 1 FROM {s}.boards WHERE counted_place IS NOT NULL)
			OR EXISTS (SELECT 1 FROM {s}.boards WHERE log_from > 0
				AND log_called < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint),
		EXISTS (SELECT 1 FROM {s}.boards WHERE log_from > 0)`

	sweepEntry = `WITH gone AS (DELETE FROM {s}.entries WHERE board = $1::bigint AND key = ANY (ARRAY(
			SELECT key FROM {s}.entries WHERE board = $1::bigint AND key > $2::text ORDER BY key LIMIT $3::bigint))
		RETURNING key) SELECT count(*), coalesce(max(key), '') FROM gone`
	sweepSources = `DELETE FROM {s}.sources WHERE board = $1::bigint`
	sweepHidden  = `DELETE FROM {s}.hidden WHERE board = $1::bigint`
	sweepBoard   = `DELETE FROM {s}.boards WHERE id = $1::bigint`

	selectMovedEnd = `SELECT log, place, sequence, at FROM {s}.moved WHERE board = $1::bigint AND log <= $2::bigint
		ORDER BY log, place, sequence, at LIMIT 1 OFFSET $3::bigint`
	sweepMoved    = `DELETE FROM {s}.moved WHERE board = $1::bigint AND (log, place, sequence, at) < ($2::bigint, $3::bigint, $4::bigint, $5::bigint)`
	sweepAllMoved = `DELETE FROM {s}.moved WHERE board = $1::bigint AND log <= $2::bigint`
)

// sweep does one step: some rows of one dropped board, or the rest of it; some rows of an ended
// log; one shelf of new counts; or the end of a log. It answers whether it found anything to
// do. What another process is at just now is left to it.
func (h *boards) sweep(ctx context.Context, w *sweeping) (did bool, err error) {
	for _, step := range [...]func(context.Context, *transaction) (bool, error){
		func(ctx context.Context, t *transaction) (bool, error) { return h.sweepDropped(ctx, t, w) },
		h.sweepStale, h.sweepRecount, h.sweepEnded,
	} {
		err := h.database.transact(ctx, func(ctx context.Context, t *transaction) (err error) {
			did, err = step(ctx, t)
			return err
		})
		if err != nil || did {
			return did, damage(err)
		}
	}
	return false, nil
}

// sweepDropped removes some of what a dropped board held.
func (h *boards) sweepDropped(ctx context.Context, t *transaction, w *sweeping) (bool, error) {
	r, found, err := h.lock(ctx, t, selectDropped)
	if err != nil || !found {
		return false, err
	}
	if w.board != r.id {
		*w = sweeping{board: r.id}
	}
	var removed int64
	b := &pgx.Batch{}
	b.Queue(h.database.sql(sweepEntry), r.id, w.after, int64(sweepEntries)).QueryRow(func(row pgx.Row) error {
		var last string
		err := row.Scan(&removed, &last)
		if removed > 0 {
			w.after = last
		}
		return err
	})
	if err := t.send(ctx, b); err != nil || removed > 0 {
		return true, err
	}
	if w.after != "" { // a step may have failed after it was remembered
		w.after = ""
		return true, nil
	}
	if more, err := h.sweepLogs(ctx, t, r.id, r.log.Number); err != nil || more {
		return true, err
	}
	b = &pgx.Batch{}
	for _, sql := range [...]string{deleteShelves, sweepSources, sweepHidden, sweepBoard} {
		b.Queue(h.database.sql(sql), r.id)
	}
	return true, t.commit(ctx, b)
}

// sweepStale removes some rows of ended logs.
func (h *boards) sweepStale(ctx context.Context, t *transaction) (bool, error) {
	r, found, err := h.lock(ctx, t, selectStale)
	if err != nil || !found {
		return false, err
	}
	last := r.log.Number
	if r.log.From > 0 {
		last-- // this one is kept
	}
	more, err := h.sweepLogs(ctx, t, r.id, last)
	if err != nil || more {
		return true, err
	}
	r.log.Stale = false
	b := &pgx.Batch{}
	r.save(h.database, b)
	return true, t.commit(ctx, b)
}

// sweepLogs removes some rows of the logs up to the last one; more tells that some are left.
func (h *boards) sweepLogs(ctx context.Context, t *transaction, board, last int64) (more bool, err error) {
	var end [4]int64
	b := &pgx.Batch{}
	b.Queue(h.database.sql(selectMovedEnd), board, last, int64(sweepEntries)).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&end[0], &end[1], &end[2], &end[3])
		if more = !isMissing(err); !more {
			return nil
		}
		return err
	})
	if err := t.send(ctx, b); err != nil {
		return false, err
	}
	b = &pgx.Batch{}
	if more {
		b.Queue(h.database.sql(sweepMoved), board, end[0], end[1], end[2], end[3])
	} else {
		b.Queue(h.database.sql(sweepAllMoved), board, last)
	}
	return more, t.send(ctx, b)
}

// sweepRecount goes on with new counts.
func (h *boards) sweepRecount(ctx context.Context, t *transaction) (bool, error) {
	r, found, err := h.lock(ctx, t, selectRecount)
	if err != nil || !found {
		return false, err
	}
	_, err = h.countOn(ctx, t, r)
	return true, err
}

// sweepEnded ends a log whose time is over.
func (h *boards) sweepEnded(ctx context.Context, t *transaction) (bool, error) {
	r, found, err := h.lock(ctx, t, selectEnded, h.kept())
	if err != nil || !found {
		return false, err
	}
	r.log.End()
	b := &pgx.Batch{}
	r.save(h.database, b)
	return true, t.commit(ctx, b)
}

// left looks whether there is work for the sweeper, and whether there are logs, which will end.
func (h *boards) left(ctx context.Context) (work, logs bool, err error) {
	err = h.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, h.database.sql(anythingLeft), h.kept()).Scan(&work, &logs)
	})
	return work, logs, err
}

// kept is how long logs are kept, as what is added to the server's clock.
func (h *boards) kept() int64 { return h.ahead.Load() - int64(standings.LogFor/time.Microsecond) }
