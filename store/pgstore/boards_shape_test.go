package pgstore_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shoalworks/shoal/store"
)

// However scores are spread, buckets and shelves stay bounded, two processes agree, and all
// ranks equal a full sort: while the board fills, moves and drains.
//
// case B1, case B2, case B3.
func TestDistributions(t *testing.T) {
	const players, chunk, bucket, shelf = 600, 200, 8, 4
	for name, score := range map[string]func(round, i int, random *rand.Rand) int64{
		"everybody at 0": func(int, int, *rand.Rand) int64 { return 0 },
		"two clusters":   func(_, i int, r *rand.Rand) int64 { return int64(i%2)*1_000_000_000 + r.Int64N(3) },
		"all of int64": func(_, i int, r *rand.Rand) int64 {
			return []int64{int64(r.Uint64()), math.MinInt64, math.MaxInt64, int64(r.Uint64())}[i%4]
		},
		"ascending":  func(round, i int, _ *rand.Rand) int64 { return int64(round*10_000 + i) },
		"descending": func(round, i int, _ *rand.Rand) int64 { return -int64(round*10_000 + i) },
		"to one score and back": func(round, i int, _ *rand.Rand) int64 {
			if round%2 == 1 {
				return 777
			}
			return int64(i * 31 % 5000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, random := newGround(t, bucket, shelf), rand.New(rand.NewPCG(8, 8))
			handles := []store.Boards{g.boards, g.open(t).Boards()}
			for round := range 3 {
				for first := 0; first < players; first += chunk {
					batch := store.Batch{Rule: store.Last}
					for i := first; i < first+chunk; i++ {
						batch.Entries = append(batch.Entries, store.Submission{
							Key: fmt.Sprintf("key-%d", i), Score: score(round, i, random), Stamp: store.Stamp{Epoch: uint64(round) + 1},
						})
					}
					if _, err := handles[(round+first/chunk)%2].Merge(t.Context(), "top", batch); err != nil {
						t.Fatal(err)
					}
					g.wantBounded(t, bucket, shelf)
				}
				g.wantFullSort(t)
			}
			for first := 0; first < players; first += chunk {
				var gone []string
				for i := range chunk {
					gone = append(gone, fmt.Sprintf("key-%d", (first+i)*7%players))
				}
				if n, err := handles[first/chunk%2].Remove(t.Context(), "top", gone...); err != nil || n != chunk {
					t.Fatalf("Remove = %d, %v", n, err)
				}
				g.wantFullSort(t)
			}
			if shelves, most, _ := g.shape(t); shelves > 2 || most > 2 {
				t.Fatalf("%d shelves of up to %d buckets are left of nothing", shelves, most)
			}
		})
	}
}

// shape is how many shelves there are, and the most buckets and entries of one.
func (g *ground) shape(t *testing.T) (shelves, buckets, entries int64) {
	t.Helper()
	err := g.tables.QueryRow(t.Context(), `SELECT count(*), max(octet_length(buckets)) / 20, max(entries) FROM shelves`).
		Scan(&shelves, &buckets, &entries)
	if err != nil {
		t.Fatal(err)
	}
	return shelves, buckets, entries
}

// wantBounded fails when a shelf or its buckets are larger than twice their size.
func (g *ground) wantBounded(t *testing.T, bucket, shelf int64) {
	t.Helper()
	_, buckets, entries := g.shape(t)
	if buckets > 2*shelf || entries > 4*shelf*bucket {
		t.Fatalf("a shelf has %d buckets, one %d entries", buckets, entries)
	}
}

// The order is that of the bytes of keys and names, whatever the database's collation is.
func TestBoardsAreSortedByBytes(t *testing.T) {
	g := newGround(t, 50, 8)
	names := []string{"B", "Z", "_", "a", "b", "top", "~"}
	for _, name := range names {
		if _, err := g.boards.Create(t.Context(), name, store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := g.boards.List(t.Context(), "", "", 10)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(names) {
		t.Fatalf("List = %q, %v, want %q", got, err, names)
	}
	if _, err := g.boards.Hide(t.Context(), "top", true, names...); err != nil {
		t.Fatal(err)
	}
	hidden, err := g.boards.Hidden(t.Context(), "top", "B", 10)
	if err != nil || len(hidden) != len(names)-1 || hidden[0].Key != "Z" || hidden[2].Key != "a" {
		t.Fatalf("Hidden = %+v, %v", hidden, err)
	}
}
