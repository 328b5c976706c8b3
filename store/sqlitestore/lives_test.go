package sqlitestore_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// boardLives is a name under which boards live and die, two engines on it, and a model of the
// present board. Time passes, logs are short, repairs are killed in the middle, and whoever
// comes next goes on.
type boardLives struct {
	host     *host
	engines  []*sqlitestore.Engine
	name     string
	log      int // entries of a log at most
	lives    int
	model    *storetest.ModelBoard
	now      time.Duration // that has passed
	changed  int           // entries that have changed, at most
	born     int           // of them before this life
	repaired int           // how often the counts were made anew
	walks    []*lifeWalk
	batch    store.Batch // the last sum
	lost     int         // walks
	shown    int         // pages of walks through boards that had changed since
}

// lifeWalk is a walk and what it has to show.
type lifeWalk struct {
	cursors                 []store.Cursor // all of it, to ask again
	want                    []store.Standing
	life, changed, repaired int
	called                  time.Duration
}

func (l *boardLives) engine(t *rapid.T) store.Boards {
	return l.engines[rapid.IntRange(0, len(l.engines)-1).Draw(t, "engine")].Boards()
}

func lifeKeys(t *rapid.T, most int) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Split("abcdefghijklmnopqrstuvwxyzABCDEF", "")), 1, most, rapid.ID).Draw(t, "keys")
}

// Create drops the board and makes it anew.
func (l *boardLives) create(t *rapid.T) {
	b := l.engine(t)
	if err := b.Drop(t.Context(), l.name); err != nil {
		t.Fatal(err)
	}
	l.lives++
	order := rapid.SampledFrom([]store.Order{store.Descending, store.Ascending}).Draw(t, "order")
	l.model, l.batch, l.born = storetest.NewModelBoard(order), store.Batch{}, l.changed
	_, err := b.Create(t.Context(), l.name, store.BoardSpec{Order: order, Generation: fmt.Sprint("life-", l.lives)})
	if err != nil {
		t.Fatal(err)
	}
}

func (l *boardLives) merge(t *rapid.T) {
	batch := store.Batch{Rule: rapid.SampledFrom([]store.Rule{store.Best, store.Last, store.Sum}).Draw(t, "rule"), Source: "s", N: l.batch.N + 1}
	score := rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64Range(-2, 2),
		rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, math.MinInt64 + 1}))
	for _, key := range lifeKeys(t, 12) {
		s := store.Submission{Key: key, Score: score.Draw(t, "score"), Stamp: store.Stamp{Epoch: rapid.Uint64Range(0, 3).Draw(t, "epoch")}}
		if rapid.IntRange(0, 3).Draw(t, "meta") == 0 {
			s.Meta = []byte(fmt.Sprint(l.batch.N))
		}
		batch.Entries = append(batch.Entries, s)
	}
	if batch.Rule == store.Sum {
		l.batch = batch
	}
	l.send(t, batch)
}

// resend sends the last sum again, as after an unknown outcome.
func (l *boardLives) resend(t *rapid.T) {
	if l.batch.N > 0 {
		l.send(t, l.batch)
	}
}

func (l *boardLives) send(t *rapid.T, batch store.Batch) {
	want, wantErr := l.model.Merge(batch)
	got, err := l.engine(t).Merge(t.Context(), l.name, batch)
	if d := cmp.Diff(want, got); d != "" || !errors.Is(err, wantErr) {
		t.Fatalf("Merge: %v, want %v (-want +got):\n%s", err, wantErr, d)
	}
	l.changed += len(batch.Entries)
}

func (l *boardLives) remove(t *rapid.T) {
	keys := lifeKeys(t, 10)
	want, wantErr := l.model.Remove(keys...)
	got, err := l.engine(t).Remove(t.Context(), l.name, keys...)
	if got != want || !errors.Is(err, wantErr) {
		t.Fatalf("Remove = %d, %v, want %d, %v", got, err, want, wantErr)
	}
	l.changed += len(keys)
}

