package sqlitestore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// childStir changes a board in every way there is, back to back, and says so. One whose name
// is repairer also makes the counts anew all the time, which ends walks.
func childStir(ctx context.Context, e *sqlitestore.Engine, name string) error {
	e.SizeBoards(16, 8)
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	some := func(n int) (keys []string) {
		first := random.IntN(1500)
		for i := range n {
			keys = append(keys, storetest.EntryKey((first+i*7)%1500))
		}
		return keys
	}
	for n := 1; ctx.Err() == nil; n++ {
		batch := store.Batch{Rule: store.Last}
		for _, key := range some(100) {
			batch.Entries = append(batch.Entries, store.Submission{
				Key: key, Score: random.Int64N(1 << random.IntN(12)), Stamp: store.Stamp{Epoch: uint64(time.Now().UnixNano())},
			})
		}
		_, merged := e.Boards().Merge(ctx, "top", batch)
		_, removed := e.Boards().Remove(ctx, "top", some(5)...)
		_, hidden := e.Boards().Hide(ctx, "top", n%2 == 0, some(20)...)
		var checked error
		if name == repairer && n%3 == 0 {
			checked = e.Uncount(ctx, "top")
			if checked == nil {
				_, checked = e.Boards().Check(ctx, "top", true)
			}
		}
		if err := errors.Join(merged, removed, hidden, checked); err != nil {
			return err
		}
		say("stirred %d", n)
	}
	return nil
}

const repairer = "repairer"

// A walk shows the board as it was, while several processes change it in every way and are
// killed in the middle, and through a restart; and then all ranks equal a full sort, also
// when repairs were killed.
// case B1, case B3, case B15.
func TestWalkAmongKilledProcesses(t *testing.T) {
	folder := t.TempDir()
	engines := []*sqlitestore.Engine{open(t, folder, nil), open(t, folder, nil)}
	createBoard(t, engines[0].Boards(), "top")
	batch := store.Batch{Rule: store.Best}
	for i := range 1500 {
		batch.Entries = append(batch.Entries, store.Submission{Key: storetest.EntryKey(i), Score: int64(i % 40)})
	}
	if _, err := engines[0].Boards().Merge(t.Context(), "top", batch); err != nil {
		t.Fatal(err)
	}
	var walks []*longWalk
	for round := range 3 {
		walks = append(walks, beginWalk(t, engines[round%2], "top"))
		children := []*child{startChild(t, "stir", folder, "a"), startChild(t, "stir", folder, "b")}
		for step := range 5 {
			for _, c := range children {
				hear(t, c, make(map[string]store.Version))
			}
			for _, w := range walks {
				w.step(t, engines[(round+step)%2], 50)
			}
		}
		for _, c := range children {
			c.kill()
		}
		if check, err := engines[0].Boards().Check(t.Context(), "top", false); err != nil || len(check.Problems) > 0 {
			t.Fatalf("round %d: Check = %+v, %v", round, check, err)
		}
		wantFullSort(t, engines[1], "top")
	}
	last := open(t, folder, nil)
	for _, w := range walks {
		for !w.cursor.Done() {
			w.step(t, last, 333)
		}
	}
	for range 3 {
		children := []*child{startChild(t, "stir", folder, repairer), startChild(t, "stir", folder, "b")}
		for _, c := range children {
			for range 4 {
				hear(t, c, make(map[string]store.Version))
			}
			c.kill()
		}
		// The repair may have been killed in the middle.
		if check, err := last.Boards().Check(t.Context(), "top", true); err != nil || len(check.Problems) > 0 && !check.Repaired {
			t.Fatalf("Check = %+v, %v", check, err)
		}
		wantFullSort(t, last, "top")
	}
}

// longWalk is a walk through a board as it was.
type longWalk struct {
	board  string
	want   []store.Standing
	cursor store.Cursor
}

