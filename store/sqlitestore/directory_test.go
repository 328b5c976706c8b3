package sqlitestore_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

func positions() *rapid.Generator[sqlitestore.Position] {
	return rapid.Custom(func(t *rapid.T) sqlitestore.Position {
		place := rapid.OneOf(
			rapid.Int64Range(0, 20),
			rapid.Just(int64(0)),
			rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64}),
		)
		return sqlitestore.Position{Place: place.Draw(t, "place"), Sequence: rapid.Int64Range(1, 500).Draw(t, "sequence")}
	})
}

// The counts of buckets agree with the entries, whatever comes and goes, and no bucket or
// shelf grows beyond twice its size.
func TestCountsAgreeWithTheEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bucket, shelf = 4, 4
		c := sqlitestore.NewCounts(bucket, shelf)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, p := range rapid.SliceOfN(positions(), 1, 60).Draw(t, "positions") {
					apply(t, c, p, true)
				}
				balance(t, c)
			},
			"remove": func(t *rapid.T) {
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 60).Draw(t, "places") {
					if len(c.Entries) > 0 {
						apply(t, c, c.Entries[i%len(c.Entries)], false)
					}
				}
				balance(t, c)
			},
			"": func(t *rapid.T) {
				shelves, largest := c.Shape()
				if largest > 2*bucket || slices.Max(shelves) > 2*shelf {
					t.Fatalf("a bucket holds %d entries, shelves %v buckets", largest, shelves)
				}
				for i, p := range c.Entries {
					better, from := c.Better(p)
					inside := 0
					for _, q := range c.Entries[:i] {
						if q.Place > from.Place || q.Place == from.Place && q.Sequence >= from.Sequence {
							inside++
						}
					}
					if int(better)+inside != i {
						t.Fatalf("entry %d: %d better and %d in its bucket", i, better, inside)
					}
					if at, n := c.Locate(int64(i)); at != from || int(n) != inside {
						t.Fatalf("offset %d is in the bucket from %v at %d, want %v at %d", i, at, n, from, inside)
					}
				}
			},
		})
		// Emptied, little is left.
		for len(c.Entries) > 0 {
			apply(t, c, c.Entries[0], false)
		}
		balance(t, c)
		balance(t, c)
		if shelves, largest := c.Shape(); largest != 0 || len(shelves) > 2 {
			t.Fatalf("an empty board has shelves of %v buckets", shelves)
		}
	})
}

func apply(t *rapid.T, c *sqlitestore.Counts, p sqlitestore.Position, more bool) {
	if err := c.Apply(p, more); err != nil {
		t.Fatal(err)
	}
}

func balance(t *rapid.T, c *sqlitestore.Counts) {
	if err := c.Balance(); err != nil {
		t.Fatal(err)
	}
}

// What decodes encodes to the same bytes; the rest is refused.
func FuzzBuckets(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(make([]byte, 20))
	f.Add(append(make([]byte, 20), bytes.Repeat([]byte{1}, 20)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		if out, err := sqlitestore.RecodeBuckets(in); err == nil && !bytes.Equal(in, out) {
			t.Fatalf("%x became %x", in, out)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(sqlitestore.EncodeFrame("topic", []byte("payload")))
	f.Add([]byte{1, 0, 0})
	f.Add([]byte{2, 0, 1, 'x'})
	f.Fuzz(func(t *testing.T, in []byte) {
		topic, payload, ok := sqlitestore.DecodeFrame(in)
		if ok && !bytes.Equal(in, sqlitestore.EncodeFrame(topic, payload)) {
			t.Fatalf("%x became topic %q, payload %x", in, topic, payload)
		}
		if ok && (topic == "" || len(topic) > store.MaxTopic || len(payload) > store.MaxPayload) {
			t.Fatalf("a frame over the limits was taken: %d and %d bytes", len(topic), len(payload))
		}
	})
}

func TestFramesOfAnySize(t *testing.T) {
	for _, n := range []int{0, 1, store.MaxPayload} {
		for _, m := range []int{1, store.MaxTopic} {
			topic, payload := string(bytes.Repeat([]byte{'t'}, m)), bytes.Repeat([]byte{'p'}, n)
			frame := sqlitestore.EncodeFrame(topic, payload)
			gotTopic, gotPayload, ok := sqlitestore.DecodeFrame(frame)
			if !ok || gotTopic != topic || !bytes.Equal(gotPayload, payload) || len(frame) > sqlitestore.FrameMost {
				t.Fatalf("topic of %d and payload of %d bytes do not come through", m, n)
			}
		}
	}
}

// A result code means something else before COMMIT than during it.
func TestSentinels(t *testing.T) {
	for _, c := range []struct {
		code               int
		before, committing error
	}{
		{1, store.ErrUnavailable, store.ErrUnknown},     // error
		{5, store.ErrUnavailable, store.ErrUnavailable}, // busy
		{6, store.ErrUnavailable, store.ErrUnavailable}, // locked
		{7, store.ErrUnavailable, store.ErrUnknown},     // out of memory
		{10, store.ErrUnavailable, store.ErrUnknown},    // I/O error
		{11, store.ErrUnavailable, store.ErrUnknown},    // corrupt
		{13, store.ErrTooLarge, store.ErrTooLarge},      // disk full
		{18, store.ErrTooLarge, store.ErrTooLarge},      // too big
		{0, store.ErrUnavailable, store.ErrUnknown},     // not the engine's
	} {
		if got := sqlitestore.Sentinel(c.code, false); got != c.before { //nolint:errorlint // the sentinel itself
			t.Errorf("code %d before COMMIT: %v, want %v", c.code, got, c.before)
		}
		if got := sqlitestore.Sentinel(c.code, true); got != c.committing { //nolint:errorlint // the sentinel itself
			t.Errorf("code %d during COMMIT: %v, want %v", c.code, got, c.committing)
		}
	}
}
