package profile

import "github.com/shoalworks/shoal/store"

// This file is the shell of a trade in the search (trade_send.go, and of save.go what saves do
// beside it), step by step around the real rules.

// mayTrade is mayTradeLocked.
func (w *tradeWorld) mayTrade(i int) bool {
	s := &w.sessions[i]
	return s.over == endNone && !s.leaving && !s.frozen && !s.fails
}

// end tells the caller, if somebody waits, and thaws the parties.
func (w *tradeWorld) end(told tradeTold) {
	if !w.run.gone {
		w.told[w.run.id-1] = told
	}
	w.run = tradeRun{}
}

// send is a try: compose, and the call.
func (w *tradeWorld) send() {
	if !w.mayTrade(0) || !w.mayTrade(1) {
		w.end(toldRefused)
		return
	}
	r := &w.run
	r.sent, r.sure = true, false
	r.try++
	c := tradeCall{op: tradeWrite, state: callSent}
	for i := range uint8(2) {
		s := &w.sessions[i]
		put := w.snapshot(i)
		put.rev++
		put.data |= firstTrade << (r.id - 1)
		put.marks = w.withMark(s.marks, tradeMark{r.id, put.rev})
		r.puts[i], c.puts[i], c.cond[i] = put, put, s.hold.version
	}
	w.lanes[laneTrade] = c
}

// snapshot is the record that a session writes.
func (w *tradeWorld) snapshot(i uint8) tradeRecord {
	s := &w.sessions[i]
	return tradeRecord{version: w.newVersion(), epoch: 1, holder: holderMine, rev: s.rev, data: s.data, marks: s.marks, ask: s.ask}
}

// sendAgain is the loop of see.
func (w *tradeWorld) sendAgain(again bool, told tradeTold) {
	if !again || w.run.try == maxTrades || w.run.gone {
		w.end(told)
		return
	}
	w.send()
}

// look reads the records. sure tells that the store has refused the trade.
func (w *tradeWorld) look(sure bool) {
	w.run.sure = sure
	w.lanes[laneTrade] = tradeCall{op: tradeRead, state: callSent}
}

// answerTrade takes in the answer to a call of the trade.
func (w *tradeWorld) answerTrade(c *tradeCall) {
	switch c.op {
	case tradeWrite:
		w.answerWrite(c)
	case tradeFence:
		w.answerFence(c)
	case tradeRead:
		w.answerRead(c)
	case tradeNone, tradeSave, tradeFinal, tradeLook:
		panic("model: not a trade's call")
	}
}

func (w *tradeWorld) answerWrite(c *tradeCall) {
	switch c.err {
	case errNone:
		w.landed(nil)
	case errRefused:
		w.end(toldRefused)
	case errClash:
		w.look(true)
	case errLost:
		switch w.broken {
		case thawsUnknown:
			w.end(toldUnknown)
		case unknownRefused:
			w.end(toldRefused)
		case resendsBlindly:
			w.sendAgain(true, toldUnknown)
		default:
			w.look(false)
		}
	}
}

// answerRead is a turn of find, or refused.
func (w *tradeWorld) answerRead(c *tradeCall) {
	switch {
	case c.err != errNone && w.run.sure:
		w.end(toldRefused)
		return
	case c.err != errNone:
		w.look(false)
		return
	}
	rs := []reading{w.reading(&c.puts[0]), w.reading(&c.puts[1])}
	f, open := fateOf(tradeNames[w.run.id], "d", w.stakes(), rs, w.run.sure)
	switch f {
	case fateLanded:
		if w.broken == landedRefused {
			w.adopt(c.puts, toldRefused)
			return
		}
		w.landed(&c.puts)
	case fateRefused:
		if w.broken == refusedLands {
			w.landed(&c.puts)
			return
		}
		w.adopt(c.puts, toldRefused)
	case fateLost:
		w.adopt(c.puts, toldUnknown)
	case fateOpen:
		if w.broken == noFence {
			w.adopt(c.puts, toldRefused)
			return
		}
		w.fence(c.puts, uint8(open))
	}
}

// fence writes the record of a party again, with what was read.
func (w *tradeWorld) fence(rs [2]tradeRecord, open uint8) {
	put := rs[open]
	put.version = w.newVersion()
	c := tradeCall{op: tradeFence, state: callSent, who: open}
	c.cond[open], c.puts[open] = rs[open].version, put
	w.run.rs, w.run.open = rs, open
	w.lanes[laneTrade] = c
}

func (w *tradeWorld) answerFence(c *tradeCall) {
	rs := w.run.rs
	w.run.rs, w.run.open = [2]tradeRecord{}, 0
	if c.err != errNone && w.broken != fencesLatest {
		w.look(false)
		return
	}
	rs[c.who] = c.puts[c.who]
	w.adopt(rs, toldRefused)
}