// beginWalk begins a walk when nobody writes.
func beginWalk(t *testing.T, e *sqlitestore.Engine, board string) *longWalk {
	t.Helper()
	w := &longWalk{board: board}
	for {
		page, err := e.Boards().Page(t.Context(), board, int64(len(w.want)), store.MaxPage, store.Ordinal)
		if err != nil {
			t.Fatal(err)
		}
		if w.want = append(w.want, page.Entries...); len(page.Entries) == 0 {
			break
		}
	}
	w.step(t, e, 1)
	return w
}

// step goes on by n entries.
func (w *longWalk) step(t *testing.T, e *sqlitestore.Engine, n int) {
	t.Helper()
	page, next, err := e.Boards().Walk(t.Context(), w.board, w.cursor, n)
	if err != nil {
		t.Fatal(err)
	}
	seen := int(w.cursor.Seen)
	if d := cmp.Diff(w.want[seen:min(seen+n, len(w.want))], page.Entries, cmpopts.EquateEmpty()); d != "" || page.Total != int64(len(w.want)) {
		t.Fatalf("the walk at %+v (-want +got):\n%s", w.cursor, d)
	}
	w.cursor = next
}

// lost fails unless the walk cannot go on.
func (w *longWalk) lost(t *testing.T, e *sqlitestore.Engine) {
	t.Helper()
	if page, next, err := e.Boards().Walk(t.Context(), w.board, w.cursor, 10); !errors.Is(err, store.ErrCursor) || next != w.cursor {
		t.Fatalf("Walk = %+v, %v, want that the cursor is too old", page, err)
	}
}

// walkedBoard is a board of 100 with a walk under way, on a host whose clocks a test sets.
func walkedBoard(t *testing.T) (h *host, e *sqlitestore.Engine, w *longWalk, folder string) {
	t.Helper()
	folder, h = t.TempDir(), &host{boot: "first", up: time.Hour}
	e = h.open(t, folder)
	createBoard(t, e.Boards(), "top")
	merge(t, e, "player", 100, 30)
	return h, e, beginWalk(t, e, "top"), folder
}

// wantLogged fails unless the boards have logged so many rows.
func wantLogged(t *testing.T, e *sqlitestore.Engine, want int64) {
	t.Helper()
	if n, err := e.Logged(t.Context()); err != nil || n != want {
		t.Fatalf("%d rows are logged, %v, want %d", n, err, want)
	}
}

// Nothing is logged while nobody walks, only what a walk can see while somebody does, and
// only once a walk; and all of it goes when the time is over, whether somebody writes or not.
func TestLogsOnlyForWalks(t *testing.T) {
	h, e, _, _ := walkedBoard(t)
	e.Boards().Remove(t.Context(), "top", "player-0") //nolint:errcheck // seen in the log
	merge(t, e, "other", 50, 30)
	wantLogged(t, e, 1)
	for score := range int64(5) { // the first leaves the walk's version, the others later ones
		moveAll(t, e, 100+score)
	}
	wantLogged(t, e, 100)
	beginWalk(t, e, "top")
	moveAll(t, e, 200)
	wantLogged(t, e, 249)
	h.pass(2 * store.WalkFor)
	moveAll(t, e, 300)
	waitFor(t, "the log to go", func() bool {
		n, err := e.Logged(t.Context())
		return err == nil && n == 0
	})
	moveAll(t, e, 400)
	wantLogged(t, e, 0)
	if check, err := e.Boards().Check(t.Context(), "top", false); err != nil || len(check.Problems) != 0 {
		t.Fatalf("Check = %+v, %v", check, err)
	}
}

// moveAll gives everybody a score.
func moveAll(t *testing.T, e *sqlitestore.Engine, score int64) {
	t.Helper()
	keys, err := e.SortedKeys(t.Context(), "top")
	if err != nil {
		t.Fatal(err)
	}
	batch := store.Batch{Rule: store.Best}
	for _, key := range keys {
		batch.Entries = append(batch.Entries, store.Submission{Key: key, Score: score})
	}
	if _, err := e.Boards().Merge(t.Context(), "top", batch); err != nil {
		t.Fatal(err)
	}
}

