package profile

import (
	"fmt"
	"math/rand/v2"
)

// This file is random walks of the search's world, with more at once than a search that
// closes can hold: three nodes, three commits, every fault.

// walkSteps is how long a walk is at most.
const walkSteps = 600

// walkBounds draws the bounds of a walk. The fast store goes back only where nobody living is
// taken over: both together lose what was acknowledged, which PROTOCOL.md C states.
func walkBounds(rng *rand.Rand) bounds {
	up := func(n int) uint8 { return uint8(rng.IntN(n + 1)) }
	b := bounds{
		nodes: 2 + up(1), loads: 3 + up(5), commits: 3 + up(4), claims: up(2), faults: up(3), refusals: up(2), crashes: up(2),
		quits: up(2), releases: up(3), forgets: up(2), verdicts: up(3), restarts: up(2), robs: up(1),
	}
	if rng.IntN(4) == 0 {
		b.verdicts, b.restores = 0, 1+up(1)
	}
	return b
}

// walk takes one walk, and answers how many steps it was.
func walk(seed uint64, broken mutant) (steps int, excused int, err error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	start := world{left: walkBounds(rng), broken: broken}
	var (
		w    = start
		c    coder
		buf  []byte
		path []uint8
		list []modelStep
		mood = walkMood(rng)
	)
	fail := func(last *modelStep, wrong error) error {
		return fmt.Errorf("walk %d of %+v: %w, after %d steps:%s", seed, start.left, wrong, len(path), tell(start, path, last))
	}
	for range walkSteps {
		buf = c.encode(&w, buf[:0])
		c.decode(buf, &w)
		list = w.steps(list[:0])
		if w.quiet(list) {
			if err := w.checkRest(start.left); err != nil {
				return len(path), excused, fail(nil, err)
			}
		}
		if len(list) == 0 {
			break
		}
		at := rng.IntN(len(list))
		for rng.IntN(mood[list[at].kind]) > 0 {
			at = rng.IntN(len(list))
		}
		if err := w.do(list[at]); err != nil {
			return len(path), excused, fail(&list[at], err)
		}
		excused += int(w.excused)
		w.excused = 0
		path = append(path, uint8(at))
	}
	if err := w.settle(start.left); err != nil {
		return len(path), excused, fail(nil, err)
	}
	return len(path), excused, nil
}

// walkMood is how reluctantly a walk makes each kind of step. Every walk has likings of its
// own, so that some sync and never save, some are slow to answer, and so on; what there is
// little of comes seldom, so that it does not all come at the beginning.
func walkMood(rng *rand.Rand) (mood [stepKinds]int) {
	for k := range mood {
		mood[k] = 1 << rng.IntN(4)
		if rare(uint8(k)) {
			mood[k] = 8 << rng.IntN(5)
		}
	}
	return mood
}

// rare are the steps of which there are few.
func rare(k stepKind) bool {
	switch k {
	case stepLose, stepMute, stepTurn, stepCrash, stepQuit, stepTake, stepRelease, stepForget, stepRestore, stepRestart, stepRob,
		stepLate, stepBegin, stepCommit, stepCommitClaim:
		return true
	default:
		return false
	}
}
