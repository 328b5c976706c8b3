package profile

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/shoalworks/shoal/store"
)

// This file is the sessions of the search: save.go, leave.go and the journal's shell, with
// the real rules.

func versionsOf(list []uint8) []store.Version {
	var out []store.Version
	for _, v := range list {
		if v != 0 {
			out = append(out, store.Version(v))
		}
	}
	return out
}

func compactVersions(to []uint8, from []store.Version) {
	clear(to)
	if len(from) > len(to) {
		panic("model: too many writes with an unknown outcome")
	}
	for i, v := range from {
		to[i] = uint8(v)
	}
}

func (s *modelSession) hold() hold {
	return hold{
		token: modelTables.tokens[s.token], epoch: uint64(s.epoch), version: store.Version(s.version),
		base: uint64(s.base), finals: versionsOf(s.finals[:]),
	}
}

func (s *modelSession) setHold(h hold) {
	s.version, s.base = uint8(h.version), uint8(h.base)
	compactVersions(s.finals[:], h.finals)
}

func (s *modelSession) journalHold() journalHold {
	return journalHold{
		token: modelTables.tokens[s.token], epoch: uint64(s.epoch), state: s.jstate,
		version: store.Version(s.jversion), opening: store.Version(s.jopening), sent: versionsOf(s.jsent[:]), rev: uint64(s.jrev),
	}
}

func (s *modelSession) setJournalHold(h journalHold) {
	s.jstate, s.jversion, s.jopening, s.jrev = h.state, uint8(h.version), uint8(h.opening), uint8(h.rev)
	compactVersions(s.jsent[:], h.sent)
}

// through are the commits of the session up to a revision, and the last of them.
func (s *modelSession) through(revision uint8) (mask, last uint8) {
	at := s.loaded()
	for k := uint8(0); k < 8 && at < revision; k++ {
		if bit := uint8(1) << k; s.mine&bit != 0 {
			mask, last, at = mask|bit, k+1, at+1
		}
	}
	return mask, last
}

// loaded is the revision that the session began with.
func (s *modelSession) loaded() uint8 {
	n := s.revision
	for m := s.mine; m != 0; m &= m - 1 {
		n--
	}
	return n
}

// between are the effects above a revision, up to another.
func (s *modelSession) between(base, rev uint8) modelData {
	low, _ := s.through(base)
	high, last := s.through(rev)
	if low == high {
		return modelData{}
	}
	return modelData{high &^ low, last}
}

// at is the session's data at a revision. Commits are numbered in time: the last one is the
// highest.
func (s *modelSession) at(revision uint8) modelData {
	mask, _ := s.through(revision)
	mask |= s.data.mask &^ s.mine
	return modelData{mask, uint8(bits.Len8(mask))}
}

// journaled is the revision up to which commits may be journaled: those before a claim that
// is not stored (B5).
func (w *world) journaled(s *modelSession) uint8 {
	if w.broken == claimJournaled {
		return s.revision
	}
	for rev := s.rec.revision; rev < s.revision; rev++ {
		if s.between(rev, rev+1).mask&w.claims != 0 {
			return rev
		}
	}
	return s.revision
}

func (w *world) commit(i int, claim bool) {
	s := &w.nodes[i].session
	bit := uint8(1) << w.made
	w.made++
	w.left.commits--
	if claim {
		w.left.claims--
		w.claims |= bit
	}
	s.mine |= bit
	s.revision++
	s.data = s.data.with(modelData{bit, w.made})
	if w.record.rec.token == s.token {
		w.cur |= bit
	}
}

// save is Session.compose and put.
func (w *world) save(i int, final bool) {
	s := &w.nodes[i].session
	snap := snapshot{data: s.data.value(), revision: uint64(s.revision), schema: 1, beating: true}
	rec := saved(s.rec.full(), snap, modelTime)
	if final {
		s.frozen = true
		lv := leaving{}
		if s.to.token != 0 {
			lv.to = &asker{token: modelTables.tokens[s.to.token], node: modelTables.nodes[s.to.node]}
		}
		rec = lv.last(rec, modelTime)
	}
	s.final, s.opened = final, uint8(s.journalHold().opened())
	w.send(i, laneSave, modelCall{
		op: opPutRecord, cond: s.version, rec: compactRecord(&rec), claims: s.between(s.rec.revision, s.revision).mask & w.claims,
	})
	s.sent, s.sentRev = w.nodes[i].calls[laneSave].version, s.revision
}

