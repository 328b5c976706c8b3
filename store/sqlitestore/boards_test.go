package sqlitestore_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// Everybody has the same score: the order is who came first, and ranks stay fast to count,
// because buckets are bounded by sequences as well.
func TestConstantScore(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	e.SizeBoards(100, 64)
	createBoard(t, e.Boards(), "same")
	const n = 4000
	for first := 0; first < n; first += 1000 {
		entries := make([]store.Submission, 1000)
		for i := range entries {
			entries[i] = store.Submission{Key: storetest.EntryKey(first + i), Score: 7}
		}
		if _, err := e.Boards().Merge(t.Context(), "same", store.Batch{Rule: store.Best, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{0, 1, 999, 1000, 2345, n - 1} {
		s, ok, err := e.Boards().Standing(t.Context(), "same", storetest.EntryKey(i), store.Ordinal)
		if err != nil || !ok || s.Rank != int64(i)+1 || s.Sequence != uint64(i)+1 {
			t.Fatalf("Standing(%d) = %+v, %v, %v", i, s, ok, err)
		}
	}
	buckets, _, err := e.CheckCounts(t.Context())
	if err != nil || buckets < n/200 || buckets > n/25 {
		t.Fatalf("%d buckets for %d entries, %v", buckets, n, err)
	}
	// Emptied, the board is one bucket again.
	for first := 0; first < n; first += store.MaxPage {
		var gone []string
		for i := range store.MaxPage {
			gone = append(gone, storetest.EntryKey(first+i))
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
		entries[i] = store.Submission{Key: storetest.EntryKey(i), Score: int64(i)}
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
