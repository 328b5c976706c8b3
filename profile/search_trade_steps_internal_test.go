package profile

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// This file is the steps of the search of trades: what may happen next in a state, and what it
// does to the store and to the other sessions. What the node does is in
// search_trade_node_internal_test.go.

type tradeKind = uint8

const (
	tradeApply  tradeKind = iota + 1 // a write; of a reading the record named
	tradeAnswer                      //
	tradeLose                        // told that the answer is lost before the call is applied; it may be later
	tradeMute                        // told so although it was applied
	tradeTurn                        // refused for certain
	tradeLate                        // a write that nobody waits for is applied
	tradeCrash                       // and so on
	tradeBegin
	tradeSend
	tradeQuit
	tradeCommit
	tradeRelease
	tradeHeed
	tradeSaves
	tradeAsk
	tradeTake
	tradeReplay
	tradeOther
	tradeOtherID
	tradeFree
	tradeErase
)

// tradeStep is one step: what, in which lane or record or late call, and of a reading which
// record.
type tradeStep struct {
	kind tradeKind
	at   uint8
	rec  uint8
}

// steps appends all that may happen next to out. It depends on the state alone, so that a
// path is a list of places in these lists.
func (w *tradeWorld) steps(out []tradeStep) []tradeStep {
	for l := range uint8(len(w.lanes)) {
		out = w.callSteps(l, out)
	}
	for k := range w.late {
		if w.late[k].op != tradeNone {
			out = append(out, tradeStep{kind: tradeLate, at: uint8(k)})
		}
	}
	out = w.tradeSteps(out)
	for i := range uint8(2) {
		out = w.sessionSteps(i, out)
		out = w.otherSteps(i, out)
	}
	return out
}

func (w *tradeWorld) callSteps(l uint8, out []tradeStep) []tradeStep {
	c := &w.lanes[l]
	at := func(k tradeKind) tradeStep { return tradeStep{kind: k, at: l} }
	put := c.op != tradeRead && c.op != tradeLook
	switch {
	case c.op == tradeNone:
		return out
	case c.op == tradeRead && c.done != 3:
		for i := range uint8(2) {
			if c.done>>i&1 == 0 {
				out = append(out, tradeStep{tradeApply, l, i})
			}
		}
		if c.done != 0 {
			return out
		}
	case c.op != tradeRead && c.state == callSent:
		out = append(out, at(tradeApply))
	default:
		out = append(out, at(tradeAnswer))
		if put && w.left.faults > 0 {
			out = append(out, at(tradeMute))
		}
		return out
	}
	if put && w.left.faults > 0 && (c.op != tradeWrite || c.done == 0) {
		out = append(out, at(tradeLose))
	}
	if w.left.refusals > 0 && c.done == 0 {
		out = append(out, at(tradeTurn))
	}
	return out
}

// tradeSteps are those of the trade and of the node.
func (w *tradeWorld) tradeSteps(out []tradeStep) []tradeStep {
	at := func(k tradeKind) { out = append(out, tradeStep{kind: k}) }
	if w.run.id == 0 && w.left.trades > 0 && w.mayTrade(0) && w.mayTrade(1) {
		at(tradeBegin)
	}
	if w.run.id != 0 && !w.run.sent && w.lanes[0].op == tradeNone && w.lanes[1].op == tradeNone {
		at(tradeSend)
	}
	if w.run.sent && !w.run.gone && w.left.quits > 0 {
		at(tradeQuit)
	}
	if w.left.crashes > 0 && (w.sessions[0].over == endNone || w.sessions[1].over == endNone) {
		at(tradeCrash)
	}
	return out
}

func (w *tradeWorld) sessionSteps(i uint8, out []tradeStep) []tradeStep {
	s := &w.sessions[i]
	if s.over != endNone {
		return out
	}
	at := func(k tradeKind) { out = append(out, tradeStep{kind: k, at: i}) }
	if w.run.id == 0 && !s.frozen && w.left.commits > 0 {
		at(tradeCommit)
	}
	if !s.leaving && w.left.releases > 0 {
		at(tradeRelease)
	}
	if !s.leaving && w.records[i].ask && w.records[i].held() {
		at(tradeHeed)
	}
	if w.run.id == 0 && w.lanes[i].op == tradeNone && (s.leaving || s.rev > s.hold.base) {
		at(tradeSaves)
	}
	return out
}

