package pgstore

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// Boards are what tests set of boards: buckets and shelves, and the stretches of walks, so
// small that their edges are reached, and how far the server's clock is taken to be ahead.
type Boards struct{ options boardOptions }

// NewBoards sets the sizes.
func NewBoards(bucket int64, shelf int) *Boards {
	b := &Boards{boardOptions{bucketSizes(), new(atomic.Int64)}}
	b.options.sizes.Bucket, b.options.sizes.Shelf, b.options.sizes.Stretch = bucket, shelf, 0
	return b
}

// Options are o for an engine that has b. Engines may share b.
func (b *Boards) Options(o Options) *Options {
	o.boards = &b.options
	return &o
}

// Pass lets time go by.
func (b *Boards) Pass(d time.Duration) { b.options.ahead.Add(int64(d / time.Microsecond)) }

// Plan is how the server runs one of the statements of boards.
func (e *Engine) Plan(ctx context.Context, statement string, arguments ...any) (string, error) {
	sql := map[string]string{
		"countInside": countInside, "selectStandings": selectStandings, "selectAbove": selectAbove, "selectTop": selectTop,
		"selectEntries": selectEntries, "selectPlace": selectPlace, "selectWalk": selectWalk, "jumpPlaces": jumpPlaces,
		"selectMost": selectMost, "selectCuts": selectCuts, "deleteEntries": deleteEntries,
	}[statement]
	rows, err := e.database.pool.Query(ctx, "EXPLAIN "+e.database.sql(sql), arguments...)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(lines, "\n"), err
}
