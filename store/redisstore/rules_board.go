package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/shoalworks/shoal/store"
)

// This file holds how a board is written down, without I/O.

// What stands where in the members and values of a board: see board.lua.
const (
	placeSize    = 8
	stampSize    = 16
	positionSize = 16 // place and sequence
	metaAt       = 32 // in a value: behind position and stamp
	signBit      = 1 << 63
)

// position is where an entry stands: its place and its sequence, 16 bytes in the order of the
// board.
type position string

// biased is the score as 8 bytes whose order is that of the scores.
func biased(score int64) uint64 { return uint64(score) ^ signBit } //nolint:gosec // the bits are meant

// placeOf is the score as a number whose order is that of the board: smaller is better.
func placeOf(order store.Order, score int64) uint64 {
	if order == store.Descending {
		return ^biased(score)
	}
	return biased(score)
}

// scoreAt is the score at a place.
func scoreAt(order store.Order, place uint64) int64 {
	if order == store.Descending {
		place = ^place
	}
	return int64(place ^ signBit) //nolint:gosec // the bits are meant
}

// positionOf is where a score stands that was reached at the sequence.
func positionOf(order store.Order, score int64, sequence uint64) position {
	return positionAt(placeOf(order, score), sequence)
}

// positionAt is a place and a sequence.
func positionAt(place, sequence uint64) position {
	b := make([]byte, 0, positionSize)
	b = binary.BigEndian.AppendUint64(b, place)
	return position(binary.BigEndian.AppendUint64(b, sequence))
}

func (p position) place() uint64    { return number64(string(p[:placeSize])) }
func (p position) sequence() uint64 { return number64(string(p[placeSize:positionSize])) }

// number64 is 8 bytes as a number.
func number64(s string) uint64 {
	n := uint64(0)
	for i := range 8 {
		n = n<<8 | uint64(s[i])
	}
	return n
}

// bytes64 is a number as 8 bytes.
func bytes64(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

// errShape says that the server answered something that no script of ours answers.
var errShape = errors.New("an answer of another shape")

// entryOf is the entry of a key at a position. A value, which begins with the position, has its
// metadata; there may be none.
func entryOf(order store.Order, key, at, value string) (store.Entry, error) {
	if len(at) < positionSize {
		return store.Entry{}, fmt.Errorf("%w: a position of %d bytes", errShape, len(at))
	}
	p := position(at[:positionSize])
	e := store.Entry{Key: key, Score: scoreAt(order, p.place()), Sequence: p.sequence()}
	if len(value) > metaAt {
		e.Meta = []byte(value[metaAt:])
	}
	return e, nil
}

// infoOf reads the fields of a board: order, generation, count, sequence, sealed, hidden.
func infoOf(fields []field) (info store.BoardInfo, err error) {
	if len(fields) < 6 || len(fields[3].text) != 8 {
		return info, fmt.Errorf("%w: a board of %d fields", errShape, len(fields))
	}
	if info.Order = orderOf(fields[0].text); info.Order == 0 {
		return info, fmt.Errorf("%w: a board in order %q", errShape, fields[0].text)
	}
	info.Generation, info.Sequence, info.Sealed = fields[1].text, number64(fields[3].text), fields[4].known
	count, err := strconv.ParseInt(fields[2].text, 10, 64)
	if err != nil {
		return info, fmt.Errorf("%w: a board of %q entries", errShape, fields[2].text)
	}
	hidden, err := strconv.ParseInt(fields[5].text, 10, 64)
	if err != nil {
		return info, fmt.Errorf("%w: a board with %q hidden keys", errShape, fields[5].text)
	}
	info.Count, info.Hidden = count, hidden
	return info, nil
}

// field is a text of an answer, or that there is none.
type field struct {
	text  string
	known bool
}

// orderWord is how an order is written down.
func orderWord(order store.Order) string {
	if order == store.Ascending {
		return "a"
	}
	return "d"
}

// orderOf is the order of a word, or 0.
func orderOf(word string) store.Order {
	switch word {
	case "a":
		return store.Ascending
	case "d":
		return store.Descending
	}
	return 0
}

// changeOf is what Merge answers for a submission: board_merge.lua tells the effect by a
// letter, and what was stored before.
func changeOf(rule store.Rule, order store.Order, effect byte, before field, s store.Submission) (store.Change, error) {
	c := store.Change{}
	if before.known {
		e, err := entryOf(order, s.Key, before.text, "")
		if err != nil {
			return c, err
		}
		c.Old, c.New = e.Score, e.Score
	}
	switch effect {
	case 'k':
		c.Effect = store.Kept
	case 'o':
		c.Effect = store.Overflow
	case 'n':
		c.Effect, c.New = store.Created, s.Score
	case 'c':
		if c.Effect, c.New = store.Changed, s.Score; rule == store.Sum {
			c.New += c.Old
		}
	default:
		return c, fmt.Errorf("%w: effect %q", errShape, effect)
	}
	return c, nil
}
