package profile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file is the world of the search of trades: the records of two profiles in one store, a
// node that holds both sessions, and one trade between them at a time. All of it is bytes,
// without a pointer, so that a state is cheap to copy and to compare; the rules get the real
// types, made for the call.
//
// Every call has three steps: sent, applied, answered. Its answer may be lost before or after
// it was applied; a write whose caller has been told so, or has gone, may be applied at any
// later time, or never. A reading of both records sees them at different moments.
//
// Other sessions of the two profiles are one step each: what they read and write is conditional
// on the version of the moment, so that their calls add nothing.
//
// The data of a profile is the set of what was ever done to it, so that nothing that comes
// later hides a trade, and a write that drops something is visible.

const (
	maxTradeLate   = 4
	maxTradeFinals = 3
	maxTradeMarks  = 2 // of the model's record; the bounds may say 1
)

// The effects in a profile's data, as bits.
const (
	firstTrade  = 1 << 0
	secondTrade = 1 << 1
	tradeBits   = firstTrade | secondTrade
	firstOwn    = 1 << 2 // the holder's own commits: two bits
	ownBits     = 3 << 2
	firstOther  = 1 << 4 // those of other sessions: the rest
)

// tradeBounds limit a search so that it closes.
type tradeBounds struct {
	marks    uint8 // how many commit ids a record keeps
	trades   uint8
	commits  uint8 // of the two sessions, without ids
	faults   uint8 // answers lost
	refusals uint8 // calls refused for certain
	crashes  uint8
	quits    uint8 // callers who go before they are told
	asks     uint8 // asks written into a record
	takes    uint8 // takeovers, of living or dead holders
	others   uint8 // commits of takers, with or without an id
	frees    uint8 // takers that release
	erases   uint8
	releases uint8 // ends of the two sessions
}

// String names what is not 0, as the name of a test.
func (b tradeBounds) String() string {
	var out strings.Builder
	for _, x := range [...]struct {
		name string
		n    uint8
	}{
		{"marks", b.marks},
		{"trades", b.trades},
		{"commits", b.commits},
		{"faults", b.faults},
		{"refusals", b.refusals},
		{"crashes", b.crashes},
		{"quits", b.quits},
		{"asks", b.asks},
		{"takes", b.takes},
		{"others", b.others},
		{"frees", b.frees},
		{"erases", b.erases},
		{"releases", b.releases},
	} {
		if x.n > 0 {
			fmt.Fprintf(&out, "%d_%s,", x.n, x.name)
		}
	}
	return strings.TrimSuffix(out.String(), ",")
}

// tradeMutant is a shell that breaks a rule on purpose, so that the search is seen to fail.
type tradeMutant = uint8

const (
	tradeSound     tradeMutant = iota
	noFence                    // a trade that may land is refused without a fence
	refusedLands               // one that never will is taken for landed
	landedRefused              // one that has landed is taken for refused
	noMarks                    // the ids in a record are not looked at
	marksForgotten             // an id that was pushed out is taken for one that never was
	thawsUnknown               // the parties are let go when the answer was lost
	resendsBlindly             // it is sent again when the answer was lost
	adoptsLost                 // a party that another has taken adopts its version
	twoWrites                  // each record is written by itself
	memoryLeft                 // what has landed is not taken into memory
	fencesLatest               // the fence is taken for landed whatever it answers
	unknownRefused             // a lost answer is told to the caller as a refusal
)

// The holders of a record.
const (
	holderNone uint8 = iota
	holderMine
	holderTaker
)

type tradeMark struct{ id, rev uint8 }

// tradeID is the id of neither trade.
const otherID = 9

// tradeRecord is what matters of a record, or of a write of it, or of a reading.
type tradeRecord struct {
	version, epoch, holder, took uint8
	rev, data                    uint8
	marks                        [maxTradeMarks]tradeMark // the oldest first
	ask, erased                  bool
}

// tradeHold is what a session of the node knows of its record. Its epoch is 1.
type tradeHold struct {
	version, base uint8
	finals        [maxTradeFinals]uint8
	loose         bool
}

type sessionEnd uint8

const (
	endNone sessionEnd = iota
	endLost
	endLeft
	endCrashed
)

type tradeSession struct {
	over    sessionEnd
	leaving bool // it wants to end
	frozen  bool // its final save was sent
	fails   bool // its last save did not land
	ask     bool // its record carries one
	hold    tradeHold
	data    uint8
	rev     uint8
	marks   [maxTradeMarks]tradeMark
}

