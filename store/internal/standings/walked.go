package standings

import (
	"encoding/binary"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file holds how a walk finds out that its engine has gone back in time.
//
// A failover may lose the last writes. The board is then as it was before, and what is written
// from there on takes the same sequences again: version 9 of the one history is not that of the
// other. So a version gets a random tag when the first walk through it begins, in the write that
// has the board remember what it replaces, and cursors carry it. Whatever an engine forgets, it
// forgets the tag with the version: a board that knows a tag has been at that version when the
// walk began.

// Walked are the versions of a board that are walked, with their tags, in order; at most
// store.MaxWalks of walks, and as many that pass by (see [PassingTag]), of which the oldest is
// forgotten for a new one.
type Walked []walked

type walked struct{ version, tag uint64 }

// walkedSize is the length of a version and its tag, each 8 bytes.
const walkedSize = 16

// ParseWalked reads what Bytes has written; of anything else nothing is known.
func ParseWalked(b []byte) Walked {
	if len(b)%walkedSize != 0 || len(b) > 2*store.MaxWalks*walkedSize {
		return nil
	}
	var w Walked
	for ; len(b) > 0; b = b[walkedSize:] {
		w = append(w, walked{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])})
	}
	return w
}

// Bytes is the form in which drivers store it: the versions and tags in turn, big-endian.
func (w Walked) Bytes() []byte {
	b := make([]byte, 0, len(w)*walkedSize)
	for _, v := range w {
		b = binary.BigEndian.AppendUint64(b, v.version)
		b = binary.BigEndian.AppendUint64(b, v.tag)
	}
	return b
}

// tag is the tag that walks through a version have, 0 when there are none.
func (w Walked) tag(version uint64) uint64 {
	for _, v := range w {
		if v.version == version && v.tag&1 == 1 {
			return v.tag
		}
	}
	return 0
}

// has tells that the walk with this tag has begun in the history that the board has.
func (w Walked) has(version, tag uint64) bool { return slices.Contains(w, walked{version, tag}) }

// only is this version alone: others are not told any more.
func (w Walked) only(version uint64) Walked {
	return slices.DeleteFunc(slices.Clone(w), func(v walked) bool { return v.version != version })
}

// Tag is the tag of walks through the present version, the fresh one (see [FreshTag]) if there
// is none.
func (l *WalkLog) Tag(version, fresh uint64) uint64 {
	if tag := l.Walked.tag(version); tag != 0 {
		return tag
	}
	kept := l.Walked[max(0, len(l.Walked)+1-store.MaxWalks):]
	l.Walked = append(slices.Clone(kept), walked{version, fresh})
	l.Changed = true
	return fresh
}
