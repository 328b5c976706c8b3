package profile

import (
	"context"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// receive takes a note or a message about one of the set's profiles. It never blocks: the
// node calls it from its own loops. A note comes again until it is removed.
func (s *Set) receive(n node.Note) {
	if name.CheckKey("key", n.Key) != nil {
		return
	}
	switch n.Kind {
	case node.NoteAsk:
		s.asked(n)
	case node.NoteTaken:
		s.robbed(n)
	case node.NoteGranted:
		s.given(n)
	case node.NoteMail:
		s.mailed(n)
	case node.NoteHandled:
		s.edits.heard(n)
	}
}

// asked deals with an ask for a session of this node.
func (s *Set) asked(n node.Note) {
	s.mu.Lock()
	sl := s.mu.tokens[n.For]
	if sl != nil && sl.key != n.Key {
		sl = nil
	}
	f := askFacts{age: n.Age, void: s.opts.LoadTimeout, recent: s.mu.recent.has(n.For)}
	var sess *Session
	if sl != nil {
		sess, f.session, f.loading = sl.session, sl.session != nil && sl.session.token == n.For, sl.load != nil
		if f.loading {
			sl.load.early = &n
		}
	}
	s.mu.Unlock()
	switch askStepOf(f) {
	case askGrant:
		s.grant(sess, n)
	case askStale:
		s.removeNote(n)
	case askUnknown:
		s.disown(n.Key, disowned{token: n.For, until: s.clk.Now()}, n)
	case askNotReady:
	}
}

// grant begins the hand-over. The second time that the note is seen, the holder is still at
// it, and says so in the note, once: the asker waits anew.
func (s *Set) grant(sess *Session, n node.Note) {
	to := asker{token: n.Token, node: n.Node, target: n.For}
	if sess.mustAccept(n) {
		s.tasks.start(func() { s.accept(n) })
	}
	sess.leave(HandedOver, &to)
}

// mustAccept tells, once, that the ask of this note is at work already.
func (s *Session) mustAccept(n node.Note) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lv := s.mu.leaving
	if n.Version == 0 || n.Accepted || lv == nil || lv.to == nil || lv.to.token != n.Token || lv.accepted {
		return false
	}
	lv.accepted = true
	return true
}

// accept writes accepted into the asker's note, if it is still that one.
func (s *Set) accept(n node.Note) {
	ctx, cancel := s.call()
	defer cancel()
	accepted := n
	accepted.Accepted = true
	err := s.fast.Commit(ctx, store.Tx{{
		Key: node.NoteKey(s.node.ID(), s.name, n.Key), Op: store.Put, Value: accepted.Encode(),
		If: store.Is(n.Version), Version: s.node.NewVersion("accept", n.Key),
	}})[0]
	if err != nil {
		s.log.DebugContext(ctx, "ask not accepted", "key", n.Key, "err", err)
	}
}

// removeNote removes a note that was left for this node, in the background.
func (s *Set) removeNote(n node.Note) { s.discard(s.node.ID(), n) }

// robbed deals with the news that a session was taken over. Only the record decides.
func (s *Set) robbed(n node.Note) {
	_, sess := s.find(n.For)
	if sess == nil || sess.suspectTaken(n) {
		s.removeNote(n)
	}
}

// find is the load, or the session, that the token belongs to.
func (s *Set) find(token string) (*load, *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl := s.mu.tokens[token]; sl != nil {
		return sl.load, sl.session
	}
	return nil, nil
}

// suspectTaken has the session read its record, once for each note; it tells that the note
// has been dealt with.
func (s *Session) suspectTaken(n node.Note) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.write.verify {
		return false
	}
	if s.mu.write.verified == n.Token {
		return true
	}
	s.mu.write.verify, s.mu.write.verified = true, n.Token
	s.queueLocked(urgent)
	return false
}

// given kicks the load that was granted its session. A token that nobody waits for is got
// rid of.
func (s *Set) given(n node.Note) {
	switch l, sess := s.find(n.Token); {
	case l != nil:
		l.wake()
	case sess == nil:
		s.disown(n.Key, disowned{token: n.Token, until: s.clk.Now()}, node.Note{})
	}
}

// tellTaken leaves a note for the old holder, which may be idle and would not learn of its
// loss otherwise, and tells it on the bus. The dead read no notes: it is removed after a while.
func (s *Set) tellTaken(holder string, n node.Note) {
	ctx := s.life()
	for try := 1; ; try++ {
		v, err := s.leaveTaken(ctx, holder, n)
		if n.Version = v; err == nil || try == maxTries || s.isClosing() {
			break
		}
		s.discardAt(holder, n, s.clk.Now().Add(takenFor)) // it may have landed, or may still
		if clock.Sleep(ctx, s.clk, backoff(try, s.node.Random("note retry", n.Key))) != nil {
			return
		}
	}
	s.discardAt(holder, n, s.clk.Now().Add(takenFor))
}

func (s *Set) leaveTaken(ctx context.Context, holder string, n node.Note) (store.Version, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	if err := s.node.Tell(ctx, holder, n); err != nil {
		s.log.DebugContext(ctx, "takeover not told", "key", n.Key, "holder", holder, "err", err)
	}
	v, err := s.leaveNote(ctx, holder, n)
	if err != nil {
		s.log.DebugContext(ctx, "takeover not noted", "key", n.Key, "holder", holder, "err", err)
	}
	return v, err
}

func (s *Set) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closing
}