type tradeOp uint8

const (
	tradeNone  tradeOp = iota
	tradeWrite         // the trade
	tradeFence
	tradeRead // both records
	tradeSave
	tradeFinal
	tradeLook // a save's reading back
)

// tradeCall is a call to the store. A reading has in puts what it has seen.
type tradeCall struct {
	op    tradeOp
	state callState
	err   modelErr
	who   uint8    // the record, where it is about one
	done  uint8    // records read; of a trade that breaks the rule: written
	cond  [2]uint8 // of a write; a save's reading back has the attempt: version and revision
	puts  [2]tradeRecord
	final bool // the reading back is of a final save
}

// tradeRun is the trade under way.
type tradeRun struct {
	id   uint8 // 0: none
	sent bool  // else it waits for saves to end
	try  uint8
	gone bool // nobody waits for it
	sure bool // the store has refused it for certain
	open uint8
	puts [2]tradeRecord // what it writes
	rs   [2]tradeRecord // what was read before the fence
}

// What the caller was told.
type tradeTold uint8

const (
	toldNothing tradeTold = iota
	toldDone
	toldRefused
	toldUnknown
)

// tradeWorld is a state.
type tradeWorld struct {
	left     tradeBounds
	broken   tradeMutant
	records  [2]tradeRecord
	sessions [2]tradeSession
	run      tradeRun
	lanes    [3]tradeCall // of the two sessions' saves, and of the trade
	late     [maxTradeLate]tradeCall
	told     [2]tradeTold // of the trades
	begun    uint8        // trades
	versions uint8        // names given
	wrong    tradeWrong   // what the node has just done
}

// tradeWrong is what a node must not do, whatever the store holds.
type tradeWrong uint8

const (
	wrongNothing tradeWrong = iota
	wrongHold               // a party of a trade that has landed holds the version before
	wrongRobbed             // a party goes on, and a reading has shown it another's session
	wrongUnknown            // the outcome is given up, and a party lives
)

var tradeWrongs = map[tradeWrong]string{
	wrongHold:    "a party holds the version that the trade has replaced",
	wrongRobbed:  "a party goes on although its record was seen to be another session's",
	wrongUnknown: "the caller is told that nobody knows, and a party lives that could find out",
}

const laneTrade = 2

func newTradeWorld(b tradeBounds, broken tradeMutant) tradeWorld {
	w := tradeWorld{left: b, broken: broken, versions: 2}
	for i := range w.records {
		w.records[i] = tradeRecord{version: uint8(i + 1), epoch: 1, holder: holderMine}
		w.sessions[i].hold.version = uint8(i + 1)
	}
	return w
}

func (w *tradeWorld) newVersion() uint8 {
	w.versions++
	return w.versions
}

// withMark is what a record keeps of ids when one more comes.
func (w *tradeWorld) withMark(marks [maxTradeMarks]tradeMark, m tradeMark) [maxTradeMarks]tradeMark {
	n := 0
	for n < int(w.left.marks) && marks[n].id != 0 {
		n++
	}
	if n == int(w.left.marks) {
		copy(marks[:], marks[1:])
		n--
	}
	marks[n] = m
	return marks
}

// held tells that the record names the node's session.
func (r *tradeRecord) held() bool { return r.holder == holderMine && !r.erased }

// The real types.

var holderTokens = [...]string{holderNone: "", holderMine: "mine", holderTaker: "theirs"}

var tradeNames = map[uint8]string{1: "one", 2: "two", otherID: "other"}

// reading is what the rules see. A record that keeps as many ids as the bounds let it is shown
// full: its last id stands for all those that there is no room for here.
func (w *tradeWorld) reading(r *tradeRecord) reading {
	out := record{revision: uint64(r.rev), epoch: uint64(r.epoch)}
	if r.holder != holderNone {
		out.session = &tenure{token: holderTokens[r.holder]}
	}
	if r.took != 0 {
		out.tookFrom = &takeover{epoch: uint64(r.took)}
	}
	if r.ask {
		out.ask = &asker{token: "asking", target: holderTokens[holderMine]}
	}
	if r.erased {
		out.erased = time.Unix(1, 0)
	}
	if w.broken != noMarks {
		out.marks = w.marksOf(r)
	}
	return reading{version: store.Version(r.version), record: out}
}

