package standings_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store/internal/standings"
)

func positions() *rapid.Generator[standings.Position] {
	return rapid.Custom(func(t *rapid.T) standings.Position {
		place := rapid.OneOf(
			rapid.Int64Range(0, 20),
			rapid.Just(int64(0)),
			rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64}),
		)
		return standings.Position{Place: place.Draw(t, "place"), Sequence: rapid.Int64Range(1, 500).Draw(t, "sequence")}
	})
}

// counts is a directory in memory, over a sorted list of positions as the entries.
type counts struct {
	d       *standings.Directory
	entries []standings.Position // sorted
}

// newCounts makes the directory of a board without entries.
func newCounts(bucket int64, shelf int) *counts {
	return &counts{d: &standings.Directory{
		Sizes:   standings.Sizes{Bucket: bucket, Shelf: shelf},
		Shelves: []*standings.Shelf{standings.FirstShelf()},
	}}
}

// apply counts an entry more, or one fewer.
func (c *counts) apply(t *rapid.T, p standings.Position, more bool) {
	at, found := slices.BinarySearchFunc(c.entries, p, standings.Position.Compare)
	n := int64(1)
	switch {
	case more == found:
		return
	case more:
		c.entries = slices.Insert(c.entries, at, p)
	default:
		c.entries = slices.Delete(c.entries, at, at+1)
		n = -1
	}
	if err := c.d.Add(p, n); err != nil {
		t.Fatal(err)
	}
}

// balance cuts and joins, and sends every shelf through its stored form.
func (c *counts) balance(t *rapid.T) {
	foretold := make(map[standings.Position]standings.Position)
	for _, cut := range c.d.Cuts() {
		for from := cut.From; cut.Times > 0; cut.Times-- {
			foretold[from] = c.nth(from, c.d.Sizes.Bucket)
			from = foretold[from]
		}
	}
	err := c.d.Balance(func(from standings.Position, n int64) (standings.Position, error) {
		next, ok := foretold[from]
		if delete(foretold, from); !ok || next != c.nth(from, n) {
			t.Fatalf("the cut at %s is not foretold", from)
		}
		return next, nil
	})
	if len(foretold) > 0 {
		t.Fatalf("cuts that were foretold are not made: %v", foretold)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.d.Dropped = nil
	for _, s := range c.d.Shelves {
		s.Changed, s.Stored = false, true
		if s.Buckets, err = standings.DecodeBuckets(standings.EncodeBuckets(s.Buckets)); err != nil {
			t.Fatal(err)
		}
	}
}

// nth is the entry that comes n after the first one at or after from.
func (c *counts) nth(from standings.Position, n int64) standings.Position {
	at, _ := slices.BinarySearchFunc(c.entries, from, standings.Position.Compare)
	return c.entries[at+int(n)]
}

// better is how many entries the directory says are better, short of p's own bucket, and
// where that starts.
func (c *counts) better(p standings.Position) (better int64, from standings.Position) {
	i := c.d.Find(p)
	for _, s := range c.d.Shelves[:i] {
		better += s.Entries()
	}
	own, inside := standings.BetterThan(c.d.Shelves[i].Buckets, p)
	return better + inside, own.From
}

// locate finds the bucket of the entry at an offset, and its place in it.
func (c *counts) locate(offset int64) (from standings.Position, inside int64) {
	var all []standings.Bucket
	for _, s := range c.d.Shelves {
		all = append(all, s.Buckets...)
	}
	b, inside := standings.Locate(all, offset)
	return b.From, inside
}

// shape is the number of buckets on each shelf, and the entries of the largest bucket.
func (c *counts) shape() (shelves []int, largest int64) {
	for _, s := range c.d.Shelves {
		shelves = append(shelves, len(s.Buckets))
		for _, b := range s.Buckets {
			largest = max(largest, b.Entries)
		}
	}
	return shelves, largest
}

// The counts of buckets agree with the entries, whatever comes and goes, and no bucket or
// shelf grows beyond twice its size.
func TestCountsAgreeWithTheEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bucket, shelf = 4, 4
		c := newCounts(bucket, shelf)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, p := range rapid.SliceOfN(positions(), 1, 60).Draw(t, "positions") {
					c.apply(t, p, true)
				}
				c.balance(t)
			},
			"remove": func(t *rapid.T) {
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 60).Draw(t, "places") {
					if len(c.entries) > 0 {
						c.apply(t, c.entries[i%len(c.entries)], false)
					}
				}
				c.balance(t)
			},
			"": func(t *rapid.T) {
				shelves, largest := c.shape()
				if largest > 2*bucket || slices.Max(shelves) > 2*shelf {
					t.Fatalf("a bucket holds %d entries, shelves %v buckets", largest, shelves)
				}
				for i, p := range c.entries {
					better, from := c.better(p)
					inside := 0
					for _, q := range c.entries[:i] {
						if q.Compare(from) >= 0 {
							inside++
						}
					}
					if int(better)+inside != i {
						t.Fatalf("entry %d: %d better and %d in its bucket", i, better, inside)
					}
					if at, n := c.locate(int64(i)); at != from || int(n) != inside {
						t.Fatalf("offset %d is in the bucket from %v at %d, want %v at %d", i, at, n, from, inside)
					}
				}
			},
		})
		// Emptied, little is left.
		for len(c.entries) > 0 {
			c.apply(t, c.entries[0], false)
		}
		c.balance(t)
		c.balance(t)
		if shelves, largest := c.shape(); largest != 0 || len(shelves) > 2 {
			t.Fatalf("an empty board has shelves of %v buckets", shelves)
		}
	})
}

// What decodes encodes to the same bytes; the rest is refused.
func FuzzBuckets(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(make([]byte, 20))
	f.Add(append(make([]byte, 20), bytes.Repeat([]byte{1}, 20)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		buckets, err := standings.DecodeBuckets(in)
		if err == nil && !bytes.Equal(in, standings.EncodeBuckets(buckets)) {
			t.Fatalf("%x became %v", in, buckets)
		}
		if err != nil && !errors.Is(err, standings.ErrDamaged) {
			t.Fatalf("%x is refused by %v", in, err)
		}
	})
}

// Counts that cannot be right are refused, and what is beyond the counts is not counted.
func TestDamagedCounts(t *testing.T) {
	c := newCounts(4, 4)
	if err := c.d.Add(standings.Position{Place: 5, Sequence: 1}, -1); !errors.Is(err, standings.ErrDamaged) {
		t.Errorf("fewer than none: %v, want damaged", err)
	}
	beyond := &standings.Directory{
		Sizes: standings.Sizes{Bucket: 4, Shelf: 4}, Until: &standings.Position{Place: 3},
		Shelves: []*standings.Shelf{standings.FirstShelf()},
	}
	for place := range int64(6) {
		if err := beyond.Add(standings.Position{Place: place, Sequence: place + 1}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := beyond.Shelves[0].Entries(); n != 3 {
		t.Errorf("%d entries are counted before place 3, want 3", n)
	}
	moved := &standings.Directory{
		Shelves: []*standings.Shelf{{Buckets: []standings.Bucket{{From: standings.FirstPosition()}}}},
		Load: func(standings.Position) ([]standings.Bucket, error) {
			return []standings.Bucket{{From: standings.Position{Place: 7}, Entries: 1}}, nil
		},
	}
	if err := moved.Add(standings.Position{Place: 9, Sequence: 1}, 1); !errors.Is(err, standings.ErrDamaged) {
		t.Errorf("a shelf that starts elsewhere: %v, want damaged", err)
	}
}
