package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
)

// walkEndCases are about where walks end before their time, and where they do not.
func walkEndCases() []boardsCase {
	return []boardsCase{
		{"a sealed board", walkSealed},
		{"not of a board that was made anew", walkMadeAnew},
		{"not with a cursor of another board, or of no walk", walkForeign},
		{"for as long as somebody walks", walkTime},
		{"at any time when nothing changes", walkUnchanged},
		{"for as long as somebody walks what is sealed", walkSealedLong},
		{"among writers", walkRace},
	}
}

// walkSealed seals before a walk and during one.
func walkSealed(t *testing.T, h Harness[store.Boards]) {
	w := walkBoard(t, open(t, h), "board", store.Descending)
	before := beginStroll(t, w)
	before.step(t, 2)
	w.best(t, entry("key/8", 85))
	during := beginStroll(t, w)
	during.step(t, 2)
	w.model.Seal()
	_, err := w.boards.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	after := beginStroll(t, w)
	for _, s := range []*stroll{before, during, after} {
		s.finish(t, 3)
	}
}

// walkMadeAnew drops the board, and makes one of the same name, also under the same
// generation.
func walkMadeAnew(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	b := handles[0]
	for i, generation := range []string{"another", ""} {
		w := walkBoard(t, b, fmt.Sprintf("board/%d", i), store.Descending)
		if generation == "" {
			generation = w.info.Generation
		}
		early := beginStroll(t, w)
		early.step(t, 2)
		w.best(t, entry("key/8", 85))
		s := beginStroll(t, w)
		s.step(t, 2)
		ok(t, "Drop", b.Drop(t.Context(), w.name))
		for _, handle := range handles {
			_, next, err := handle.Walk(t.Context(), w.name, s.cursor, 2)
			want(t, "Walk of a dropped board", err, store.ErrNoBoard)
			if next != s.cursor {
				t.Fatalf("a Walk that fails goes on at %+v, want %+v", next, s.cursor)
			}
		}
		_, err := b.Create(t.Context(), w.name, store.BoardSpec{Order: store.Descending, Generation: generation})
		ok(t, "Create", err)
		s.wantLost(t)
		early.wantLost(t)
		second := &twin{boards: b, name: w.name, model: NewModelBoard(store.Descending), info: store.BoardInfo{Generation: generation}}
		for n := range 40 { // beyond the sequence of the former life
			second.best(t, entry(fmt.Sprintf("key/%d", n%9), int64(n)))
		}
		again := beginStroll(t, second)
		again.step(t, 3)
		s.wantLost(t)
		early.wantLost(t)
		again.finish(t, 3)
	}
}

func walkForeign(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w, other := walkBoard(t, b, "board", store.Descending), walkBoard(t, b, "other", store.Descending)
	s := beginStroll(t, w)
	s.step(t, 2)
	s.of = other
	s.wantLost(t)
	s.of = w
	good := s.cursor
	s.cursor.Version += 1000 // of the future
	s.wantLost(t)
	s.cursor = good
	w.best(t, entry("key/8", 85))
	s.cursor.Version-- // nobody walked it
	s.wantLost(t)
	s.cursor = good
	s.finish(t, 3)
}

// walkTime lets time pass between the calls of a walk.
func walkTime(t *testing.T, h Harness[store.Boards]) {
	if h.Pass == nil {
		return // nobody can tell the driver
	}
	w := walkBoard(t, open(t, h), "board", store.Descending)
	s, idle := beginStroll(t, w), beginStroll(t, w)
	s.step(t, 1)
	idle.step(t, 1)
	for i := range 4 {
		w.best(t, entry(fmt.Sprintf("key/%d", 8-i), int64(85+i)))
		h.Pass(t, store.WalkFor*2/3)
		s.step(t, 1)
	}
	for _, passes := range []int64{40, 90} { // percent: every call counts, whichever are written down
		h.Pass(t, store.WalkFor*time.Duration(passes)/100)
		w.best(t, entry("key/4", 80+passes))
		s.step(t, 1)
	}
	done := beginStroll(t, w)
	done.finish(t, 4)
	w.best(t, entry("key/0", 100))
	h.Pass(t, 2*store.WalkFor)
	w.best(t, entry("key/1", 200)) // a write may be what forgets
	for _, lost := range []*stroll{s, idle} {
		lost.wantLost(t)
		lost.wantLost(t)
	}
	w.compare(t)
	beginStroll(t, w).finish(t, 2)
	s.wantLost(t)
}

