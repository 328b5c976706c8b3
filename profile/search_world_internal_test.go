package profile

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// This file is the world that the search goes through: a record in one store, a journal in
// another, nodes with at most a load and a session each, and the calls between them. All of
// it is bytes, without a pointer, so that a state is cheap to copy and to write down; the
// rules get the real types, made for the call.
//
// Every call has three steps: sent, applied, answered. Its answer may be lost before or after
// it was applied; a put whose caller has been told so, or has gone, may be applied at any
// later time, or never.
//
// The data of the profile is the set of commits in it, and which of them came last. A commit
// sets its own member and the common one, as absolute effects do: a gap, a commit that comes
// back, or a value that is set back is visible.

const (
	maxNodes     = 3
	maxLate      = 10
	maxTokens    = 6
	maxUnknown   = 4 // writes of one kind with an unknown outcome
	maxDisowned  = 10
	maxModelName = 40 // tokens alive at once
)

// bounds limit a search so that it closes.
type bounds struct {
	nodes    uint8
	loads    uint8 // loads that may begin
	commits  uint8 // transactions
	claims   uint8 // of them with a claim
	faults   uint8 // answers lost, with or without the call being applied later
	refusals uint8 // calls refused for certain
	crashes  uint8
	verdicts uint8 // wrong verdicts: takeovers of a living holder
	quits    uint8 // loads that give up
	releases uint8
	forgets  uint8 // the fast store loses its memory
	restores uint8 // the fast store goes back to the value before the last one
	robs     uint8 // claims whose row another profile puts first
	restarts uint8 // nodes that come in the place of crashed ones
}

// String names what is not 0, as the name of a test.
func (b bounds) String() string {
	var out strings.Builder
	for _, x := range [...]struct {
		name string
		n    uint8
	}{
		{"nodes", b.nodes},
		{"loads", b.loads},
		{"commits", b.commits},
		{"claims", b.claims},
		{"faults", b.faults},
		{"refusals", b.refusals},
		{"crashes", b.crashes},
		{"verdicts", b.verdicts},
		{"quits", b.quits},
		{"releases", b.releases},
		{"forgets", b.forgets},
		{"restores", b.restores},
		{"robs", b.robs},
		{"restarts", b.restarts},
	} {
		if x.n > 0 {
			fmt.Fprintf(&out, "%d_%s,", x.n, x.name)
		}
	}
	return strings.TrimSuffix(out.String(), ",")
}

// The names of tokens, nodes and versions in the model are small numbers; 0 is none. Nodes
// count from 1.

// modelData is the data of a profile: the commits in it, and the number of the last one.
type modelData struct{ mask, last uint8 }

func (d modelData) with(effects modelData) modelData {
	if effects.mask == 0 {
		return d
	}
	return modelData{d.mask | effects.mask, effects.last}
}

func (d modelData) value() doc.Value { return doc.Int(int64(d.mask) | int64(d.last)<<8) }

func dataOf(v doc.Value) modelData {
	i, _ := v.AsInt()
	return modelData{uint8(i), uint8(i >> 8)}
}

// modelRecord is what matters of a record.
type modelRecord struct {
	epoch, revision uint8
	data            modelData
	token, node     uint8
	took            uint8 // epoch of the session that the last takeover ended
}

// modelJournal is what matters of a journal.
type modelJournal struct {
	epoch, token, base, rev uint8
	baseData                modelData // instead of its digest
	effects                 modelData
	sealed                  bool
}

type recordCell struct {
	version uint8
	rec     modelRecord
}

type journalCell struct {
	version uint8
	jour    modelJournal
}

type callOp uint8

const (
	opNone callOp = iota
	opGetRecord
	opPutRecord
	opGetJournal
	opPutJournal
	opDeleteJournal
)

func (o callOp) put() bool { return o == opPutRecord || o >= opPutJournal }

type callState uint8

const (
	callSent callState = iota + 1
	callApplied
)

// modelErr is how a call ended.
type modelErr uint8

const (
	errNone modelErr = iota
	errClash
	errLost
	errRefused
)

