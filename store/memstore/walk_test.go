package memstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/storetest"
)

// step walks on by n entries and returns them as "rank.key=score".
func step(t *testing.T, b store.Boards, c *store.Cursor, n int) string {
	t.Helper()
	page, next, err := b.Walk(t.Context(), "board", *c, n)
	if err != nil {
		return err.Error()
	}
	*c = next
	var text []string
	for _, s := range page.Entries {
		text = append(text, fmt.Sprintf("%d.%s=%d", s.Rank, s.Key, s.Score))
	}
	return strings.Join(text, " ")
}

// wantStep fails unless the next n entries of a walk are these.
func wantStep(t *testing.T, b store.Boards, c *store.Cursor, n int, want string) {
	t.Helper()
	if got := step(t, b, c, n); got != want {
		t.Fatalf("the walk shows %q, want %q", got, want)
	}
}

// wantTooOld fails unless the walk is lost.
func wantTooOld(t *testing.T, b store.Boards, c store.Cursor) {
	t.Helper()
	if _, _, err := b.Walk(t.Context(), "board", c, 1); !errors.Is(err, store.ErrCursor) {
		t.Fatalf("Walk = %v, want cursor too old", err)
	}
}

// three makes a board of a, b and c.
func three(t *testing.T, e *memstore.Engine) store.Boards {
	t.Helper()
	b := process(t, e).Boards()
	create(t, b, "board", "first")
	score(t, b, "a", 30)
	score(t, b, "b", 20)
	score(t, b, "c", 10)
	return b
}

// A version is kept for WalkFor after the last call of one of its walks; then a write drops
// it, and its memory.
func TestVersionsAreForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(nil)
		b := three(t, e)
		var first, second store.Cursor
		wantStep(t, b, &first, 1, "1.a=30")
		score(t, b, "c", 25)
		time.Sleep(store.WalkFor - time.Second)
		wantStep(t, b, &second, 1, "1.a=30")
		score(t, b, "b", 40)
		if n := e.Versions("board"); n != 2 {
			t.Fatalf("%d versions are kept, want 2", n)
		}
		time.Sleep(time.Second)
		wantTooOld(t, b, first)
		if n := e.Versions("board"); n != 1 {
			t.Fatalf("%d versions are kept, want the second", n)
		}
		wantStep(t, b, &second, 1, "2.c=25")
		time.Sleep(store.WalkFor - time.Nanosecond)
		score(t, b, "b", 50)
		wantStep(t, b, &second, 1, "3.b=20")
		time.Sleep(store.WalkFor)
		score(t, b, "b", 60)
		if n := e.Versions("board"); n != 0 {
			t.Fatalf("%d versions are kept by a board that nobody walks", n)
		}
		second.Seen, second.Score, second.Sequence = 0, 0, 0
		wantTooOld(t, b, second)
	})
}

// More than MaxWalkLog changes end the walks that began before them.
func TestVersionsAreForgottenAfterManyChanges(t *testing.T) {
	e := memstore.New(nil)
	b := three(t, e)
	var old, young store.Cursor
	wantStep(t, b, &old, 1, "1.a=30")
	keys := make([]string, store.MaxPage)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	for i := range store.MaxWalkLog / len(keys) {
		if n, err := b.Hide(t.Context(), "board", i%2 == 0, keys...); n != len(keys) || err != nil {
			t.Fatalf("Hide = %d, %v", n, err)
		}
		if i == 0 {
			wantStep(t, b, &young, 2, "1.a=30 2.b=20")
		}
	}
	wantStep(t, b, &old, 1, "2.b=20")
	score(t, b, "c", 25)
	wantTooOld(t, b, old)
	wantStep(t, b, &young, 2, "3.c=10")
	score(t, b, "c", 26)
	if n := e.Versions("board"); n != 1 {
		t.Fatalf("%d versions are kept, want 1", n)
	}
}

// One more than MaxWalks versions: the one that nobody has called for longest goes.
func TestTooManyVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(nil)
		b := three(t, e)
		walks := make([]store.Cursor, store.MaxWalks+1)
		begin := func(i int) {
			t.Helper()
			score(t, b, "a", int64(100+i))
			time.Sleep(time.Millisecond)
			wantStep(t, b, &walks[i], 1, fmt.Sprintf("1.a=%d", 100+i))
		}
		for i := range store.MaxWalks {
			begin(i)
		}
		wantStep(t, b, &walks[0], 1, "2.b=20")
		begin(store.MaxWalks)
		if n := e.Versions("board"); n != store.MaxWalks {
			t.Errorf("%d versions are kept, want %d", n, store.MaxWalks)
		}
		wantTooOld(t, b, walks[1])
		wantStep(t, b, &walks[0], 1, "3.c=10")
		for i := 2; i < len(walks); i++ {
			wantStep(t, b, &walks[i], 2, "2.b=20 3.c=10")
		}
	})
}

// Walks of one version share it.
func TestWalksOfOneVersionAreOne(t *testing.T) {
	e := memstore.New(nil)
	b := three(t, e)
	for range 5 {
		var c store.Cursor
		wantStep(t, b, &c, 1, "1.a=30")
		score(t, b, "a", 1) // nothing
	}
	if n := e.Versions("board"); n != 1 {
		t.Errorf("%d versions are kept, want 1", n)
	}
}

