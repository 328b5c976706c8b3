package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

func sealCases() []boardsCase {
	return []boardsCase{
		{"refuses writes and changes nothing", sealRefuses},
		{"again is the same", sealAgain},
		{"of an empty board", sealEmpty},
		{"holds for every handle", sealEverywhere},
		{"against merges in flight", sealAgainstMerges},
		{"from many at once", sealRace},
	}
}

// sealRefuses tries every write.
//
// case S3.
func sealRefuses(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w := newTwin(t, b, "board", store.Descending)
	w.best(t, withMeta(entry("a", 5), "meta"), entry("b", 3))
	w.sum(t, "source", 1, entry("c", 1), entry("hidden", 1))
	w.hide(t, true, "hidden", "in-advance")
	before := w.compare(t)
	sealed, err := b.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	w.model.Seal()
	after := w.compare(t)
	if sealed != w.info {
		t.Fatalf("Seal = %+v, Info is %+v", sealed, w.info)
	}
	for range 2 {
		w.best(t, entry("a", 100))
		w.best(t, entry("new", 1))
		w.best(t, entry("a", 1)) // would change nothing, and is refused all the same
		w.last(t, stamped("a", 1, 99, 99))
		w.sum(t, "source", 2, entry("a", 1))
		w.sum(t, "source", 1, entry("c", 1)) // resent
		w.remove(t, "a", "b")
		w.remove(t, "nobody")
		w.hide(t, true, "a", "new")
		w.hide(t, false, "a") // would change nothing
		w.hide(t, false, "c")
	}
	for _, now := range [][]store.Standing{after, w.compare(t)} {
		if diff := cmp.Diff(before, now); diff != "" {
			t.Fatalf("sealed (-before +after):\n%s", diff)
		}
	}
	if w.info != sealed {
		t.Fatalf("after refused writes Info is %+v, was %+v", w.info, sealed)
	}
	compareEach(t, w)
	w.compareHidden(t)
}

func sealAgain(t *testing.T, h Harness[store.Boards]) {
	b := open(t, h)
	w := newTwin(t, b, "board", store.Ascending)
	w.best(t, entry("a", 5))
	first, err := b.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	if !first.Sealed || first.Count != 1 || first.Order != store.Ascending || first.Generation != w.info.Generation {
		t.Fatalf("Seal = %+v, want the sealed board", first)
	}
	for range 3 {
		again, err := b.Seal(t.Context(), "board")
		ok(t, "Seal", err)
		created, err := b.Create(t.Context(), "board", store.BoardSpec{Order: store.Ascending, Generation: "other"})
		ok(t, "Create", err)
		if again != first || created != first {
			t.Fatalf("Seal again = %+v and Create = %+v, want %+v", again, created, first)
		}
	}
}

func sealEmpty(t *testing.T, h Harness[store.Boards]) {
	w := newTwin(t, open(t, h), "board", store.Descending)
	info, err := w.boards.Seal(t.Context(), "board")
	ok(t, "Seal", err)
	if info.Count != 0 || !info.Sealed {
		t.Fatalf("Seal = %+v, want a sealed board of no entries", info)
	}
	w.model.Seal()
	w.best(t, entry("a", 1))
	w.wantOrder(t, "")
}

func sealEverywhere(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 3)
	w := newTwin(t, handles[0], "board", store.Descending)
	w.best(t, entry("a", 1))
	_, err := handles[len(handles)-1].Seal(t.Context(), "board")
	ok(t, "Seal", err)
	w.model.Seal()
	for _, b := range handles {
		w.boards = b
		w.best(t, entry("b", 1))
		w.sum(t, "s", 1, entry("a", 1))
		w.remove(t, "a")
		w.wantOrder(t, "a")
	}
}

