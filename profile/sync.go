package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// errUnjournaled tells those who wait in Sync that only a save can help them.
var errUnjournaled = errors.New("profile: the journal does not take it")

// Sync returns when everything committed so far survives the loss of this node, or of the
// fast store's memory, but not of both within one JournalEvery: it is in the journal, where
// whoever takes the session over finds it, or it is saved. It is sent at once, together with
// what other sessions of the set have to journal, and is much cheaper than Save. When the
// journal cannot take it (the fast store is down, the changes are over JournalBytes), Sync is
// Save, with its errors. When ctx ends first the error is an ErrUnknown: it may still happen.
func (s *Session) Sync(ctx context.Context) error {
	s.mu.Lock()
	if err := s.endedLocked(); err != nil {
		s.mu.Unlock()
		return err
	}
	if s.syncedLocked(s.mu.revision) {
		s.mu.Unlock()
		return nil
	}
	if !s.journalsLocked() {
		s.mu.Unlock()
		return s.Save(ctx)
	}
	t := s.joinAppendLocked()
	s.mu.Unlock()
	select {
	case <-t.done:
	case <-ctx.Done():
		return fmt.Errorf("profile: sync %s: %w: %w", s.key, context.Cause(ctx), store.ErrUnknown)
	}
	if errors.Is(t.err, errUnjournaled) {
		return s.Save(ctx)
	}
	return t.err
}

// Synced is the data as it survives the loss of this node, and its revision: what Save or Sync
// has acknowledged, or the journal has taken by itself. A fast store that loses its memory can
// take it back to what is stored.
func (s *Session) Synced() (doc.Value, uint64) {
	s.mu.Lock()
	j := &s.mu.journal
	if j.safeRev > s.mu.rec.revision && j.safeRev <= j.hold.rev && j.hold.state == journalOpen {
		defer s.mu.Unlock()
		return j.safe, j.safeRev
	}
	s.mu.Unlock()
	return s.stored()
}

func (s *Session) syncedLocked(revision uint64) bool {
	return s.mu.journal.hold.synced(s.mu.hold.base, revision)
}

// journalsLocked tells that the journal may take what there is now.
func (s *Session) journalsLocked() bool {
	j := &s.mu.journal
	return s.mayAppendLocked() && !s.mu.frozen && len(s.mu.cuts) == 0 && j.fails == 0
}

// joinAppendLocked is the append that will hold everything committed so far.
func (s *Session) joinAppendLocked() *ticket {
	j := &s.mu.journal
	if j.flying != nil && j.flying.taken && j.flying.revision == s.mu.revision {
		return j.flying
	}
	if j.waiting == nil {
		j.waiting = &ticket{done: make(chan struct{})}
	}
	s.set.journaler.hurry(s)
	return j.waiting
}

// answerSyncsLocked answers those whose commits are safe by now.
func (s *Session) answerSyncsLocked() {
	j := &s.mu.journal
	if t := j.flying; t != nil && s.syncedLocked(t.revision) {
		j.flying = nil
		t.finish(nil)
	}
	if t := j.waiting; t != nil && s.syncedLocked(s.mu.revision) {
		j.waiting = nil
		t.finish(nil)
	}
}

// refuseSyncsLocked sends those who wait to Save.
func (s *Session) refuseSyncsLocked(err error) {
	j := &s.mu.journal
	for _, t := range []*ticket{j.flying, j.waiting} {
		if t != nil {
			t.finish(err)
		}
	}
	j.flying, j.waiting = nil, nil
}
