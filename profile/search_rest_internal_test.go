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
		case stepLate, stepCrash, stepBegin, stepQuit, stepCommit, stepCommitClaim, stepRelease, stepForget, stepRestore, stepRestart, stepRob:
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

// settle lets everything happen that has to, in some fair order and with every fault
// stopped, and checks what is left then.
func (w *world) settle(began bounds) error {
	nodes := w.left.nodes
	w.left = bounds{nodes: nodes}
	clear(w.late[:])
	began.faults++ // whatever it was that stopped may have left something behind
	done := false
	err := w.fairly(func(steps []modelStep) bool {
		done = w.quiet(steps)
		return done
	})
	switch {
	case err != nil:
		return fmt.Errorf("calming down: %w", err)
	case !done:
		return errors.New("nothing goes wrong any more, and it does not come to rest")
	}
	return w.checkRest(began)
}

// fairly makes steps in some fair order until it is enough, or it takes too long.
func (w *world) fairly(enough func([]modelStep) bool) error {
	var (
		rng   = rand.New(rand.NewPCG(1, uint64(w.versions)))
		steps []modelStep
	)
	for range 2000 {
		steps = w.steps(steps[:0])
		if enough(steps) || len(steps) == 0 {
			return nil
		}
		if err := w.do(steps[rng.IntN(len(steps))]); err != nil {
			return err
		}
		if w.tokens > maxModelName-10 || w.versions > 240 {
			w.rename()
		}
	}
	return nil
}

// rename gives what is left of the names that are numbers the lowest numbers again. Nodes
// keep theirs.
func (w *world) rename() {
	var c coder
	c.keepOrder = true
	c.decode(c.encode(w, nil), w)
}

// probe lets one more load come, with every fault stopped, in some fair order: it must get
// the profile.
func (w *world) probe() error {
	p := *w
	at := p.prober()
	if at < 0 {
		return nil
	}
	p.left = bounds{nodes: w.left.nodes, loads: 1}
	clear(p.late[:])
	p.begin(at)
	loaded := func([]modelStep) bool { return p.nodes[at].session.on }
	if err := p.fairly(loaded); err != nil {
		return fmt.Errorf("the next load: %w", err)
	}
	if !loaded(nil) {
		return errors.New("the next load does not come to an end")
	}
	return nil
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
		if w.nodes[i].crashed && !w.named(i) {
			w.nodes[i] = modelNode{}
			return i
		}
	}
	return -1
}
