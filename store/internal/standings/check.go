package standings

import (
	"fmt"
	"slices"
)

// This file judges the counts of a board.

// ProblemsMost is how many problems [Findings] names.
const ProblemsMost = 100

// Findings are what a check of a board has found. The zero value is nothing.
type Findings struct {
	Entries  int64    // entries that were counted
	Problems []string // at most ProblemsMost
	Newest   int64    // the highest sequence of an entry
	further  int      // problems beyond ProblemsMost
}

// Add notes a problem in words.
func (f *Findings) Add(format string, args ...any) {
	if len(f.Problems) == ProblemsMost {
		f.further++
		return
	}
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

// Fork is f with room of its own for what a reading adds that may have to be done again.
func (f *Findings) Fork() *Findings {
	next := *f
	next.Problems = slices.Clip(f.Problems)
	return &next
}

// Said is the problems in words: when there are more than fit, the last says so.
func (f *Findings) Said() []string {
	if f.further > 0 {
		f.Problems[ProblemsMost-1] = fmt.Sprintf("and %d more", f.further+1)
	}
	return f.Problems
}

// StoredShelf is a shelf as the engine has it.
type StoredShelf struct {
	From    Position
	End     Position // where the next one starts
	Entries int64    // that it says it counts
	Buckets []byte   // see [EncodeBuckets]
}

// Judge says what is wrong with a shelf by itself, and answers its buckets, none when they
// cannot be read.
func (f *Findings) Judge(s StoredShelf) []Bucket {
	buckets, err := DecodeBuckets(s.Buckets)
	if err != nil {
		f.Add("shelf at %s: its buckets cannot be read: %v", s.From, err)
		return nil
	}
	if buckets[0].From != s.From {
		f.Add("shelf at %s: its first bucket starts at %s", s.From, buckets[0].From)
	}
	if last := buckets[len(buckets)-1].From; last.Compare(s.End) >= 0 {
		f.Add("shelf at %s: its last bucket starts at %s, where the next shelf does or after it", s.From, last)
	}
	if sum := (&Shelf{Buckets: buckets}).Entries(); sum != s.Entries {
		f.Add("shelf at %s: it says %d entries, its buckets %d", s.From, s.Entries, sum)
	}
	return buckets
}