// A log that grows too long ends: walks are too old, never wrong, and a new one begins anew.
func TestLogIsBounded(t *testing.T) {
	_, e, w, folder := walkedBoard(t)
	e.LimitWalkLog(20)
	for i := range 20 {
		merge(t, e, "player", i+1, 1<<40)
		w.step(t, e, 1)
	}
	merge(t, e, "player", 100, 1<<41)
	w.lost(t, e)
	waitFor(t, "the log to go", func() bool {
		n, err := e.Logged(t.Context())
		return err == nil && n == 0
	})
	w.lost(t, open(t, folder, nil))
	again := beginWalk(t, e, "top")
	w.lost(t, e)
	if _, err := e.Boards().Hide(t.Context(), "top", true, "player-1", "player-2"); err != nil {
		t.Fatal(err)
	}
	again.step(t, e, 200)
	w.lost(t, e)
}

// A log that nobody writes to, and nobody walks, is removed by whoever opens the folder next,
// after a reboot as well.
func TestLogAfterAReboot(t *testing.T) {
	_, e, w, folder := walkedBoard(t)
	moveAll(t, e, 100)
	wantLogged(t, e, 100)
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	soon := &host{boot: "second", up: time.Second, step: time.Minute}
	e = soon.open(t, folder)
	w.step(t, e, 20) // the wall clock tells that little time has passed
	moveAll(t, e, 200)
	w.step(t, e, 20)
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := &host{boot: "third", up: time.Second, step: time.Hour}
	e = late.open(t, folder)
	waitFor(t, "the log to go", func() bool {
		n, err := e.Logged(t.Context())
		return err == nil && n == 0
	})
	w.lost(t, e)
}

// The wall clock's steps neither end a log nor keep it.
func TestLogIgnoresTheWallClock(t *testing.T) {
	h, e, w, _ := walkedBoard(t)
	h.turn(48 * time.Hour)
	moveAll(t, e, 100)
	w.step(t, e, 10)
	h.turn(-48 * time.Hour)
	moveAll(t, e, 200)
	w.step(t, e, 10)
	h.pass(2 * store.WalkFor)
	moveAll(t, e, 300)
	w.lost(t, e)
}

// A dropped board takes its log and its hidden keys along.
func TestDropForgetsWalksAndHiddenKeys(t *testing.T) {
	_, e, w, _ := walkedBoard(t)
	moveAll(t, e, 100)
	if _, err := e.Boards().Hide(t.Context(), "top", true, "player-1", "nobody"); err != nil {
		t.Fatal(err)
	}
	if err := e.Boards().Drop(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	createBoard(t, e.Boards(), "top")
	merge(t, e, "player", 100, 30)
	w.lost(t, e)
	if all, err := e.Boards().Hidden(t.Context(), "top", "", 10); err != nil || len(all) != 0 {
		t.Fatalf("Hidden = %v, %v", all, err)
	}
	waitFor(t, "the rows to go", func() bool { return leftovers(t, e) == 0 })
}

// Only the first call of a walk writes, and one when half of the time is over; a walk that
// ends with its first page, or through a sealed board, never does.
func TestWalkHardlyWrites(t *testing.T) {
	h, e, w, _ := walkedBoard(t)
	writes := func(what string, want bool, call func()) {
		t.Helper()
		before, err := e.BoardsVersion(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		call()
		if after, err := e.BoardsVersion(t.Context()); err != nil || (after != before) != want {
			t.Errorf("%s: the file went from %d to %d, %v", what, before, after, err)
		}
	}
	writes("a second page", false, func() { w.step(t, e, 10) })
	writes("a walk of one page", false, func() {
		if _, next, err := e.Boards().Walk(t.Context(), "top", store.Cursor{}, 100); err != nil || !next.Done() {
			t.Error(next, err)
		}
	})
	h.pass(store.WalkFor/2 + time.Second)
	writes("half of the time later", true, func() { w.step(t, e, 10) })
	writes("then", false, func() { w.step(t, e, 10) })
	if _, err := e.Boards().Seal(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	h.pass(48 * time.Hour)
	writes("a sealed board", false, func() { w.step(t, e, 10); beginWalk(t, e, "top").step(t, e, 10) })
}
