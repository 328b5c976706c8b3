package profile

import (
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// This file is the shell of the search: what a node does with the decisions of the rules.

func (w *world) nodeSteps(i int, add func(string, func(*world) error)) {
	n := &w.nodes[i]
	name := nodeName(i)
	if w.left.crashes > 0 && (n.load != nil || n.session != nil || len(n.disowned) > 0) {
		add(name+" crashes", func(w *world) error { return w.crash(i) })
	}
	if n.load == nil && n.session == nil && w.left.loads > 0 && (w.begun > 0 || i == 0) { // A is the first
		add(name+" loads", func(w *world) error {
			w.left.loads--
			w.begun++
			w.nodes[i].load = &modelLoad{}
			w.get(i, forLoad)
			return nil
		})
	}
	if n.load != nil && w.left.quits > 0 {
		add(name+" gives up", func(w *world) error {
			w.left.quits--
			w.giveUp(i)
			return nil
		})
	}
	if l := n.load; l != nil && l.reading {
		w.waitSteps(i, add)
	}
	if n.session != nil {
		w.sessionSteps(i, add)
	}
	if len(n.disowned) > 0 && !n.freeing && (!n.lookedAt || n.looked != w.now.version) {
		add(name+" looks after "+n.disowned[0].token, func(w *world) error {
			n := &w.nodes[i]
			n.freeing, n.lookedAt, n.looked = true, true, w.now.version
			w.get(i, forOrphan)
			return nil
		})
	}
	if a := w.ask; a != nil && w.now.record.session != nil && w.now.record.session.node == name &&
		w.now.holder() == a.target && !w.knows(i, a.target) {
		add(name+" is asked for unknown "+a.target, func(w *world) error {
			n := &w.nodes[i]
			n.disowned = append(n.disowned, disowned{token: w.ask.target, until: modelTime})
			n.lookedAt = false
			return nil
		})
	}
}

// knownToken tells that somebody, or the record, or a call still has the token.
func (w *world) knownToken(token string) bool {
	return w.now.holder() == token || w.knows(0, token) || w.knows(1, token) ||
		slices.ContainsFunc(w.calls, func(c modelCall) bool { return c.rec.holder() == token || c.seen.holder() == token })
}

// knows tells that the token is a session, a load or a disowned token of the node.
func (w *world) knows(i int, token string) bool {
	n := &w.nodes[i]
	return n.load != nil && slices.Contains(n.load.tokens, token) || n.session != nil && n.session.hold.token == token ||
		slices.ContainsFunc(n.disowned, func(d disowned) bool { return d.token == token })
}

func (w *world) crash(i int) error {
	w.left.crashes--
	w.nodes[i] = modelNode{crashed: true}
	w.calls = slices.DeleteFunc(w.calls, func(c modelCall) bool { return c.node == i && !c.put })
	for j := range w.calls {
		if c := &w.calls[j]; c.node == i && c.state == callSent {
			c.state = callLate
		}
	}
	w.calls = slices.DeleteFunc(w.calls, func(c modelCall) bool { return c.node == i && c.state == callApplied })
	return nil
}

// waitSteps are what a load does that knows a record held by another.
func (w *world) waitSteps(i int, add func(string, func(*world) error)) {
	l, name := w.nodes[i].load, nodeName(i)
	holder := l.last.record.session
	other := int(holder.node[0] - 'A')
	if !slices.ContainsFunc(l.asks, func(a asker) bool { return a.target == holder.token }) {
		add(name+" asks for "+holder.token, func(w *world) error {
			l := w.nodes[i].load
			a := asker{token: w.newToken(i), node: name, target: holder.token}
			l.asks = append(slices.Clip(l.asks), a)
			w.ask = &a
			return nil
		})
	}
	if l.last.version != w.now.version {
		add(name+" polls", func(w *world) error {
			w.nodes[i].load.reading = false
			w.get(i, forLoad)
			return nil
		})
	}
	dead := w.nodes[other].crashed
	if dead || w.left.verdicts > 0 {
		add(name+" takes over from "+holder.token, func(w *world) error {
			if !dead {
				w.left.verdicts--
			}
			w.takeOver(i, node.EvidenceAge)
			return nil
		})
	}
}

func (w *world) takeOver(i int, evidence node.Evidence) {
	l := w.nodes[i].load
	if sealStepOf(l.last.record, journalReading{}, false) != sealNothing {
		panic("an absent journal is nothing to seal")
	}
	cond := l.last.version
	if w.broken == staleVersion {
		cond = w.now.version
	}
	w.put(i, forLoad, taken(l.last.record, w.claim(i), evidence, modelTime), cond)
	l.reading = false
}

// giveUp is load.giveUp: a call under way is taken for unknown.
func (w *world) giveUp(i int) {
	n := &w.nodes[i]
	l := n.load
	n.load = nil
	for j := range w.calls {
		if c := &w.calls[j]; c.node == i && c.purpose == forLoad && c.put && c.state != callLate {
			l.claims = append(slices.Clip(l.claims), openClaim{c.rec.holder(), c.cond})
			if c.state == callSent {
				c.state = callLate
			}
		}
	}
	w.calls = slices.DeleteFunc(w.calls, func(c modelCall) bool { return c.node == i && c.purpose == forLoad && c.state != callLate })
	if w.broken == noDisown {
		return
	}
	until := modelTime.Add(time.Hour)
	for _, c := range l.claims {
		n.disowned = append(n.disowned, disowned{token: c.token, claims: []store.Version{c.cond}, until: until})
	}
	for _, a := range l.asks {
		n.disowned = append(n.disowned, disowned{token: a.token, asked: []string{a.target}, until: until})
	}
	n.lookedAt = false
}

func (w *world) sessionSteps(i int, add func(string, func(*world) error)) {
	s, name := w.nodes[i].session, nodeName(i)
	if w.left.commits > 0 && !s.frozen {
		add(name+" commits", func(w *world) error {
			w.left.commits--
			s := w.nodes[i].session
			bit := int64(1) << w.bits
			w.bits++
			s.data |= bit
			s.revision++
			commits := make(map[string][]int64, len(w.commits)+1)
			for token, bits := range w.commits {
				commits[token] = bits
			}
			commits[s.hold.token] = append(slices.Clip(commits[s.hold.token]), bit)
			w.commits = commits
			return nil
		})
	}
	if a := w.ask; a != nil && a.target == s.hold.token && (s.to == nil || s.to.token != a.token) {
		add(name+" is asked by "+a.token, func(w *world) error {
			s := w.nodes[i].session
			s.leaving, s.to = true, w.ask
			return nil
		})
	}
	if w.left.releases > 0 && !s.leaving {
		add(name+" releases", func(w *world) error {
			w.left.releases--
			w.nodes[i].session.leaving = true
			return nil
		})
	}
	switch {
	case s.busy:
	case s.leaving:
		add(name+" sends its final save", func(w *world) error { return w.save(i, true) })
	case s.revision > s.hold.base:
		add(name+" saves", func(w *world) error { return w.save(i, false) })
	case s.rec.epoch != w.now.record.epoch || s.hold.version != w.now.version:
		add(name+" is told that it was taken", func(w *world) error {
			s := w.nodes[i].session
			s.busy, s.attempt = true, attempt{}
			w.get(i, forSession)
			return nil
		})
	}
}

// save is Session.compose and put.
func (w *world) save(i int, final bool) error {
	s := w.nodes[i].session
	snap := snapshot{data: doc.Int(s.data), revision: s.revision, schema: 1, beating: true}
	rec := saved(s.rec, snap, modelTime)
	if final {
		s.frozen = true
		lv := leaving{to: s.to}
		rec = lv.last(rec, modelTime)
	}
	s.busy, s.sentRec = true, rec
	s.attempt = attempt{revision: s.revision, final: final}
	s.attempt.version = w.put(i, forSession, rec, s.hold.version)
	return nil
}

// answer brings an answer to the node that waits for it.
func (w *world) answer(c modelCall) error {
	switch c.purpose {
	case forLoad:
		return w.answerLoad(c)
	case forSession:
		return w.answerSession(c)
	case forOrphan:
		return w.answerFree(c)
	}
	return fmt.Errorf("an answer for nobody: %+v", c)
}

// answerLoad is load.run and load.put.
func (w *world) answerLoad(c modelCall) error {
	l := w.nodes[c.node].load
	if c.put {
		switch claimStepOf(store.OutcomeOf(c.err)) {
		case claimLanded:
			return w.open(c.node, reading{version: c.version, record: c.rec})
		case claimReadBack:
			l.claims = append(slices.Clip(l.claims), openClaim{c.rec.holder(), c.cond})
		case claimAgain:
		}
		w.get(c.node, forLoad)
		return nil
	}
	if c.err != nil {
		w.get(c.node, forLoad)
		return nil //nolint:nilerr // the modelled call failed, the model did not
	}
	l.last = c.seen
	switch readStep(c.seen, w.me(c.node)) {
	case stepCreate:
		w.put(c.node, forLoad, created(w.claim(c.node), modelTime), 0)
	case stepClaim:
		w.put(c.node, forLoad, claimed(c.seen.record, w.claim(c.node), modelTime), c.seen.version)
	case stepLoaded:
		return w.open(c.node, c.seen)
	case stepHeld:
		l.reading = true
	case stepOrphan:
		w.takeOver(c.node, node.EvidenceOrphan)
	case stepLater, stepForeign:
		return fmt.Errorf("a strange record: %+v", c.seen)
	}
	return nil
}

func (w *world) open(i int, r reading) error {
	n := &w.nodes[i]
	token := r.holder()
	n.load = nil
	n.session = &modelSession{
		hold: hold{token: token, epoch: r.record.epoch, version: r.version, base: r.record.revision},
		rec:  r.record, data: mask(r.record.data), revision: r.record.revision,
	}
	if w.now.holds(token) && w.acked&^n.session.data != 0 {
		return fmt.Errorf("a load without acknowledged commits %b", w.acked&^n.session.data)
	}
	return nil
}

// answerSession is Session.write.
func (w *world) answerSession(c modelCall) error {
	n := &w.nodes[c.node]
	s := n.session
	var next saveStep
	if c.put {
		if w.broken == acksUnknown && store.OutcomeOf(c.err) == store.Unknown {
			c.err = nil
		}
		s.hold, next = answered(s.hold, s.attempt, c.err)
		if w.broken == conflictLost && next == saveReadBack {
			next = saveLost
		}
	} else if c.err != nil {
		s.busy = false // later again
		return nil     //nolint:nilerr // the modelled call failed, the model did not
	} else if s.attempt.version == 0 { // Session.verify
		s.busy = false
		if !s.hold.mine(c.seen) && !s.hold.bound() {
			n.session = nil
		}
		return nil
	} else {
		if w.broken == tokenPerLoad && c.seen.holds(s.hold.token) {
			s.hold.epoch = c.seen.record.epoch // the token alone decides
		}
		s.hold, next = readBack(s.hold, s.attempt, c.seen)
		if next == saveAgain || next == saveDone && !s.attempt.final {
			s.rec = c.seen.record
		}
	}
	switch next {
	case saveDone:
		return w.landedSave(c.node)
	case saveRefused:
		s.busy = false
		if s.attempt.final && (!s.hold.bound() || w.broken == unfreezes) {
			s.frozen = false
		}
	case saveReadBack:
		w.get(c.node, forSession)
	case saveAgain:
		return w.save(c.node, s.attempt.final)
	case saveLost:
		n.session = nil
	}
	return nil
}

func (w *world) landedSave(i int) error {
	n := &w.nodes[i]
	s := n.session
	s.busy, s.rec = false, s.sentRec
	bits := mask(s.sentRec.data)
	w.acked |= bits
	if s.attempt.final {
		n.session = nil
	}
	return w.checkState()
}

// answerFree is Set.freeOrphan, for all disowned tokens of the node at once.
func (w *world) answerFree(c modelCall) error {
	n := &w.nodes[c.node]
	if c.put || c.err != nil {
		n.freeing, n.lookedAt = false, false // look again
		return nil                           //nolint:nilerr // the modelled call failed, the model did not
	}
	var kept []disowned
	free := false
	for _, d := range n.disowned {
		switch disownStepOf(d, c.seen, modelTime) {
		case disownFree:
			free = true
			kept = append(kept, d)
		case disownKeep:
			kept = append(kept, d)
		case disownForget:
		}
	}
	n.disowned = kept
	if free {
		w.put(c.node, forOrphan, freed(c.seen.record, node.EvidenceOrphan, modelTime), c.seen.version)
		return nil
	}
	n.freeing = false
	return nil
}
