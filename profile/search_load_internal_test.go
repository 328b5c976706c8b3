package profile

import (
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// This file is the loads of the search: load.go, seize.go and disown.go, with the real rules.

func (w *world) send(i int, l modelLane, c modelCall) {
	c.state = callSent
	if c.op == opPutRecord || c.op == opPutJournal {
		c.version = w.newVersion()
	}
	w.nodes[i].calls[l] = c
}

func (w *world) get(i int, l modelLane, op callOp) { w.send(i, l, modelCall{op: op}) }

// getNow is a get that nothing made necessary: it might as well be sent when it is applied.
func (w *world) getNow(i int, l modelLane, op callOp) error {
	w.get(i, l, op)
	c := &w.nodes[i].calls[l]
	c.state = callApplied
	return w.apply(c)
}

func (w *world) putLate(c modelCall) {
	for k := range w.late {
		if w.late[k].op == opNone {
			c.state, c.err = callSent, errNone
			w.late[k] = c
			return
		}
	}
	w.cut++
}

// abandon is the end of whoever waits for a call: a put may still be applied.
func (w *world) abandon(i int, l modelLane) {
	c := w.nodes[i].calls[l]
	w.nodes[i].calls[l] = modelCall{}
	if c.state == callSent && c.op.put() {
		w.putLate(c)
	}
}

func (w *world) claimant(i int) claimant {
	l := &w.nodes[i].load
	me := claimant{node: modelTables.nodes[i+1], beating: true, schema: 1, fresh: modelData{}.value()}
	me.mine = make([]string, 0, maxTokens)
	for _, t := range l.tokens {
		if t != 0 {
			me.mine = append(me.mine, modelTables.tokens[t])
		}
	}
	for _, a := range l.asks {
		if a.token != 0 {
			me.mine = append(me.mine, modelTables.tokens[a.token])
		}
	}
	return me
}

// claim is load.claim.
func (w *world) claim(i int) claimant {
	me := w.claimant(i)
	me.token = modelTables.tokens[w.loadToken(i)]
	return me
}

// loadToken is load.newToken.
func (w *world) loadToken(i int) uint8 {
	l := &w.nodes[i].load
	if w.broken == tokenPerLoad && l.tokens[0] != 0 {
		return l.tokens[0]
	}
	t := w.newToken()
	for k := range l.tokens {
		if l.tokens[k] == 0 {
			l.tokens[k] = t
			return t
		}
	}
	panic("model: too many tokens of a load")
}

func (w *world) begin(i int) {
	w.left.loads--
	w.nodes[i].load = modelLoad{on: true}
	w.get(i, laneLoad, opGetRecord)
}

// answerLoad is load.run and load.put.
func (w *world) answerLoad(i int, c *modelCall) error {
	l := &w.nodes[i].load
	switch c.op {
	case opGetRecord:
		if c.err != errNone {
			w.get(i, laneLoad, opGetRecord)
			return nil
		}
		return w.loadRead(i, c)
	case opPutRecord:
		switch claimStepOf(store.OutcomeOf(c.err.err())) {
		case claimLanded:
			return w.open(i, recordCell{c.version, c.rec})
		case claimReadBack:
			w.unknownClaim(i, c)
		case claimAgain:
		}
		w.get(i, laneLoad, opGetRecord)
		return nil
	case opGetJournal, opPutJournal:
		return w.seizing(i, laneLoad, &l.seize, c)
	case opNone, opDeleteJournal:
	}
	return fmt.Errorf("a load has no call %d", c.op)
}

func (w *world) unknownClaim(i int, c *modelCall) {
	l := &w.nodes[i].load
	for k := range l.claims {
		if l.claims[k].token == 0 {
			l.claims[k].token, l.claims[k].cond = c.rec.token, c.cond
			return
		}
	}
	panic("model: too many unknown claims")
}

func (w *world) loadRead(i int, c *modelCall) error {
	l := &w.nodes[i].load
	r := c.reading()
	l.last = recordCell{c.version, c.rec}
	switch readStep(r, w.claimant(i)) {
	case stepCreate:
		w.putClaim(i, created(w.claim(i), modelTime), 0, 0)
	case stepClaim:
		w.putClaim(i, claimed(r.record, w.claim(i), modelTime), c.version, 0)
	case stepLoaded:
		return w.open(i, l.last)
	case stepHeld:
		l.held = true
	case stepOrphan:
		return w.seizeFrom(i, laneLoad, l.last)
	case stepLater, stepForeign:
		return fmt.Errorf("a strange record: %+v", r)
	}
	return nil
}

func (w *world) putClaim(i int, rec record, cond, seal uint8) {
	w.nodes[i].load.seal = seal
	w.send(i, laneLoad, modelCall{op: opPutRecord, cond: cond, rec: compactRecord(&rec)})
}

func (w *world) seizureOf(i int, l modelLane) *modelSeizure {
	if l == laneLoad {
		return &w.nodes[i].load.seize
	}
	return &w.nodes[i].free
}

// seizeFrom begins a takeover of what was read: the journal is read after the record (T2).
func (w *world) seizeFrom(i int, l modelLane, from recordCell) error {
	z := w.seizureOf(i, l)
	z.on, z.from = true, from
	w.nodes[i].load.held = w.nodes[i].load.held && l != laneLoad
	if w.broken == journalIgnored {
		return w.seized(i, l, from.rec, 0)
	}
	w.get(i, l, opGetJournal)
	return nil
}

// startOver is a seizure that begins again at the record.
func (w *world) startOver(i int, l modelLane) {
	w.seizureOf(i, l).on = false
	if l == laneLoad {
		w.get(i, l, opGetRecord)
		return
	}
	w.nodes[i].looked = false
}

// seizing is seizure.seal.
func (w *world) seizing(i int, l modelLane, z *modelSeizure, c *modelCall) error {
	if c.op == opPutJournal {
		switch {
		case c.err == errNone:
			return w.replay(i, l, z, journalCell{c.version, c.jour})
		case c.err == errRefused:
			w.startOver(i, l)
		default:
			w.get(i, l, opGetJournal)
		}
		return nil
	}
	if c.err != errNone {
		w.startOver(i, l)
		return nil
	}
	step := sealStepOf(z.from.rec.full(), c.journalReading(), w.confirmed(z, c.version))
	if w.broken == noEpoch && step == sealStale || w.broken == noEpoch && step == sealNothing && c.version != 0 {
		step = sealWrite
	}
	if w.broken == neverSeals && step == sealWrite {
		step = sealStands
	}
	switch step {
	case sealNothing:
		return w.seized(i, l, z.from.rec, 0)
	case sealStale:
		z.disputed.record, z.disputed.journal = z.from.version, c.version
		w.startOver(i, l)
		return nil
	case sealStands:
		return w.replay(i, l, z, journalCell{c.version, c.jour})
	case sealWrite:
		sealed := c.jour
		sealed.sealed = true
		if w.broken == sealEmpties {
			sealed.effects, sealed.rev = modelData{}, sealed.base
		}
		w.send(i, l, modelCall{op: opPutJournal, cond: c.version, jour: sealed})
		return nil
	case sealQuarantine, sealLater, sealReplace:
	}
	return fmt.Errorf("seal step %d, although the record store never goes back", step)
}

func (w *world) confirmed(z *modelSeizure, journal uint8) bool {
	return z.disputed.record == z.from.version && z.disputed.journal == journal
}

// replay is seizure.replay.
func (w *world) replay(i int, l modelLane, z *modelSeizure, j journalCell) error {
	step := replayStepOf(z.from.rec.full(), j.jour.full(), w.confirmed(z, j.version), 1)
	if w.broken == noFilter && step == replayNothing || w.broken == noEpoch {
		step = replayApply
	}
	rec := z.from.rec
	switch step {
	case replayNothing:
	case replayStale:
		z.disputed.record, z.disputed.journal = z.from.version, j.version
		w.startOver(i, l)
		return nil
	case replayApply:
		rec.data, rec.revision = rec.data.with(j.jour.effects), j.jour.rev
	case replayQuarantine, replayLater:
		return fmt.Errorf("replay step %d, although the record store never goes back", step)
	}
	return w.seized(i, l, rec, j.version)
}

// seized sends the claim that replays (T4), or frees the record.
func (w *world) seized(i int, l modelLane, rec modelRecord, seal uint8) error {
	z := w.seizureOf(i, l)
	cond := z.from.version
	z.on = false
	if w.broken == staleVersion {
		cond = w.record.version
	}
	if l == laneLoad {
		w.putClaim(i, taken(rec.full(), w.claim(i), node.EvidenceAge, modelTime), cond, seal)
		return nil
	}
	out := freed(rec.full(), node.EvidenceOrphan, modelTime)
	w.send(i, l, modelCall{op: opPutRecord, cond: cond, rec: compactRecord(&out)})
	return nil
}

// open is load.open: the session begins.
func (w *world) open(i int, r recordCell) error {
	n := &w.nodes[i]
	s := modelSession{
		on: true, token: r.rec.token, epoch: r.rec.epoch, version: r.version, base: r.rec.revision, rec: r.rec,
		data: r.rec.data, revision: r.rec.revision, jversion: n.load.seal,
	}
	if w.broken == continuesSealed && n.load.seal != 0 {
		s.jstate = journalOpen
	}
	n.load, n.session = modelLoad{}, s
	if w.record.rec.token == s.token {
		if missing := w.acked &^ (s.data.mask | w.exposed); missing != 0 {
			return fmt.Errorf("a load without acknowledged commits %b", missing)
		}
		w.acked |= s.data.mask // somebody has seen them
	}
	return nil
}

// giveUp is load.giveUp: a claim under way is taken for unknown.
func (w *world) giveUp(i int) {
	n := &w.nodes[i]
	if c := &n.calls[laneLoad]; c.op == opPutRecord {
		w.unknownClaim(i, c)
	}
	w.abandon(i, laneLoad)
	l := n.load
	n.load = modelLoad{}
	if w.broken == noDisown {
		return
	}
	for _, c := range l.claims {
		w.disown(i, modelDisowned{token: c.token, kind: disownedClaim, ref: c.cond})
	}
	for _, a := range l.asks {
		w.disown(i, modelDisowned{token: a.token, kind: disownedAsk, ref: a.target})
	}
}

func (w *world) disown(i int, d modelDisowned) {
	if d.token == 0 {
		return
	}
	n := &w.nodes[i]
	n.looked = false
	for k := range n.disowned {
		if n.disowned[k].token == 0 {
			n.disowned[k] = d
			return
		}
	}
	panic("model: too many disowned tokens")
}

// knows tells that the token is of a session, a load or a disowned one of the node.
func (w *world) knows(i int, token uint8) bool {
	n := &w.nodes[i]
	if n.session.on && n.session.token == token {
		return true
	}
	for _, t := range n.load.tokens {
		if t == token {
			return true
		}
	}
	for _, a := range n.load.asks {
		if a.token == token {
			return true
		}
	}
	for _, d := range n.disowned {
		if d.token == token {
			return true
		}
	}
	return false
}

// look is Set.freeOrphan, for all disowned tokens of the node at once.
func (w *world) look(i int) error {
	n := &w.nodes[i]
	n.looked, n.lookedAt = true, w.record.version
	for k := range n.disowned {
		n.disowned[k].seen = n.disowned[k].token != 0
	}
	return w.getNow(i, laneFree, opGetRecord)
}

func (w *world) answerFree(i int, c *modelCall) error {
	n := &w.nodes[i]
	switch c.op {
	case opGetJournal, opPutJournal:
		return w.seizing(i, laneFree, &n.free, c)
	case opGetRecord:
	case opPutRecord, opNone, opDeleteJournal:
		n.looked = false
		return nil
	}
	if c.err != errNone {
		n.looked = false
		return nil
	}
	r := c.reading()
	kept, free := 0, false
	for _, d := range n.disowned {
		if d.token == 0 {
			continue
		}
		if d.seen {
			switch disownStepOf(d.full(), r, modelTime) {
			case disownForget:
				continue
			case disownFree:
				free = true
			case disownKeep:
			}
		}
		n.disowned[kept] = d
		kept++
	}
	clear(n.disowned[kept:])
	if free {
		return w.seizeFrom(i, laneFree, recordCell{c.version, c.rec})
	}
	return nil
}

func (d modelDisowned) full() disowned {
	out := disowned{token: modelTables.tokens[d.token], until: modelTime.Add(time.Hour)}
	switch d.kind {
	case disownedClaim:
		out.claims = []store.Version{store.Version(d.ref)}
	case disownedAsk:
		out.asked = []string{modelTables.tokens[d.ref]}
	case disownedTold:
		out.until = modelTime
	}
	return out
}

var errNobodyWaits = errors.New("an answer for nobody")