// landed commits in memory. rs are the readings that showed it, or nil.
func (w *tradeWorld) landed(rs *[2]tradeRecord) {
	stakes := w.stakes()
	for i := range uint8(2) {
		s, put := &w.sessions[i], &w.run.puts[i]
		r := tradeRecord{version: put.version}
		if rs != nil {
			r = rs[i]
		}
		if w.broken != memoryLeft {
			s.data, s.rev, s.marks = put.data, put.rev, put.marks
		}
		step := partyStepOf(stakes[i], w.reading(&r))
		if step == partyLost {
			s.over = endLost
			continue
		}
		a := attempt{version: stakes[i].put, revision: stakes[i].revision}
		h, _ := answered(s.hold.full(), a, nil)
		if step == partyAdopts {
			h, _ = readBack(h, a, w.reading(&r))
			s.ask = r.ask
			s.heed(&r)
		}
		before := s.hold.version
		s.hold = tradeHoldOf(h)
		switch {
		case s.hold.version == before:
			w.wrong = wrongHold
		case step == partyAdopts && !r.held():
			w.wrong = wrongRobbed
		}
	}
	w.end(toldDone)
}

// adopt takes in readings of records that do not hold the trade.
func (w *tradeWorld) adopt(rs [2]tradeRecord, told tradeTold) {
	stakes, again := w.stakes(), told == toldRefused
	for i := range uint8(2) {
		s, r := &w.sessions[i], &rs[i]
		step := partyStepOf(stakes[i], w.reading(r))
		if step == partyLost && w.broken == adoptsLost {
			s.hold.version = r.version
			continue
		}
		switch step {
		case partyStands:
		case partyAdopts:
			h, _ := readBack(s.hold.full(), attempt{}, w.reading(r))
			s.hold, s.ask = tradeHoldOf(h), r.ask
			s.heed(r)
			if !r.held() {
				w.wrong = wrongRobbed
			}
		case partyLost:
			s.over, again = endLost, false
		}
		if told == toldUnknown && s.over == endNone {
			w.wrong = wrongUnknown
		}
	}
	w.sendAgain(again, told)
}

// heed begins the end that an ask in the record wants.
func (s *tradeSession) heed(r *tradeRecord) { s.leaving = s.leaving || r.ask && r.held() }

// save sends a save, the final one if the session is leaving.
func (w *tradeWorld) save(i uint8) {
	s := &w.sessions[i]
	c := tradeCall{op: tradeSave, state: callSent, who: i}
	c.cond[i], c.puts[i] = s.hold.version, w.snapshot(i)
	if s.leaving {
		c.op, s.frozen = tradeFinal, true
		c.puts[i].holder, c.puts[i].ask = holderNone, false
	}
	w.lanes[i] = c
}

// answerSave takes in the answer to a save, or to its reading back.
func (w *tradeWorld) answerSave(i uint8, c *tradeCall) {
	s := &w.sessions[i]
	if c.op == tradeLook {
		w.answerLook(i, c)
		return
	}
	put, final := &c.puts[i], c.op == tradeFinal
	a := attempt{version: store.Version(put.version), revision: uint64(put.rev), final: final}
	h, step := answered(s.hold.full(), a, c.err.err())
	s.hold = tradeHoldOf(h)
	switch step {
	case saveDone:
		s.saved(final)
	case saveRefused:
		s.failed(final, true)
	case saveReadBack:
		w.lanes[i] = tradeCall{
			op: tradeLook, state: callSent, who: i, cond: [2]uint8{put.version, put.rev}, final: final,
		}
	case saveAgain, saveLost:
		panic("model: not an answer")
	}
}

func (w *tradeWorld) answerLook(i uint8, c *tradeCall) {
	s, r := &w.sessions[i], &c.puts[i]
	if c.err != errNone {
		s.failed(c.final, false)
		return
	}
	a := attempt{version: store.Version(c.cond[0]), revision: uint64(c.cond[1]), final: c.final}
	h, step := readBack(s.hold.full(), a, w.reading(r))
	s.hold = tradeHoldOf(h)
	switch step {
	case saveDone:
		s.ask = s.ask || r.ask && r.held()
		s.saved(c.final)
	case saveAgain:
		s.ask = r.ask
		s.heed(r)
		final := c.final
		wants := s.leaving
		s.leaving = final // this worker goes on with what it does
		w.save(i)
		s.leaving = wants
	case saveLost:
		s.over = endLost
	case saveRefused, saveReadBack:
		panic("model: not a reading")
	}
}

func (s *tradeSession) saved(final bool) {
	s.fails = false
	if final {
		s.over = endLeft
	}
}

func (s *tradeSession) failed(final, certain bool) {
	s.fails = true
	if h := s.hold.full(); final && certain && !h.bound() {
		s.frozen = false
	}
}

// crash ends all that the node does. What it has sent may be applied at any later time.
func (w *tradeWorld) crash() {
	w.left.crashes--
	for l := range w.lanes {
		w.putLate(&w.lanes[l])
		w.lanes[l] = tradeCall{}
	}
	if w.run.id != 0 {
		w.end(toldUnknown)
	}
	for i := range w.sessions {
		if s := &w.sessions[i]; s.over == endNone {
			s.over = endCrashed
		}
	}
}
