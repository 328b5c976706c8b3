package profile

import (
	"context"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/overlay"
)

// Mode says what a set does with what it writes. The zero Mode is Live.
type Mode uint8

// The modes.
const (
	// Live writes to the store.
	Live Mode = iota
	// Memory begins empty and writes nothing to the store: what is saved is gone with the node.
	Memory
	// Copy begins with the live profiles, each as it is stored when it is first read, and
	// writes nothing to the store. Whoever holds a profile is not asked for it and never knows:
	// the copy is free. What its holder has only journaled is not in it.
	Copy
)

// String is "live", "memory" or "copy".
func (m Mode) String() string {
	switch m {
	case Live:
		return "live"
	case Memory:
		return "memory"
	case Copy:
		return "copy"
	}
	return "no mode"
}

// enterMode puts records of the set's own in front of the store's, unless it is live. Nothing
// is journaled then, nothing reaped, and no note comes or goes: nobody else knows the sessions.
func (s *Set) enterMode() {
	if s.opts.Mode == Live {
		return
	}
	s.opts.JournalEvery, s.opts.ReapEvery = -1, -1
	o := &overlay.Options{Clock: s.clk, Adopt: s.adopt}
	memory := func(store.Records) store.Records { return overlay.Memory(o) }
	durable := memory
	if s.opts.Mode == Copy {
		durable = func(live store.Records) store.Records { return overlay.Copy(live, o) }
	}
	boards := func(b store.Boards) store.Boards { return b }
	s.durable = s.node.Store().Through(durable, boards).Durable()
	s.fast = s.node.Store().Through(memory, boards).Durable()
}

// adopt is a live record as a copy shows it: nobody holds it. What is no profile stays.
func (s *Set) adopt(key string, value []byte) []byte {
	if prefix := recordPrefix(s.name); len(key) <= len(prefix) || key[:len(prefix)] != prefix {
		return value
	}
	rec, err := decodeRecord(value)
	if err != nil {
		return value
	}
	rec.session, rec.ask = nil, nil
	return rec.encode()
}

// serve has the node hand over the notes about the set's profiles. A set that is not live gets
// none, and may stand beside a live one of its name.
func (s *Set) serve() (stop func(), err error) {
	if s.opts.Mode != Live {
		return func() {}, nil
	}
	return s.node.Serve(s.name, s.receive)
}

// leaveNote leaves a note in the store, or hands it to this node itself in a set that writes
// nothing there.
func (s *Set) leaveNote(ctx context.Context, holder string, n node.Note) (store.Version, error) {
	if s.opts.Mode == Live {
		return s.node.LeaveNote(ctx, holder, n)
	}
	s.receive(n)
	return 0, nil
}
