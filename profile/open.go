package profile

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// open makes the session of a record that is this load's: migrations, template and derived
// fields come in as one commit, in memory.
func (l *load) open(r reading) (*Session, error) {
	s := l.set.newSession(l.slot, r.version, l.seize.sealed, r.record)
	s.loaded, s.errand = l.loaded(r), l.opts.errand
	data, err := l.set.brought(r.record.data, r.record.schema)
	if err != nil {
		return nil, fmt.Errorf("stored data: %w", err)
	}
	s.takeIn(data)
	return s, nil
}

// loaded tells how the session came about.
func (l *load) loaded(r reading) Loaded {
	a, ok := l.sent[r.version]
	if !ok { // written by the holder, who granted it, or after a lost answer by an asker
		a.how = Granted
		if len(l.asks) == 0 {
			a.how = Free
		}
	}
	return Loaded{How: a.how, Evidence: a.evidence, From: l.from, Waited: l.set.clk.Now().Sub(l.begun)}
}

// opened puts the session in the load's place, runs the hooks, and hands it to the caller.
func (s *Set) opened(ctx context.Context, l *load, sess *Session) (*Session, error) {
	sess.tellOpened()
	s.mu.Lock()
	if s.refusingLocked() {
		s.mu.Unlock()
		l.giveUp()
		return nil, ErrClosing
	}
	l.slot.load, l.slot.session = nil, sess
	early := l.early
	l.forgetTokensLocked(sess.token) // the others cannot come to be named any more
	s.mu.Unlock()
	s.open.Add(1)
	s.countLoad(sess)
	if l.seize.sealed != 0 && l.seize.from != s.node.ID() { // its journal has found its reader
		s.journaler.erase(erasure{key: markerPrefix(l.seize.from, s.name) + l.key, marker: true, token: l.seize.token})
	}
	l.removeAsks()

	sess.mu.Lock()
	if sess.dirtyLocked() {
		sess.dirtiedLocked()
	}
	sess.mu.write.owed = sess.mu.rec.session.beating != s.node.Beating()
	if sess.mu.write.owed {
		sess.queueLocked(plain)
	}
	sess.planLocked()
	sess.mu.Unlock()
	s.plan.wake()
	if early != nil {
		s.asked(*early)
	}
	if !sess.errand {
		s.run(ctx, "OnLoad", s.hooks.loading(), sess)
		sess.openMail()
	}
	return sess, sess.gone()
}

// gone is the error of a load whose session has ended before the caller got it.
func (s *Session) gone() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.mu.reason {
	case Closed:
		return ErrClosing
	case HandedOver:
		return ErrOutbid
	case Released, Lost:
		return s.endedLocked()
	}
	return nil
}

func (s *Set) countLoad(sess *Session) {
	s.stats.loads.Add(1)
	switch sess.loaded.How {
	case Created:
		s.stats.created.Add(1)
	case Granted:
		s.stats.granted.Add(1)
	case Recovered:
		s.stats.recovered.Add(1)
		s.stats.takeovers.Add(1)
	case TakenOver:
		s.stats.takeovers.Add(1)
	case Free:
	}
	if sess.loaded.Evidence != node.NoEvidence {
		s.log.WarnContext(s.life(), "session taken over", "key", sess.key, "from", sess.loaded.From, "evidence", string(sess.loaded.Evidence), "epoch", sess.epoch)
	}
}

// giveUp ends a load without a session: what it took is given back, what may still come to
// it is disowned, and its asks are removed.
func (l *load) giveUp() {
	s := l.set
	s.mu.Lock()
	l.slot.load = nil // from now on others wait for the key
	s.mu.Unlock()
	l.removeAsks()
	if !l.has(l.last) || s.giveBack(l.key, l.last) != nil {
		l.disown() // else that write has fenced everything before it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.forgetTokensLocked("")
	delete(s.mu.slots, l.key)
	close(l.slot.gone)
}

// disown remembers the tokens that may still come to be named in the record, or are.
func (l *load) disown() {
	until := l.set.clk.Now().Add(l.set.opts.LoadTimeout)
	if l.has(l.last) {
		l.set.disown(l.key, disowned{token: l.last.holder(), claims: []store.Version{l.last.version}, until: until}, node.Note{})
	}
	for _, c := range l.claims {
		l.set.disown(l.key, disowned{token: c.token, claims: []store.Version{c.cond}, until: until}, node.Note{})
	}
	for _, v := range l.asks {
		l.set.disown(l.key, disowned{token: v.token, asked: []string{v.target}, until: until}, node.Note{})
	}
}

// forgetTokensLocked takes all tokens of the load but one out of the set.
func (l *load) forgetTokensLocked(but string) {
	for _, token := range l.tokens {
		if token != but {
			delete(l.set.mu.tokens, token)
		}
	}
}

// giveBack frees a record that a load took and cannot use. It does not hold up the caller
// for long: what is not done here is done as a disowned token.
func (s *Set) giveBack(key string, r reading) error {
	ctx, cancel := clock.WithTimeout(s.life(), s.clk, min(s.opts.CallTimeout, 2*grace))
	defer cancel()
	if err := s.passSoon(ctx); err != nil {
		return err
	}
	return s.commit(ctx, s.putTx(key, givenBack(r.record, s.node.Now()), r.version, s.node.NewVersion("give back", key)))
}

// removeAsks takes this load's asks away.
func (l *load) removeAsks() {
	for _, v := range l.asks {
		v.withdraw()
	}
}