// walkUnchanged lets much time pass, and seals.
func walkUnchanged(t *testing.T, h Harness[store.Boards]) {
	if h.Pass == nil {
		return // nobody can tell the driver
	}
	w := walkBoard(t, open(t, h), "board", store.Descending)
	s := beginStroll(t, w)
	s.step(t, 2)
	h.Pass(t, store.WalkFor*3)
	s.step(t, 2)
	w.best(t, entry("key/0", 1)) // nothing: it has a better score
	h.Pass(t, store.WalkFor*3)
	s.step(t, 2)
	w.model.Seal()
	_, err := w.boards.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	h.Pass(t, store.WalkFor*100)
	s.finish(t, 2)
}

// walkSealedLong walks a version of a board that has changed since, and then is sealed: the walk goes on
// as long as its calls do.
func walkSealedLong(t *testing.T, h Harness[store.Boards]) {
	if h.Pass == nil {
		return // nobody can tell the driver
	}
	w := walkBoard(t, open(t, h), "board", store.Descending)
	s := beginStroll(t, w)
	s.step(t, 1)
	w.best(t, entry("key/1", 200))
	w.model.Seal()
	_, err := w.boards.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	for range 4 {
		h.Pass(t, store.WalkFor*9/10)
		s.step(t, 1)
	}
	s.finish(t, 2)
}

// walkRace walks again and again among writers that move pairs of entries whose scores are
// opposite, and hide, show and remove both at once: at any moment the scores add up to 0.
func walkRace(t *testing.T, h Harness[store.Boards]) {
	const writers, walkers, walks, moves = 2, 2, 12, 60
	handles := openSome(t, h, 3)
	newTwin(t, handles[0], "board", store.Descending)
	ctx := t.Context()
	var walking, moved atomic.Int64
	walking.Store(walkers)
	together(t, writers+walkers, func(c int) error {
		b := handles[c%len(handles)]
		if c < writers {
			defer moved.Add(moves) // also when it fails, so that nobody waits for more
			rng := rand.New(rand.NewPCG(uint64(c), 50))
			for n := uint64(1); walking.Load() > 0; n++ {
				if err := movePair(ctx, b, rng, fmt.Sprintf("pair/%d/%d", c, rng.IntN(15)), n); err != nil {
					return err
				}
				moved.Add(1)
			}
			return nil
		}
		defer walking.Add(-1)
		rng := rand.New(rand.NewPCG(uint64(c), 51))
		for n := 0; n < walks || moved.Load() < moves; n++ {
			if err := walkOnce(ctx, handles, rng, 3+rng.IntN(20)); err != nil {
				return err
			}
		}
		return nil
	})
}

// movePair changes both entries of a pair at once.
func movePair(ctx context.Context, b store.Boards, rng *rand.Rand, pair string, n uint64) error {
	left, right := pair+"/left", pair+"/right"
	var err error
	switch rng.IntN(6) {
	case 0:
		_, err = b.Hide(ctx, "board", true, left, right)
	case 1:
		_, err = b.Hide(ctx, "board", false, right, left)
	case 2:
		_, err = b.Remove(ctx, "board", left, right)
	default:
		score := rng.Int64N(40)
		_, err = b.Merge(ctx, "board", store.Batch{Rule: store.Last, Entries: []store.Submission{stamped(left, score, 1, n), stamped(right, -score, 1, n)}})
	}
	return err
}

// walkOnce walks from the beginning to the end, on any handles.
func walkOnce(ctx context.Context, handles []store.Boards, rng *rand.Rand, size int) error {
	var (
		cursor store.Cursor
		all    []store.Standing
		sum    int64
	)
	for !cursor.Done() {
		page, next, err := handles[rng.IntN(len(handles))].Walk(ctx, "board", cursor, size)
		if err != nil {
			return err
		}
		if page.Info.Sequence != next.Version || cursor.Version != 0 && next.Version != cursor.Version {
			return fmt.Errorf("the page says %+v and goes on at %+v, after %+v", page.Info, next, cursor)
		}
		all, cursor = append(all, page.Entries...), next
	}
	keys := make(map[string]bool)
	for _, s := range all {
		keys[s.Key] = true
		sum += s.Score
		if s.Sequence > cursor.Version {
			return fmt.Errorf("%+v came after the walk had begun at %d", s, cursor.Version)
		}
	}
	if int64(len(all)) != cursor.Total || len(keys) != len(all) || sum != 0 {
		return fmt.Errorf("a walk of %d entries shows %d, of %d keys, with the sum %d, want 0", cursor.Total, len(all), len(keys), sum)
	}
	return unsorted(store.Descending, all, 1)
}
