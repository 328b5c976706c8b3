package profile

import (
	"errors"
	"fmt"
)

// This file is the steps of the search: what may happen next in a state, and what it does.

type stepKind = uint8

const (
	stepApply stepKind = iota + 1
	stepAnswer
	stepLose  // told that the answer is lost before the call is applied; it may be later
	stepMute  // told so although it was applied
	stepTurn  // refused for certain
	stepLate  // an orphaned put is applied
	stepCrash // and so on
	stepBegin
	stepQuit
	stepAsk
	stepPoll
	stepTake
	stepOutbid
	stepLook
	stepTold
	stepCommit
	stepCommitClaim
	stepAsked
	stepRelease
	stepSave
	stepVerify
	stepAppend
	stepForget
	stepRestore
	stepRestart
	stepErase
	stepRob
	stepKinds
)

// modelStep is one step: what, on which node or call, in which lane.
type modelStep struct {
	kind stepKind
	node uint8
	lane modelLane
}

// steps appends all that may happen next to out. It depends on the state alone, so that a
// path is a list of places in these lists.
func (w *world) steps(out []modelStep) []modelStep {
	for i := range int(w.left.nodes) {
		n := &w.nodes[i]
		if n.crashed {
			if w.left.restarts > 0 && !w.named(i) {
				out = append(out, modelStep{kind: stepRestart, node: uint8(i)})
			}
			continue
		}
		for l := range modelLanes {
			out = w.callSteps(i, l, out)
		}
		out = w.nodeSteps(i, out)
		if n.session.on {
			out = w.sessionSteps(i, out)
		}
	}
	for k := range w.late {
		if w.mayApply(&w.late[k]) {
			out = append(out, modelStep{stepLate, uint8(k), 0})
		}
	}
	if w.left.forgets > 0 && w.jour.version != 0 {
		out = append(out, modelStep{kind: stepForget})
	}
	if w.left.robs > 0 && w.claims&^(w.rows|w.robbed) != 0 {
		out = append(out, modelStep{kind: stepRob})
	}
	if w.left.restores > 0 && (w.old.version != w.jour.version) {
		out = append(out, modelStep{kind: stepRestore})
	}
	return out
}

// mayApply tells that a late call would change something. One that never does is as good as
// none: what happens without it happens with it too.
func (w *world) mayApply(c *modelCall) bool {
	switch c.op {
	case opPutRecord:
		return c.cond == w.record.version && c.claims&w.rows == 0
	case opPutJournal:
		return c.cond == w.jour.version
	case opDeleteJournal:
		return w.jour.version != 0 && (c.cond == w.jour.version || w.broken == deletesAny)
	case opNone, opGetRecord, opGetJournal:
	}
	return false
}

func (w *world) callSteps(i int, l modelLane, out []modelStep) []modelStep {
	c := &w.nodes[i].calls[l]
	at := func(k stepKind) modelStep { return modelStep{k, uint8(i), l} }
	switch {
	case c.op == opNone:
	case c.state == callSent:
		out = append(out, at(stepApply))
		if c.op.put() && w.left.faults > 0 {
			out = append(out, at(stepLose))
		}
		if w.left.refusals > 0 {
			out = append(out, at(stepTurn))
		}
	default:
		out = append(out, at(stepAnswer))
		if w.left.faults > 0 && c.op.put() {
			out = append(out, at(stepMute))
		}
	}
	return out
}

func (w *world) nodeSteps(i int, out []modelStep) []modelStep {
	n := &w.nodes[i]
	at := func(k stepKind) modelStep { return modelStep{kind: k, node: uint8(i)} }
	l := &n.load
	alone := n.disowned[0].token == 0
	if w.left.crashes > 0 && (l.on || n.session.on || !alone) {
		out = append(out, at(stepCrash))
	}
	if !l.on && !n.session.on && w.left.loads > 0 {
		out = append(out, at(stepBegin))
	}
	if l.on && w.left.quits > 0 {
		out = append(out, at(stepQuit))
	}
	if l.held {
		out = w.waitSteps(i, out)
	}
	if !alone && n.calls[laneFree].op == opNone && (!n.looked || n.lookedAt != w.record.version) {
		out = append(out, at(stepLook))
	}
	if n.strays != 0 && !n.burying {
		out = append(out, at(stepErase))
	}
	if a := &w.ask; a.token != 0 && w.record.rec.token == a.target && int(w.record.rec.node) == i+1 && !w.knows(i, a.target) {
		out = append(out, at(stepTold))
	}
	return out
}

