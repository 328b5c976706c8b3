package sqlitestore_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
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
	shelves int // the most that were seen
}

// start begins a game on a board of its own.
func (g *boardGame) start(t *rapid.T) {
	g.games++
	g.name = fmt.Sprintf("board/%d", g.games)
	g.order = rapid.SampledFrom([]store.Order{store.Descending, store.Ascending}).Draw(t, "order")
	g.model, g.batches = storetest.NewModelBoard(g.order), 0
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
	return rapid.Map(rapid.SliceOfNDistinct(rapid.IntRange(0, 400), least, most, rapid.ID), func(ns []int) []string {
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
	for _, key := range keys(40, 200).Draw(t, "keys") {
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
	some := keys(1, 300).Draw(t, "keys")
	want, _ := g.model.Remove(some...)
	got, err := g.engine.Boards().Remove(t.Context(), g.name, some...)
	if err != nil || got != want {
		t.Fatalf("Remove = %d, %v, want %d", got, err, want)
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
	e, err := sqlitestore.Open(t.Context(), g.folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.SizeBoards(4, 4)
	g.engine = e
}

// Check compares the whole board, some ranks, a page and some surroundings with a full sort.
func (g *boardGame) Check(t *rapid.T) {
	ignore := cmp.Options{cmpopts.IgnoreFields(store.BoardInfo{}, "Generation"), cmpopts.EquateEmpty()}
	all := g.model.Standings()
	whole, err := g.engine.Boards().Page(t.Context(), g.name, 0, store.MaxPage, store.Ordinal)
	if d := cmp.Diff(all, whole.Entries, ignore); d != "" || err != nil {
		t.Fatalf("the whole board: %v (-want +got):\n%s", err, d)
	}
	for first := rapid.IntRange(0, 40).Draw(t, "first"); first < len(all); first += 41 {
		want := all[first]
		got, ok, err := g.engine.Boards().Standing(t.Context(), g.name, want.Key, store.Ordinal)
		if err != nil || !ok || !cmp.Equal(want, got) {
			t.Fatalf("Standing(%s) = %+v, %v, %v, want %+v", want.Key, got, ok, err, want)
		}
	}
	offset := rapid.Int64Range(0, int64(len(all))+2).Draw(t, "offset")
	limit := rapid.IntRange(0, 100).Draw(t, "limit")
	page, err := g.engine.Boards().Page(t.Context(), g.name, offset, limit, store.Ordinal)
	if d := cmp.Diff(g.model.Page(offset, limit, store.Ordinal), page, ignore); d != "" || err != nil {
		t.Fatalf("Page(%d, %d): %v (-want +got):\n%s", offset, limit, err, d)
	}
	key := "k" + strconv.Itoa(rapid.IntRange(0, 400).Draw(t, "key"))
	around, err := g.engine.Boards().Around(t.Context(), g.name, key, limit, store.Ordinal)
	if d := cmp.Diff(g.model.Around(key, limit, store.Ordinal), around, ignore); d != "" || err != nil {
		t.Fatalf("Around(%s, %d): %v (-want +got):\n%s", key, limit, err, d)
	}
	_, shelves, err := g.engine.CheckCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.shelves = max(g.shelves, shelves)
}

// Ranks equal a full sort, whatever is merged and removed, through cuts, joins and restarts.
// case B1, case B7, case B8, case B9, case B10, case B11.
func TestRanksEqualAFullSort(t *testing.T) {
	g := &boardGame{folder: t.TempDir()}
	var err error
	if g.engine, err = sqlitestore.Open(t.Context(), g.folder, nil); err != nil {
		t.Fatal(err)
	}
	g.engine.SizeBoards(4, 4)
	rapid.Check(t, func(t *rapid.T) {
		g.start(t)
		actions := []func(*rapid.T){g.Merge, g.Merge, g.Merge, g.Remove, g.Reopen}
		for range rapid.IntRange(4, 12).Draw(t, "steps") { // each syncs the disk
			rapid.SampledFrom(actions).Draw(t, "action")(t)
			g.Check(t)
		}
		g.end(t)
	})
	if err := g.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %d shelves", g.shelves)
	if g.shelves < 3 {
		t.Fatalf("at most %d shelves were seen: the boards are too small to prove anything", g.shelves)
	}
}

// Everybody has the same score: the order is who came first, and ranks stay fast to count,
// because buckets are bounded by sequences as well.
func TestConstantScore(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	createBoard(t, e.Boards(), "same")
	const n = 20_000
	for first := 0; first < n; first += 5000 {
		entries := make([]store.Submission, 5000)
		for i := range entries {
			entries[i] = store.Submission{Key: entryKey(first + i), Score: 7}
		}
		if _, err := e.Boards().Merge(t.Context(), "same", store.Batch{Rule: store.Best, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{0, 1, 4999, 5000, 12_345, n - 1} {
		s, ok, err := e.Boards().Standing(t.Context(), "same", entryKey(i), store.Ordinal)
		if err != nil || !ok || s.Rank != int64(i)+1 || s.Sequence != uint64(i)+1 {
			t.Fatalf("Standing(%d) = %+v, %v, %v", i, s, ok, err)
		}
	}
	buckets, _, err := e.CheckCounts(t.Context())
	if err != nil || buckets < n/2000 || buckets > n/250 {
		t.Fatalf("%d buckets for %d entries, %v", buckets, n, err)
	}
	// Emptied, the board is one bucket again.
	for first := 0; first < n; first += store.MaxPage {
		var gone []string
		for i := range store.MaxPage {
			gone = append(gone, entryKey(first+i))
		}
		if removed, err := e.Boards().Remove(t.Context(), "same", gone...); err != nil || removed != len(gone) {
			t.Fatalf("Remove = %d, %v", removed, err)
		}
	}
	if buckets, shelves, err := e.CheckCounts(t.Context()); err != nil || buckets != 1 || shelves != 1 {
		t.Fatalf("%d buckets on %d shelves are left, %v", buckets, shelves, err)
	}
}

func createBoard(t testing.TB, boards store.Boards, name string) {
	t.Helper()
	if _, err := boards.Create(t.Context(), name, store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
}

// A dropped board is gone at once, its rows a little later, and one of the same name is empty.
// case B6.
func TestDropSweeps(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	for range 2 {
		createBoard(t, e.Boards(), "top")
		if page, err := e.Boards().Page(t.Context(), "top", 0, 10, store.Ordinal); err != nil || page.Total != 0 || len(page.Entries) != 0 {
			t.Fatalf("a new board holds %+v, %v", page, err)
		}
		fill(t, e.Boards(), 3500)
		if err := e.Boards().Drop(t.Context(), "top"); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Boards().Page(t.Context(), "top", 0, 10, store.Ordinal); !errors.Is(err, store.ErrNoBoard) {
			t.Fatalf("Page = %v, want no board", err)
		}
	}
	waitFor(t, "the rows to go", func() bool { return leftovers(t, e) == 0 })
}

func fill(t *testing.T, boards store.Boards, n int) {
	t.Helper()
	entries := make([]store.Submission, n)
	for i := range entries {
		entries[i] = store.Submission{Key: entryKey(i), Score: int64(i)}
	}
	if _, err := boards.Merge(t.Context(), "top", store.Batch{Rule: store.Sum, Source: "s", N: 1, Entries: entries}); err != nil {
		t.Fatal(err)
	}
}

func leftovers(t *testing.T, e *sqlitestore.Engine) int64 {
	t.Helper()
	n, err := e.Leftovers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A crash in the middle of a Drop leaves rows; whoever opens the folder next removes them.
func TestDropAfterACrash(t *testing.T) {
	folder := t.TempDir()
	crashed := open(t, folder, nil)
	createBoard(t, crashed.Boards(), "top")
	fill(t, crashed.Boards(), 2500)
	if err := crashed.StopSweeper(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := crashed.Boards().Drop(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	if leftovers(t, crashed) == 0 {
		t.Fatal("nothing was left over")
	}
	next := open(t, folder, nil)
	waitFor(t, "the rows to go", func() bool { return leftovers(t, next) == 0 })
	if names, err := next.Boards().List(t.Context(), "", "", 10); err != nil || len(names) != 0 {
		t.Fatalf("List = %v, %v", names, err)
	}
}

// A board forgets the sources that were counted longest ago, so nodes that come and go do not
// fill it.
func TestSourcesAreBounded(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	createBoard(t, e.Boards(), "top")
	if err := e.PushSources(t.Context(), sqlitestore.SourcesMost); err != nil {
		t.Fatal(err)
	}
	sum := func(source string) store.Effect {
		changes, err := e.Boards().Merge(t.Context(), "top", store.Batch{
			Rule: store.Sum, Source: source, N: 1, Entries: []store.Submission{{Key: source, Score: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return changes[0].Effect
	}
	for _, c := range []struct {
		source string
		want   store.Effect
	}{
		{"source-000001", store.Kept}, // known
		{"new-1", store.Created},      // source-000001 makes room
		{"new-2", store.Created},      // source-000002 does
		{"source-000003", store.Kept},
		{"source-000002", store.Created},
	} {
		if got := sum(c.source); got != c.want {
			t.Errorf("%s: effect %d, want %d", c.source, got, c.want)
		}
	}
	if n, err := e.Sources(t.Context()); err != nil || n != sqlitestore.SourcesMost {
		t.Fatalf("%d sources, %v, want %d", n, err, sqlitestore.SourcesMost)
	}
}

// A batch that the engine cannot finish leaves nothing: neither rows, nor counts, nor the
// number of the batch.
func TestMergeIsWhole(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	createBoard(t, e.Boards(), "top")
	if err := e.FailEntries(t.Context(), "bad"); err != nil {
		t.Fatal(err)
	}
	batch := func(key string) store.Batch {
		return store.Batch{Rule: store.Sum, Source: "s", N: 1, Entries: []store.Submission{{Key: "a", Score: 5}, {Key: key, Score: 5}}}
	}
	if _, err := e.Boards().Merge(t.Context(), "top", batch("bad")); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Merge = %v, want unavailable", err)
	}
	if info, err := e.Boards().Info(t.Context(), "top"); err != nil || info.Count != 0 || info.Sequence != 0 {
		t.Fatalf("Info = %+v, %v after a failed batch", info, err)
	}
	changes, err := e.Boards().Merge(t.Context(), "top", batch("good"))
	if err != nil || changes[0].Effect != store.Created {
		t.Fatalf("Merge = %v, %v", changes, err)
	}
	if _, _, err := e.CheckCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The caller may reuse its batch as soon as Merge has answered; changes follow the order of
// the batch although rows are written in the order of the keys.
func TestMergeKeepsTheBatchsOrder(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	createBoard(t, e.Boards(), "top")
	names := []string{"m", "z", "a", "q"}
	var entries []store.Submission
	for i, name := range names {
		entries = append(entries, store.Submission{Key: name, Score: int64(10 * i), Meta: []byte(name)})
	}
	changes, err := e.Boards().Merge(t.Context(), "top", store.Batch{Rule: store.Best, Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range changes {
		if c.New != int64(10*i) {
			t.Errorf("change %d is %+v", i, c)
		}
		entries[i].Meta[0] = '!'
	}
	found, err := e.Boards().Scores(t.Context(), "top", names...)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if e := found[name]; e.Sequence != uint64(i)+1 || string(e.Meta) != name {
			t.Errorf("%s is %+v", name, e)
		}
	}
}

// Readers see whole states while two engines write: every page is sorted, and its total is
// the number of entries.
func TestPagesAreOfOneState(t *testing.T) {
	folder := t.TempDir()
	writers := []*sqlitestore.Engine{open(t, folder, nil), open(t, folder, nil)}
	reader := open(t, folder, nil)
	createBoard(t, reader.Boards(), "top")
	stop := make(chan struct{})
	var group sync.WaitGroup
	for w, e := range writers {
		e.SizeBoards(8, 8)
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				// Ten entries at a time come, and go.
				var batch store.Batch
				var gone []string
				for i := range 10 {
					key := fmt.Sprintf("w%d-%d", w, i)
					batch.Entries = append(batch.Entries, store.Submission{Key: key, Score: int64(n*i) % 17})
					gone = append(gone, key)
				}
				batch.Rule = store.Best
				if _, err := e.Boards().Merge(t.Context(), "top", batch); err != nil {
					t.Error(err)
					return
				}
				if _, err := e.Boards().Remove(t.Context(), "top", gone...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for sequence := uint64(0); sequence < 2000; { // while some thousand changes are made
		page, err := reader.Boards().Page(t.Context(), "top", 0, 100, store.Ordinal)
		if err != nil {
			t.Fatal(err)
		}
		sequence = page.Info.Sequence
		if page.Total != int64(len(page.Entries)) || page.Total%10 != 0 || page.Info.Count != page.Total {
			t.Fatalf("a page of %d entries says %d", len(page.Entries), page.Total)
		}
		if !slices.IsSortedFunc(page.Entries, func(a, b store.Standing) int { return int(b.Score - a.Score) }) {
			t.Fatal("a page is not sorted")
		}
	}
	close(stop)
	group.Wait()
}