var (
	errModelClash   = &store.ConflictError{Key: "model"}
	errModelLost    = fmt.Errorf("model: %w", store.ErrUnknown)
	errModelRefused = fmt.Errorf("model: %w", store.ErrUnavailable)
)

func (e modelErr) err() error {
	switch e {
	case errClash:
		return errModelClash
	case errLost:
		return errModelLost
	case errRefused:
		return errModelRefused
	case errNone:
	}
	return nil
}

// modelCall is a call to a store. What a get has seen takes the place of what a put carries.
type modelCall struct {
	op      callOp
	state   callState
	err     modelErr
	version uint8
	cond    uint8
	claims  uint8 // rows that the put creates, if absent; rows of others that the get has seen
	rec     modelRecord
	jour    modelJournal
}

func (c *modelCall) reading() reading {
	if c.version == 0 {
		return reading{}
	}
	return reading{version: store.Version(c.version), record: c.rec.full()}
}

func (c *modelCall) journalReading() journalReading {
	if c.version == 0 {
		return journalReading{}
	}
	return journalReading{version: store.Version(c.version), journal: c.jour.full()}
}

// modelLane tells who on a node waits for a call.
type modelLane = uint8

const (
	laneLoad modelLane = iota
	laneSave
	laneAppend
	laneFree
	modelLanes
)

type modelAsk struct{ token, node, target uint8 }

// modelSeizure is a seizure: of a load, or of the node for its disowned tokens.
type modelSeizure struct {
	on       bool
	from     recordCell
	disputed struct{ record, journal uint8 }
}

type modelLoad struct {
	on      bool
	held    bool // last shows a session of another, and nothing is under way
	verdict uint8
	tokens  [maxTokens]uint8
	claims  [maxUnknown]struct{ token, cond uint8 }
	asks    [maxUnknown]struct{ token, target uint8 }
	last    recordCell
	seize   modelSeizure
	seal    uint8 // version of the seal that the claim under way rests on
}

type modelSession struct {
	on, frozen, leaving, suspect, verifying, final bool

	token, epoch, version, base uint8 // the hold
	finals                      [maxUnknown]uint8
	rec                         modelRecord
	data                        modelData
	revision                    uint8
	mine                        uint8 // commits of this session
	to                          modelAsk
	sent                        uint8 // attempt: the version
	sentRev                     uint8 // and its revision
	opened                      uint8 // version of the opening append that the save takes along

	jstate   journalState
	jversion uint8
	jopening uint8
	jsent    [maxUnknown]uint8
	jrev     uint8
	fails    bool // the last save did not land
	void     bool // a claim was refused: the session ends without it
	empties  bool // a broken holder is about to empty its journal
}

type disownedKind uint8

const (
	disownedClaim disownedKind = iota + 1
	disownedAsk
	disownedTold
)

type modelDisowned struct {
	token uint8
	kind  disownedKind
	ref   uint8 // version of the claim's condition, or token of the session that was asked
	seen  bool  // the look under way was sent for it too
}

type modelNode struct {
	crashed  bool
	looked   bool
	lookedAt uint8
	burying  bool  // the append under way is of a session that has ended
	bury     uint8 // its journal, to be deleted
	strays   uint8 // session whose journal is to be looked for, and deleted
	load     modelLoad
	session  modelSession
	disowned [maxDisowned]modelDisowned
	free     modelSeizure
	calls    [modelLanes]modelCall
}

// world is one state.
type world struct {
	left   bounds
	record recordCell
	rows   uint8 // claim rows beside the record
	jour   journalCell
	old    journalCell // what the journal was before, while the store may go back to it
	ask    modelAsk    // the note for the holder: the newest wins

	made    uint8     // commits so far
	claims  uint8     // which of them carry a claim
	robbed  uint8     // and whose row is another's
	acked   uint8     // acknowledged, or shown by a load
	exposed uint8     // commits whose only copy the fast store has forgotten
	from    modelData // what the session of the record's epoch has loaded
	cur     uint8     // and its commits

	nodes [maxNodes]modelNode
	late  [maxLate]modelCall

	// Not part of the state: what is numbered next, the shell's bug, and what was seen.
	tokens, versions uint8
	broken           mutant
	excused          uint8
	cut              uint8 // late calls that had no room: they are never applied
}

var modelTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// modelTables are the values that the rules see instead of small numbers.
var modelTables = makeModelTables()

type tables struct {
	tokens  [maxModelName]string
	nodes   [maxNodes + 1]string
	tenures [maxModelName][maxNodes + 1]*tenure
	took    [maxModelName]*takeover
	digests map[modelData]string
}

func makeModelTables() *tables {
	t := &tables{digests: make(map[modelData]string)}
	for n := 1; n <= maxNodes; n++ {
		t.nodes[n] = string(rune('A' + n - 1))
	}
	for i := 1; i < maxModelName; i++ {
		t.tokens[i] = string(rune('0' + i))
		t.took[i] = &takeover{epoch: uint64(i)}
		for n := range t.nodes {
			t.tenures[i][n] = &tenure{token: t.tokens[i], node: t.nodes[n], since: modelTime, beating: true}
		}
	}
	for mask := range 256 {
		for last := range 9 {
			d := modelData{uint8(mask), uint8(last)}
			t.digests[d] = d.value().Digest()
		}
	}
	return t
}

func tokenOf(name string) uint8 {
	if name == "" {
		return 0
	}
	return name[0] - '0'
}

func nodeOf(name string) uint8 {
	if name == "" {
		return 0
	}
	return name[0] - 'A' + 1
}

func (r *modelRecord) full() record {
	out := record{data: r.data.value(), revision: uint64(r.revision), schema: 1, epoch: uint64(r.epoch)}
	if r.token != 0 {
		out.session = modelTables.tenures[r.token][r.node]
	}
	if r.took != 0 {
		out.tookFrom = modelTables.took[r.took]
	}
	return out
}

func compactRecord(r *record) modelRecord {
	out := modelRecord{epoch: uint8(r.epoch), revision: uint8(r.revision), data: dataOf(r.data)}
	if r.session != nil {
		out.token, out.node = tokenOf(r.session.token), nodeOf(r.session.node)
	}
	if r.tookFrom != nil {
		out.took = uint8(r.tookFrom.epoch)
	}
	return out
}

func (j *modelJournal) full() journal {
	out := journal{
		epoch: uint64(j.epoch), token: modelTables.tokens[j.token], base: uint64(j.base),
		baseDigest: modelTables.digests[j.baseData], schema: 1, rev: uint64(j.rev),
	}
	if j.sealed {
		out.sealedBy = "somebody"
	}
	return out
}

// newToken is a token that nobody has.
func (w *world) newToken() uint8 {
	w.tokens++
	return w.tokens
}

func (w *world) newVersion() uint8 {
	w.versions++
	return w.versions
}

// apply is the two stores: it applies a call and leaves the outcome in it.
func (w *world) apply(c *modelCall) error {
	switch c.op {
	case opGetRecord:
		c.version, c.rec, c.claims = w.record.version, w.record.rec, w.robbed
	case opGetJournal:
		c.version, c.jour = w.jour.version, w.jour.jour
	case opPutRecord:
		if c.cond != w.record.version || c.claims&(w.rows|w.robbed) != 0 {
			c.err = errClash
			return nil
		}
		return w.putRecord(c)
	case opPutJournal:
		if c.cond != w.jour.version {
			c.err = errClash
			return nil
		}
		w.setJournal(journalCell{c.version, c.jour})
		if have := c.jour.effects.mask & w.claims; have != 0 {
			return fmt.Errorf("claims %b are in a journal", have)
		}
	case opDeleteJournal:
		if c.cond == w.jour.version || w.broken == deletesAny {
			w.setJournal(journalCell{})
		}
	case opNone:
	}
	return nil
}

func (w *world) setJournal(j journalCell) {
	if w.left.restores > 0 {
		w.old = w.jour
	}
	w.jour = j
}

