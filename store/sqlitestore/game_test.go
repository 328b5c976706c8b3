package sqlitestore_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// boardGame is a board and its model, driven by rapid. Its buckets are tiny, so that they and
// their shelves are cut and joined all the time.
type boardGame struct {
	folder  string
	engine  *sqlitestore.Engine
	games   int
	name    string // of the board of this game
	order   store.Order
	model   *storetest.ModelBoard
	batches uint64
	strolls []*stroll
	shelves int // the most that were seen
	walked  int // pages of walks through boards that had changed
}

// stroll is a walk, in the board and in its model.
type stroll struct{ board, model store.Cursor }

// start begins a game on a board of its own.
func (g *boardGame) start(t *rapid.T) {
	g.games++
	g.name = fmt.Sprintf("board/%d", g.games)
	g.order = rapid.SampledFrom([]store.Order{store.Descending, store.Ascending}).Draw(t, "order")
	g.model, g.batches, g.strolls = storetest.NewModelBoard(g.order), 0, nil
	if _, err := g.engine.Boards().Create(t.Context(), g.name, store.BoardSpec{Order: g.order, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
}

// end drops the board of this game.
func (g *boardGame) end(t *rapid.T) {
	if err := g.engine.Boards().Drop(t.Context(), g.name); err != nil {
		t.Fatal(err)
	}
}

// scores are few, so that ties are the rule, and extreme ones among them.
func scores() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(-3, 3),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, 0, math.MaxInt64 - 1, math.MaxInt64}),
		rapid.Int64(),
	)
}

func keys(least, most int) *rapid.Generator[[]string] {
	return rapid.Map(rapid.SliceOfNDistinct(rapid.IntRange(0, 200), least, most, rapid.ID), func(ns []int) []string {
		out := make([]string, len(ns))
		for i, n := range ns {
			out[i] = "k" + strconv.Itoa(n)
		}
		return out
	})
}

// Merge merges a batch under any rule.
func (g *boardGame) Merge(t *rapid.T) {
	g.batches++
	batch := store.Batch{
		Rule:   rapid.SampledFrom([]store.Rule{store.Best, store.Last, store.Sum}).Draw(t, "rule"),
		Source: "s", N: g.batches - uint64(rapid.IntRange(0, 1).Draw(t, "resend")),
	}
	if batch.N == 0 {
		batch.N = 1
	}
	same, constant := rapid.Bool().Draw(t, "same score"), scores().Draw(t, "score")
	for _, key := range keys(20, 100).Draw(t, "keys") {
		s := store.Submission{Key: key, Score: constant, Stamp: store.Stamp{Epoch: uint64(rapid.IntRange(0, 5).Draw(t, "epoch"))}}
		if !same {
			s.Score = scores().Draw(t, "score")
		}
		if rapid.IntRange(0, 9).Draw(t, "with meta") == 0 {
			s.Meta = []byte(key)
		}
		batch.Entries = append(batch.Entries, s)
	}
	want, _ := g.model.Merge(batch)
	got, err := g.engine.Boards().Merge(t.Context(), g.name, batch)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("Merge answers (-want +got):\n%s", d)
	}
}

// Remove removes some keys, or most of them.
func (g *boardGame) Remove(t *rapid.T) {
	some := keys(1, 150).Draw(t, "keys")
	want, _ := g.model.Remove(some...)
	got, err := g.engine.Boards().Remove(t.Context(), g.name, some...)
	if err != nil || got != want {
		t.Fatalf("Remove = %d, %v, want %d", got, err, want)
	}
}

// Hide hides some keys or shows them again.
func (g *boardGame) Hide(t *rapid.T) {
	hidden, some := rapid.Bool().Draw(t, "hidden"), keys(1, 100).Draw(t, "keys")
	want, _ := g.model.Hide(hidden, some...)
	got, err := g.engine.Boards().Hide(t.Context(), g.name, hidden, some...)
	if err != nil || got != want {
		t.Fatalf("Hide(%v) = %d, %v, want %d", hidden, got, err, want)
	}
	all, err := g.engine.Boards().Hidden(t.Context(), g.name, "", store.MaxPage)
	if d := cmp.Diff(g.model.Hidden("", store.MaxPage), all, cmpopts.EquateEmpty()); d != "" || err != nil {
		t.Fatalf("Hidden: %v (-want +got):\n%s", err, d)
	}
}

// Walk begins walks, and goes on with all that are under way.
func (g *boardGame) Walk(t *rapid.T) {
	if rapid.Bool().Draw(t, "another") {
		g.strolls = append(g.strolls, &stroll{})
	}
	for i, s := range g.strolls {
		limit := rapid.SampledFrom([]int{1, 3, 20, 70}).Draw(t, "limit")
		want, model, _ := g.model.Walk(s.model, limit)
		got, next, err := g.engine.Boards().Walk(t.Context(), g.name, s.board, limit)
		if d := pageDiff(want, got); d != "" || err != nil {
			t.Fatalf("Walk %d of %d from %+v: %v (-want +got):\n%s", i, limit, s.board, err, d)
		}
		if s.board.Version != g.model.Info().Sequence && len(got.Entries) > 0 {
			g.walked++
		}
		s.board, s.model = next, model
	}
}

// Reopen closes the folder and opens it again, now and then.
func (g *boardGame) Reopen(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		return
	}
	if err := g.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	e, err := sqlitestore.OpenUnsynced(t.Context(), g.folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.SizeBoards(4, 4)
	g.engine = e
}

