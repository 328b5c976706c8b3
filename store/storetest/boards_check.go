package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal/store"
)

func boardCheckCases() []boardsCase {
	return []boardsCase{
		{"finds nothing wrong and changes nothing", checkHealthy},
		{"while others write", checkAmongWriters},
	}
}

// checkHealthy looks after every kind of write, with repair and without.
func checkHealthy(t *testing.T, h Harness[store.Boards]) {
	handles := openSome(t, h, 2)
	w := newTwin(t, handles[0], "board", store.Descending)
	rng := rand.New(rand.NewPCG(40, 41))
	fill := func(n int) {
		var entries []store.Submission
		for i := range n {
			entries = append(entries, entry(fmt.Sprintf("key/%d", i), rng.Int64N(500)))
		}
		w.best(t, entries...)
	}
	for i, change := range []func(){
		func() {},
		func() { fill(1) },
		func() { fill(3000) },
		func() { fill(2000) },
		func() { w.hide(t, true, "key/0", "key/7", "key/8", "nobody") },
		func() { fill(3500) },
		func() { w.remove(t, "key/1", "key/7") },
		func() { w.hide(t, false, "key/0", "nobody") },
		func() {
			w.model.Seal()
			_, err := w.boards.Seal(t.Context(), "board")
			ok(t, "Seal", err)
		},
	} {
		change()
		before := w.compare(t)
		entries := int64(len(before))
		for _, hidden := range w.model.Hidden("", store.MaxPage) {
			if hidden.Scored {
				entries++
			}
		}
		for _, repair := range []bool{false, true} {
			check, err := handles[i%len(handles)].Check(t.Context(), "board", repair)
			ok(t, "Check", err)
			if diff := cmp.Diff(store.BoardCheck{Entries: entries}, check, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("Check, repair %v, after change %d (-want +got):\n%s", repair, i, diff)
			}
		}
		was := w.info
		if diff := cmp.Diff(before, w.compare(t)); diff != "" || w.info != was {
			t.Fatalf("after Check the board is %+v, was %+v (-before +after):\n%s", w.info, was, diff)
		}
		w.compareHidden(t)
	}
}

// checkAmongWriters checks and repairs while others write: nothing is found, and nothing is
// lost.
func checkAmongWriters(t *testing.T, h Harness[store.Boards]) {
	const writers, batches, size = 3, 12, 200
	handles := openSome(t, h, 3)
	newTwin(t, handles[0], "board", store.Descending)
	ctx := t.Context()
	together(t, writers+1, func(c int) error {
		b := handles[c%len(handles)]
		rng := rand.New(rand.NewPCG(uint64(c), 42))
		for n := range batches {
			if c == writers {
				check, err := b.Check(ctx, "board", n%2 == 1)
				if err != nil || len(check.Problems) != 0 || check.Repaired {
					return errors.Join(fmt.Errorf("a check among writers found %+v", check), err)
				}
				continue
			}
			batch := store.Batch{Rule: store.Best}
			for i := range size {
				batch.Entries = append(batch.Entries, entry(fmt.Sprintf("key/%d", i*(c+1)), rng.Int64N(1000)))
			}
			if _, err := b.Merge(ctx, "board", batch); err != nil {
				return err
			}
			if _, err := b.Hide(ctx, "board", n%2 == 0, fmt.Sprintf("key/%d", n), fmt.Sprintf("key/%d", 50+c)); err != nil {
				return err
			}
		}
		return nil
	})
	all, _ := wholeBoard(t, handles[0], "board", store.MaxPage)
	wantSorted(t, store.Descending, all)
	w := &twin{boards: handles[0], name: "board"}
	for i := 0; i < len(all); i += 7 {
		compareOne(t, w, all[i])
	}
}
