package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/store"
)

func boardRaceCases() []boardsCase {
	return []boardsCase{
		{"the best of all writers stays", bestOfAll},
		{"no sum is lost or doubled", sumsOfAll},
		{"ranks equal a full sort after many writers", ranksAfterWriters},
		{"every page is of one state", pagesOfOneState},
		{"a reader that follows the sequence misses nothing", sequenceHasNoHoles},
	}
}

// bestOfAll lets writers of all handles improve few keys at random.
func bestOfAll(t *testing.T, h Harness[store.Boards]) {
	const writers, batches, keys = 6, 25, 12
	handles := openSome(t, h, 3)
	w := newTwin(t, handles[0], "board", store.Ascending)
	ctx := t.Context()
	best := make([][keys]int64, writers)
	together(t, writers, func(c int) error {
		rng := rand.New(rand.NewPCG(uint64(c), 10))
		for range batches {
			var batch []store.Submission
			for _, k := range rng.Perm(keys)[:5] {
				score := rng.Int64N(1000) - 1000
				best[c][k] = min(best[c][k], score)
				batch = append(batch, entry(fmt.Sprintf("key/%d", k), score))
			}
			changes, err := handles[c%len(handles)].Merge(ctx, "board", store.Batch{Rule: store.Best, Entries: batch})
			if err != nil {
				return err
			}
			for i, change := range changes {
				if change.New > batch[i].Score {
					return fmt.Errorf("%d was merged and the score is %+v", batch[i].Score, change)
				}
			}
		}
		return nil
	})
	all, _ := wholeBoard(t, w.boards, "board", store.MaxPage)
	for _, s := range all {
		var k int
		_, _ = fmt.Sscanf(s.Key, "key/%d", &k)
		wanted := int64(0)
		for c := range best {
			wanted = min(wanted, best[c][k])
		}
		if s.Score != wanted {
			t.Errorf("%s has %d, want %d", s.Key, s.Score, wanted)
		}
	}
	wantSorted(t, store.Ascending, all)
}