func (w *tradeWorld) marksOf(r *tradeRecord) []mark {
	n := 0
	for n < int(w.left.marks) && r.marks[n].id != 0 {
		n++
	}
	if n == 0 {
		return nil
	}
	size := n
	if n == int(w.left.marks) && w.broken != marksForgotten {
		size = maxMarks
	}
	out := make([]mark, size)
	for i := range out {
		m := r.marks[min(i, n-1)]
		out[i] = mark{id: tradeNames[m.id], revision: uint64(m.rev), digest: "d"}
	}
	return out
}

func (h *tradeHold) full() hold {
	out := hold{token: holderTokens[holderMine], epoch: 1, version: store.Version(h.version), base: uint64(h.base), loose: h.loose}
	for _, v := range h.finals {
		if v != 0 {
			out.finals = append(out.finals, store.Version(v))
		}
	}
	return out
}

func tradeHoldOf(h hold) tradeHold {
	out := tradeHold{version: uint8(h.version), base: uint8(h.base), loose: h.loose}
	for i, v := range h.finals {
		out.finals[i] = uint8(v)
	}
	return out
}

// stakes are those of the trade under way.
func (w *tradeWorld) stakes() []stake {
	out := make([]stake, 2)
	for i := range out {
		put := &w.run.puts[i]
		out[i] = stake{hold: w.sessions[i].hold.full(), put: store.Version(put.version), revision: uint64(put.rev)}
	}
	return out
}

// Invariants.

// check holds a state against what must be true at any time.
func (w *tradeWorld) check() error {
	if w.wrong != wrongNothing {
		return errors.New(tradeWrongs[w.wrong])
	}
	for id := range uint8(2) {
		a, b := w.records[0].data>>id&1, w.records[1].data>>id&1
		if a != b {
			return fmt.Errorf("trade %d is in one record and not in the other", id+1)
		}
		switch {
		case w.told[id] == toldDone && a == 0:
			return fmt.Errorf("the caller was told that trade %d is stored, and it is not", id+1)
		case w.told[id] == toldRefused && a == 1:
			return fmt.Errorf("the caller was told that trade %d never will be stored, and it is", id+1)
		}
	}
	for i := range w.sessions {
		if err := w.checkSession(i); err != nil {
			return err
		}
	}
	return nil
}

func (w *tradeWorld) checkSession(i int) error {
	s, r, name := &w.sessions[i], &w.records[i], "AB"[i:i+1]
	if s.over == endLost && r.held() {
		return fmt.Errorf("%s has ended as lost, and its record is its own", name)
	}
	if s.over != endNone {
		return nil
	}
	if r.held() && s.hold.base > r.rev {
		return fmt.Errorf("%s takes revision %d for stored, the record has %d", name, s.hold.base, r.rev)
	}
	if w.run.id != 0 {
		if r.held() && s.data&tradeBits&^r.data != 0 {
			return fmt.Errorf("%s shows a trade that is not stored", name)
		}
		return nil
	}
	if s.frozen {
		return nil
	}
	for k := range w.late {
		if c := &w.late[k]; c.op == tradeWrite && w.lands(c) {
			return fmt.Errorf("%s goes on, and a trade may still land", name)
		}
	}
	switch {
	case !r.held():
	case s.data&^ownBits != r.data&^ownBits, r.data&^s.data != 0, s.rev < r.rev:
		return fmt.Errorf("%s shows something else than its record and what it has committed since", name)
	case w.forgets(s, r):
		return fmt.Errorf("%s has other ids in memory than its record", name)
	}
	return nil
}

// forgets tells that a session has lost an id that its record has, or has one more.
func (w *tradeWorld) forgets(s *tradeSession, r *tradeRecord) bool { return s.marks != r.marks }

// lands tells that a write would be applied now.
func (w *tradeWorld) lands(c *tradeCall) bool {
	if c.op == tradeWrite {
		for i := range w.records {
			if c.done>>i&1 == 0 && c.cond[i] != w.records[i].version {
				return false
			}
		}
		return true
	}
	return c.cond[c.who] == w.records[c.who].version
}

// put writes a record, whoever does. None of them may drop what is stored.
func (w *tradeWorld) put(i uint8, r tradeRecord, mine bool) error {
	old, name := &w.records[i], "AB"[i:i+1]
	switch {
	case mine && !old.held():
		return fmt.Errorf("the record of %s is another session's, and is written over", name)
	case old.data&^r.data != 0:
		return fmt.Errorf("the record of %s loses what was stored", name)
	case r.rev < old.rev:
		return fmt.Errorf("the record of %s goes back to revision %d", name, r.rev)
	}
	*old = r
	return nil
}
