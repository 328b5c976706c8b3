package sqlitestore

import (
	"fmt"
	"slices"
)

// This file judges the counts of a board, without I/O.

// problemsMost is how many problems Check names.
const problemsMost = 100

// findings are what Check has found.
type findings struct {
	entries  int64
	problems []string
	further  int   // problems beyond problemsMost
	newest   int64 // the highest sequence of an entry
}

func (f *findings) add(format string, args ...any) {
	if len(f.problems) == problemsMost {
		f.further++
		return
	}
	f.problems = append(f.problems, fmt.Sprintf(format, args...))
}

// and is f with room of its own for what a reading adds that may have to be done again.
func (f *findings) and() *findings {
	next := *f
	next.problems = slices.Clip(f.problems)
	return &next
}

// said is the problems in words: when there are more than fit, the last says so.
func (f *findings) said() []string {
	if f.further > 0 {
		f.problems[problemsMost-1] = fmt.Sprintf("and %d more", f.further+1)
	}
	return f.problems
}

// storedShelf is a shelf as the file has it.
type storedShelf struct {
	from    position
	end     position // where the next one starts
	entries int64
	buckets []byte
}

// judge says what is wrong with a shelf by itself, and answers its buckets, none when they
// cannot be read.
func (f *findings) judge(s storedShelf) []bucket {
	buckets, err := decodeBuckets(s.buckets)
	if err != nil {
		f.add("shelf at %s: its buckets cannot be read: %v", s.from, err)
		return nil
	}
	if buckets[0].from != s.from {
		f.add("shelf at %s: its first bucket starts at %s", s.from, buckets[0].from)
	}
	if last := buckets[len(buckets)-1].from; last.compare(s.end) >= 0 {
		f.add("shelf at %s: its last bucket starts at %s, where the next shelf does or after it", s.from, last)
	}
	if sum := (&shelf{buckets: buckets}).entries(); sum != s.entries {
		f.add("shelf at %s: it says %d entries, its buckets %d", s.from, s.entries, sum)
	}
	return buckets
}

// String is the position as it is stored.
func (p position) String() string { return fmt.Sprintf("(%d, %d)", p.place, p.sequence) }