// answerSave is Session.write and verify.
func (w *world) answerSave(i int, c *modelCall) error {
	s := &w.nodes[i].session
	if !s.on {
		return errNobodyWaits
	}
	if s.verifying {
		return w.verified(i, c)
	}
	a := attempt{version: store.Version(s.sent), revision: uint64(s.sentRev), final: s.final}
	var next saveStep
	var h hold
	switch {
	case c.op == opPutRecord:
		if w.broken == acksUnknown && c.err == errLost {
			c.err = errNone
		}
		h, next = answered(s.hold(), a, c.err.err())
		if w.broken == conflictLost && next == saveReadBack {
			next = saveLost
		}
		s.setHold(h)
		if next == saveDone {
			s.rec = c.rec
		}
	case c.err != errNone:
		s.fails = true // the outcome stays open; later again
		s.idle()
		return nil
	default:
		if w.broken == tokenPerLoad && c.rec.token == s.token {
			s.epoch = c.rec.epoch // the token alone decides
		}
		h, next = readBack(s.hold(), a, c.reading())
		s.setHold(h)
		if next == saveAgain || next == saveDone && !s.final {
			s.rec = c.rec
		}
		if next == saveAgain {
			w.voidClaim(s, c.claims)
		}
	}
	return w.saveStep(i, next)
}

func (w *world) saveStep(i int, next saveStep) error {
	s := &w.nodes[i].session
	switch next {
	case saveDone:
		w.landed(i)
	case saveRefused:
		if s.final && !s.void && (!s.hold().bound() || w.broken == unfreezes) {
			s.frozen = false
		}
		s.fails = true
		s.idle()
	case saveReadBack:
		w.get(i, laneSave, opGetRecord)
	case saveAgain:
		w.save(i, s.final)
	case saveLost:
		w.end(i)
	default:
		return fmt.Errorf("save step %d", next)
	}
	return nil
}

// voidClaim is Session.voidLocked, when the row of a claim is another's: what was committed
// before it is stored by a final save.
func (w *world) voidClaim(s *modelSession, taken uint8) {
	keep := w.journaled(s)
	gone := s.between(keep, s.revision).mask
	if gone&w.claims&taken == 0 || w.broken == keepsClaim {
		return
	}
	s.data, s.revision = s.at(keep), keep
	s.mine &^= gone
	s.frozen, s.leaving, s.void, s.final = true, true, true, true
	w.cur &^= gone
}

// idle is a session without a save under way.
func (s *modelSession) idle() {
	s.sent, s.sentRev, s.opened, s.final, s.verifying = 0, 0, 0, false, false
}

// landed takes in a save that is stored, and with it the opening append that it took along.
func (w *world) landed(i int) {
	n := &w.nodes[i]
	s := &n.session
	opened := s.opened
	if w.broken == chainedEarly {
		opened = s.jopening
	}
	s.fails = false
	s.setJournalHold(s.journalHold().chained(store.Version(opened)))
	w.acknowledge(s)
	if !s.final {
		s.empties = w.broken == emptiesJournal && s.jstate == journalOpen
		s.idle()
		return
	}
	n.bury, n.strays, n.burying = s.jversion, 0, n.calls[laneAppend].op == opPutJournal
	if n.burying || s.jsent[0] != 0 || n.calls[laneAppend].op != opNone {
		n.strays = s.token
	}
	*s = modelSession{}
	if !n.burying {
		n.calls[laneAppend] = modelCall{} // it is looked for again
		w.buried(i)
	}
}

// buried deletes the journal of a session that has ended in order, once its last append is
// answered (H6): best effort, nobody waits. Where an append's outcome is unknown, it is looked
// for: see erase.
func (w *world) buried(i int) {
	n := &w.nodes[i]
	if n.bury != 0 {
		w.putLate(modelCall{op: opDeleteJournal, cond: n.bury})
	}
	n.bury, n.burying = 0, false
}

// erase is Set.sighted and the removal that follows.
func (w *world) erase(i int) {
	n := &w.nodes[i]
	if n.strays == w.jour.jour.token && w.jour.version != 0 {
		w.putLate(modelCall{op: opDeleteJournal, cond: w.jour.version})
	}
	n.strays = 0
}

// end is a session that is lost. Its journal is left alone.
func (w *world) end(i int) {
	n := &w.nodes[i]
	if n.session.jversion != 0 && w.broken == deletesLost {
		w.putLate(modelCall{op: opDeleteJournal, cond: n.session.jversion})
	}
	w.abandon(i, laneSave)
	w.abandon(i, laneAppend)
	n.session = modelSession{}
}

// verified is Session.verify: only the record decides. A journal that is newer than a record
// which is still mine would be left alone from now on; without a record store that goes back
// there is none.
func (w *world) verified(i int, c *modelCall) error {
	s := &w.nodes[i].session
	suspect := s.suspect
	s.idle()
	if c.err != errNone {
		return nil
	}
	s.suspect = false
	h := s.hold()
	switch {
	case h.mine(c.reading()):
		if suspect {
			return errors.New("the journal is of a later session than the record")
		}
	case !h.bound():
		w.end(i)
	}
	return nil
}

