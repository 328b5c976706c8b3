package standings

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file holds the counts that make ranks fast.

// Sizes are how large things become.
type Sizes struct {
	// Bucket is how many entries a bucket is cut to. It is cut when it holds twice as much, and joins a
	// neighbour that has room when it holds a quarter or less.
	Bucket int64
	// Shelf is the same for the buckets of a shelf.
	Shelf int
	// WalkLog is how many entries a board logs for walks.
	WalkLog int64
	// Stretch is how many entries more than a page of a walk wants one stretch has.
	Stretch int
}

// DefaultSizes are buckets of 1,000 to 2,000 entries on shelves of 64 to 128 buckets.
func DefaultSizes() Sizes {
	return Sizes{Bucket: 1000, Shelf: 64, WalkLog: store.MaxWalkLog, Stretch: 100}
}

// Bucket counts the entries from a position up to the next bucket.
type Bucket struct {
	From    Position
	Entries int64
}

// Shelf is a row of buckets. There is always one, and the first of a board starts at
// FirstPosition.
type Shelf struct {
	Buckets []Bucket
	Loaded  bool // Buckets holds all of them, not only where the first one starts
	Stored  bool // the engine has a row for it
	Changed bool // that row is out of date
}

// From is where the first bucket starts.
func (s *Shelf) From() Position { return s.Buckets[0].From }

// Entries is how many entries the whole shelf counts.
func (s *Shelf) Entries() int64 {
	var n int64
	for _, b := range s.Buckets {
		n += b.Entries
	}
	return n
}

// Directory is all shelves of a board, in order. The buckets of a shelf are loaded when
// they are needed. It must not be used by several goroutines at once.
type Directory struct {
	Shelves []*Shelf
	Dropped []Position // shelves whose rows must go
	Sizes   Sizes
	Until   *Position // where the counts end while they are made anew; nil: they are whole
	// Load reads the buckets of the shelf that starts there.
	Load func(from Position) ([]Bucket, error)
}

// FirstShelf is the shelf of a board without entries.
func FirstShelf() *Shelf {
	return &Shelf{Buckets: []Bucket{{From: FirstPosition()}}, Loaded: true, Changed: true}
}

// ErrDamaged tells that the counts cannot be those of the entries.
var ErrDamaged = errors.New("the bucket counts are damaged; run `shoal store check --repair`")

// Damaged is [ErrDamaged] with how it shows.
func Damaged(how string) error { return fmt.Errorf("%w (%s)", ErrDamaged, how) }

// find is the last of what starts at or before p.
func find[E any](sorted []E, from func(E) Position, p Position) int {
	i, exact := slices.BinarySearchFunc(sorted, p, func(e E, p Position) int { return from(e).Compare(p) })
	if exact {
		return i
	}
	return i - 1
}

func bucketFrom(b Bucket) Position { return b.From }

// Find is the index of the shelf that p is on, or -1 when the counts are damaged.
func (d *Directory) Find(p Position) int { return find(d.Shelves, (*Shelf).From, p) }

// Add counts n entries more (or fewer) at p.
func (d *Directory) Add(p Position, n int64) error {
	if d.Until != nil && p.Compare(*d.Until) >= 0 {
		return nil // the counts are being made anew, and it is not their turn yet
	}
	i := d.Find(p)
	if i < 0 {
		return Damaged("the first bucket does not start at the first position")
	}
	s := d.Shelves[i]
	if err := d.Fetch(s); err != nil {
		return err
	}
	b := &s.Buckets[find(s.Buckets, bucketFrom, p)]
	b.Entries += n
	s.Changed = true
	if b.Entries < 0 {
		return Damaged("a bucket counts fewer than no entries")
	}
	return nil
}

// Fetch loads the buckets of a shelf of d, unless they are.
func (d *Directory) Fetch(s *Shelf) error {
	if s.Loaded {
		return nil
	}
	buckets, err := d.Load(s.From())
	if err != nil {
		return err
	}
	if buckets[0].From != s.From() {
		return Damaged("a shelf does not start where its first bucket does")
	}
	s.Buckets, s.Loaded = buckets, true
	return nil
}

// Cut is a bucket that Balance will cut: it asks for the entries that come Size, twice Size, …
// up to Times times Size after the one at From.
type Cut struct {
	From  Position
	Times int64
}

// Cuts are the buckets that Balance will cut, so that a driver can read where in one go.
func (d *Directory) Cuts() (cuts []Cut) {
	size := d.Sizes.Bucket
	for _, s := range d.Shelves {
		if !s.Changed {
			continue
		}
		for _, b := range s.Buckets {
			if b.Entries > 2*size {
				cuts = append(cuts, Cut{From: b.From, Times: (b.Entries - size - 1) / size})
			}
		}
	}
	return cuts
}

// Balance cuts what has become too large and joins what has become too small, among the
// changed. nth answers the position of the entry that comes n after the first one at or
// after from.
func (d *Directory) Balance(nth func(from Position, n int64) (Position, error)) error {
	for i, s := range d.Shelves {
		if !s.Changed {
			continue
		}
		end := LastPosition()
		if i+1 < len(d.Shelves) {
			end = d.Shelves[i+1].From()
		}
		if err := s.cutBuckets(d.Sizes.Bucket, end, nth); err != nil {
			return err
		}
		s.joinBuckets(d.Sizes.Bucket)
	}
	d.cutShelves()
	return d.joinShelves()
}

