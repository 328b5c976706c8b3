package profile

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// This file is the search of trades itself: breadth first, so that what it finds is as short
// as can be.

// tradeSearcher visits every state within bounds.
type tradeSearcher struct {
	start   tradeWorld
	seeds   [2]maphash.Seed
	seen    printSet
	queue   []tradeWorld // of this depth
	next    []tradeWorld // and of the next
	origins []origin

	depth int // of the violation
	told  [toldUnknown + 1]int
}

func newTradeSearcher(b tradeBounds, broken tradeMutant) *tradeSearcher {
	return &tradeSearcher{
		start: newTradeWorld(b, broken),
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

// visit takes in a state; it is queued when it is new.
func (s *tradeSearcher) visit(w *tradeWorld, o origin) {
	p := statePrint{maphash.Comparable(s.seeds[0], *w), maphash.Comparable(s.seeds[1], *w) | 1}
	if s.seen.add(p) {
		s.next = append(s.next, *w)
		s.origins = append(s.origins, o)
		s.told[w.told[0]]++
	}
}

// run visits every state, and ends with the first violation and how it came about. A limit
// of 0 is none.
func (s *tradeSearcher) run(limit int) error {
	first := s.start
	first.canon()
	s.visit(&first, origin{})
	var steps []tradeStep
	at := uint32(0)
	for len(s.next) > 0 {
		s.queue, s.next = s.next, s.queue[:0]
		for q := range s.queue {
			if limit > 0 && len(s.origins) > limit {
				return nil
			}
			w := &s.queue[q]
			if err := s.pause(w, at); err != nil {
				return s.violation(at, nil, err)
			}
			steps = w.steps(steps[:0])
			for k, step := range steps {
				n := *w
				if err := n.do(step); err != nil {
					return s.violation(at, &step, err)
				}
				s.visit(&n, origin{at, uint8(k)})
			}
			at++
		}
	}
	return nil
}

// pause sees that all comes to an end when nothing goes wrong any more: from the first states,
// and from one in many of the others.
func (s *tradeSearcher) pause(w *tradeWorld, at uint32) error {
	if at > 1024 && at%16 != 0 {
		return nil
	}
	return w.calm()
}

// violation is the path to a state, and what is wrong after one more step.
func (s *tradeSearcher) violation(at uint32, last *tradeStep, wrong error) error {
	var path []uint8
	for ; at != 0; at = s.origins[at].from {
		path = append(path, s.origins[at].step)
	}
	slices.Reverse(path)
	s.depth = len(path)
	if last != nil {
		s.depth++
	}
	return fmt.Errorf("%w, after %d steps:%s", wrong, s.depth, tellTrade(s.start, path, last))
}

// tellTrade goes along a path, as places in the lists of steps, and says what happens.
func tellTrade(w tradeWorld, path []uint8, last *tradeStep) string {
	var text strings.Builder
	w.canon()
	step := func(s tradeStep) {
		text.WriteString("\n  " + w.words(s))
		_ = w.do(s)
		text.WriteString("   " + w.records[0].words("A") + " " + w.records[1].words("B"))
	}
	for _, at := range path {
		step(w.steps(nil)[at])
	}
	if last != nil {
		step(*last)
	}
	return text.String()
}

// words say what a step is, before it is made.
func (w *tradeWorld) words(s tradeStep) string {
	name := "AB"[s.at&1 : s.at&1+1]
	switch s.kind {
	case tradeApply:
		return w.lanes[s.at].words(s.rec) + " reaches the store"
	case tradeAnswer:
		c := &w.lanes[s.at]
		return c.words(2) + " is answered" + map[modelErr]string{errClash: ": conflict"}[c.err]
	case tradeLose:
		return w.lanes[s.at].words(2) + ": the answer is lost, it has not reached the store yet"
	case tradeMute:
		return w.lanes[s.at].words(2) + ": the answer is lost after it reached the store"
	case tradeTurn:
		return w.lanes[s.at].words(2) + " is refused by the store"
	case tradeLate:
		return w.late[s.at].words(2) + ", late, reaches the store"
	case tradeCrash:
		return "the node crashes"
	case tradeBegin:
		return fmt.Sprintf("trade %d begins: the parties are frozen", w.begun+1)
	case tradeSend:
		return fmt.Sprintf("trade %d is sent", w.run.id)
	case tradeQuit:
		return "the caller goes"
	}
	return map[tradeKind]string{
		tradeCommit: "the session of " + name + " commits", tradeRelease: "the session of " + name + " wants to end",
		tradeHeed: "the session of " + name + " hears of the ask", tradeSaves: "the session of " + name + " sends a save",
		tradeAsk: "an ask is written into the record of " + name, tradeTake: "another node takes over " + name,
		tradeReplay: "another node takes over " + name + " with what its journal has",
		tradeOther:  "the taker of " + name + " commits and saves", tradeOtherID: "the taker of " + name + " commits with an id and saves",
		tradeFree: "the taker of " + name + " releases it", tradeErase: name + " is erased",
	}[s.kind]
}

// words name a call.
func (c *tradeCall) words(rec uint8) string {
	name := "AB"[c.who : c.who+1]
	switch c.op {
	case tradeWrite:
		return "the write of the trade"
	case tradeFence:
		return "the fence at " + name
	case tradeRead:
		if rec < 2 {
			return "the reading of " + "AB"[rec:rec+1]
		}
		return "the reading of both"
	case tradeSave:
		return "the save of " + name
	case tradeFinal:
		return "the final save of " + name
	case tradeLook:
		return "the reading back of " + name
	case tradeNone:
	}
	return "nothing"
}

// words are a record: who has it, its revision, and what is in it.
func (r *tradeRecord) words(name string) string {
	who := map[uint8]string{holderNone: "free", holderMine: "own", holderTaker: "taken"}[r.holder]
	var flags, data string
	if r.ask {
		flags += " asked"
	}
	if r.erased {
		flags += " erased"
	}
	for bit, effect := range []string{"trade 1", "trade 2", "own", "own", "other", "other", "other", "other"} {
		if r.data>>bit&1 == 1 {
			data += " " + effect
		}
	}
	ids := ""
	for _, m := range r.marks {
		if m.id != 0 {
			ids += fmt.Sprintf(" %s@%d", tradeNames[m.id], m.rev)
		}
	}
	return fmt.Sprintf("[%s %s%s r%d:%s;%s]", name, who, flags, r.rev, data, ids)
}
