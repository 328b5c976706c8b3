package profile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
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
