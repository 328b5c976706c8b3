package pgstore

import (
	"strings"
	"sync/atomic"
	"time"
)

// Boards are what tests set of boards: buckets and shelves, and the stretches of walks, so
// small that their edges are reached, and how far the server's clock is taken to be ahead.
type Boards struct{ options boardOptions }

// NewBoards sets the sizes.
func NewBoards(bucket int64, shelf int) *Boards {
	b := &Boards{boardOptions{bucketSizes(), 2, new(atomic.Int64)}}
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

// BoardStatement is one of the statements of boards, for the schema.
func BoardStatement(name, schema string) string {
	sql := map[string]string{
		"countInside": countInside, "selectStandings": selectStandings, "selectSlice": selectSlice, "selectAbove": selectAbove, "selectTop": selectTop,
		"selectEntries": selectEntries, "selectPlace": selectPlace, "selectWalk": selectWalk, "jumpPlaces": jumpPlaces,
		"selectMost": selectMost, "selectCuts": selectCuts, "deleteEntries": deleteEntries,
	}[name]
	return strings.ReplaceAll(sql, "{s}", schema)
}
