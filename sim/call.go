package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store"
)

// op is what a call does.
type op uint8

const (
	opGet op = iota
	opScan
	opCommit
	opNow
	opPublish
	opSubscribe
	opBoardRead
	opBoardWrite
)

// String is the call's name in traces.
func (o op) String() string {
	return [...]string{"get", "scan", "commit", "now", "publish", "subscribe", "board read", "board write"}[o]
}

func (o op) writes() bool { return o == opCommit || o == opBoardWrite }

// request is what a call asks of a part of the store.
type request struct {
	part  Part
	op    op
	key   string
	units int // transactions, or keys: each has its effect by itself
	// apply gives one unit its effect. It runs on the world's goroutine.
	apply func(unit int) error
	// done is called when the caller is answered, with the error of each unit.
	done func(sent time.Duration, errs []error)
	// content tells calls apart that a process makes to one key at one moment; nil: nothing does.
	content func() uint64
	// tell shows a unit in traces.
	tell func(unit int) string
}

// call is a request on its way.
type call struct {
	request
	p        *Process
	name     uint64
	fate     fate
	sent     time.Duration
	left     bool // it has left its process
	answered bool
	vanished bool            // its process crashed, and nothing of it arrives any more
	pending  int             // units that must have their effect before the answer
	due      bool            // the answer waits for them
	released chan struct{}   // closed when answered
	errs     []error         // of the units, as far as they were applied
	answer   []error         // what the caller gets
	ctx      context.Context //nolint:containedctx // for the cause of its end only
}

// call makes a call and waits for its answer, or for the end of ctx.
func (p *Process) call(ctx context.Context, r request) []error {
	if ctx.Err() != nil {
		return same(r.units, fmt.Errorf("sim: %v %s: %w: %w", r.op, r.key, store.ErrUnavailable, context.Cause(ctx)))
	}
	c := &call{request: r, p: p, released: make(chan struct{}), errs: make([]error, r.units), ctx: ctx}
	p.w.arrive(arrival{class: newCall, proc: p.index, part: r.part, op: r.op, name: r.key, call: c})
	if p.Gone() {
		return same(r.units, closedError(r))
	}
	select {
	case <-c.released:
	case <-p.dead:
		return same(r.units, closedError(r))
	case <-ctx.Done():
		p.w.arrive(arrival{class: giveUp, proc: p.index, part: r.part, op: r.op, name: r.key, call: c})
		select {
		case <-c.released:
		case <-p.dead:
			return same(r.units, closedError(r))
		}
	}
	return c.answer
}

func same(n int, err error) []error { return slices.Repeat([]error{err}, n) }

func closedError(r request) error { return fmt.Errorf("sim: %v %s: %w", r.op, r.key, store.ErrClosed) }

// take admits a call: from here on it is a matter of the world.
func (w *World) take(c *call) {
	p := c.p
	if p.Gone() {
		return
	}
	what := foldText(uint64(c.part)<<8|uint64(c.op), c.key)
	n := p.counts[what]
	p.counts[what] = n + 1
	c.name = fold(fold(what, p.hash), n)
	c.fate = fateOf(&w.Weather[w.part(c.part)], newStream(fold(w.seed, c.name)), c.op.writes(), c.units)
	p.flying = append(p.flying, c)
	w.schedule(w.now()+c.fate.wait, p, fold(c.name, 1), c.leave)
}

// leave is the first step: the call leaves its process.
func (c *call) leave() bool {
	w, p := c.p.w, c.p
	if c.answered {
		return false
	}
	part := w.part(c.part)
	c.left, c.sent = true, w.now()
	if p.deaf && c.op == opCommit && strings.HasPrefix(c.key, recordPrefix) {
		p.deaf, c.fate.units[0].lost = false, true
	}
	w.tally.Calls[part]++
	w.tally.count(&c.request)
	w.trace.mark(w.now(), p, c.name, 1)
	cut := p.Cut[part]
	if cut {
		w.say(p, "%v %s: cut off", c.op, c.key)
		c.refuse()
		if fold(w.seed, c.name)&1 == 0 && !w.Refusing { // sent to nowhere, instead of refused at once
			c.fate.refuse, c.fate.hang = false, true
		}
	} else {
		w.say(p, "%v %s: sent", c.op, c.key)
	}
	switch {
	case cut:
	case c.barred():
		c.refuse()
	case !c.affords():
		w.tally.Throttled++
		c.refuse()
	}
	for i, u := range c.fate.units {
		if u.apply {
			if u.effect <= c.fate.took && !c.fate.hang {
				c.pending++
			}
			w.schedule(w.now()+u.effect, nil, fold(c.name, 2+uint64(i)), func() bool { return c.land(i) })
		}
	}
	after := c.fate.took
	if c.fate.hang {
		after = patience
	}
	w.schedule(w.now()+after, p, fold(c.name, 0), c.respond)
	return false
}

