package profile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// This file searches through all interleavings of a small world: two nodes, one record, every
// call in three steps (sent, applied, answered), lost and late answers, refusals, crashes,
// verdicts at any time, loads that give up. It drives the rules themselves; what is written
// here is only what the shell does with their decisions. The big search with journals and
// more nodes extends this one.

// bounds limit a search so that it closes.
type bounds struct {
	loads    int // loads that may begin
	commits  int // transactions
	faults   int // answers lost, with or without the call being applied later
	refusals int // calls refused for certain
	crashes  int
	verdicts int // wrong verdicts: takeovers of a living holder
	quits    int // loads that give up
	releases int
}

// call is one call to the record store.
type modelCall struct {
	node    int
	purpose purpose
	put     bool
	rec     record
	cond    store.Version
	version store.Version
	state   callState
	err     error   // of a put, when applied
	seen    reading // of a get, when applied
}

// purpose tells who waits for a call.
type purpose uint8

const (
	forLoad purpose = iota + 1
	forSession
	forOrphan
)

type callState uint8

const (
	callSent callState = iota + 1
	callApplied
	callLate // the caller has been told that the answer is lost; it may still be applied
)

type modelLoad struct {
	tokens  []string
	claims  []openClaim
	asks    []asker // one for each session asked for
	last    reading
	reading bool // last is up to date as far as this load knows
	bidding bool // it has asked, and polls
}

type modelSession struct {
	hold     hold
	rec      record
	data     int64
	revision uint64
	frozen   bool
	leaving  bool
	to       *asker
	attempt  attempt
	sentRec  record
	busy     bool // a call of the session is under way
}

type modelNode struct {
	crashed  bool
	load     *modelLoad
	session  *modelSession
	disowned []disowned
	freeing  bool // a call for the first disowned token is under way
	looked   store.Version
	lookedAt bool
}

// world is one state. Values it refers to are never changed in place.
type world struct {
	left    bounds
	now     reading // the record as it is
	next    store.Version
	bits    int
	calls   []modelCall
	nodes   [2]modelNode
	ask     *asker // the note for the holder: the newest wins
	acked   int64  // commits whose save was acknowledged
	owners  map[uint64]string
	commits map[string][]int64 // by session, in order
	trail   *trail
	tokens  int
	begun   int
	broken  mutant
}

// trail is how a state came about, last step first.
type trail struct {
	name string
	from *trail
}

func (t *trail) String() string {
	if t == nil {
		return ""
	}
	return t.from.String() + "\n" + t.name
}

func (w *world) clone() *world {
	c := *w
	c.calls = slices.Clone(w.calls)
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.load != nil {
			l := *n.load
			n.load = &l
		}
		if n.session != nil {
			s := *n.session
			n.session = &s
		}
		n.disowned = slices.Clone(n.disowned)
	}
	return &c
}

func nodeName(i int) string { return string(rune('A' + i)) }

func (w *world) me(i int) claimant {
	return claimant{mine: w.nodes[i].load.tokens, node: nodeName(i), beating: true, schema: 1, fresh: doc.Int(0)}
}

// claim is load.claim.
func (w *world) claim(i int) claimant {
	me := w.me(i)
	me.token = w.newToken(i)
	return me
}

// newToken is load.newToken.
func (w *world) newToken(i int) string {
	l := w.nodes[i].load
	if w.broken == tokenPerLoad && len(l.tokens) > 0 {
		return l.tokens[0]
	}
	w.tokens++
	token := fmt.Sprintf("t%d", w.tokens)
	l.tokens = append(slices.Clip(l.tokens), token)
	return token
}

var modelTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func mask(v doc.Value) int64 {
	i, _ := v.AsInt()
	return i
}