// waitSteps are what a load does that knows a record held by another.
func (w *world) waitSteps(i int, out []modelStep) []modelStep {
	l := &w.nodes[i].load
	at := func(k stepKind) modelStep { return modelStep{kind: k, node: uint8(i)} }
	target := l.last.rec.token
	mine, room := uint8(0), false
	for _, a := range l.asks {
		if a.target == target && a.token != 0 {
			mine = a.token
		}
		room = room || a.token == 0
	}
	f := waitFacts{policy: Steal, vouches: true, landed: mine != 0, stealAfter: 1}
	switch {
	case w.ask.token == 0 || w.ask.target != target:
		f.note = noteNone
	case mine == 0: // it has not looked yet
	case w.ask.token == mine:
		f.note = noteMine
	default:
		f.note = noteOther
	}
	switch step, _ := waitStepOf(f); step {
	case waitAsk:
		if mine != 0 || room {
			out = append(out, at(stepAsk))
		}
	case waitOutbid:
		out = append(out, at(stepOutbid))
	case waitOn, waitTakeOver, waitInUse, waitHeld:
	}
	if l.last.version != w.record.version {
		out = append(out, at(stepPoll))
	}
	if w.nodes[l.last.rec.node-1].crashed || l.verdict == target || w.left.verdicts > 0 {
		out = append(out, at(stepTake))
	}
	return out
}

func (w *world) sessionSteps(i int, out []modelStep) []modelStep {
	n := &w.nodes[i]
	s := &n.session
	at := func(k stepKind) modelStep { return modelStep{kind: k, node: uint8(i)} }
	if w.left.commits > 0 && !s.frozen {
		out = append(out, at(stepCommit))
		if w.left.claims > 0 && !s.fails && w.journaled(s) == s.revision {
			out = append(out, at(stepCommitClaim))
		}
	}
	if a := &w.ask; a.token != 0 && a.target == s.token && s.to.token != a.token {
		out = append(out, at(stepAsked))
	}
	if w.left.releases > 0 && !s.leaving {
		out = append(out, at(stepRelease))
	}
	if n.calls[laneSave].op == opNone {
		switch {
		case s.suspect:
			out = append(out, at(stepVerify))
		case s.saveDue():
			out = append(out, at(stepSave))
		case w.record.rec.token != s.token || w.record.rec.epoch != s.epoch:
			out = append(out, at(stepVerify)) // it is told that it was taken
		}
	}
	if n.calls[laneAppend].op == opNone && !s.suspect && w.startAppend(i) == appendSend {
		out = append(out, at(stepAppend))
	}
	return out
}

// do makes a step.
func (w *world) do(s modelStep) error {
	if s.kind == stepLate {
		c := w.late[s.node]
		w.late[s.node] = modelCall{}
		if err := w.apply(&c); err != nil {
			return err
		}
		return w.check()
	}
	i := int(s.node)
	n := &w.nodes[i]
	var err error
	switch s.kind {
	case stepApply, stepAnswer, stepLose, stepMute, stepTurn:
		err = w.doCall(i, s)
	case stepCrash:
		w.crash(i)
	case stepBegin:
		w.begin(i)
	case stepQuit:
		w.left.quits--
		w.giveUp(i)
	case stepOutbid:
		w.giveUp(i)
	case stepAsk:
		w.leaveAsk(i)
	case stepPoll:
		n.load.held = false
		err = w.getNow(i, laneLoad, opGetRecord)
	case stepTake:
		err = w.take(i)
	case stepLook:
		err = w.look(i)
	case stepTold:
		w.disown(i, modelDisowned{token: w.ask.target, kind: disownedTold})
	case stepCommit, stepCommitClaim:
		w.commit(i, s.kind == stepCommitClaim)
	case stepAsked:
		n.session.leaving, n.session.to, n.session.fails = true, w.ask, false
	case stepRelease:
		w.left.releases--
		n.session.leaving, n.session.fails = true, false
	case stepSave:
		w.save(i, n.session.leaving)
	case stepVerify:
		n.session.verifying = true
		err = w.getNow(i, laneSave, opGetRecord)
	case stepAppend:
		w.append(i)
	case stepForget:
		w.forget()
	case stepRestore:
		w.restore()
	case stepErase:
		w.erase(i)
	case stepRob:
		w.left.robs--
		w.robbed |= w.claims &^ w.rows
	case stepRestart:
		w.left.restarts--
		*n = modelNode{}
	default:
		err = fmt.Errorf("no such step: %+v", s)
	}
	if err != nil {
		return err
	}
	if n.session.on && w.stuck(i) {
		return errors.New("a Sync would have to wait for the next save, although the journal could be written")
	}
	return w.check()
}

