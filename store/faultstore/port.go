package faultstore

import (
	"context"
	"errors"
	"sync"
	"time"
)

// port is one decorated handle's end of the way.
type port struct {
	faults  *Faults
	part    Part
	closing chan struct{} // closed by close
	once    *sync.Once
}

func (f *Faults) port(part Part) port {
	return port{faults: f, part: part, closing: make(chan struct{}), once: &sync.Once{}}
}

// errCut is why a call did not get on: the process crashed, or the handle was closed.
var errCut = errors.New("cut")

// close cuts what is on its way, stops late calls and waits for those that run.
func (p port) close() {
	p.once.Do(func() { close(p.closing) })
	p.faults.late.cut(func(c *lateCall) bool { return c.port.closing == p.closing })
	p.faults.late.wait()
}

func (p port) isClosed() bool {
	select {
	case <-p.closing:
		return true
	default:
		return false
	}
}

// call is a read, or a write, of this part. It is not yet numbered.
func (p port) call(op string, write bool, keys ...string) Call {
	return Call{Part: p.part, Op: op, Keys: keys, Write: write}
}

// travel waits for d, and tells why the call could not go on.
func (p port) travel(ctx context.Context, d time.Duration) error {
	if p.faults.isCrashed() {
		return errCut
	}
	if d <= 0 {
		return nil
	}
	t := p.faults.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.faults.crashed:
	case <-p.closing:
	}
	return errCut
}

// hang waits for the end of the context, of the process or of the handle.
func (p port) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-p.faults.crashed:
	case <-p.closing:
	}
}

// through carries one call to the driver and back, or whatever its fault is. A call whose
// context has ended, or whose handle is closed, meets no fault but the driver's own answer.
func through[R any](ctx context.Context, p port, c Call, apply func(context.Context) (R, error)) (R, error) {
	if p.isClosed() || ctx.Err() != nil {
		return apply(ctx)
	}
	calls := []Call{c}
	fault := p.faults.decide(calls)[0]
	answer, what, err := attempt(ctx, p, calls[0], fault, apply)
	p.faults.log(calls[0], fault, what)
	if err != nil {
		var none R
		return none, err
	}
	return answer, nil
}

// attempt is through without the bookkeeping; what is what happened, for the log.
func attempt[R any](ctx context.Context, p port, c Call, fault Fault, apply func(context.Context) (R, error)) (answer R, what string, err error) {
	if what, err = p.arrive(ctx, c, fault); what != "" {
		if fault.Kind == Late && c.Write {
			p.later(ctx, c, fault, func(ctx context.Context) error {
				_, err := apply(ctx)
				return err
			})
		}
		return answer, what, err
	}
	answer, err = apply(ctx)
	if fault.Kind == Twice && err == nil {
		answer, err = apply(ctx)
	}
	what = word(err)
	if why := p.leave(ctx, fault); why != "" {
		return answer, what + ", answer lost: " + why, lost(ctx, c, why)
	}
	return answer, what, err
}

// arrive is the way to the driver. When the call does not get there by now, what tells why,
// and err is the answer.
func (p port) arrive(ctx context.Context, c Call, fault Fault) (what string, err error) {
	if err := p.travel(ctx, fault.Delay); err != nil {
		return stopped(ctx, c, err)
	}
	switch fault.Kind {
	case Crash:
		p.faults.Crash()
		return "not applied", notApplied(c, "crashed")
	case Hang:
		p.hang(ctx)
		return "not applied", lost(ctx, c, "hung")
	case FailBefore, Late, Lose:
		return p.refuse(ctx, c, fault.Kind)
	case Pass, FailAfter, HangApplied, CrashAfter, Twice:
	}
	return "", nil
}

// stopped answers a call that err kept from getting to the driver.
func stopped(ctx context.Context, c Call, err error) (what string, answer error) {
	if errors.Is(err, errCut) {
		return "cut, not applied", notApplied(c, "cut")
	}
	return "given up on the way, not applied", lost(ctx, c, "given up on the way")
}

// refuse answers what does not reach the driver by now, without waiting.
func (p port) refuse(ctx context.Context, c Call, kind Kind) (what string, err error) {
	switch {
	case kind == Lose:
		return "lost", nil
	case kind == FailBefore || !c.Write:
		return "not applied", notApplied(c, "failed")
	case p.part == Bus:
		return "to be applied", nil // nobody hears when a message arrives
	}
	return "to be applied", lost(ctx, c, "late")
}

// leave is the way back. It tells why the answer is lost, if it is.
func (p port) leave(ctx context.Context, fault Fault) (why string) {
	switch fault.Kind {
	case FailAfter:
		return "failed after"
	case HangApplied:
		p.hang(ctx)
		return "hung"
	case CrashAfter:
		p.faults.Crash()
		return "crashed"
	case Pass, FailBefore, Late, Hang, Crash, Lose, Twice:
	}
	if p.travel(ctx, fault.Back) != nil {
		return "cut on the way back"
	}
	return ""
}

// later applies a call after its answer, under a context that does not end.
func (p port) later(ctx context.Context, c Call, fault Fault, apply func(context.Context) error) {
	ctx = context.WithoutCancel(ctx)
	p.faults.late.add(p, fault.After, func() {
		p.faults.log(c, fault, "landed, "+word(apply(ctx)))
	})
}
