package pgstore

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// boardRow is the row of a board.
type boardRow struct {
	id   int64
	info store.BoardInfo
	log  standings.WalkLog
	now  int64         // microseconds since 1970, by the server's clock
	idle time.Duration // how long ago the last call of a walk is that was written down
	// counted is where the bucket counts end while they are made anew; what stands there or
	// after it is in none. Nil: they are whole.
	counted *standings.Position
}

const (
	boardColumns = `b.id, b.ascending, b.generation, b.count, b.hidden, b.sequence, b.sealed,
		b.log, b.log_from, b.log_upto, b.log_rows, b.log_shown, b.stale, b.walked, b.log_called,
		(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, b.counted_place, b.counted_sequence`
	updateBoard = `UPDATE {s}.boards SET count = $2::bigint, hidden = $3::bigint, sequence = $4::bigint,
		log = $5::bigint, log_from = $6::bigint, log_upto = $7::bigint, log_rows = $8::bigint,
		log_shown = $9::bigint, stale = $10::boolean WHERE id = $1::bigint`
	updateCalled  = `UPDATE {s}.boards SET log_called = $2::bigint, walked = $3::bytea WHERE id = $1::bigint`
	updateCounted = `UPDATE {s}.boards SET counted_place = $2::bigint, counted_sequence = $3::bigint WHERE id = $1::bigint`
)

// scan reads boardColumns, and what the statement answers beside them.
func (b *boardRow) scan(row pgx.Row, ahead int64, more ...any) error {
	var (
		ascending        bool
		sequence, called int64
		place, counted   *int64
		walked           []byte
	)
	*b = boardRow{}
	err := row.Scan(append([]any{
		&b.id, &ascending, &b.info.Generation, &b.info.Count, &b.info.Hidden, &sequence, &b.info.Sealed,
		&b.log.Number, &b.log.From, &b.log.Upto, &b.log.Rows, &b.log.Shown, &b.log.Stale, &walked, &called,
		&b.now, &place, &counted,
	}, more...)...)
	if err != nil {
		return err
	}
	b.info.Order, b.info.Sequence = store.Descending, uint64(sequence)
	if ascending {
		b.info.Order = store.Ascending
	}
	b.log.Tagged, b.log.Walked = true, standings.ParseWalked(walked)
	b.now += ahead
	b.idle = time.Duration(max(0, b.now-called)) * time.Microsecond
	if place != nil && counted != nil {
		b.counted = &standings.Position{Place: *place, Sequence: *counted}
	}
	return nil
}

// find is scan of a board that may be missing.
func (b *boardRow) find(row pgx.Row, ahead int64, more ...any) (found bool, err error) {
	err = b.scan(row, ahead, more...)
	if isMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// save writes what changes while a board lives.
func (b *boardRow) save(d *database, batch *pgx.Batch) {
	l := b.log
	batch.Queue(d.sql(updateBoard), b.id, b.info.Count, b.info.Hidden, int64(b.info.Sequence),
		l.Number, l.From, l.Upto, l.Rows, l.Shown, l.Stale)
}

// saveCounted writes how far the bucket counts go.
func (b *boardRow) saveCounted(d *database, batch *pgx.Batch) {
	var place, sequence *int64
	if b.counted != nil {
		place, sequence = &b.counted.Place, &b.counted.Sequence
	}
	batch.Queue(d.sql(updateCounted), b.id, place, sequence)
}