// key is the state as a string: two states with the same future have the same one.
func (w *world) key() string {
	k := keyer{}
	for _, n := range [...]int{w.left.loads, w.left.commits, w.left.faults, w.left.refusals, w.left.crashes, w.left.verdicts, w.left.quits, w.left.releases} {
		k.num(uint64(n))
	}
	k.reading(w.now)
	k.num(uint64(w.acked))
	for _, c := range w.calls {
		k.text("c")
		k.num(uint64(c.node)<<8 | uint64(c.state)<<4 | uint64(c.purpose))
		k.flags(c.put, c.err != nil)
		k.reading(reading{version: c.version, record: c.rec})
		k.version(c.cond)
		k.reading(c.seen)
	}
	for i := range w.nodes {
		w.nodes[i].key(&k)
	}
	if w.ask != nil && !w.knownToken(w.ask.target) {
		k.num(0) // nobody will ever have that token again
	} else {
		k.asker(w.ask)
	}
	return string(k.out)
}

func (n *modelNode) key(k *keyer) {
	k.text("n")
	k.flags(n.crashed, n.freeing, n.lookedAt, n.load != nil, n.session != nil)
	k.version(n.looked)
	if l := n.load; l != nil {
		k.texts(l.tokens)
		for _, c := range l.claims {
			k.token(c.token)
			k.version(c.cond)
		}
		for _, a := range l.asks {
			k.asker(&a)
		}
		k.reading(l.last)
		k.flags(l.reading)
	}
	if s := n.session; s != nil {
		k.token(s.hold.token)
		k.reading(reading{version: s.hold.version, record: s.rec})
		k.num(s.hold.base)
		k.versions(s.hold.finals)
		k.num(uint64(s.data))
		k.flags(s.frozen, s.leaving, s.busy, s.attempt.final)
		k.asker(s.to)
		k.reading(reading{version: s.attempt.version, record: s.sentRec})
	}
	for _, d := range n.disowned {
		k.token(d.token)
		k.versions(d.claims)
		k.texts(d.asked)
	}
}

// keyer writes a state down. Versions and tokens are numbered in the order in which it meets
// them, so that states which differ in them alone are one.
type keyer struct {
	out    []byte
	known  []store.Version
	tokens []string
}

func (k *keyer) token(s string) {
	if s == "" {
		k.num(0)
		return
	}
	i := slices.Index(k.tokens, s)
	if i < 0 {
		i = len(k.tokens)
		k.tokens = append(k.tokens, s)
	}
	k.num(uint64(i + 1))
}

func (k *keyer) version(v store.Version) {
	if v == 0 {
		k.num(0)
		return
	}
	i := slices.Index(k.known, v)
	if i < 0 {
		i = len(k.known)
		k.known = append(k.known, v)
	}
	k.num(uint64(i + 1))
}

func (k *keyer) num(n uint64) { k.out = binary.AppendUvarint(k.out, n) }

func (k *keyer) text(s string) {
	k.num(uint64(len(s)))
	k.out = append(k.out, s...)
}

func (k *keyer) texts(list []string) {
	k.num(uint64(len(list)))
	for _, s := range list {
		k.token(s)
	}
}

func (k *keyer) versions(list []store.Version) {
	k.num(uint64(len(list)))
	for _, v := range list {
		k.version(v)
	}
}

func (k *keyer) flags(list ...bool) {
	n := uint64(0)
	for i, f := range list {
		if f {
			n |= 1 << i
		}
	}
	k.num(n)
}

func (k *keyer) asker(a *asker) {
	if a == nil {
		k.num(0)
		return
	}
	k.token(a.token)
	k.token(a.target)
}

func (k *keyer) reading(r reading) {
	k.version(r.version)
	k.num(r.record.epoch)
	k.num(r.record.revision)
	k.num(uint64(mask(r.record.data)))
	k.token(r.record.holder())
	if t := r.record.tookFrom; t != nil {
		k.token(t.token)
		k.num(t.epoch)
	}
}

func recordLine(r record) string {
	took := "-"
	if r.tookFrom != nil {
		took = fmt.Sprintf("%s%d", r.tookFrom.token, r.tookFrom.epoch)
	}
	return fmt.Sprintf("e%d r%d d%d s%s t%s", r.epoch, r.revision, mask(r.data), r.holder(), took)
}

// line is the state for a person to read.
func (w *world) line() string {
	return fmt.Sprintf("record v%d %s, acknowledged %b, calls %+v, nodes %+v %+v", w.now.version, recordLine(w.now.record), w.acked, w.calls, w.nodes[0], w.nodes[1])
}