// barred tells that the fleet, or the process, is kept from keys like that of the call.
func (c *call) barred() bool {
	begins := func(prefix string) bool { return strings.HasPrefix(c.key, prefix) }
	return slices.ContainsFunc(c.p.w.Shut, begins) || slices.ContainsFunc(c.p.Mute, begins)
}

// refuse has the call not be taken.
func (c *call) refuse() {
	c.fate.refuse, c.fate.hang = true, false
	for i := range c.fate.units {
		c.fate.units[i].apply = false
	}
}

// land is the second step: a unit has its effect.
func (c *call) land(i int) bool {
	w := c.p.w
	if c.pending--; c.pending == 0 && c.due {
		w.schedule(w.now(), c.p, fold(c.name, 0), c.respond)
	}
	if c.vanished || c.answered && !c.op.writes() {
		return false
	}
	if w.Down[w.part(c.part)] {
		c.errs[i] = fmt.Errorf("sim: %v %s: the store is down: %w", c.op, c.key, store.ErrUnavailable)
		w.trace.mark(w.now(), c.p, c.name, 2)
		w.say(c.p, "%v %s: the store is down", c.op, c.key)
		return false
	}
	err := c.apply(i)
	code := uint64(3)
	if err != nil {
		code = 4
		w.tally.Conflict++
	}
	if c.answered {
		w.tally.Late++
		code += 2
	} else {
		c.errs[i] = err
	}
	w.trace.mark(w.now(), c.p, c.name, code)
	if w.trace.words {
		w.say(c.p, "%v %s: applied%s", c.op, c.key, c.words(i, err))
	}
	return false
}

func (c *call) words(i int, err error) string {
	out := ""
	if c.tell != nil {
		out = " " + c.tell(i)
	}
	if err != nil {
		out += ": " + err.Error()
	}
	if c.answered {
		out += " (late)"
	}
	return out
}

// respond is the third step: the caller is answered.
func (c *call) respond() bool {
	w, part := c.p.w, c.p.w.part(c.part)
	if c.answered {
		return false
	}
	if c.pending > 0 && !c.fate.hang { // effect and answer fall on one moment
		c.due = true
		return false
	}
	if c.p.Cut[part] && !c.fate.refuse && !c.fate.hang {
		c.fate.hang = true // the answer cannot come through
		w.schedule(w.now()+patience, c.p, fold(c.name, 0), c.respond)
		return false
	}
	out := make([]error, c.units)
	for i := range out {
		out[i] = c.verdict(i)
	}
	c.finish(out)
	return true
}

// verdict is what the caller is told of a unit.
func (c *call) verdict(i int) error {
	switch {
	case c.fate.refuse:
		return fmt.Errorf("sim: %v %s: refused: %w", c.op, c.key, store.ErrUnavailable)
	case c.fate.hang && c.op.writes(), c.fate.units[i].lost:
		return fmt.Errorf("sim: %v %s: no answer: %w", c.op, c.key, store.ErrUnknown)
	case c.fate.hang:
		return fmt.Errorf("sim: %v %s: no answer: %w", c.op, c.key, store.ErrUnavailable)
	}
	return c.errs[i]
}

// takeBack admits the news that a caller has given up.
func (w *World) takeBack(c *call) {
	if c.answered || c.p.Gone() {
		return
	}
	w.schedule(w.now(), c.p, fold(c.name, 1<<32), c.givenUp)
}

// givenUp answers a caller whose context has ended: what was sent may still land.
func (c *call) givenUp() bool {
	if c.answered {
		return false
	}
	err := fmt.Errorf("sim: %v %s: given up: %w: %w", c.op, c.key, store.ErrUnavailable, context.Cause(c.ctx))
	if c.left && c.op.writes() {
		err = fmt.Errorf("sim: %v %s: given up: %w: %w", c.op, c.key, store.ErrUnknown, context.Cause(c.ctx))
	}
	c.finish(same(c.units, err))
	return true
}

// finish wakes the caller.
func (c *call) finish(out []error) {
	w := c.p.w
	c.answered, c.answer = true, out
	code := uint64(8)
	for _, err := range out {
		code = fold(code, uint64(store.OutcomeOf(err)))
		switch {
		case err == nil:
		case store.OutcomeOf(err) == store.Unknown:
			w.tally.Unknown++
		case c.fate.refuse:
			w.tally.Refused++
		}
	}
	w.trace.mark(w.now(), c.p, c.name, code)
	if w.trace.words {
		w.say(c.p, "%v %s: answered %v", c.op, c.key, shown(out))
	}
	if c.done != nil {
		c.done(c.sent, out)
	}
	if i := slices.Index(c.p.flying, c); i >= 0 {
		c.p.flying = slices.Delete(c.p.flying, i, i+1)
	}
	close(c.released)
}

func shown(errs []error) string {
	for _, err := range errs {
		if err != nil {
			return err.Error()
		}
	}
	return "done"
}

// abandon is the end of a caller by a crash: what has left may land or be lost on the way.
func (c *call) abandon() {
	c.answered = true
	c.vanished = !c.left || fold(c.p.w.seed, c.name)&3 == 0
}
