package profile

import (
	"sync"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// Session is this node's exclusive hold on a profile.
type Session struct {
	set     *Set
	slot    *slot
	key     string
	token   string
	epoch   uint64
	created time.Time
	loaded  Loaded
	errand  bool // of the library itself: no hooks, no mail
	done    chan struct{}

	change sync.Mutex // held through a transaction, so that they come one after the other

	mu struct {
		sync.Mutex

		// What the game sees.
		data     doc.Value
		revision uint64
		schema   int
		marks    []mark
		handled  []handled
		frozen   bool   // a final save is under way
		reason   Reason // 0 while the session lives
		overSoft bool
		unstored error // why the final save did not hold the last commits
		left     bool  // by Close

		// What is stored. rec is the record at hold.version; the next write is made of it.
		rec   record
		hold  hold
		shown shown // what rec holds, in the live form
		gain  int   // by how many bytes the live form of it is larger than the stored one

		write   writing
		journal journaling
		cuts    []*cut // claims that are not stored yet, oldest first
		void    bool   // a claim was refused: the session ends, and takes nothing more
		leaving *leaving
		trade   *party // frozen for a trade; nil: not
		mail    postbox
		publish publishing
		history history
		beside  besides
	}
}

// writing is the state of a session's writes: one at a time.
type writing struct {
	working  bool     // a worker is at it
	queued   [2]bool  // by lane
	waiting  *ticket  // joined by those whose commits the next write will hold
	flying   *ticket  // of the write under way
	passage  *passage // the wait for the budget of the next write; nil: none
	paid     bool     // it is over: the next write may be sent
	owed     bool     // write although nothing may have changed
	verify   bool     // somebody says that the session was taken: read the record
	verified string   // token of the load that was said to have taken it
	bar      bool     // if the record is still mine, the journal is another's: leave it alone

	anchor time.Time // autosaves fall on anchor + n × Autosave, from n = 1 on
	last   time.Time // when the last write that landed was sent
	fails  int
	retry  time.Time // not before, after a failed write
}

// ticket is one write that callers of Save wait for.
type ticket struct {
	done     chan struct{}
	err      error
	taken    bool   // the snapshot is taken
	revision uint64 // of the snapshot
}

// leaving is the end of a session under way.
type leaving struct {
	why      Reason
	to       *asker // grant to this one; nil: clear the session
	begun    time.Time
	ready    bool // the leave hooks have returned
	accepted bool // the asker has been told that it is being worked at
	over     chan struct{}
}

// snapshot is what one save stores of a session.
type snapshot struct {
	data     doc.Value
	revision uint64
	schema   int
	marks    []mark
	handled  []handled
	beating  bool
}

// Key is the profile's key.
func (s *Session) Key() string { return s.key }

// Set is the set that the profile belongs to.
func (s *Session) Set() *Set { return s.set }

// Epoch counts the sessions that the profile has ever had; this is its last so far. It is
// the fencing number for whatever the game writes elsewhere on behalf of the session.
func (s *Session) Epoch() uint64 { return s.epoch }

// Loaded tells how the session was opened.
func (s *Session) Loaded() Loaded { return s.loaded }

// Created is when the profile was first created, in fleet time.
func (s *Session) Created() time.Time { return s.created }

// Data is the profile's data now. It never changes: a later commit makes another value.
// It stays readable after the session's end.
func (s *Session) Data() doc.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.data
}

// Revision counts the commits of the profile, from its first session on.
func (s *Session) Revision() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.revision
}

// Stored is what the last acknowledged save stored, and its revision: what is certain to be
// in the next load, wherever. It is in the form of Schema, whatever form the store has it in.
func (s *Session) Stored() (doc.Value, uint64) { return s.stored() }

// Done is closed when the session has ended; Reason then tells why.
func (s *Session) Done() <-chan struct{} { return s.done }

// Reason is why the session has ended, or 0 while it lives.
func (s *Session) Reason() Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.reason
}

// newSession makes the session that a record names. It is not in its slot yet. seal is the
// version of the seal on the journal of the session before, 0 if there is none that is known.
func (s *Set) newSession(sl *slot, version, seal store.Version, rec record) *Session {
	token := rec.holder()
	sess := &Session{
		set: s, slot: sl, key: sl.key, token: token, epoch: rec.epoch, created: rec.created,
		done: make(chan struct{}),
	}
	now := s.clk.Now()
	sess.mu.data, sess.mu.revision, sess.mu.schema, sess.mu.marks = rec.data, rec.revision, rec.schema, rec.marks
	sess.mu.handled = rec.handled
	sess.mu.rec = rec
	sess.mu.beside.kept = rec.kept
	sess.mu.journal.hold = journalHold{token: token, epoch: rec.epoch, version: seal}
	sess.mu.journal.tracks = newTracks(rec.data, rec.revision)
	sess.mu.hold = hold{token: token, epoch: rec.epoch, version: version, base: rec.revision}
	sess.mu.write.last = now
	sess.mu.write.anchor = now.Add(spread(sl.key, s.opts.Autosave/2)) // the first is a period later
	return sess
}

// endedLocked is the refusal of an ended session, nil while it lives. One with a claim that
// was refused counts as lost already: what came after the claim is gone.
func (s *Session) endedLocked() error {
	switch {
	case s.mu.reason != 0:
		return &EndedError{Key: s.key, Reason: s.mu.reason}
	case s.mu.void:
		return &EndedError{Key: s.key, Reason: Lost}
	}
	return nil
}

// dirtyLocked tells that there are commits that no acknowledged save holds.
func (s *Session) dirtyLocked() bool { return s.mu.revision > s.mu.hold.base }

// end ends the session for good, once.
func (s *Session) end(why Reason) { s.endWith(why, func() {}) }

// endWith ends the session unless it has ended; last is called before, under the lock.
func (s *Session) endWith(why Reason, last func()) {
	s.mu.Lock()
	if s.mu.reason != 0 {
		s.mu.Unlock()
		return
	}
	last()
	s.mu.reason, s.mu.frozen = why, true
	lv, err := s.mu.leaving, s.endedLocked()
	for _, t := range []*ticket{s.mu.write.waiting, s.mu.write.flying} {
		if t == nil {
			continue
		}
		if !s.dirtyLocked() || t.taken && s.mu.hold.base >= t.revision {
			t.finish(nil)
		} else {
			t.finish(err)
		}
	}
	s.mu.write.waiting, s.mu.write.flying = nil, nil
	s.endCutsLocked(err)
	s.answerSyncsLocked()
	s.refuseSyncsLocked(err)
	if why == Lost {
		s.tidyLocked(false)
	}
	s.mu.write.passage.end()
	s.unfollowLocked(err)
	s.mu.Unlock()

	s.set.forget(s, why)
	if lv != nil {
		close(lv.over)
	}
	close(s.done)
}

// finish answers those who wait for a write.
func (t *ticket) finish(err error) {
	t.err = err
	close(t.done)
}

// forget takes an ended session out of the set.
func (s *Set) forget(sess *Session, why Reason) {
	switch why {
	case Released, Closed:
		s.stats.released.Add(1)
	case HandedOver:
		s.stats.handedOver.Add(1)
	case Lost:
		s.stats.lost.Add(1)
		s.log.WarnContext(s.life(), "session lost", "key", sess.key, "epoch", sess.epoch)
	}
	s.plan.drop(sess)
	s.open.Add(-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if why == Released || why == HandedOver {
		s.mu.recent.add(sess.token)
	}
	delete(s.mu.tokens, sess.token)
	delete(s.mu.slots, sess.key)
	close(sess.slot.gone)
}
