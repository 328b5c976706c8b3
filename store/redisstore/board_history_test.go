package redisstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/redisstore"
)

// A master is replaced by one that lacks the last writes, and other writes take the board to the
// same sequence again, where somebody else walks it, too. The entry that the walk has shown last
// stands where it stood, so only the tag tells that this is another history.
func TestWalkOfALostHistory(t *testing.T) {
	// case B15
	server := enginetest.OwnRedis(t, nil)
	b := open(t, server.URL("p"), nil).Boards()
	createBoard(t, b, "top", "g")
	merge(t, b, "top", points(9, "a"))
	walk := func(from store.Cursor) (store.Cursor, error) {
		_, next, err := b.Walk(t.Context(), "top", from, 1)
		return next, err
	}
	if err := server.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	merge(t, b, "top", points(5, "b", "c"))
	lost, err := walk(store.Cursor{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(server.Kill(), server.Start(t.Context())); err != nil {
		t.Fatal(err)
	}
	again(t, "list", func() error { _, err := b.List(t.Context(), "", "", 1); return err })
	merge(t, b, "top", points(4, "d", "e"))
	other, err := walk(store.Cursor{})
	if err != nil || other.Version != lost.Version || other.Sequence != lost.Sequence || other.Total != lost.Total {
		t.Fatalf("the other history has %+v, %v; it is to look like %+v", other, err, lost)
	}
	if next, err := walk(lost); !errors.Is(err, store.ErrCursor) || next != lost {
		t.Errorf("the walk goes on at %+v in another history, %v", next, err)
	}
	if _, err := walk(other); err != nil {
		t.Error(err)
	}
	if _, err := b.Seal(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	if next, err := walk(lost); !errors.Is(err, store.ErrCursor) || next != lost {
		t.Errorf("the walk goes on at %+v in another history that has been sealed, %v", next, err)
	}
	if _, err := walk(other); err != nil {
		t.Errorf("a walk that began before the board was sealed ends with %v", err)
	}
}

// pasts keeps states of a board, to which its server can go back.
type pasts struct {
	server *engines.Redis
	keys   []string
	kept   int
}

func (p *pasts) copy(t *rapid.T, from, to string) {
	for _, key := range p.keys {
		if _, err := p.server.Do(t.Context(), "DEL", key+to); err != nil {
			t.Fatal(err)
		}
		if _, err := p.server.Do(t.Context(), "COPY", key+from, key+to); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *pasts) keep(t *rapid.T) {
	p.copy(t, "", fmt.Sprint(".past", p.kept))
	p.kept++
}

// back goes back to any state that was kept.
func (p *pasts) back(t *rapid.T) {
	p.copy(t, fmt.Sprint(".past", rapid.IntRange(max(0, p.kept-2), p.kept-1).Draw(t, "past")), "")
}

// ramble is a walk, and what it has to show.
type ramble struct {
	want, got []store.Standing
	cursor    store.Cursor
}

// step walks on; a walk that is refused is over.
func (r *ramble) step(t *rapid.T, b store.Boards) (over bool) {
	page, next, err := b.Walk(t.Context(), "top", r.cursor, rapid.IntRange(1, 2).Draw(t, "limit"))
	if errors.Is(err, store.ErrCursor) {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	r.got, r.cursor = append(r.got, page.Entries...), next
	if !next.Done() {
		return false
	}
	if diff := cmp.Diff(r.want, r.got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("a walk shows another board than that it began with (-want +got):\n%s", diff)
	}
	return true
}

// story is what happens to one board, and the walks through it.
type story struct {
	pasts

	boards store.Boards
	walks  []*ramble
}

func (s *story) change(t *rapid.T) {
	key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	var err error
	switch n := rapid.IntRange(0, 29).Draw(t, "change"); {
	case n == 0:
		_, err = s.boards.Seal(t.Context(), "top")
	case n < 4:
		_, err = s.boards.Hide(t.Context(), "top", n > 1, key.Draw(t, "key"))
	case n < 6:
		_, err = s.boards.Erase(t.Context(), "top", key.Draw(t, "key"))
	default:
		_, err = s.boards.Merge(t.Context(), "top", points(rapid.Int64Range(1, 9).Draw(t, "points"), key.Draw(t, "key")))
	}
	if err != nil && !errors.Is(err, store.ErrSealed) {
		t.Fatal(err)
	}
}

func (s *story) begin(t *rapid.T) {
	page, err := s.boards.Page(t.Context(), "top", 0, 10, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	w := &ramble{want: page.Entries}
	if !w.step(t, s.boards) {
		s.walks = append(s.walks, w)
	}
	if w.cursor == (store.Cursor{}) {
		t.Fatal("a walk cannot begin")
	}
}

func (s *story) step(t *rapid.T) {
	if len(s.walks) == 0 {
		t.Skip("no walk has begun: another step is drawn")
	}
	i := rapid.IntRange(0, len(s.walks)-1).Draw(t, "walk")
	if s.walks[i].step(t, s.boards) {
		s.walks = append(s.walks[:i], s.walks[i+1:]...)
	}
}

// fork makes two histories of equal length, in each of which a walk begins.
func (s *story) fork(t *rapid.T) {
	s.keep(t)
	n := rapid.IntRange(1, 3).Draw(t, "changes")
	for lost := range 2 {
		for range n {
			s.change(t)
		}
		s.begin(t)
		if lost == 0 {
			s.back(t)
		}
	}
}

// However often the servers go back in time, a walk shows the board that it began with, or is
// refused.
func TestWalksThroughHistories(t *testing.T) {
	server := enginetest.Redis(t)
	rapid.Check(t, func(r *rapid.T) {
		e, err := redisstore.Open(r.Context(), server.URL(enginetest.Prefix(t)), nil)
		if err != nil {
			r.Fatal(err)
		}
		defer func() { _ = e.Close(t.Context()) }()
		s := &story{boards: e.Boards(), pasts: pasts{server: server}}
		for _, part := range []string{"info", "entries", "standings", "hidden", "moved", "sources", "used"} {
			s.keys = append(s.keys, e.BoardKey("top", part))
		}
		if _, err := s.boards.Create(r.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
			r.Fatal(err)
		}
		if _, err := s.boards.Merge(r.Context(), "top", points(5, "a", "b", "c", "d")); err != nil {
			r.Fatal(err)
		}
		s.keep(r)
		r.Repeat(map[string]func(*rapid.T){
			"change": s.change, "begin": s.begin, "step": s.step, "step on": s.step, "keep": s.keep, "back": s.back, "fork": s.fork,
		})
	})
}

// A call of a walk that has read the board, and then finds its log ended when it is to be
// written down, is refused: a new log knows nothing of what has left.
func TestWalkGoesOnWhereItIsRemembered(t *testing.T) {
	e := open(t, enginetest.Redis(t).URL(enginetest.Prefix(t)), nil)
	b := e.Boards()
	smallBoard(t, b)
	_, cursor, err := b.Walk(t.Context(), "top", store.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.KeepWalk(t.Context(), "top", cursor); err != nil {
		t.Errorf("a walk of the present version goes on with %v", err)
	}
	merge(t, b, "top", points(10, "a"))
	if err := e.KeepWalk(t.Context(), "top", cursor); err != nil {
		t.Errorf("a walk of a version that is remembered goes on with %v", err)
	}
	foreign := cursor
	foreign.Tag += 2
	if err := e.KeepWalk(t.Context(), "top", foreign); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a walk of another history goes on with %v", err)
	}
	e.LimitBoards(10, 1)
	merge(t, b, "top", points(20, "a", "b"))
	merge(t, b, "top", points(30, "a", "b"))
	if err := e.KeepWalk(t.Context(), "top", cursor); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a walk of a version that is forgotten goes on with %v", err)
	}
}

// Deep dense ranks pass by in other versions, each for a moment: they end no walk, however many.
func TestDenseRanksEndNoWalk(t *testing.T) {
	e := open(t, enginetest.Redis(t).URL(enginetest.Prefix(t)), nil)
	e.SmallBoards()
	b := e.Boards()
	smallBoard(t, b)
	for i := range int64(12) {
		merge(t, b, "top", points(1000+i, fmt.Sprint("above/", i)))
	}
	_, cursor, err := b.Walk(t.Context(), "top", store.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(2 * store.MaxWalks) {
		merge(t, b, "top", points(10+i, "x"))
		if page, err := b.Page(t.Context(), "top", 13, 1, store.Dense); err != nil || len(page.Entries) != 1 || page.Entries[0].Rank != 14 {
			t.Fatalf("the 14th has the dense rank %+v, %v", page, err)
		}
	}
	page, cursor, err := b.Walk(t.Context(), "top", cursor, 99)
	if err != nil || !cursor.Done() || len(page.Entries) != 13 || page.Entries[12].Key != "b" {
		t.Errorf("the walk ends with %+v, %v", page, err)
	}
}

// As many walks as there may be, over or not, leave room for deep dense ranks, which do not end
// one another; too many of those end the oldest of their kind.
func TestWalksEndNoDenseRank(t *testing.T) {
	e := open(t, enginetest.Redis(t).URL(enginetest.Prefix(t)), nil)
	b := e.Boards()
	smallBoard(t, b)
	changes := int64(100)
	change := func() {
		changes++
		merge(t, b, "top", points(changes, "x"))
	}
	for range store.MaxWalks {
		change()
		if _, _, err := b.Walk(t.Context(), "top", store.Cursor{}, 1); err != nil {
			t.Fatal(err)
		}
	}
	var ranks []store.Cursor
	for range store.MaxWalks {
		change()
		at, err := e.BeginDense(t.Context(), "top")
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, at)
	}
	for i, at := range ranks {
		if _, _, err := b.Walk(t.Context(), "top", at, 1); err != nil {
			t.Fatalf("dense rank %d of %d that are under way: %v", i, len(ranks), err)
		}
	}
	change()
	if _, err := e.BeginDense(t.Context(), "top"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Walk(t.Context(), "top", ranks[0], 1); !errors.Is(err, store.ErrCursor) {
		t.Errorf("the oldest dense rank goes on with %v", err)
	}
}
