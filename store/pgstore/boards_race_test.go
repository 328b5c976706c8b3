package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
)

// Ten mergers of five processes, readers, and one who seals: what is acknowledged is on the
// board when it is sealed, nothing comes after that, and every page is of one state.
//
// case B4.
func TestMergersSealerAndReaders(t *testing.T) {
	const mergers, keys, before = 10, 400, 80
	g := newGround(t, 16, 4)
	handles := make([]store.Boards, 5)
	for i := range handles {
		handles[i] = g.open(t).Boards()
	}
	var (
		merged atomic.Int64
		enough = make(chan struct{})
		sealed = make(chan struct{})
		group  sync.WaitGroup
		sums   [mergers][keys]int64 // acknowledged, by merger
	)
	for m := range mergers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(m), 7))
			for n := uint64(1); ; n++ {
				batch := store.Batch{Rule: store.Sum, Source: fmt.Sprint("merger-", m), N: n}
				added := make(map[int]int64)
				for _, k := range random.Perm(keys)[:20] {
					added[k] = random.Int64N(50) + 1
					batch.Entries = append(batch.Entries, store.Submission{Key: fmt.Sprintf("key-%03d", k), Score: added[k]})
				}
				_, err := handles[m%len(handles)].Merge(t.Context(), "top", batch)
				if errors.Is(err, store.ErrSealed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				for k, score := range added {
					sums[m][k] += score
				}
				if merged.Add(1) == before {
					close(enough)
				}
			}
		})
	}
	for r := range 2 {
		group.Go(func() { readUntil(t, handles[r], sealed) })
	}
	<-enough
	final, err := handles[4].Seal(t.Context(), "top")
	if err != nil {
		t.Fatal(err)
	}
	page, err := handles[3].Page(t.Context(), "top", 0, store.MaxPage, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	close(sealed)
	group.Wait()
	if page.Info != final || int64(len(page.Entries)) != final.Count {
		t.Errorf("Seal answered %+v, a page after it has %d entries and %+v", final, len(page.Entries), page.Info)
	}
	later, err := g.boards.Page(t.Context(), "top", 0, store.MaxPage, store.Ordinal)
	if d := cmp.Diff(page, later); d != "" || err != nil {
		t.Errorf("the sealed board has changed, %v (-then +now):\n%s", err, d)
	}
	for _, s := range later.Entries {
		var k int
		_, _ = fmt.Sscanf(s.Key, "key-%d", &k)
		want := int64(0)
		for m := range sums {
			want += sums[m][k]
		}
		if s.Score != want {
			t.Errorf("%s has %d, acknowledged were %d", s.Key, s.Score, want)
		}
	}
	g.wantFullSort(t)
}

