package sqlitestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file holds the counts that make ranks fast, without I/O.
//
// The entries of a board, in their order, are cut into buckets of one to two thousand. A
// bucket is known by the position from which it counts, and its number of entries; because
// positions are the whole order (score and sequence), a board where everybody has the same
// score is cut as well as any other. Buckets stand on shelves, one row of the file each, so
// that a batch that touches every bucket of a million entries writes eight rows.
//
// The rank of a position is the sum of the better shelves, the better buckets of its own
// shelf, and the better entries of its own bucket.
type sizes struct {
	// bucket is what a bucket is cut to. It is cut when it holds twice as much, and joins a
	// neighbour that has room when it holds a quarter or less.
	bucket int64
	// shelf is the same for the buckets of a shelf.
	shelf int
	// walkLog is how many entries a board logs for walks.
	walkLog int64
	// stretch is how many entries more than a page of a walk wants one stretch has.
	stretch int
}

func defaultSizes() sizes {
	return sizes{bucket: 1000, shelf: 64, walkLog: store.MaxWalkLog, stretch: 100}
}

// bucket counts the entries from a position up to the next bucket.
type bucket struct {
	from    position
	entries int64
}

// shelf is a row of buckets. There is always one, and the first of a board starts at
// firstPosition.
type shelf struct {
	buckets []bucket
	loaded  bool // buckets holds all of them, not only where the first one starts
	stored  bool // the file has a row for it
	changed bool // that row is out of date
}

func (s *shelf) from() position { return s.buckets[0].from }

// entries is how many entries the whole shelf counts.
func (s *shelf) entries() int64 {
	var n int64
	for _, b := range s.buckets {
		n += b.entries
	}
	return n
}

// directory is all shelves of a board, in order. The buckets of a shelf are loaded when
// they are needed.
type directory struct {
	shelves []*shelf
	dropped []position // shelves whose rows must go
	sizes   sizes
	until   *position // where the counts end while they are made anew; nil: they are whole
	load    func(from position) ([]bucket, error)
}

// firstShelf is the shelf of a board without entries.
func firstShelf() *shelf {
	return &shelf{buckets: []bucket{{from: firstPosition()}}, loaded: true, changed: true}
}

// errDamaged: the counts cannot be those of the entries.
var errDamaged = errors.New("the bucket counts are damaged; run `shoal store check --repair`")

func damaged(how string) error { return fmt.Errorf("%w (%s)", errDamaged, how) }

// find is the last of what starts at or before p.
func find[E any](sorted []E, from func(E) position, p position) int {
	i, exact := slices.BinarySearchFunc(sorted, p, func(e E, p position) int { return from(e).compare(p) })
	if exact {
		return i
	}
	return i - 1
}

func bucketFrom(b bucket) position { return b.from }

// add counts n entries more (or fewer) at p.
func (d *directory) add(p position, n int64) error {
	if d.until != nil && p.compare(*d.until) >= 0 {
		return nil // the counts are being made anew, and it is not their turn yet
	}
	i := find(d.shelves, (*shelf).from, p)
	if i < 0 {
		return damaged("the first bucket does not start at the first position")
	}
	s := d.shelves[i]
	if err := d.fetch(s); err != nil {
		return err
	}
	b := &s.buckets[find(s.buckets, bucketFrom, p)]
	b.entries += n
	s.changed = true
	if b.entries < 0 {
		return damaged("a bucket counts fewer than no entries")
	}
	return nil
}

func (d *directory) fetch(s *shelf) error {
	if s.loaded {
		return nil
	}
	buckets, err := d.load(s.from())
	if err != nil {
		return err
	}
	if buckets[0].from != s.from() {
		return damaged("a shelf does not start where its first bucket does")
	}
	s.buckets, s.loaded = buckets, true
	return nil
}

// balance cuts what has become too large and joins what has become too small, among the
// changed. nth answers the position of the entry that comes n after the first one at or
// after from.
func (d *directory) balance(nth func(from position, n int64) (position, error)) error {
	for i, s := range d.shelves {
		if !s.changed {
			continue
		}
		end := lastPosition()
		if i+1 < len(d.shelves) {
			end = d.shelves[i+1].from()
		}
		if err := s.cutBuckets(d.sizes.bucket, end, nth); err != nil {
			return err
		}
		s.joinBuckets(d.sizes.bucket)
	}
	d.cutShelves()
	return d.joinShelves()
}