// Check compares the whole board, some ranks, a page and some surroundings with a full sort.
func (g *boardGame) Check(t *rapid.T) {
	all := g.model.Standings()
	whole, err := g.engine.Boards().Page(t.Context(), g.name, 0, store.MaxPage, store.Ordinal)
	if d := pageDiff(g.model.Page(0, store.MaxPage, store.Ordinal), whole); d != "" || err != nil {
		t.Fatalf("the whole board: %v (-want +got):\n%s", err, d)
	}
	for first := rapid.IntRange(0, 40).Draw(t, "first"); first < len(all); first += 41 {
		want := all[first]
		got, ok, err := g.engine.Boards().Standing(t.Context(), g.name, want.Key, store.Ordinal)
		if err != nil || !ok || !cmp.Equal(want, got) {
			t.Fatalf("Standing(%s) = %+v, %v, %v, want %+v", want.Key, got, ok, err, want)
		}
	}
	for _, mode := range []store.RankMode{store.Competition, store.Dense} {
		g.checkMode(t, mode)
	}
	offset := rapid.Int64Range(0, int64(len(all))+2).Draw(t, "offset")
	limit := rapid.IntRange(0, 100).Draw(t, "limit")
	page, err := g.engine.Boards().Page(t.Context(), g.name, offset, limit, store.Ordinal)
	if d := pageDiff(g.model.Page(offset, limit, store.Ordinal), page); d != "" || err != nil {
		t.Fatalf("Page(%d, %d): %v (-want +got):\n%s", offset, limit, err, d)
	}
	key := "k" + strconv.Itoa(rapid.IntRange(0, 200).Draw(t, "key"))
	around, err := g.engine.Boards().Around(t.Context(), g.name, key, limit, store.Ordinal)
	if d := pageDiff(g.model.Around(key, limit, store.Ordinal), around); d != "" || err != nil {
		t.Fatalf("Around(%s, %d): %v (-want +got):\n%s", key, limit, err, d)
	}
	_, shelves, err := g.engine.CheckCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check, err := g.engine.Boards().Check(t.Context(), g.name, true)
	if err != nil || len(check.Problems) != 0 || check.Repaired || check.Entries < int64(len(all)) {
		t.Fatalf("Check = %+v, %v", check, err)
	}
	g.shelves = max(g.shelves, shelves)
}

// pageDiff is how two pages differ but for their generations. Most do not, and to find that
// out is as dear as everything else.
func pageDiff(want, got store.Page) string {
	want.Info.Generation, got.Info.Generation = "", ""
	same := func(a, b store.Standing) bool {
		return a.Key == b.Key && a.Score == b.Score && a.Sequence == b.Sequence && a.Rank == b.Rank &&
			bytes.Equal(a.Meta, b.Meta) && (a.Meta == nil) == (b.Meta == nil)
	}
	if want.Info == got.Info && want.Total == got.Total && want.Offset == got.Offset && slices.EqualFunc(want.Entries, got.Entries, same) {
		return ""
	}
	return cmp.Diff(want, got)
}

// checkMode compares a page, a standing and some surroundings in one rank mode.
func (g *boardGame) checkMode(t *rapid.T, mode store.RankMode) {
	offset, limit := rapid.Int64Range(0, 200).Draw(t, "offset"), rapid.IntRange(0, 100).Draw(t, "limit")
	page, err := g.engine.Boards().Page(t.Context(), g.name, offset, limit, mode)
	if d := pageDiff(g.model.Page(offset, limit, mode), page); d != "" || err != nil {
		t.Fatalf("%s Page(%d, %d): %v (-want +got):\n%s", mode, offset, limit, err, d)
	}
	key := "k" + strconv.Itoa(rapid.IntRange(0, 200).Draw(t, "key"))
	want, wanted := g.model.Standing(key, mode)
	got, ok, err := g.engine.Boards().Standing(t.Context(), g.name, key, mode)
	if err != nil || ok != wanted || !cmp.Equal(want, got) {
		t.Fatalf("%s Standing(%s) = %+v, %v, %v, want %+v", mode, key, got, ok, err, want)
	}
	around, err := g.engine.Boards().Around(t.Context(), g.name, key, limit, mode)
	if d := pageDiff(g.model.Around(key, limit, mode), around); d != "" || err != nil {
		t.Fatalf("%s Around(%s, %d): %v (-want +got):\n%s", mode, key, limit, err, d)
	}
}

// Ranks equal a full sort, and walks show what was, whatever is merged, removed, hidden and
// shown, through cuts, joins and restarts.
// case B1, case B7, case B8, case B9, case B10, case B11, case B15.
func TestRanksEqualAFullSort(t *testing.T) {
	g := &boardGame{folder: t.TempDir()}
	var err error
	if g.engine, err = sqlitestore.OpenUnsynced(t.Context(), g.folder, nil); err != nil {
		t.Fatal(err)
	}
	g.engine.SizeBoards(4, 4)
	rapid.Check(t, func(t *rapid.T) {
		g.start(t)
		actions := []func(*rapid.T){g.Merge, g.Merge, g.Merge, g.Remove, g.Hide, g.Hide, g.Reopen}
		for range rapid.IntRange(4, 9).Draw(t, "steps") {
			rapid.SampledFrom(actions).Draw(t, "action")(t)
			g.Walk(t)
			g.Check(t)
		}
		g.end(t)
	})
	if err := g.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %d shelves, %d pages of walks after changes", g.shelves, g.walked)
	if g.shelves < 3 {
		t.Fatalf("at most %d shelves were seen: the boards are too small to prove anything", g.shelves)
	}
	if g.walked < 20 {
		t.Fatalf("%d pages were walked after changes: too few to prove anything", g.walked)
	}
}