// otherSteps are those of others at a record.
func (w *tradeWorld) otherSteps(i uint8, out []tradeStep) []tradeStep {
	r, s := &w.records[i], &w.sessions[i]
	at := func(k tradeKind) { out = append(out, tradeStep{kind: k, at: i}) }
	if r.erased {
		return out
	}
	if w.left.asks > 0 && r.holder == holderMine && !r.ask {
		at(tradeAsk)
	}
	if w.left.takes > 0 && r.holder != holderTaker {
		at(tradeTake)
		if r.holder == holderMine && (s.over == endNone || s.over == endCrashed) && s.rev > r.rev && r.rev >= s.hold.base {
			at(tradeReplay)
		}
	}
	if r.holder == holderTaker {
		if w.left.others > 0 {
			at(tradeOther)
			at(tradeOtherID)
		}
		if w.left.frees > 0 {
			at(tradeFree)
		}
		if w.left.erases > 0 {
			at(tradeErase)
		}
	}
	return out
}

// do makes a step.
func (w *tradeWorld) do(s tradeStep) error {
	var err error
	switch s.kind {
	case tradeApply, tradeAnswer, tradeLose, tradeMute, tradeTurn:
		err = w.doCall(s)
	case tradeLate:
		c := w.late[s.at]
		w.late[s.at] = tradeCall{}
		err = w.apply(&c, 0)
		if err == nil && c.state == callSent { // half of it
			w.late[s.at] = c
		}
	case tradeCrash:
		w.crash()
	case tradeBegin:
		w.left.trades--
		w.begun++
		w.run = tradeRun{id: w.begun}
	case tradeSend:
		w.send()
	case tradeQuit:
		w.left.quits--
		w.run.gone = true
		w.told[w.run.id-1] = toldUnknown
	case tradeCommit:
		w.left.commits--
		n := &w.sessions[s.at]
		n.data |= firstOwn << w.left.commits
		n.rev++
	case tradeRelease:
		w.left.releases--
		w.sessions[s.at].leaving = true
	case tradeHeed:
		w.sessions[s.at].leaving = true
	case tradeSaves:
		w.save(s.at)
	default:
		err = w.doOther(s)
	}
	if err != nil {
		return err
	}
	w.canon()
	return w.check()
}

// doOther is what others do, on the version of the moment.
func (w *tradeWorld) doOther(s tradeStep) error {
	r := w.records[s.at]
	r.version = w.newVersion()
	switch s.kind {
	case tradeAsk:
		w.left.asks--
		r.ask = true
	case tradeTake, tradeReplay:
		w.left.takes--
		if n := &w.sessions[s.at]; s.kind == tradeReplay {
			r.data, r.rev = r.data|n.data, n.rev
		}
		if r.holder != holderNone {
			r.took = r.epoch
		}
		r.holder, r.ask = holderTaker, false
		r.epoch++
	case tradeOther, tradeOtherID:
		w.left.others--
		r.data |= firstOther << w.left.others
		r.rev++
		if s.kind == tradeOtherID {
			r.marks = w.withMark(r.marks, tradeMark{otherID, r.rev})
		}
	case tradeFree:
		w.left.frees--
		r.holder = holderNone
	case tradeErase: // the data stays here, as the history of the record
		w.left.erases--
		r.holder, r.erased, r.marks = holderNone, true, [maxTradeMarks]tradeMark{}
	default:
		return fmt.Errorf("no such step: %+v", s)
	}
	return w.put(s.at, r, false)
}

func (w *tradeWorld) doCall(s tradeStep) error {
	c := &w.lanes[s.at]
	switch s.kind {
	case tradeApply:
		return w.apply(c, s.rec)
	case tradeTurn:
		w.left.refusals--
		c.err = errRefused
	case tradeLose:
		w.left.faults--
		w.putLate(c)
		c.err = errLost
	case tradeMute:
		w.left.faults--
		c.err = errLost
	default:
	}
	done := *c
	*c = tradeCall{}
	if s.at == laneTrade {
		w.answerTrade(&done)
	} else {
		w.answerSave(s.at, &done)
	}
	return nil
}

