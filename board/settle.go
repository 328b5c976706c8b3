package board

import (
	"errors"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file decides what an answer of the store means for a batch, without I/O.

// fate is what becomes of a batch.
type fate uint8

const (
	written fate = iota + 1 // applied
	refused                 // never: the board is sealed
	split                   // not applied; halves of it may be
	failed                  // not applied
	unsure                  // perhaps applied, perhaps later
)

// batch is what one Merge carries.
type batch struct {
	n       uint64 // store.Sum only: its number, for ever
	values  []pending
	unknown bool // it was sent, and the outcome is not known
}

// answer is how sending a batch ended.
type answer struct {
	changes []store.Change
	err     error
	sent    bool // a Merge was sent that may have been applied
}

// fateOf sorts the answer to a batch. splits is how many more calls may be spent on
// searching for a value that the store does not take.
func fateOf(b batch, a answer, splits int) fate {
	if errors.Is(a.err, store.ErrSealed) {
		return refused
	}
	switch store.OutcomeOf(a.err) {
	case store.Done:
		return written
	case store.Unknown:
		if a.sent || b.unknown {
			return unsure
		}
		return failed
	case store.NotDone:
		if b.unknown {
			return unsure // an earlier call of it may still be applied
		}
		if malformed(a.err) && len(b.values) > 1 && splits > 0 {
			return split
		}
	}
	return failed
}

// malformed tells that the store did not take the batch for what is in it.
func malformed(err error) bool {
	if errors.Is(err, ErrOrder) {
		return false
	}
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrUnsupported)
}

// overflowed parts the values of a written batch into those that are stored and those whose
// sum left the range at the store.
func overflowed(b batch, changes []store.Change) (stored, over []pending) {
	overAt := func(i int) bool { return i < len(changes) && overflows(b, b.values[i], changes[i]) }
	first := 0
	for first < len(b.values) && !overAt(first) {
		first++
	}
	if first == len(b.values) {
		return b.values, nil // nearly always
	}
	stored = slices.Clone(b.values[:first])
	for i := first; i < len(b.values); i++ {
		if overAt(i) {
			over = append(over, b.values[i])
		} else {
			stored = append(stored, b.values[i])
		}
	}
	return stored, over
}

// overflows tells that a value was not, or perhaps not, added. When the first answer to a
// batch of sums was lost, the store answers that it has it, and no longer says what became of
// each value: one that has no room beside the stored score now may have had none then.
func overflows(b batch, v pending, c store.Change) bool {
	if b.unknown && b.n > 0 && c.Effect == store.Kept {
		_, fits := add(c.New, v.score)
		return !fits
	}
	return c.Effect == store.Overflow
}

// doubtful tells that a write of one of the values had an unknown outcome.
func doubtful(values []pending) bool {
	return slices.ContainsFunc(values, func(v pending) bool { return v.doubt })
}

// age counts one more failed window for each value and parts those that have had most of
// them. most < 1 keeps all. A batch of sums is one thing: it stays or goes as a whole. unknown
// tells that the outcome of the write is not known.
func age(values []pending, most int, unknown bool) (stay, gone []pending) {
	for _, v := range values {
		v.tries++
		v.doubt = v.doubt || unknown
		if most > 0 && v.tries >= most {
			gone = append(gone, v)
		} else {
			stay = append(stay, v)
		}
	}
	return stay, gone
}

// submissions is what the batch looks like to the store.
func (b batch) submissions() []store.Submission {
	out := make([]store.Submission, len(b.values))
	for i, v := range b.values {
		out[i] = store.Submission{Key: v.key, Score: v.score, Stamp: v.stamp}
		if v.meta != "" {
			out[i].Meta = []byte(v.meta)
		}
	}
	return out
}