// sumsOfAll lets each writer add to all keys, sending some batches again.
func sumsOfAll(t *testing.T, h Harness[store.Boards]) {
	const writers, batches, keys = 5, 20, 7
	handles := openSome(t, h, 3)
	newTwin(t, handles[0], "board", store.Descending)
	ctx := t.Context()
	together(t, writers, func(c int) error {
		b := handles[c%len(handles)]
		for n := uint64(1); n <= batches; n++ {
			var batch []store.Submission
			for k := range keys {
				batch = append(batch, entry(fmt.Sprintf("key/%d", (k+c)%keys), int64(c)+1))
			}
			for range 1 + n%2 {
				if _, err := b.Merge(ctx, "board", store.Batch{Rule: store.Sum, Source: fmt.Sprint("writer-", c), N: n, Entries: batch}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	all, _ := wholeBoard(t, handles[0], "board", store.MaxPage)
	if len(all) != keys {
		t.Fatalf("%d entries, want %d", len(all), keys)
	}
	for _, s := range all {
		if wanted := int64(batches * writers * (writers + 1) / 2); s.Score != wanted {
			t.Errorf("%s has %d, want %d", s.Key, s.Score, wanted)
		}
	}
	wantSorted(t, store.Descending, all)
}

// wantSorted fails unless the standings are in the total order with ranks from 1 and no
// sequence given twice.
func wantSorted(t *testing.T, order store.Order, all []store.Standing) {
	t.Helper()
	if problem := unsorted(order, all, 1); problem != nil {
		t.Fatal(problem)
	}
}

func unsorted(order store.Order, all []store.Standing, firstRank int64) error {
	given := make(map[uint64]string, len(all))
	for i, s := range all {
		if s.Rank != firstRank+int64(i) {
			return fmt.Errorf("entry %d has rank %d, want %d", i, s.Rank, firstRank+int64(i))
		}
		if i > 0 && compareEntries(order, all[i-1].Entry, s.Entry) >= 0 {
			return fmt.Errorf("%+v stands before %+v", all[i-1], s)
		}
		if other, twice := given[s.Sequence]; twice {
			return fmt.Errorf("%s and %s have the sequence %d", s.Key, other, s.Sequence)
		}
		given[s.Sequence] = s.Key
	}
	return nil
}

// ranksAfterWriters has writers create, move and remove thousands of entries at once.
//
// case B1.
func ranksAfterWriters(t *testing.T, h Harness[store.Boards]) {
	const writers, batches, size, keys = 5, 12, 300, 6000
	handles := openSome(t, h, 3)
	w := newTwin(t, handles[0], "board", store.Descending)
	ctx := t.Context()
	together(t, writers, func(c int) error {
		rng := rand.New(rand.NewPCG(uint64(c), 11))
		b := handles[c%len(handles)]
		for n := range batches {
			var batch []store.Submission
			var gone []string
			for _, k := range rng.Perm(keys)[:size] {
				if key := fmt.Sprintf("key/%d", k); rng.IntN(10) == 0 {
					gone = append(gone, key)
				} else {
					batch = append(batch, stamped(key, rng.Int64N(50), uint64(n), rng.Uint64N(100)))
				}
			}
			if _, err := b.Merge(ctx, "board", store.Batch{Rule: store.Last, Entries: batch}); err != nil {
				return err
			}
			if len(gone) == 0 {
				continue
			}
			if _, err := b.Remove(ctx, "board", gone...); err != nil {
				return err
			}
		}
		return nil
	})
	all, _ := wholeBoard(t, w.boards, "board", store.MaxPage)
	wantSorted(t, store.Descending, all)
	for i := 0; i < len(all); i += 23 {
		compareOne(t, w, all[i])
	}
}

// pagesOfOneState moves one entry up and down among others while readers look.
//
// case B8.
// case B15.
func pagesOfOneState(t *testing.T, h Harness[store.Boards]) {
	const reads, moves, readers, others = 60, 100, 2, 40
	handles := openSome(t, h, 3)
	w := newTwin(t, handles[0], "board", store.Descending)
	for i := range others {
		w.best(t, entry(fmt.Sprintf("key/%d", i), int64(10*i)))
	}
	w.last(t, stamped("mover", -5, 1, 0))
	ctx := t.Context()
	var moved, reading atomic.Int64
	reading.Store(readers)
	together(t, 1+readers, func(c int) error {
		b := handles[c%len(handles)]
		if c == 0 {
			defer moved.Store(moves) // also when it fails, so that nobody waits for more
			for n := uint64(1); reading.Load() > 0; n++ {
				score := []int64{-5, 10*others + 5, 205}[n%3]
				if _, err := b.Merge(ctx, "board", store.Batch{Rule: store.Last, Entries: []store.Submission{stamped("mover", score, 1, n)}}); err != nil {
					return err
				}
				moved.Add(1)
			}
			return nil
		}
		defer reading.Add(-1)
		for n := 0; n < reads || moved.Load() < moves; n++ {
			if err := onePage(ctx, b, int64(n%45), others+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// onePage reads in three ways what must be consistent in itself.
func onePage(ctx context.Context, b store.Boards, offset, count int64) error {
	page, err := b.Page(ctx, "board", offset, 20, store.Ordinal)
	if err != nil {
		return err
	}
	if page.Total != count || page.Info.Count != count || int64(len(page.Entries)) != max(0, min(20, count-offset)) {
		return fmt.Errorf("page at %d has %d entries of %d, %+v", offset, len(page.Entries), page.Total, page.Info)
	}
	if err := unsorted(store.Descending, page.Entries, offset+1); err != nil {
		return fmt.Errorf("page at %d: %w", offset, err)
	}
	if err := skipped(page.Entries); err != nil {
		return fmt.Errorf("page at %d: %w", offset, err)
	}
	around, err := b.Around(ctx, "board", "mover", int(offset), store.Ordinal)
	if err != nil {
		return err
	}
	if len(around.Entries) == 0 || around.Total != count {
		return fmt.Errorf("around the mover: %+v", around)
	}
	if err := unsorted(store.Descending, around.Entries, around.Entries[0].Rank); err != nil {
		return fmt.Errorf("around: %w", err)
	}
	for i, s := range around.Entries {
		if s.Key == "mover" {
			above, below := s.Rank-1, count-s.Rank
			if int64(i) != min(above, offset) || int64(len(around.Entries)-1-i) != min(below, offset) {
				return fmt.Errorf("%d around rank %d: place %d of %d", offset, s.Rank, i, len(around.Entries))
			}
			return nil
		}
	}
	return fmt.Errorf("around the mover without the mover: %s", keysOf(around.Entries))
}

// skipped tells whether one of the others, who are 10 apart, is left out between two.
func skipped(all []store.Standing) error {
	last := int64(-1)
	for _, s := range all {
		if s.Key == "mover" {
			continue
		}
		if last >= 0 && last-s.Score != 10 {
			return fmt.Errorf("%s with %d follows an entry with %d", s.Key, s.Score, last)
		}
		last = s.Score
	}
	return nil
}

// sequenceHasNoHoles reads the whole board again and again while entries are created: once
// a board has shown a sequence, nothing with a lower one appears any more.
//
// case B1.
func sequenceHasNoHoles(t *testing.T, h Harness[store.Boards]) {
	const writers, each = 4, 60
	handles := openSome(t, h, 3)
	newTwin(t, handles[0], "board", store.Descending)
	ctx := t.Context()
	var running atomic.Int64
	running.Store(writers)
	together(t, writers+1, func(c int) error {
		b := handles[c%len(handles)]
		if c < writers {
			defer running.Add(-1)
			for n := range each {
				batch := store.Batch{Rule: store.Best, Entries: []store.Submission{entry(fmt.Sprintf("key/%d/%d/a", c, n), int64(n)), entry(fmt.Sprintf("key/%d/%d/b", c, n), int64(-n))}}
				if _, err := b.Merge(ctx, "board", batch); err != nil {
					return err
				}
			}
			return nil
		}
		known, upTo := make(map[string]bool), uint64(0)
		for last := false; !last; {
			last = running.Load() == 0
			page, err := b.Page(ctx, "board", 0, store.MaxPage, store.Ordinal)
			if err != nil {
				return err
			}
			for _, s := range page.Entries {
				if s.Sequence <= upTo && !known[s.Key] {
					return fmt.Errorf("%s appears with sequence %d after the board had shown %d", s.Key, s.Sequence, upTo)
				}
				known[s.Key] = true
			}
			upTo = page.Info.Sequence
		}
		if len(known) != writers*each*2 {
			return fmt.Errorf("%d entries in the end, want %d", len(known), writers*each*2)
		}
		return nil
	})
}