// Hidden keys and walks are in a snapshot, and the next life of the board does not reach
// into it.
func TestSnapshotHoldsHiddenAndWalks(t *testing.T) {
	e := memstore.New(nil)
	b := three(t, e)
	hide := func(hidden bool, keys ...string) {
		t.Helper()
		if _, err := b.Hide(t.Context(), "board", hidden, keys...); err != nil {
			t.Fatal(err)
		}
	}
	last := func(revision uint64, n int64) store.Effect {
		t.Helper()
		changes, err := b.Merge(t.Context(), "board", store.Batch{Rule: store.Last, Entries: []store.Submission{{Key: "b", Score: n, Stamp: store.Stamp{Revision: revision}}}})
		if err != nil {
			t.Fatal(err)
		}
		return changes[0].Effect
	}
	last(5, 20) // the score stays, the stamp is 5
	hide(true, "b", "in-advance")
	var before store.Cursor
	wantStep(t, b, &before, 1, "1.a=30")
	score(t, b, "c", 15)
	for i := 1; i < store.MaxWalks; i++ { // so that one more has to replace one
		score(t, b, "d", int64(i-store.MaxWalks))
		other := store.Cursor{}
		wantStep(t, b, &other, 1, "1.a=30")
	}
	snapshot := e.Snapshot(memstore.Boards)
	for round := range 3 { // a snapshot can be restored many times
		last(7, 20) // the score stays, the stamp does not
		hide(false, "b", "in-advance")
		hide(true, "a")
		last(9, 99)
		score(t, b, "in-advance", 1)
		score(t, b, "c", int64(40+round))
		after := store.Cursor{}
		wantStep(t, b, &after, 1, "1.b=99")
		e.Restore(snapshot)
		if got := standings(t, b, "board"); got != "first: 1.a=30 2.c=15 3.d=-1" {
			t.Fatalf("restored %q", got)
		}
		listed, err := b.Hidden(t.Context(), "board", "", 10)
		if err != nil || len(listed) != 2 || listed[0].Key != "b" || listed[0].Score != 20 || listed[1].Scored {
			t.Fatalf("restored hidden keys %+v, %v", listed, err)
		}
		c := before
		wantStep(t, b, &c, 5, "2.c=10")
		wantTooOld(t, b, after)
		if last(5, 1) != store.Kept || last(6, 1) != store.Changed {
			t.Fatal("the stamp of a hidden entry is another")
		}
		for info, err := b.Info(t.Context(), "board"); info.Sequence < after.Version; info, err = b.Info(t.Context(), "board") {
			if err != nil {
				t.Fatal(err)
			}
			score(t, b, "a", int64(info.Sequence)+1000)
		}
		wantTooOld(t, b, after) // the same version, of another future
		var again store.Cursor
		step(t, b, &again, 1)
		wantTooOld(t, b, after)
	}
}

// A cursor that does not fit the version that it names is refused, and not followed into
// nothing.
func TestCursorThatDoesNotFit(t *testing.T) {
	b := three(t, memstore.New(nil))
	var good store.Cursor
	wantStep(t, b, &good, 2, "1.a=30 2.b=20")
	for _, damage := range []func(*store.Cursor){
		func(c *store.Cursor) { c.Total++ },
		func(c *store.Cursor) { c.Seen = 1 },
		func(c *store.Cursor) { c.Score++ },
		func(c *store.Cursor) { c.Sequence++ },
		func(c *store.Cursor) { c.Generation = "second" },
		func(c *store.Cursor) { c.Version++ },
	} {
		bad := good
		damage(&bad)
		wantTooOld(t, b, bad)
	}
	wantStep(t, b, &good, 2, "3.c=10")
}

func BenchmarkStandingModes(b *testing.B) {
	const n = 1_000_000
	boards := memstore.New(nil).Boards()
	storetest.FillBoard(b, boards, n, storetest.RandomScores(1<<40))
	for _, mode := range []store.RankMode{store.Ordinal, store.Competition, store.Dense} {
		b.Run(mode.String(), func(b *testing.B) {
			i := 0
			for b.Loop() {
				i = (i + 7919) % n
				if _, ok, err := boards.Standing(b.Context(), storetest.MeasuredBoard, storetest.EntryKey(i), mode); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// BenchmarkWalk walks a board of a million entries from the beginning to the end, again and
// again, while a batch changes it between two pages.
func BenchmarkWalk(b *testing.B) {
	const n = 1_000_000
	boards := memstore.New(nil).Boards()
	storetest.FillBoard(b, boards, n, storetest.RandomScores(1<<40))
	var cursor store.Cursor
	batches := uint64(0)
	for b.Loop() {
		_, next, err := boards.Walk(b.Context(), storetest.MeasuredBoard, cursor, store.MaxPage)
		if err != nil {
			b.Fatal(err)
		}
		if cursor = next; cursor.Done() {
			cursor = store.Cursor{}
		}
		batches++
		batch := store.Batch{Rule: store.Sum, Source: "s", N: batches}
		for i := range 100 {
			batch.Entries = append(batch.Entries, store.Submission{Key: storetest.EntryKey((int(batches)*7919 + i*10007) % n), Score: 1000})
		}
		if _, err := boards.Merge(b.Context(), storetest.MeasuredBoard, batch); err != nil {
			b.Fatal(err)
		}
	}
}