// A board that is locked for long takes one connection of a process at most: others go on.
func TestLockedBoardHoldsUpNobodyElse(t *testing.T) {
	g := newGround(t, 8, 4)
	g.merge(t, "key", 10, 10)
	e := open(t, g.url+"&pool_max_conns=3", g.options)
	if _, err := e.Boards().Create(t.Context(), "other", store.BoardSpec{Order: store.Ascending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	letGo := g.hold(t, `SELECT 1 FROM boards WHERE name = 'top' FOR UPDATE`)
	var group sync.WaitGroup
	for n := range uint64(8) {
		group.Go(func() {
			if _, err := e.Boards().Merge(t.Context(), "top", sumOf("s", n+1, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, "a merge to wait", func() bool {
		return g.number(t, `SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.query LIKE '%`+g.schema+`%'`) > 0
	})
	for n := range uint64(5) {
		if _, err := e.Boards().Merge(t.Context(), "other", sumOf("s", n+1, 1)); err != nil {
			t.Error(err)
		}
		if s, ok, err := e.Boards().Standing(t.Context(), "top", "key-3", store.Ordinal); err != nil || !ok {
			t.Errorf("Standing = %+v, %v, %v", s, ok, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Boards().Remove(ctx, "top", "key-3"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Remove = %v, want ErrUnavailable", err)
	}
	letGo()
	group.Wait()
}

// readUntil reads pages until done is closed: each is sorted and says what it holds.
func readUntil(t *testing.T, boards store.Boards, done <-chan struct{}) {
	t.Helper()
	for {
		select {
		case <-done:
			return
		default:
		}
		page, err := boards.Page(t.Context(), "top", 0, store.MaxPage, store.Competition)
		if err != nil {
			t.Error(err)
			return
		}
		if int64(len(page.Entries)) != page.Total {
			t.Errorf("a page of the whole board has %d entries, it says %d", len(page.Entries), page.Total)
			return
		}
		for i, s := range page.Entries {
			if s.Sequence > page.Info.Sequence || i > 0 && s.Score > page.Entries[i-1].Score {
				t.Errorf("entry %d of a page is %+v after %+v, the board says %+v", i, s, page.Entries[max(0, i-1)], page.Info)
				return
			}
		}
	}
}

// Under writes, what is read between two looks at the board that show the same sequence equals
// a count by hand: ranks in every mode, pages in the middle, and surroundings.
//
// case B1.
func TestRanksUnderWrites(t *testing.T) {
	const keys, rounds, scores = 300, 40, 12
	g := newGround(t, 8, 4)
	g.merge(t, "key", keys, scores)
	turn, stop := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	for w := range 3 {
		boards := g.open(t).Boards()
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 9))
			for n := uint64(1); ; n++ {
				select {
				case <-stop:
					return
				case turn <- struct{}{}:
				}
				batch := store.Batch{Rule: store.Last}
				for _, k := range random.Perm(keys)[:15] {
					batch.Entries = append(batch.Entries, store.Submission{
						Key: fmt.Sprintf("key-%d", k), Score: random.Int64N(scores), Stamp: store.Stamp{Epoch: n, Revision: uint64(w)},
					})
				}
				if _, err := boards.Merge(t.Context(), "top", batch); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(4, 4))
	for range rounds {
		for range 3 { // writers go on beside what is read next
			<-turn
		}
		g.compareOnce(t, random)
	}
	close(stop)
	group.Wait()
	for range rounds {
		if !g.compareOnce(t, random) {
			t.Fatal("nothing was compared, though nobody writes")
		}
	}
	g.wantFullSort(t)
}

// compareOnce reads the whole board and parts of it, and compares them unless somebody wrote
// meanwhile.
func (g *ground) compareOnce(t *testing.T, random *rand.Rand) (compared bool) {
	t.Helper()
	whole, err := g.boards.Page(t.Context(), "top", 0, store.MaxPage, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	pick := random.IntN(len(whole.Entries))
	key, offset := whole.Entries[pick].Key, random.IntN(len(whole.Entries))
	var got [3]store.Standing
	for mode := store.Ordinal; mode <= store.Dense; mode++ {
		if got[mode], _, err = g.boards.Standing(t.Context(), "top", key, mode); err != nil {
			t.Fatal(err)
		}
	}
	page, err := g.boards.Page(t.Context(), "top", int64(offset), 20, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	around, err := g.boards.Around(t.Context(), "top", key, 4, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	if around.Offset >= 0 && len(around.Entries) > 0 && around.Entries[0].Rank != around.Offset+1 {
		t.Fatalf("around %s: %+v", key, around)
	}
	info, err := g.boards.Info(t.Context(), "top")
	if err != nil {
		t.Fatal(err)
	}
	if info.Sequence != whole.Info.Sequence {
		return false
	}
	for mode := store.Ordinal; mode <= store.Dense; mode++ {
		if want := rankByHand(whole.Entries, pick, mode); got[mode].Rank != want {
			t.Errorf("the %s rank of %s is %d, want %d", mode, key, got[mode].Rank, want)
		}
	}
	if d := cmp.Diff(whole.Entries[offset:min(len(whole.Entries), offset+20)], page.Entries); d != "" {
		t.Errorf("page at %d (-want +got):\n%s", offset, d)
	}
	if d := cmp.Diff(whole.Entries[max(0, pick-4):min(len(whole.Entries), pick+5)], around.Entries); d != "" {
		t.Errorf("around %s (-want +got):\n%s", key, d)
	}
	return true
}

// rankByHand counts better entries, or better scores.
func rankByHand(all []store.Standing, at int, mode store.RankMode) int64 {
	better, scores := int64(0), map[int64]bool{}
	for _, s := range all[:at] {
		if s.Score != all[at].Score {
			better++
			scores[s.Score] = true
		}
	}
	switch mode {
	case store.Ordinal:
		return int64(at) + 1
	case store.Competition:
		return better + 1
	case store.Dense:
		return int64(len(scores)) + 1
	}
	return 0
}
