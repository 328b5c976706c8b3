package profile

import (
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// maxTrades is how often a trade is sent again that was refused only because a record has
// moved on under its holder, or that was fenced because an answer was lost.
const maxTrades = 3

// run sees the trade through: until its outcome is known, or this node has closed.
func (t *trade) run() {
	defer close(t.told)
	err := t.see()
	t.thaw()
	t.err = err
	close(t.decided)
	for _, p := range t.parties {
		if err == nil {
			p.session.report(p.commit)
		}
		p.session.deliver()
	}
}

// see sends the trade again while that may help, somebody waits for it, and no party wants to
// leave.
func (t *trade) see() error {
	for try := 1; ; try++ {
		again, err := t.send()
		if !again || try == maxTrades || !t.wanted() {
			return err
		}
		if _, gone := t.data(); gone != nil {
			return gone
		}
		if t.pay(t.alive().life()) != nil {
			return err
		}
	}
}

// send is one try: nil when the trade is stored; an ErrUnknown when nobody can find out any
// more; else it is not stored, and never will be. again tells that nothing but a lost answer,
// or a record that has moved on under its holder, was in its way.
func (t *trade) send() (again bool, err error) {
	tx, err := t.compose()
	if err != nil {
		return false, err
	}
	sent := t.parties[0].session.set.clk.Now()
	err = t.commit(tx)
	switch store.OutcomeOf(err) {
	case store.Done:
		t.landed(nil, sent)
		return false, nil
	case store.NotDone:
		if !isConflict(err) {
			return unstorable(err) && t.forgoBeside(err), err
		}
		return t.refused(err, sent)
	case store.Unknown:
	}
	t.leaveOpen()
	return t.find(err, sent)
}

// compose makes the records, each with everything that its party has committed.
func (t *trade) compose() (store.Tx, error) {
	if err := t.snapshot(); err != nil {
		return nil, err
	}
	tx := make(store.Tx, 0, len(t.parties))
	for _, p := range t.parties {
		set, key := p.session.set, p.session.key
		p.rec = set.asStored(key, p.rec)
		tx = append(tx, set.putTx(key, p.rec, p.hold.version, p.attempt.version)...)
		tx = append(tx, p.beside.writes(set, key)...)
	}
	return tx, nil
}

// forgoBeside has the parties do without what goes beside their records: it may be that which
// the store refuses. It tells whether there was anything.
func (t *trade) forgoBeside(because error) (had bool) {
	for _, p := range t.parties {
		if !p.beside.empty() {
			p.session.forgoBeside(because)
			had = true
		}
	}
	return had
}

func (t *trade) snapshot() error {
	t.lock()
	defer t.unlock()
	for _, p := range t.parties {
		if err := p.composeLocked(); err != nil {
			return p.refuse(err)
		}
	}
	return nil
}

func (p *party) composeLocked() error {
	s := p.session
	if err := s.endedLocked(); err != nil {
		return err
	}
	if s.wouldKeepLocked(p.commit.Data) {
		return overHard(s.mu.rec.data, p.commit.Data, s.set.opts.HardBytes)
	}
	n := s.set.node
	p.open = false
	p.commit.Revision = s.mu.revision + 1
	p.marks = record{marks: s.mu.marks}.withMarks(mark{id: p.trade.src.ID, revision: p.commit.Revision, digest: p.trade.digest})
	p.rec = saved(s.mu.rec, snapshot{
		data: p.commit.Data, revision: p.commit.Revision, schema: s.mu.schema, marks: p.marks, handled: s.mu.handled, beating: n.Beating(),
	}, n.Now())
	p.beside, p.rec = s.besideLocked(p.rec, n.Now(), p.commit)
	p.attempt = attempt{version: n.NewVersion("trade", s.key), revision: p.commit.Revision, live: p.commit.Data.Size(), opened: s.mu.journal.hold.opened()}
	p.hold = s.mu.hold
	return nil
}

// leaveOpen takes in that the answer was lost. The journal goes on meanwhile.
func (t *trade) leaveOpen() {
	t.lock()
	defer t.unlock()
	for _, p := range t.parties {
		p.open = true
		p.session.journalOnLocked()
	}
}

// find reads the records until they tell what became of the trade, and fences it if it may
// still land.
func (t *trade) find(because error, sent time.Time) (again bool, err error) {
	for n := 1; ; n++ {
		rs, err := t.read()
		f, open := fateOpen, -1
		if err == nil {
			f, open = fateOf(t.src.ID, t.digest, t.stakes(), rs, false)
		}
		switch f {
		case fateLanded:
			t.landed(rs, sent)
			return false, nil
		case fateRefused:
			return t.adopt(rs, notStored(because))
		case fateLost:
			_, err = t.adopt(rs, because)
			return false, fmt.Errorf("%w: %w", store.ErrUnknown, err)
		case fateOpen:
		}
		if open >= 0 {
			rs[open], err = t.parties[open].fence(rs[open])
			if err == nil {
				return t.adopt(rs, notStored(because))
			}
			if isConflict(err) && n%maxTries != 0 {
				continue // it has landed, or somebody else has written: look
			}
		}
		if !t.pause(n) {
			return false, fmt.Errorf("%w: %w: %w", ErrClosing, store.ErrUnknown, errors.Join(because, err))
		}
	}
}

// notStored is the error of a trade that was sent with an unknown outcome and is known now not
// to be stored.
func notStored(because error) error {
	return fmt.Errorf("%w: not stored, and never will be: %v", store.ErrUnavailable, because) //nolint:errorlint // the outcome is known by now
}

// refused reads back what a conflict was about.
func (t *trade) refused(because error, sent time.Time) (again bool, err error) {
	rs, err := t.read()
	if err != nil {
		return false, because // the next saves find out
	}
	if f, _ := fateOf(t.src.ID, t.digest, t.stakes(), rs, true); f == fateLanded { // the store has repeated the call
		t.landed(rs, sent)
		return false, nil
	}
	return t.adopt(rs, because)
}

// fence writes the record of a party again, with what it holds, on the version on which the
// trade is conditional. It answers the record as it stands then.
func (p *party) fence(r reading) (reading, error) {
	set, n := p.trade.alive(), p.session.set.node
	if err := n.Pass(set.life(), node.ClassSave, node.KindWrite); err != nil {
		return r, err
	}
	out := reading{version: n.NewVersion("fence", p.session.key), record: renewed(r.record, snapshot{beating: n.Beating()}, n.Now())}
	return out, p.trade.commit(p.session.set.putTx(p.session.key, out.record, r.version, out.version))
}

// landed commits in memory, for all parties at once, since the trade is stored. rs are the
// readings that showed it, or nil.
func (t *trade) landed(rs []reading, sent time.Time) {
	if rs == nil {
		for _, p := range t.parties {
			rs = append(rs, reading{version: p.attempt.version})
		}
	}
	t.lock()
	for i, p := range t.parties {
		p.commitLocked(rs[i])
	}
	t.unlock()
	for i, p := range t.parties {
		if p.stepOf(rs[i]) == partyLost {
			p.session.end(Lost)
			continue
		}
		p.session.landed(p.rec, p.attempt, sent)
		p.session.heed(rs[i])
	}
}

// commitLocked is the commit of one party. The journal goes on from there.
func (p *party) commitLocked(r reading) {
	s, c := p.session, p.commit
	if s.mu.reason != 0 {
		return
	}
	kept := s.rememberLocked(s.mu.data, c)
	s.mu.data, s.mu.revision, s.mu.marks = c.Data, c.Revision, p.marks
	s.publishLocked(kept)
	s.set.stats.commits.Add(1)
	s.noteSizeLocked()
	s.mu.journal.tracks.cut(c.Data, c.Revision)
	step := p.stepOf(r)
	if step == partyLost {
		return
	}
	s.mu.hold, _ = answered(s.mu.hold, p.attempt, nil)
	if step == partyAdopts {
		s.mu.hold, _ = readBack(s.mu.hold, p.attempt, r)
		p.rec = r.record
	}
}

// adopt takes in readings of records that do not hold the trade, as a save does (H2): versions
// of records that are still a party's own are adopted, other parties are lost.
func (t *trade) adopt(rs []reading, because error) (again bool, err error) {
	again, err = true, because
	for i, p := range t.parties {
		switch p.stepOf(rs[i]) {
		case partyStands:
		case partyAdopts:
			p.adopt(rs[i])
			p.session.tellStored()
			p.session.heed(rs[i])
		case partyLost:
			p.session.end(Lost)
			again, err = false, p.refuse(&EndedError{Key: p.session.key, Reason: Lost})
		}
	}
	return again, err
}

func (p *party) adopt(r reading) {
	s := p.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.reason != 0 {
		return
	}
	s.mu.hold, _ = readBack(s.mu.hold, attempt{}, r)
	s.mu.rec = r.record
	s.savedLocked(0)
}

// heed begins the hand-over that an ask in the record wants.
func (s *Session) heed(r reading) {
	if ask, ok := r.record.asked(s.token); ok && r.age <= s.set.opts.LoadTimeout {
		s.leave(HandedOver, &ask)
	}
}

func (p *party) stake() stake {
	return stake{hold: p.hold, put: p.attempt.version, revision: p.attempt.revision}
}

func (p *party) stepOf(r reading) partyStep { return partyStepOf(p.stake(), r) }

func (t *trade) stakes() []stake {
	out := make([]stake, len(t.parties))
	for i, p := range t.parties {
		out[i] = p.stake()
	}
	return out
}

// alive is a set that goes on: parties may be of several, which close one after the other.
func (t *trade) alive() *Set {
	for _, p := range t.parties {
		if p.session.set.life().Err() == nil {
			return p.session.set
		}
	}
	return t.parties[0].session.set
}

// commit sends in the set's own name, as every write of a session.
func (t *trade) commit(tx store.Tx) error {
	set := t.alive()
	ctx, cancel := set.call()
	defer cancel()
	return set.commit(ctx, tx)
}

// read reads the records of all parties.
func (t *trade) read() ([]reading, error) {
	set, keys := t.alive(), make([]string, len(t.parties))
	for i, p := range t.parties {
		keys[i] = p.recordKey()
		if err := set.node.Pass(set.life(), node.ClassSave, node.KindRead); err != nil {
			return nil, err
		}
	}
	ctx, cancel := set.call()
	defer cancel()
	recs, err := set.durable.Get(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	out := make([]reading, len(recs))
	for i, r := range recs {
		out[i] = readingOf(r)
	}
	return out, nil
}

// pause waits before the next look, longer each time; false when all the sets have closed.
func (t *trade) pause(n int) bool {
	set := t.alive()
	if n == 1 {
		set.log.WarnContext(set.life(), "the outcome of a trade is unknown", "id", t.src.ID, "parties", len(t.parties))
	}
	_ = clock.Sleep(set.life(), set.clk, backoff(n, set.node.Random("trade retry", t.src.ID)))
	return t.alive().life().Err() == nil
}