func (w *world) version() store.Version {
	w.next++
	return w.next
}

func (w *world) get(i int, p purpose) {
	w.calls = append(w.calls, modelCall{node: i, purpose: p, state: callSent})
}

func (w *world) put(i int, p purpose, rec record, cond store.Version) store.Version {
	v := w.version()
	w.calls = append(w.calls, modelCall{node: i, purpose: p, put: true, rec: rec, cond: cond, version: v, state: callSent})
	return v
}

// apply is the record store.
func (w *world) apply(i int) error {
	c := &w.calls[i]
	if !c.put {
		c.seen = w.now
		return nil
	}
	if c.cond != w.now.version {
		c.err = &store.ConflictError{Key: "record"}
		return nil
	}
	before := w.now.record
	w.now = reading{version: c.version, record: c.rec}
	return w.checkStep(before, c.rec)
}

// checkStep holds a write against what must never happen.
func (w *world) checkStep(before, after record) error {
	switch {
	case after.epoch < before.epoch:
		return fmt.Errorf("epoch went back from %d to %d", before.epoch, after.epoch)
	case after.revision < before.revision:
		return fmt.Errorf("revision went back from %d to %d", before.revision, after.revision)
	}
	if t := after.holder(); t != "" {
		if owner, ok := w.owners[after.epoch]; ok && owner != t {
			return fmt.Errorf("epoch %d has two sessions, %s and %s", after.epoch, owner, t)
		}
		owners := make(map[uint64]string, len(w.owners)+1)
		for e, o := range w.owners {
			owners[e] = o
		}
		owners[after.epoch] = t
		w.owners = owners
	}
	return w.checkState()
}

// checkState holds the record against what was acknowledged and committed.
func (w *world) checkState() error {
	have := mask(w.now.record.data)
	if w.acked&^have != 0 {
		return fmt.Errorf("acknowledged commits %b are missing: the record has %b", w.acked&^have, have)
	}
	for token, bits := range w.commits {
		missing := false
		for _, bit := range bits {
			if have&bit == 0 {
				missing = true
			} else if missing {
				return fmt.Errorf("of session %s the record has a later commit without an earlier one: %b of %b", token, have, bits)
			}
		}
	}
	return nil
}

// search visits every state, and ends with the first violation and how it came about.
func search(b bounds, broken mutant) (states int, err error) {
	start := &world{left: b, broken: broken}
	seen := map[string]struct{}{start.key(): {}}
	stack := []*world{start}
	for len(stack) > 0 {
		w := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		steps := w.steps()
		if len(steps) == 0 {
			if err := w.checkRest(); err != nil {
				return len(seen), fmt.Errorf("at rest: %w%v\n%s", err, w.trail, w.line())
			}
		}
		for _, s := range steps {
			n := w.clone()
			n.trail = &trail{s.name, w.trail}
			if err := s.do(n); err != nil {
				return len(seen), fmt.Errorf("%w after%v\n%s", err, n.trail, n.line())
			}
			key := n.key()
			if _, ok := seen[key]; !ok {
				seen[key] = struct{}{}
				stack = append(stack, n)
			}
		}
	}
	return len(seen), nil
}

// mutant is a shell that breaks a rule on purpose, so that the search is seen to fail.
type mutant uint8

const (
	sound        mutant = iota
	noDisown            // a load that gave up forgets its claim
	conflictLost        // a conflict is taken for the end of the session
	unfreezes           // a refused final save un-freezes although an earlier one may land
	staleVersion        // a takeover claims on whatever version there is now
	tokenPerLoad        // one token for all that a load claims and asks for
	acksUnknown         // a lost answer is taken for a landed save
)

// checkRest: when nothing can happen any more, the record names no session that a living
// node does not have.
func (w *world) checkRest() error {
	t := w.now.record.session
	if w.now.missing() || t == nil {
		return nil
	}
	i := int(t.node[0] - 'A')
	if w.nodes[i].crashed || w.nodes[i].session != nil && w.nodes[i].session.hold.token == t.token {
		return nil
	}
	return fmt.Errorf("orphan: the record names %s of living node %s", t.token, t.node)
}

type step struct {
	name string
	do   func(*world) error
}

