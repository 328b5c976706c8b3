package pgstore_test

import (
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store/pgstore"
)

// Statements on a large board look at the few rows that they need, by an index and in its
// order, and start no workers: what is wanted at any depth costs the same.
func TestPlansOfALargeBoard(t *testing.T) {
	g := newGround(t, 500, 40)
	g.do(t, `INSERT INTO entries (board, key, place, sequence)
		SELECT b.id, 'key-' || i, i * 7919 % 1000003, i FROM boards b, generate_series(1, 100000) i`)
	g.do(t, `VACUUM ANALYZE entries`)
	// As if there were millions.
	g.do(t, `SET parallel_setup_cost = 10; SET parallel_tuple_cost = 0; SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0`)
	id, middle := g.number(t, `SELECT id FROM boards`), int64(500_000)
	keys := make([]string, 12)
	for i := range keys {
		keys[i] = "key-" + strings.Repeat("7", i%6+1)
	}
	for statement, arguments := range map[string][]any{
		"countInside":     {id, middle, int64(3), middle + 5000, int64(9)},
		"selectMost":      {id, middle, int64(3), middle + 5000, int64(9)},
		"selectStandings": {id, middle, int64(3), int64(100)},
		"selectSlice":     {id, middle, int64(3), int64(100), int64(700)},
		"selectAbove":     {id, middle, int64(3), int64(100)},
		"selectTop":       {"top", int64(100)},
		"selectEntries":   {"top", keys},
		"deleteEntries":   {id, keys},
		"selectPlace":     {"top", "key-777", true},
		"selectWalk":      {id, middle, int64(3), middle + 5000, int64(9), int64(math.MaxInt64), nil},
		"jumpPlaces":      {id, middle, int64(100)},
		"selectCuts":      {id, []int64{middle}, []int64{3}, []int64{501}, int64(500)},
	} {
		rows, err := g.tables.Query(t.Context(), "EXPLAIN "+pgstore.BoardStatement(statement, g.schema), arguments...)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		plan := strings.Join(lines, "\n")
		if strings.Contains(plan, "Gather") || strings.Contains(plan, "Seq Scan on entries") || !strings.Contains(plan, "entries_") {
			t.Errorf("%s is run as\n%s", statement, plan)
		}
		if strings.Contains(plan, "Sort") && statement != "selectCuts" { // which sorts its answer
			t.Errorf("%s sorts:\n%s", statement, plan)
		}
	}
}