func (l *boardLives) hide(t *rapid.T) {
	keys, hidden := lifeKeys(t, 10), rapid.Bool().Draw(t, "hidden")
	want, wantErr := l.model.Hide(hidden, keys...)
	got, err := l.engine(t).Hide(t.Context(), l.name, hidden, keys...)
	if got != want || !errors.Is(err, wantErr) {
		t.Fatalf("Hide = %d, %v, want %d, %v", got, err, want, wantErr)
	}
	l.changed += len(keys)
}

// begin begins a walk.
func (l *boardLives) begin(t *rapid.T) {
	w := &lifeWalk{
		cursors: []store.Cursor{{}}, want: l.model.Standings(),
		life: l.lives, changed: l.changed, repaired: l.repaired, called: l.now,
	}
	if l.step(t, w); len(w.cursors) < 2 {
		t.Fatal("a walk does not begin")
	}
	l.walks = append(l.walks, w)
}

// goOn goes on with a walk, or asks it again for what it has shown.
func (l *boardLives) goOn(t *rapid.T) {
	if len(l.walks) > 0 {
		l.step(t, rapid.SampledFrom(l.walks).Draw(t, "walk"))
	}
}

func (l *boardLives) step(t *rapid.T, w *lifeWalk) {
	limit := rapid.IntRange(1, 9).Draw(t, "limit")
	at := len(w.cursors) - 1
	if at > 0 && rapid.IntRange(0, 3).Draw(t, "again") == 0 {
		at = rapid.IntRange(1, at).Draw(t, "at")
	}
	from := w.cursors[at]
	page, next, err := l.engine(t).Walk(t.Context(), l.name, from, limit)
	if errors.Is(err, store.ErrCursor) {
		unchanged := l.changed == w.changed && l.repaired == w.repaired && l.lives == w.life
		old := l.now-w.called >= store.WalkFor || l.changed-l.born > l.log || l.repaired != w.repaired || l.lives != w.life
		if from == (store.Cursor{}) || unchanged || !old {
			t.Fatalf("Walk from %+v, last called %v ago, %d changes ago: %v", from, l.now-w.called, l.changed-w.changed, err)
		}
		l.lost++
		l.walks = slices.DeleteFunc(l.walks, func(other *lifeWalk) bool { return other == w })
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !from.Done() { // else nobody was asked
		w.called = l.now
	}
	if next.Version != page.Info.Sequence || page.Total != int64(len(w.want)) || w.life != l.lives && !from.Done() {
		t.Fatalf("a page of another walk: %+v, want %d entries", page, len(w.want))
	}
	want := w.want[from.Seen:min(from.Seen+int64(limit), int64(len(w.want)))]
	if d := diffStandings(want, page.Entries); d != "" {
		t.Fatalf("Walk of %d from %+v (-want +got):\n%s", limit, from, d)
	}
	if l.changed > w.changed && len(want) > 0 {
		l.shown++
	}
	if at == len(w.cursors)-1 {
		w.cursors = append(w.cursors, next)
	}
}

// diffStandings is how standings differ but for the numbers of their sequences, which repairs
// change.
func diffStandings(want, got []store.Standing) string {
	same := func(a, b store.Standing) bool {
		return a.Key == b.Key && a.Score == b.Score && a.Rank == b.Rank && string(a.Meta) == string(b.Meta)
	}
	if slices.EqualFunc(want, got, same) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

func (l *boardLives) pass(t *rapid.T) {
	d := store.WalkFor * time.Duration(rapid.SampledFrom([]int{1, 2, 4, 6, 9, 11}).Draw(t, "time")) / 10
	l.now += d
	l.host.pass(d)
}

// repair begins a repair, does a step of it, or all.
func (l *boardLives) repair(t *rapid.T) {
	e := rapid.SampledFrom(l.engines).Draw(t, "engine")
	var err error
	switch rapid.IntRange(0, 5).Draw(t, "step") {
	case 0:
		l.repaired++
		err = e.Uncount(t.Context(), l.name)
	case 1:
		check, failed := e.Boards().Check(t.Context(), l.name, true)
		if err = failed; len(check.Problems) > 0 {
			l.repaired++
		}
	default:
		err = e.CountOn(t.Context(), l.name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// seal ends the writes of this life, now and then.
func (l *boardLives) seal(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		return
	}
	l.model.Seal()
	if _, err := l.engine(t).Seal(t.Context(), l.name); err != nil {
		t.Fatal(err)
	}
}

// check compares the whole board and one read of each kind with the model.
func (l *boardLives) check(t *rapid.T) {
	b, mode := l.engine(t), store.RankMode(rapid.IntRange(0, 2).Draw(t, "mode"))
	whole, err := b.Page(t.Context(), l.name, 0, store.MaxPage, mode)
	if d := diffStandings(l.model.Ranked(mode), whole.Entries); d != "" || err != nil || whole.Total != int64(len(whole.Entries)) {
		t.Fatalf("the whole board by %s: %v, total %d (-want +got):\n%s", mode, err, whole.Total, d)
	}
	key, n := lifeKeys(t, 1)[0], rapid.IntRange(0, 9).Draw(t, "n")
	want, wanted := l.model.Standing(key, mode)
	got, ok, err := b.Standing(t.Context(), l.name, key, mode)
	if d := diffStandings([]store.Standing{want}, []store.Standing{got}); d != "" || err != nil || ok != wanted {
		t.Fatalf("Standing(%s) by %s: %v, %v (-want +got):\n%s", key, mode, ok, err, d)
	}
	around, err := b.Around(t.Context(), l.name, key, n, mode)
	wantAround := l.model.Around(key, n, mode)
	if d := diffStandings(wantAround.Entries, around.Entries); d != "" || err != nil || around.Offset != wantAround.Offset {
		t.Fatalf("%d around %s by %s: %v (-want +got):\n%s", n, key, mode, err, d)
	}
	page, err := b.Page(t.Context(), l.name, int64(n), n, mode)
	if d := diffStandings(l.model.Page(int64(n), n, mode).Entries, page.Entries); d != "" || err != nil {
		t.Fatalf("Page(%d, %d) by %s: %v (-want +got):\n%s", n, n, mode, err, d)
	}
	hidden, err := b.Hidden(t.Context(), l.name, "", store.MaxPage)
	if d := cmp.Diff(l.model.Hidden("", store.MaxPage), hidden, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(store.Entry{}, "Sequence")); d != "" || err != nil {
		t.Fatalf("Hidden: %v (-want +got):\n%s", err, d)
	}
}

// Whatever is done to boards, by whom, and however long it takes: reads answer as the model
// does, and a walk shows what was when it began, or is too old for a reason that the contract
// names.
// case B1, case B3, case B15.
func TestLivesOfBoards(t *testing.T) {
	l := &boardLives{host: &host{boot: "a", up: time.Hour}}
	folder := t.TempDir()
	for range 2 {
		e := l.host.open(t, folder)
		e.SizeBoards(2, 2)
		l.engines = append(l.engines, e)
	}
	games := 0
	rapid.Check(t, func(t *rapid.T) {
		games++
		l.name, l.walks = fmt.Sprint("board/", games), nil
		l.log = rapid.SampledFrom([]int{40, 10_000}).Draw(t, "log")
		for _, e := range l.engines {
			e.LimitWalkLog(int64(l.log))
		}
		l.create(t)
		actions := []func(*rapid.T){
			l.merge, l.merge, l.merge, l.resend, l.remove, l.hide, l.hide, l.begin, l.begin,
			l.goOn, l.goOn, l.goOn, l.goOn, l.goOn, l.goOn, l.pass, l.repair, l.seal,
		}
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 60).Draw(t, "anew") == 60 {
				l.create(t)
			}
			rapid.SampledFrom(actions).Draw(t, "action")(t)
			l.check(t)
		}
		if err := l.engine(t).Drop(t.Context(), l.name); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d pages of walks after changes, %d walks were too old", l.shown, l.lost)
	if l.shown < 20 || l.lost < 5 {
		t.Fatal("too few to prove anything")
	}
}