// steps are all that may happen next.
func (w *world) steps() []step {
	var out []step
	add := func(name string, do func(*world) error) { out = append(out, step{name, do}) }
	for i := range w.calls {
		w.callSteps(i, add)
	}
	for i := range w.nodes {
		if !w.nodes[i].crashed {
			w.nodeSteps(i, add)
		}
	}
	return out
}

func (w *world) callSteps(i int, add func(string, func(*world) error)) {
	c := w.calls[i]
	what := fmt.Sprintf("%s %s", nodeName(c.node), map[bool]string{true: "put", false: "get"}[c.put])
	if c.put {
		what += fmt.Sprintf(" v%d if v%d (%s)", c.version, c.cond, recordLine(c.rec))
	}
	drop := func(w *world) modelCall {
		c := w.calls[i]
		w.calls = slices.Delete(w.calls, i, i+1)
		return c
	}
	switch c.state {
	case callSent:
		add("apply: "+what, func(w *world) error {
			w.calls[i].state = callApplied
			return w.apply(i)
		})
		if c.put && w.left.faults > 0 {
			add("answer lost, not yet applied: "+what, func(w *world) error {
				w.left.faults--
				w.calls[i].state = callLate
				return w.answer(modelCall{node: c.node, purpose: c.purpose, put: true, rec: c.rec, cond: c.cond, version: c.version, err: store.ErrUnknown})
			})
		}
		if w.left.refusals > 0 {
			add("refuse: "+what, func(w *world) error {
				w.left.refusals--
				c := drop(w)
				c.err = store.ErrUnavailable
				return w.answer(c)
			})
		}
	case callApplied:
		add("answer: "+what, func(w *world) error { return w.answer(drop(w)) })
		if w.left.faults > 0 {
			add("answer lost: "+what, func(w *world) error {
				w.left.faults--
				c := drop(w)
				c.err = store.ErrUnknown
				return w.answer(c)
			})
		}
	case callLate:
		add("apply late: "+what, func(w *world) error {
			err := w.apply(i)
			drop(w)
			return err
		})
		add("never applied: "+what, func(w *world) error {
			drop(w)
			return nil
		})
	}
}

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
		return nil
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
		return nil
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
		return nil
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

func TestSearch(t *testing.T) {
	for name, b := range map[string]bounds{
		"lost answer, hand-over":  {loads: 2, commits: 2, faults: 1, refusals: 1},
		"wrong verdict, crash":    {loads: 2, commits: 1, faults: 1, verdicts: 1, crashes: 1},
		"two wrong verdicts":      {loads: 3, commits: 1, verdicts: 2},
		"given up":                {loads: 2, commits: 1, faults: 1, quits: 1},
		"given up, three loads":   {loads: 3, quits: 1},
		"given up, release":       {loads: 2, commits: 1, quits: 1, releases: 1},
		"two faults, one session": {loads: 1, commits: 2, faults: 2, refusals: 1, releases: 1, quits: 1},
		"two faults, two loads":   {loads: 2, commits: 1, faults: 2},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := search(b, sound)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states", n)
		})
	}
}

// TestSearchFindsBrokenRules: a search that could not fail would prove nothing.
func TestSearchFindsBrokenRules(t *testing.T) {
	for name, c := range map[string]struct {
		broken mutant
		bounds bounds
	}{
		"no disown":      {noDisown, bounds{loads: 2, faults: 1, quits: 1}},
		"conflict lost":  {conflictLost, bounds{loads: 1, commits: 1, faults: 1}},
		"unfreezes":      {unfreezes, bounds{loads: 1, commits: 2, faults: 1, refusals: 1, releases: 1}},
		"stale version":  {staleVersion, bounds{loads: 2, commits: 2, verdicts: 1}},
		"token per load": {tokenPerLoad, bounds{loads: 3, commits: 2, verdicts: 2}},
		"acks a unknown": {acksUnknown, bounds{loads: 1, commits: 1, faults: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := search(c.bounds, c.broken)
			if err == nil {
				t.Fatalf("the broken rule was not found in %d states", n)
			}
			t.Logf("found after %d states: %.80s", n, err)
		})
	}
}