func (s *shelf) cutBuckets(size int64, end position, nth func(position, int64) (position, error)) error {
	for i := 0; i < len(s.buckets); i++ {
		if s.buckets[i].entries <= 2*size {
			continue
		}
		from, err := nth(s.buckets[i].from, size)
		if err != nil {
			return err
		}
		next := end
		if i+1 < len(s.buckets) {
			next = s.buckets[i+1].from
		}
		if from.compare(next) >= 0 {
			return damaged("a bucket counts more entries than there are")
		}
		rest := bucket{from: from, entries: s.buckets[i].entries - size}
		s.buckets[i].entries = size
		s.buckets = slices.Insert(s.buckets, i+1, rest)
	}
	return nil
}

func (s *shelf) joinBuckets(size int64) {
	for i := 0; i+1 < len(s.buckets); {
		left, right := s.buckets[i].entries, s.buckets[i+1].entries
		if 4*min(left, right) > size || left+right > size {
			i++
			continue
		}
		s.buckets[i].entries += right
		s.buckets = slices.Delete(s.buckets, i+1, i+2)
	}
}

func (d *directory) cutShelves() {
	for i := 0; i < len(d.shelves); i++ {
		s := d.shelves[i]
		if !s.loaded || len(s.buckets) <= 2*d.sizes.shelf {
			continue
		}
		rest := &shelf{buckets: slices.Clone(s.buckets[d.sizes.shelf:]), loaded: true, changed: true}
		s.buckets = s.buckets[:d.sizes.shelf:d.sizes.shelf]
		d.shelves = slices.Insert(d.shelves, i+1, rest)
	}
}

func (d *directory) joinShelves() error {
	for i := 0; i+1 < len(d.shelves); {
		left, right := d.shelves[i], d.shelves[i+1]
		if !left.isSmall(d.sizes) && !right.isSmall(d.sizes) {
			i++
			continue
		}
		if err := errors.Join(d.fetch(left), d.fetch(right)); err != nil {
			return err
		}
		if len(left.buckets)+len(right.buckets) > d.sizes.shelf {
			i++
			continue
		}
		if right.stored {
			d.dropped = append(d.dropped, right.from())
		}
		left.buckets, left.changed = append(left.buckets, right.buckets...), true
		left.joinBuckets(d.sizes.bucket)
		d.shelves = slices.Delete(d.shelves, i+1, i+2)
	}
	return nil
}

// isSmall tells that the shelf has lost so many buckets that it should join another.
func (s *shelf) isSmall(z sizes) bool { return s.changed && 4*len(s.buckets) <= z.shelf }

// bucketBytes is the length of an encoded bucket: place, sequence and entries.
const bucketBytes = 8 + 8 + 4

// encodeBuckets is what the row of a shelf holds.
func encodeBuckets(buckets []bucket) []byte {
	out := make([]byte, 0, len(buckets)*bucketBytes)
	for _, b := range buckets {
		out = binary.BigEndian.AppendUint64(out, uint64(b.from.place))
		out = binary.BigEndian.AppendUint64(out, uint64(b.from.sequence))
		out = binary.BigEndian.AppendUint32(out, uint32(b.entries))
	}
	return out
}

// decodeBuckets is the inverse of encodeBuckets. It refuses what encodeBuckets cannot have
// made.
func decodeBuckets(in []byte) ([]bucket, error) {
	if len(in) == 0 || len(in)%bucketBytes != 0 {
		return nil, damaged(fmt.Sprintf("buckets in %d bytes", len(in)))
	}
	buckets := make([]bucket, len(in)/bucketBytes)
	for i := range buckets {
		row := in[i*bucketBytes:]
		buckets[i] = bucket{
			from: position{
				place:    int64(binary.BigEndian.Uint64(row)),
				sequence: int64(binary.BigEndian.Uint64(row[8:])),
			},
			entries: int64(binary.BigEndian.Uint32(row[16:])),
		}
		if i > 0 && buckets[i-1].from.compare(buckets[i].from) >= 0 {
			return nil, damaged("buckets out of order")
		}
	}
	return buckets, nil
}

// locate finds the bucket that the entry at offset (0 is the best) is in, and how many
// entries of it are better.
func locate(buckets []bucket, offset int64) (b bucket, inside int64) {
	for _, b = range buckets {
		if offset < b.entries {
			return b, offset
		}
		offset -= b.entries
	}
	return b, offset + b.entries
}

// betterThan is the bucket that p is in, and how many entries the better ones count.
func betterThan(buckets []bucket, p position) (own bucket, better int64) {
	i := max(0, find(buckets, bucketFrom, p))
	for _, b := range buckets[:i] {
		better += b.entries
	}
	return buckets[i], better
}
