package node

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// maxNotes bounds the notes read in one go; the rest is read at the next AskEvery.
const maxNotes = 4096

func topic(id string) string { return beatPrefix + id }

// ErrServed tells that another owner receives the notes of this set on this node already. A
// node has one set of each name.
var ErrServed = errors.New("node: the set has an owner on this node")

// Serve has receive called for each note and message about the profiles of set. A note
// comes again every AskEvery until it is removed, and a message may repeat it. receive must
// not block. stop ends it; until then a second owner of the set is refused with [ErrServed].
func (n *Node) Serve(set string, receive func(Note)) (stop func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.handlers[set] != nil {
		return nil, fmt.Errorf("%w: %s", ErrServed, set)
	}
	n.mu.handlers[set] = receive
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.mu.handlers, set)
	}), nil
}

func (n *Node) dispatch(note Note) {
	n.mu.Lock()
	receive := n.mu.handlers[note.Set]
	n.mu.Unlock()
	if receive != nil {
		receive(note)
	}
}

// subscribe asks the bus for the node's messages, within a beat: everything works without
// them, only slower.
func (n *Node) subscribe(ctx context.Context) bool {
	call, cancel := clock.WithTimeout(ctx, n.opts.Clock, n.opts.Beat)
	defer cancel()
	sub, err := n.st.Bus().Subscribe(call, topic(n.id), n.receive)
	if err != nil {
		n.opts.Logger.WarnContext(ctx, "no messages: notes are read every AskEvery", "node", n.id, "err", err)
		return false
	}
	n.mu.Lock()
	n.mu.subscription = sub
	n.mu.Unlock()
	return true
}

// subscribeAgain is one step of the loop of a node that has no messages yet.
func (n *Node) subscribeAgain(ctx context.Context) error {
	if n.subscribe(ctx) {
		return errStopped
	}
	return nil
}

// receive takes a message from the bus.
func (n *Node) receive(payload []byte) {
	note, err := decodeNote(payload)
	if err != nil {
		n.opts.Logger.Warn("foreign message", "node", n.id, "err", err)
		return
	}
	n.dispatch(note)
}

// readNotes is one step of the notes loop: one call for the whole node.
func (n *Node) readNotes(ctx context.Context) error {
	r := store.Prefix(notePrefix(n.id))
	r.Limit = maxNotes
	if n.notesFrom != "" { // there were more than one read shows
		r.From, n.notesFrom = n.notesFrom, ""
	}
	count := 0
	for rec, err := range n.st.Fast().Scan(ctx, r) {
		if err != nil {
			n.opts.Logger.DebugContext(ctx, "notes not read", "node", n.id, "err", err)
			return nil
		}
		if count++; count == maxNotes {
			n.notesFrom = rec.Key + "\x00"
		}
		note, err := DecodeNote(rec)
		if err != nil {
			n.opts.Logger.WarnContext(ctx, "foreign note", "node", n.id, "err", err)
			continue
		}
		n.dispatch(note)
	}
	return nil
}

// Tell sends note to holder on the bus. Best effort: nil promises nothing.
func (n *Node) Tell(ctx context.Context, holder string, note Note) error {
	if err := n.st.Bus().Publish(ctx, topic(holder), note.Encode()); err != nil {
		return fmt.Errorf("node: tell %s: %w", holder, err)
	}
	return nil
}

// LeaveNote puts note into the fast store for holder, whatever is there: the newest wins.
// It returns the note's version; with an unknown outcome too, since the note may be there.
func (n *Node) LeaveNote(ctx context.Context, holder string, note Note) (store.Version, error) {
	v := n.NewVersion("note", note.Key)
	err := n.st.Fast().Commit(ctx, store.Tx{{
		Key: note.StoreKey(holder), Op: store.Put, Value: note.Encode(), Version: v,
	}})[0]
	if err != nil {
		return v, fmt.Errorf("node: note for %s: %w", holder, err)
	}
	return v, nil
}

// RemoveNote removes the note if it is still the one with note.Version. A note that is gone
// or newer is left alone, and is no error.
func (n *Node) RemoveNote(ctx context.Context, holder string, note Note) error {
	err := n.st.Fast().Commit(ctx, store.Tx{{
		Key: note.StoreKey(holder), Op: store.Delete, If: store.Is(note.Version),
	}})[0]
	if err != nil && store.OutcomeOf(err) != store.NotDone {
		return fmt.Errorf("node: remove note of %s: %w", holder, err)
	}
	return nil
}
