package standings

import (
	"crypto/rand"
	"encoding/binary"
)

// FreshTag is a random tag for a walk. It is odd.
func FreshTag() uint64 { return chance() | 1 }

// PassingTag is a random tag for a walk that is over in a moment, whose version need not be told
// for long. It is even, and not 0.
func PassingTag() uint64 { return chance()&^1 | 2 }

func chance() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