// stuck tells that a session has something to append, and does not.
func (w *world) stuck(i int) bool {
	n := &w.nodes[i]
	s := &n.session
	rev := w.journaled(s)
	return rev > s.rec.revision && n.calls[laneAppend].op == opNone && !s.frozen && !s.suspect &&
		s.jstate != journalOpening && s.jstate != journalBarred &&
		!s.journalHold().synced(uint64(s.base), uint64(rev)) && w.startAppend(i) != appendSend
}

func (w *world) doCall(i int, s modelStep) error {
	c := &w.nodes[i].calls[s.lane]
	switch s.kind {
	case stepApply:
		c.state = callApplied
		return w.apply(c)
	case stepTurn:
		w.left.refusals--
		c.err = errRefused
	case stepLose:
		w.left.faults--
		w.putLate(*c)
		c.err = errLost
	case stepMute:
		w.left.faults--
		c.err = errLost
	default:
	}
	done := *c
	*c = modelCall{}
	switch s.lane {
	case laneLoad:
		return w.answerLoad(i, &done)
	case laneSave:
		return w.answerSave(i, &done)
	case laneAppend:
		return w.answerAppend(i, &done)
	default:
		return w.answerFree(i, &done)
	}
}

func (w *world) crash(i int) {
	w.left.crashes--
	for l := range modelLanes {
		w.abandon(i, l)
	}
	w.nodes[i] = modelNode{crashed: true}
}

// named tells that a record, stored or read or on its way, names the node: what comes in its
// place has another name.
func (w *world) named(i int) bool {
	is := func(r *modelRecord) bool { return r.token != 0 && int(r.node) == i+1 }
	if is(&w.record.rec) || int(w.ask.node) == i+1 {
		return true
	}
	for k := range w.late {
		if is(&w.late[k].rec) {
			return true
		}
	}
	for k := range w.nodes {
		n := &w.nodes[k]
		if is(&n.load.last.rec) && n.load.held || is(&n.load.seize.from.rec) || is(&n.free.from.rec) ||
			is(&n.session.rec) || int(n.session.to.node) == i+1 {
			return true
		}
		for l := range n.calls {
			if is(&n.calls[l].rec) {
				return true
			}
		}
	}
	return false
}

// leaveAsk leaves the note, again if it is gone.
func (w *world) leaveAsk(i int) {
	l := &w.nodes[i].load
	target := l.last.rec.token
	for k := range l.asks {
		a := &l.asks[k]
		if a.token != 0 && a.target != target {
			continue
		}
		if a.token == 0 {
			a.token, a.target = w.newToken(), target
			if w.broken == tokenPerLoad && l.tokens[0] != 0 {
				a.token = l.tokens[0]
			} else if w.broken == tokenPerLoad {
				l.tokens[0] = a.token
			}
		}
		w.ask = modelAsk{a.token, uint8(i + 1), target}
		return
	}
	panic("model: too many asks")
}

// take is the verdict: the holder is taken for dead, or its time is up.
func (w *world) take(i int) error {
	l := &w.nodes[i].load
	target := l.last.rec.token
	if !w.nodes[l.last.rec.node-1].crashed && l.verdict != target {
		w.left.verdicts--
		l.verdict = target
	}
	return w.seizeFrom(i, laneLoad, l.last)
}