// putRecord stores a record, holds it against what must never happen, and keeps the books.
func (w *world) putRecord(c *modelCall) error {
	before, after := w.record.rec, c.rec
	w.record, w.rows = recordCell{c.version, after}, w.rows|c.claims
	switch {
	case after.epoch < before.epoch:
		return fmt.Errorf("epoch went back from %d to %d", before.epoch, after.epoch)
	case after.revision < before.revision:
		return fmt.Errorf("revision went back from %d to %d", before.revision, after.revision)
	case after.epoch == before.epoch && after.token != before.token && after.token != 0:
		return fmt.Errorf("epoch %d has two sessions, %d and %d", after.epoch, before.token, after.token)
	}
	if err := w.prefix("the record", after.data, after.revision); err != nil {
		return err
	}
	w.exposed &^= after.data.mask
	if after.epoch != before.epoch || after.token != before.token {
		if w.exposed&w.acked != 0 && before.token != 0 { // the memory is lost, and now the holder too
			w.excused++
		}
	}
	if after.epoch != before.epoch {
		w.from, w.cur = after.data, 0
	}
	return nil
}

// prefix holds data against what the session of the record's epoch has loaded and committed:
// it is the state after some first of its commits, exactly.
func (w *world) prefix(what string, d modelData, revision uint8) error {
	added := d.mask &^ w.from.mask
	last := w.from.last
	if added != 0 {
		last = uint8(bits.Len8(added))
	}
	below := uint8(1)<<last - 1
	switch {
	case d.mask&w.from.mask != w.from.mask:
		return fmt.Errorf("%s has %b, of %b loaded", what, d.mask, w.from.mask)
	case added&^w.cur != 0:
		return fmt.Errorf("%s has %b, which the session did not commit", what, added&^w.cur)
	case added != 0 && w.cur&below&^added != 0:
		return fmt.Errorf("%s has %b without %b before it", what, added, w.cur&below&^added)
	case d.last != last:
		return fmt.Errorf("%s has commits %b, and values of commit %d", what, d.mask, d.last)
	case int(revision) != bits.OnesCount8(d.mask):
		return fmt.Errorf("%s has commits %b at revision %d", what, d.mask, revision)
	}
	return nil
}

// view is what survives the nodes: the record, with the journal as the next takeover should
// replay it. It is written without the rules on purpose.
func (w *world) view() (modelData, uint8) {
	r, j := &w.record.rec, &w.jour.jour
	if w.jour.version == 0 || r.token == 0 || j.epoch != r.epoch || j.token != r.token ||
		j.rev <= r.revision || j.base > r.revision || j.base == r.revision && j.baseData != r.data {
		return r.data, r.revision
	}
	return r.data.with(j.effects), j.rev
}

// check holds the state against what must always be.
func (w *world) check() error {
	if w.record.version == 0 {
		if w.acked != 0 || w.rows != 0 {
			return errors.New("acknowledged before there was a record")
		}
		return nil
	}
	d, revision := w.view()
	if missing := w.acked &^ (d.mask | w.exposed); missing != 0 {
		return fmt.Errorf("acknowledged commits %b are missing", missing)
	}
	if err := w.prefix("what survives", d, revision); err != nil {
		return err
	}
	if have := w.record.rec.data.mask & w.claims; have != w.rows {
		return fmt.Errorf("the record has claims %b, the rows are %b", have, w.rows)
	}
	return nil
}

// forget is a fast store that has lost its memory.
func (w *world) forget() {
	w.left.forgets--
	w.replaceJournal(journalCell{})
	w.ask = modelAsk{}
}

// restore is a failover to a fast store that lacks the last write.
func (w *world) restore() {
	w.left.restores--
	w.replaceJournal(w.old)
	w.old = journalCell{}
}

// replaceJournal exposes the commits whose only copy is gone, until a save stores them: their
// holder may be told of them yet, and if it is lost too, so are they (S1).
func (w *world) replaceJournal(j journalCell) {
	before, _ := w.view()
	w.jour = j
	after, _ := w.view()
	w.exposed |= before.mask &^ after.mask
}