// sealAgainstMerges seals while writers of all handles are at it, some of them giving up.
// When Seal has answered, the board is as it will be for ever, and holds whatever was
// acknowledged.
//
// case S9.
func sealAgainstMerges(t *testing.T, h Harness[store.Boards]) {
	const rounds, writers = 15, 5
	handles := openSome(t, h, 3)
	ctx := t.Context()
	for round := range rounds {
		w := newTwin(t, handles[0], fmt.Sprintf("board/%d", round), store.Descending)
		seen := make([]sealWitness, writers)
		started := make(chan struct{}, 10_000)
		var final []store.Standing
		together(t, writers+1, func(c int) error {
			if c < writers {
				return seen[c].write(ctx, handles[c%len(handles)], w.name, c, started)
			}
			for range 3 + round*2 {
				<-started
			}
			closer := handles[round%len(handles)]
			info, err := closer.Seal(ctx, w.name)
			if err != nil {
				return err
			}
			if !info.Sealed {
				return fmt.Errorf("Seal = %+v", info)
			}
			page, err := closer.Page(ctx, w.name, 0, store.MaxPage, store.Ordinal)
			if err == nil && page.Info != info {
				err = fmt.Errorf("Seal = %+v, the page after it %+v", info, page.Info)
			}
			final = page.Entries
			return err
		})
		page, err := handles[0].Page(ctx, w.name, 0, store.MaxPage, store.Ordinal)
		ok(t, "Page", err)
		if diff := cmp.Diff(final, page.Entries); diff != "" {
			t.Fatalf("round %d: the board changed after Seal had answered (-then +now):\n%s", round, diff)
		}
		for _, s := range page.Entries {
			for c := range seen {
				seen[c].meet(s)
			}
		}
		for c := range seen {
			if err := seen[c].complain(); err != nil {
				t.Fatalf("round %d: writer %d: %v", round, c, err)
			}
		}
	}
}

// sealWitness is a writer that remembers what it was answered, by key.
type sealWitness struct {
	outcomes map[string]store.Outcome
	found    map[string]bool
}

// write merges new entries until the board is sealed. Every fifth call has little time.
func (s *sealWitness) write(ctx context.Context, b store.Boards, name string, c int, started chan<- struct{}) error {
	s.outcomes, s.found = make(map[string]store.Outcome), make(map[string]bool)
	for n := range 150 {
		key := fmt.Sprintf("key/%d/%d", c, n)
		bounded, cancel := ctx, context.CancelFunc(func() {})
		if n%5 == 4 {
			bounded, cancel = context.WithTimeout(ctx, time.Duration(n)*10*time.Microsecond)
		}
		started <- struct{}{}
		_, err := b.Merge(bounded, name, store.Batch{Rule: store.Best, Entries: []store.Submission{entry(key, int64(n))}})
		cancel()
		s.outcomes[key] = store.OutcomeOf(err)
		if errors.Is(err, store.ErrSealed) {
			return nil
		}
		if problem := outside(err); problem != "" {
			return errors.New(problem)
		}
	}
	for range 100 { // so that the sealer need not wait for what does not come
		started <- struct{}{}
	}
	return nil
}

func (s *sealWitness) meet(standing store.Standing) { s.found[standing.Key] = true }

func (s *sealWitness) complain() error {
	for key, outcome := range s.outcomes {
		switch {
		case outcome == store.Done && !s.found[key]:
			return fmt.Errorf("%s was acknowledged and is not in the sealed board", key)
		case outcome == store.NotDone && s.found[key]:
			return fmt.Errorf("%s was refused and is in the sealed board", key)
		}
	}
	return nil
}

func sealRace(t *testing.T, h Harness[store.Boards]) {
	const closers = 5
	handles := openSome(t, h, 3)
	ctx := t.Context()
	for round := range 15 {
		w := newTwin(t, handles[0], fmt.Sprintf("board/%d", round), store.Descending)
		w.best(t, entry("a", 1), entry("b", 2))
		infos := make([]store.BoardInfo, closers)
		together(t, closers, func(c int) error {
			var err error
			infos[c], err = handles[c%len(handles)].Seal(ctx, w.name)
			return err
		})
		w.model.Seal()
		w.compare(t)
		for c, info := range infos {
			if info != w.info {
				t.Fatalf("closer %d got %+v, the board is %+v", c, info, w.info)
			}
		}
	}
}
