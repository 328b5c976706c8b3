package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// ground is a schema with a board "top", and the tables behind it.
type ground struct {
	boards  store.Boards
	url     string
	schema  string
	options *pgstore.Options
	tables  *pgx.Conn
}

// newGround makes the board with buckets and shelves of these sizes.
func newGround(t *testing.T, bucket int64, shelf int) *ground {
	t.Helper()
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	g := &ground{url: pg.URL(schema), schema: schema, options: pgstore.NewBoards(bucket, shelf).Options(pgstore.Options{})}
	g.boards = g.open(t).Boards()
	g.tables = g.connect(t)
	if _, err := g.boards.Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	return g
}

// open opens the schema as another process would.
func (g *ground) open(t *testing.T) *pgstore.Engine {
	t.Helper()
	return open(t, g.url, g.options)
}

// connect is a connection of a stranger, with the schema's tables in its path.
func (g *ground) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://shoal@" + enginetest.Postgres(t).Addr() + "/shoal")
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["search_path"] = g.schema
	c, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// do runs statements on the tables.
func (g *ground) do(t *testing.T, sql string) {
	t.Helper()
	if _, err := g.tables.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

// number is the answer to a question with one number.
func (g *ground) number(t *testing.T, sql string) (n int64) {
	t.Helper()
	if err := g.tables.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// merge gives n keys random scores.
func (g *ground) merge(t *testing.T, prefix string, n int, scores int64) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, uint64(n)))
	batch := store.Batch{Rule: store.Best}
	for i := range n {
		batch.Entries = append(batch.Entries, store.Submission{Key: fmt.Sprintf("%s-%d", prefix, i), Score: random.Int64N(scores)})
	}
	if _, err := g.boards.Merge(t.Context(), "top", batch); err != nil {
		t.Fatal(err)
	}
}

// wantFullSort compares every rank with a full sort, and every count with the entries.
func (g *ground) wantFullSort(t *testing.T) {
	t.Helper()
	rows, err := g.tables.Query(t.Context(), `SELECT key FROM entries e JOIN boards b ON b.id = e.board
		WHERE b.name = 'top' ORDER BY e.place, e.sequence`)
	if err != nil {
		t.Fatal(err)
	}
	sorted, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if check, err := g.boards.Check(t.Context(), "top", false); err != nil || len(check.Problems) > 0 {
		t.Fatalf("Check = %v, %v", check.Problems, err)
	}
	var keys []string
	for offset := 0; offset == 0 || offset < len(sorted); offset += store.MaxPage {
		page, err := g.boards.Page(t.Context(), "top", int64(offset), store.MaxPage, store.Ordinal)
		if err != nil || page.Total != int64(len(sorted)) {
			t.Fatalf("Page at %d: %v, total %d, there are %d", offset, err, page.Total, len(sorted))
		}
		for _, s := range page.Entries {
			keys = append(keys, s.Key)
		}
	}
	if !slices.Equal(sorted, keys) {
		t.Fatalf("pages against a full sort (-want +got):\n%s", cmp.Diff(sorted, keys))
	}
	for i := 0; i < len(sorted); i += max(1, len(sorted)/50) {
		s, ok, err := g.boards.Standing(t.Context(), "top", sorted[i], store.Ordinal)
		if err != nil || !ok || s.Rank != int64(i)+1 {
			t.Fatalf("Standing(%s) = %+v, %v, %v, want rank %d", sorted[i], s, ok, err, i+1)
		}
	}
}

// tellsOfDamage tells that err is nil, or says which board is damaged and what to do.
func tellsOfDamage(err error) bool {
	return err == nil || store.OutcomeOf(err) == store.NotDone && strings.Contains(err.Error(), "board top") &&
		strings.Contains(err.Error(), "shoal store check --repair")
}
