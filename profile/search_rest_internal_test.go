package profile

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// This file is what must hold when nothing is under way: no orphan, no journal left behind,
// and whoever comes next gets the profile.

// quiet tells that nothing has to happen any more: what may is left to the players, to
// operators, or to bad luck.
func (w *world) quiet(steps []modelStep) bool {
	for _, s := range steps {
		switch s.kind {
		case stepLate, stepCrash, stepBegin, stepQuit, stepCommit, stepCommitClaim, stepRelease, stepForget, stepRestore:
		case stepTake:
			l := &w.nodes[s.node].load
			if w.nodes[l.last.rec.node-1].crashed || l.verdict == l.last.rec.token {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// checkRest holds a quiet state against what must be true then. began are the bounds that
// the search began with.
func (w *world) checkRest(began bounds) error {
	r, j := &w.record.rec, &w.jour
	if r.token != 0 && !w.nodes[r.node-1].crashed {
		if s := &w.nodes[r.node-1].session; !s.on || s.token != r.token {
			return fmt.Errorf("orphan: the record names session %d, which its living node does not have", r.token)
		}
	}
	if j.version != 0 && j.jour.epoch > r.epoch {
		return fmt.Errorf("a journal of epoch %d beside a record of epoch %d", j.jour.epoch, r.epoch)
	}
	began.loads, began.commits, began.claims, began.releases = w.left.loads, w.left.commits, w.left.claims, w.left.releases
	undisturbed := began == w.left && w.late[0].op == opNone
	if undisturbed && j.version != 0 && r.token == 0 {
		return errors.New("a journal stays behind although nothing went wrong")
	}
	return w.probe()
}

// probe lets one more load come, with every fault stopped, in some fair order: it must get
// the profile.
func (w *world) probe() error {
	var (
		p     = *w
		rng   = rand.New(rand.NewPCG(1, uint64(w.made)))
		steps []modelStep
		enc   coder
		buf   []byte
	)
	at := p.prober()
	if at < 0 {
		return nil
	}
	p.left = bounds{nodes: w.left.nodes, loads: 1}
	clear(p.late[:])
	p.begin(at)
	p.left.loads = 0
	token := func() uint8 {
		if s := &p.nodes[at].session; s.on {
			return s.token
		}
		return 0
	}
	for range 2000 {
		if token() != 0 {
			return nil
		}
		steps = p.steps(steps[:0])
		if len(steps) == 0 {
			return errors.New("a load waits for ever")
		}
		if err := p.do(steps[rng.IntN(len(steps))]); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
		if p.tokens > maxModelName-10 || p.versions > 240 {
			buf = enc.encode(&p, buf[:0])
			at = int(enc.node[at+1]) - 1
			enc.decode(buf, &p)
		}
	}
	return errors.New("a load does not come to an end")
}

// prober is a node that may load: a living one without a session, or a new one in the place
// of a crashed one that the record does not name; -1 when everybody living has a session.
func (w *world) prober() int {
	for i := range int(w.left.nodes) {
		if n := &w.nodes[i]; !n.crashed && !n.session.on && !n.load.on {
			return i
		}
	}
	for i := range int(w.left.nodes) {
		if w.nodes[i].crashed && (w.record.rec.token == 0 || int(w.record.rec.node) != i+1) {
			w.nodes[i] = modelNode{}
			return i
		}
	}
	return -1
}
