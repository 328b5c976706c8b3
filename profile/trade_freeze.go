package profile

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// This file is how the parties of a trade are frozen and let go. A session that is frozen for
// a trade takes no transaction, and nothing is written for it but by the trade. What comes
// meanwhile is noted as ever (saves owed, asks, looks at the record) and is done when the
// trade is over.

// lock locks all parties, in the one order in which several sessions are ever locked.
func (t *trade) lock() {
	for _, p := range t.order {
		p.session.mu.Lock()
	}
}

func (t *trade) unlock() {
	for _, p := range t.order {
		p.session.mu.Unlock()
	}
}

// maxSettles is how often a trade waits for claims of its parties to be stored.
const maxSettles = 3

// freeze freezes all parties at once, or none. It waits for other trades of one of them
// without holding any, and for claims that are not stored yet. A trade that is known already
// is answered.
func (t *trade) freeze(ctx context.Context) (known *Traded, err error) {
	for settles := 0; ; {
		o := t.tryFreeze()
		switch {
		case o.err != nil || o.known != nil:
			return o.known, o.err
		case o.other != nil:
			select {
			case <-o.other.over:
			case <-ctx.Done():
				return nil, t.behind(o.other, context.Cause(ctx))
			}
		case o.unsettled != nil:
			if settles++; settles > maxSettles {
				return nil, o.unsettled.refuse(fmt.Errorf("%w: its claims are being stored", ErrBusy))
			}
			if err := o.unsettled.session.Save(ctx); err != nil {
				return nil, o.unsettled.refuse(notDone(err))
			}
		default:
			return nil, nil
		}
	}
}

// behind is the error of a trade whose turn has not come. Behind itself it may be stored.
func (t *trade) behind(other *trade, because error) error {
	if other.src.ID == t.src.ID {
		return fmt.Errorf("it is under way: %w: %w", because, store.ErrUnknown)
	}
	return fmt.Errorf("%w: another trade is under way: %w", ErrBusy, because)
}

// obstacle is what keeps a trade from beginning; the zero one is none.
type obstacle struct {
	err       error
	known     *Traded
	other     *trade // is under way
	unsettled *party // has claims that are not stored
}

func (t *trade) tryFreeze() obstacle {
	t.lock()
	defer t.unlock()
	if known, err := t.knownLocked(); known != nil || err != nil {
		return obstacle{known: known, err: err}
	}
	for _, p := range t.order {
		if other := p.session.mu.trade; other != nil {
			return obstacle{other: other.trade}
		}
	}
	for _, p := range t.parties {
		if err := p.session.mayTradeLocked(); err != nil {
			return obstacle{err: p.refuse(err)}
		}
		if len(p.session.mu.cuts) > 0 {
			return obstacle{unsettled: p}
		}
	}
	for _, p := range t.parties {
		p.session.mu.trade = p
	}
	return obstacle{}
}

// knownLocked answers a trade from the ids that the parties remember. Since it was stored for
// all of them or for none, one that remembers it speaks for all.
func (t *trade) knownLocked() (*Traded, error) {
	out, found := Traded{ID: t.src.ID, Repeated: true}, false
	for _, p := range t.parties {
		if err := p.session.endedLocked(); err != nil {
			return nil, p.refuse(err)
		}
		c := Commit{ID: t.src.ID, Source: t.src, Repeated: true}
		if m, ok := (record{marks: p.session.mu.marks}).marked(t.src.ID); ok {
			if m.digest != t.digest {
				return nil, p.refuse(fmt.Errorf("id %q: %w", t.src.ID, ErrRepeated))
			}
			c.Revision, found = m.revision, true
		}
		out.Commits = append(out.Commits, c)
	}
	if !found {
		return nil, nil
	}
	return &out, nil
}

// mayTradeLocked refuses a party that has ended, or is about to, or cannot be stored now.
func (s *Session) mayTradeLocked() error {
	if err := s.endedLocked(); err != nil {
		return err
	}
	switch {
	case s.mu.leaving != nil, s.mu.frozen:
		return fmt.Errorf("the session is leaving: %w", ErrBusy)
	case len(s.mu.publish.queue) >= maxUnpublished:
		return fmt.Errorf("%d commits wait for a listener: %w", maxUnpublished, ErrBusy)
	case s.mu.write.fails > 0:
		return fmt.Errorf("the last save did not land: %w", store.ErrUnavailable)
	case s.mu.rec.revision > s.mu.revision:
		return fmt.Errorf("what is stored is newer: %w", ErrBusy)
	}
	return nil
}

// await waits until no worker is at any of the parties: a save under way lands first. Nothing is
// sent for a caller who has gone.
func (t *trade) await(ctx context.Context) error {
	for _, p := range t.order {
		if quiet := p.quietens(); quiet != nil {
			select {
			case <-quiet:
			case <-ctx.Done():
				return p.refuse(fmt.Errorf("%w: a save is under way: %w", ErrBusy, context.Cause(ctx)))
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%w: nothing was sent: %w", store.ErrUnavailable, err)
	}
	return nil
}

// quietens is closed when no worker is at the session; nil when none is.
func (p *party) quietens() chan struct{} {
	w := &p.session.mu
	w.Lock()
	defer w.Unlock()
	if !w.write.working {
		return nil
	}
	p.quiet = make(chan struct{})
	return p.quiet
}

// restLocked takes in that the worker has left the session. From now on none writes for it.
func (p *party) restLocked() {
	if p != nil && p.quiet != nil {
		close(p.quiet)
		p.quiet = nil
	}
}

// thaw lets the parties go. What has come meanwhile is done now.
func (t *trade) thaw() {
	for _, p := range t.order {
		p.thaw()
	}
	close(t.over)
}

func (p *party) thaw() {
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.trade = nil
	if s.mu.reason != 0 {
		return
	}
	if p.leaving != nil && p.leaving == s.mu.leaving {
		s.sayGoodbyeLocked(p.leaving)
	}
	s.answerLocked()
	if s.jobLocked(s.set.clk.Now()) != jobNone {
		s.queueLocked(urgent)
	} else {
		s.mu.write.paid = false
	}
	s.journalOnLocked()
	s.planLocked()
}

// journalOnLocked has what waits for the journal looked at again.
func (s *Session) journalOnLocked() {
	if s.mu.journal.waiting != nil {
		s.set.journaler.hurry(s)
	}
	s.listLocked()
}

// postponesLocked keeps an end that begins while the session is frozen for a trade: its leave
// hooks may still change the session, and its final save waits for the trade.
func (s *Session) postponesLocked(lv *leaving) bool {
	if s.mu.trade == nil {
		return false
	}
	s.mu.trade.leaving = lv
	return true
}

// holdsUpLocked tells that the trade is under way, and is about to store everything. When its
// answer was lost the journal takes what was committed before it all the same: what the trade
// does is not in memory before it is known to be stored, so the journal never holds it.
func (p *party) holdsUpLocked() bool { return p != nil && !p.open }

// whyLocked tells what holds up the end of a session.
func (p *party) whyLocked() string {
	if p.open {
		return "the outcome of a trade is unknown"
	}
	return "a trade is under way"
}
