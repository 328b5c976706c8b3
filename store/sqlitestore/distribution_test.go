package sqlitestore_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
	"github.com/shoalworks/shoal/store/storetest"
)

// distribution is how scores are spread: the batches of a history.
type distribution struct {
	name  string
	score func(round, i int, random *rand.Rand) int64
}

// Each round gives every player a score.
func distributions() []distribution {
	return []distribution{
		{"everybody at 0", func(int, int, *rand.Rand) int64 { return 0 }},
		{"two clusters", func(_, i int, r *rand.Rand) int64 { return int64(i%2)*1_000_000_000 + r.Int64N(3) }},
		{"all of int64", func(_, i int, r *rand.Rand) int64 {
			return []int64{int64(r.Uint64()), math.MinInt64, math.MaxInt64, int64(r.Uint64()), int64(r.Uint64())}[i%5]
		}},
		{"ascending", func(round, i int, _ *rand.Rand) int64 { return int64(round*10_000 + i) }},
		{"descending", func(round, i int, _ *rand.Rand) int64 { return -int64(round*10_000 + i) }},
		{"to one score and back", func(round, i int, _ *rand.Rand) int64 {
			if round%2 == 1 {
				return 777
			}
			return int64(i * 31 % 5000)
		}},
		{"all but one at the end", func(round, i int, r *rand.Rand) int64 {
			if i == round {
				return math.MinInt64
			}
			return math.MaxInt64 - int64(i%2)
		}},
	}
}

// However scores are spread, buckets and shelves stay bounded, two engines agree, and all
// ranks equal a full sort: while the board fills, moves, drains, and after a restart.
// case B1, case B2, case B3.
func TestDistributions(t *testing.T) {
	const players, bucket, shelf = 750, 8, 8
	for _, d := range distributions() {
		t.Run(d.name, func(t *testing.T) {
			folder, random := t.TempDir(), rand.New(rand.NewPCG(8, 8))
			engines := []*sqlitestore.Engine{open(t, folder, nil), open(t, folder, nil)}
			for _, e := range engines {
				e.SizeBoards(bucket, shelf)
			}
			createBoard(t, engines[0].Boards(), "top")
			for round := range 4 {
				for first := 0; first < players; first += 250 {
					batch := store.Batch{Rule: store.Last}
					for i := first; i < first+250; i++ {
						batch.Entries = append(batch.Entries, store.Submission{
							Key: storetest.EntryKey(i), Score: d.score(round, i, random), Stamp: store.Stamp{Epoch: uint64(round) + 1},
						})
					}
					if _, err := engines[(round+first)%2].Boards().Merge(t.Context(), "top", batch); err != nil {
						t.Fatal(err)
					}
					wantBounded(t, engines[0], first+250, bucket, shelf)
				}
				for _, e := range engines {
					wantFullSort(t, e, "top")
				}
			}
			wantFullSort(t, open(t, folder, nil), "top")
			drain(t, engines, players)
			wantFullSort(t, open(t, folder, nil), "top")
		})
	}
}

// wantBounded fails when a bucket or a shelf is larger than twice its size, or there are far
// more of them than the entries need.
func wantBounded(t *testing.T, e *sqlitestore.Engine, entries int, bucket, shelf int64) {
	t.Helper()
	largest, longest, err := e.Largest(t.Context())
	if err != nil || largest > 2*bucket || longest > 2*shelf {
		t.Fatalf("a bucket holds %d entries, a shelf %d buckets, %v", largest, longest, err)
	}
	buckets, shelves, err := e.CheckCounts(t.Context())
	if most := 4 + 8*max(entries, 750)/int(bucket); err != nil || buckets > most || shelves > 4+most/int(shelf)*4 {
		t.Fatalf("%d buckets on %d shelves for %d entries, %v", buckets, shelves, entries, err)
	}
}

// drain removes all players, and leaves one bucket.
func drain(t *testing.T, engines []*sqlitestore.Engine, players int) {
	t.Helper()
	for first := 0; first < players; first += 250 {
		var gone []string
		for i := range 250 {
			gone = append(gone, storetest.EntryKey((first+i)*7%players))
		}
		if n, err := engines[first/250%2].Boards().Remove(t.Context(), "top", gone...); err != nil || n != 250 {
			t.Fatalf("Remove = %d, %v", n, err)
		}
		wantFullSort(t, engines[0], "top")
	}
	if buckets, shelves, err := engines[0].CheckCounts(t.Context()); err != nil || buckets > 2 || shelves > 2 {
		t.Fatalf("%d buckets on %d shelves are left, %v", buckets, shelves, err)
	}
	if _, err := engines[1].Boards().Merge(t.Context(), "top", store.Batch{
		Rule: store.Best, Entries: []store.Submission{{Key: "again", Score: 1}},
	}); err != nil {
		t.Fatal(err)
	}
}