// apply is the moment of a call at the store.
func (w *tradeWorld) apply(c *tradeCall, rec uint8) error {
	switch c.op {
	case tradeRead:
		c.puts[rec] = w.records[rec]
		if c.done |= 1 << rec; c.done == 3 {
			c.state = callApplied
		}
		return nil
	case tradeLook:
		c.puts[c.who], c.state = w.records[c.who], callApplied
		return nil
	case tradeWrite, tradeFence, tradeSave, tradeFinal, tradeNone:
	}
	defer func() {
		if c.state == callApplied {
			c.cond = [2]uint8{}
		}
	}()
	if !w.lands(c) {
		c.state, c.err = callApplied, errClash
		return nil
	}
	if c.op != tradeWrite {
		c.state = callApplied
		return w.put(c.who, c.puts[c.who], true)
	}
	for i := range uint8(2) {
		if c.done>>i&1 == 1 {
			continue
		}
		if err := w.put(i, c.puts[i], true); err != nil {
			return err
		}
		c.done |= 1 << i
		if w.broken == twoWrites && i == 0 {
			return nil
		}
	}
	c.state = callApplied
	return nil
}

// putLate leaves a write to whenever.
func (w *tradeWorld) putLate(c *tradeCall) {
	if c.op == tradeRead || c.op == tradeLook || c.op == tradeNone || c.state != callSent || !w.lands(c) {
		return
	}
	for k := range w.late {
		if w.late[k].op == tradeNone {
			w.late[k] = *c
			return
		}
	}
	panic("model: too many late calls")
}

// canon brings a state into the form that all those have which differ only in the names of
// versions, or in what has no effect any more.
func (w *tradeWorld) canon() {
	n := 0
	for k := range w.late {
		if c := w.late[k]; c.op != tradeNone && w.lands(&c) {
			w.late[k] = tradeCall{}
			w.late[n] = c
			n++
		} else {
			w.late[k] = tradeCall{}
		}
	}
	for i := range w.sessions {
		s := &w.sessions[i]
		switch {
		case s.over == endCrashed && w.records[i].holder == holderMine && w.left.takes > 0:
			*s = tradeSession{over: endCrashed, data: s.data, rev: s.rev, hold: tradeHold{base: s.hold.base}}
		case s.over != endNone:
			*s = tradeSession{over: s.over}
		}
	}
	var names [256]uint8
	w.versions = 0
	name := func(v *uint8) {
		if *v == 0 {
			return
		}
		if names[*v] == 0 {
			w.versions++
			names[*v] = w.versions
		}
		*v = names[*v]
	}
	name(&w.records[0].version)
	name(&w.records[1].version)
	for i := range 2 {
		name(&w.sessions[i].hold.version)
		for k := range w.sessions[i].hold.finals {
			name(&w.sessions[i].hold.finals[k])
		}
		name(&w.run.puts[i].version)
		name(&w.run.rs[i].version)
	}
	for l := range w.lanes {
		w.lanes[l].name(name)
	}
	for l := range w.late {
		w.late[l].name(name)
	}
}

func (c *tradeCall) name(name func(*uint8)) {
	for i := range 2 {
		if c.op == tradeLook && i == 1 { // a revision
			name(&c.puts[i].version)
			continue
		}
		name(&c.cond[i])
		name(&c.puts[i].version)
	}
}

// calm lets everything happen that has to, in some fair order and with every fault stopped:
// the parties must become free.
func (w *tradeWorld) calm() error {
	c := *w
	c.left = tradeBounds{marks: w.left.marks}
	c.late = [maxTradeLate]tradeCall{}
	rng := rand.New(rand.NewPCG(1, uint64(w.versions)))
	var steps []tradeStep
	for range 300 {
		steps = c.steps(steps[:0])
		if len(steps) == 0 {
			if c.run.id != 0 {
				return errors.New("nothing goes wrong any more, and the parties are never let go")
			}
			return nil
		}
		if sound := c.do(steps[rng.IntN(len(steps))]) == nil; !sound {
			return nil // the search comes there by itself, on a shorter way
		}
	}
	return errors.New("nothing goes wrong any more, and it does not come to rest")
}