// acknowledge answers every Sync and Save that can be answered.
func (w *world) acknowledge(s *modelSession) {
	h := s.journalHold()
	for rev := s.revision; rev > s.loaded(); rev-- {
		if h.synced(uint64(s.base), uint64(rev)) {
			mask, _ := s.through(rev)
			w.acked |= mask
			return
		}
	}
}

// startAppend is whether and what the session appends.
func (w *world) startAppend(i int) appendStart {
	s := &w.nodes[i].session
	if s.empties {
		return appendSend
	}
	return appendStartOf(s.journalHold(), appendFacts{
		revision: uint64(w.journaled(s)), base: uint64(s.rec.revision), size: 1, limit: 1,
		frozen: s.heldUp() && w.broken != appendsFrozen, refused: s.fails,
	})
}

// heldUp is Session.heldUpLocked.
func (s *modelSession) heldUp() bool { return s.frozen && !s.fails && s.finals[0] == 0 }

func (w *world) append(i int) {
	s := &w.nodes[i].session
	j := modelJournal{epoch: s.epoch, token: s.token, base: s.rec.revision, rev: w.journaled(s)}
	if w.broken == baseStarted && s.sentRev > j.base {
		j.base = s.sentRev
	}
	j.baseData, j.effects = s.at(j.base), s.between(j.base, j.rev)
	if w.broken == lastEffects && s.jstate == journalOpen {
		j.effects = s.between(max(j.base, s.jrev), j.rev)
	}
	if s.empties {
		s.empties = false
		j.rev, j.effects = j.base, modelData{}
	}
	cond := s.jversion
	if w.broken == appendsBlindly {
		cond = w.jour.version
	}
	w.send(i, laneAppend, modelCall{op: opPutJournal, cond: cond, jour: j})
}

// answerAppend is the append's shell.
func (w *world) answerAppend(i int, c *modelCall) error {
	n := &w.nodes[i]
	s := &n.session
	if n.burying { // of the session before
		if c.err == errNone {
			n.bury, n.strays = c.version, 0
		}
		w.buried(i)
		return nil
	}
	if !s.on {
		return errNobodyWaits
	}
	if c.op == opPutJournal {
		h, step := appendAnswered(s.journalHold(), appended{store.Version(c.version), uint64(c.jour.rev)}, c.err.err())
		s.setJournalHold(h)
		return w.appendStep(i, step, c)
	}
	if c.op == opGetRecord { // the broken shell that opens after a read
		if h := s.hold(); c.err == errNone && h.mine(c.reading()) && s.jstate == journalOpening {
			s.jstate, s.jopening = journalOpen, 0
			w.acknowledge(s)
		}
		return nil
	}
	if c.err != errNone {
		return nil // the outcome stays open; the next append finds out
	}
	before := s.journalHold()
	h, step := appendReadBackStep(before, c.journalReading())
	if step == appendAgain && h.state == journalClosed {
		switch {
		case w.broken == olderAccepted && c.version != 0 && c.jour.epoch == s.epoch:
			h.state, h.rev = journalOpen, uint64(c.jour.rev)
		case w.broken == revKept:
			h.rev = before.rev
		}
	}
	s.setJournalHold(h)
	return w.appendStep(i, step, c)
}

func (w *world) appendStep(i int, step appendStep, c *modelCall) error {
	s := &w.nodes[i].session
	switch step {
	case appendDone:
		w.acknowledge(s)
	case appendSave: // a save is due, see saveDue
		switch w.broken {
		case openingTrusted:
			s.jstate, s.jopening = journalOpen, 0
			w.acknowledge(s)
		case openingRead:
			w.get(i, laneAppend, opGetRecord)
		}
	case appendReadBack:
		w.get(i, laneAppend, opGetJournal)
	case appendRefused, appendBarred:
	case appendAgain: // the next append
	case appendLetGo:
		if w.broken == sealedLost {
			w.end(i)
			return nil
		}
		s.leaving = true
	case appendVerify:
		if w.broken == overwritesForeign {
			h, _ := s.journalHold().reopened(store.Version(c.version))
			s.setJournalHold(h)
			return nil
		}
		s.suspect = true
	default:
		return fmt.Errorf("append step %d", step)
	}
	return nil
}

// saveDue tells that there is something to save.
func (s *modelSession) saveDue() bool {
	return s.revision > s.base || s.jstate == journalOpening || s.leaving
}