func (s *Shelf) cutBuckets(size int64, end Position, nth func(Position, int64) (Position, error)) error {
	for i := 0; i < len(s.Buckets); i++ {
		if s.Buckets[i].Entries <= 2*size {
			continue
		}
		from, err := nth(s.Buckets[i].From, size)
		if err != nil {
			return err
		}
		next := end
		if i+1 < len(s.Buckets) {
			next = s.Buckets[i+1].From
		}
		if from.Compare(next) >= 0 {
			return Damaged("a bucket counts more entries than there are")
		}
		rest := Bucket{From: from, Entries: s.Buckets[i].Entries - size}
		s.Buckets[i].Entries = size
		s.Buckets = slices.Insert(s.Buckets, i+1, rest)
	}
	return nil
}

func (s *Shelf) joinBuckets(size int64) {
	for i := 0; i+1 < len(s.Buckets); {
		left, right := s.Buckets[i].Entries, s.Buckets[i+1].Entries
		if 4*min(left, right) > size || left+right > size {
			i++
			continue
		}
		s.Buckets[i].Entries += right
		s.Buckets = slices.Delete(s.Buckets, i+1, i+2)
	}
}

func (d *Directory) cutShelves() {
	for i := 0; i < len(d.Shelves); i++ {
		s := d.Shelves[i]
		if !s.Loaded || len(s.Buckets) <= 2*d.Sizes.Shelf {
			continue
		}
		rest := &Shelf{Buckets: slices.Clone(s.Buckets[d.Sizes.Shelf:]), Loaded: true, Changed: true}
		s.Buckets = s.Buckets[:d.Sizes.Shelf:d.Sizes.Shelf]
		d.Shelves = slices.Insert(d.Shelves, i+1, rest)
	}
}

func (d *Directory) joinShelves() error {
	for i := 0; i+1 < len(d.Shelves); {
		left, right := d.Shelves[i], d.Shelves[i+1]
		if !left.isSmall(d.Sizes) && !right.isSmall(d.Sizes) {
			i++
			continue
		}
		if err := errors.Join(d.Fetch(left), d.Fetch(right)); err != nil {
			return err
		}
		if len(left.Buckets)+len(right.Buckets) > d.Sizes.Shelf {
			i++
			continue
		}
		if right.Stored {
			d.Dropped = append(d.Dropped, right.From())
		}
		left.Buckets, left.Changed = append(left.Buckets, right.Buckets...), true
		left.joinBuckets(d.Sizes.Bucket)
		d.Shelves = slices.Delete(d.Shelves, i+1, i+2)
	}
	return nil
}

// isSmall tells that the shelf has lost so many buckets that it should join another.
func (s *Shelf) isSmall(z Sizes) bool { return s.Changed && 4*len(s.Buckets) <= z.Shelf }

// bucketBytes is the length of an encoded bucket: place, sequence and entries.
const bucketBytes = 8 + 8 + 4

// EncodeBuckets is what the row of a shelf holds: of each bucket place, sequence and entries,
// big-endian.
func EncodeBuckets(buckets []Bucket) []byte {
	out := make([]byte, 0, len(buckets)*bucketBytes)
	for _, b := range buckets {
		out = binary.BigEndian.AppendUint64(out, uint64(b.From.Place))
		out = binary.BigEndian.AppendUint64(out, uint64(b.From.Sequence))
		out = binary.BigEndian.AppendUint32(out, uint32(b.Entries))
	}
	return out
}

// DecodeBuckets is the inverse of [EncodeBuckets]. It refuses what EncodeBuckets cannot have
// made, as [ErrDamaged].
func DecodeBuckets(in []byte) ([]Bucket, error) {
	if len(in) == 0 || len(in)%bucketBytes != 0 {
		return nil, Damaged(fmt.Sprintf("buckets in %d bytes", len(in)))
	}
	buckets := make([]Bucket, len(in)/bucketBytes)
	for i := range buckets {
		row := in[i*bucketBytes:]
		buckets[i] = Bucket{
			From: Position{
				Place:    int64(binary.BigEndian.Uint64(row)),
				Sequence: int64(binary.BigEndian.Uint64(row[8:])),
			},
			Entries: int64(binary.BigEndian.Uint32(row[16:])),
		}
		if i > 0 && buckets[i-1].From.Compare(buckets[i].From) >= 0 {
			return nil, Damaged("buckets out of order")
		}
	}
	return buckets, nil
}

// Locate finds the bucket that the entry at offset (0 is the best) is in, and how many
// entries of it are better.
func Locate(buckets []Bucket, offset int64) (b Bucket, inside int64) {
	for _, b = range buckets {
		if offset < b.Entries {
			return b, offset
		}
		offset -= b.Entries
	}
	return b, offset + b.Entries
}

// BetterThan is the bucket that p is in, and how many entries the better ones count.
func BetterThan(buckets []Bucket, p Position) (own Bucket, better int64) {
	i := max(0, find(buckets, bucketFrom, p))
	for _, b := range buckets[:i] {
		better += b.Entries
	}
	return buckets[i], better
}
