package profile

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Close ends the stay of every player as Leave does, all at once, and refuses joins from now
// on. It returns when everybody has left, or when ctx ends; a callback that has not returned
// within HookTimeout is named and not waited for. The set stays open. Callers share one
// closing and one report.
//
// The node calls it when it closes, with one difference: the set releases the sessions then,
// and players are told by Kicked, with the reason Closed.
func (ps *Players) Close(ctx context.Context) (PlayersReport, error) {
	return ps.closeOnce(ctx, true)
}

// closeWithNode is Close as the node calls it. Sessions that are left are the set's to report,
// and a callback that hangs is no reason for the node to say that a session is left.
func (ps *Players) closeWithNode(ctx context.Context) (left int, err error) {
	_, _ = ps.closeOnce(ctx, false)
	return 0, nil
}

func (ps *Players) closeOnce(ctx context.Context, leave bool) (PlayersReport, error) {
	c := &ps.closing
	c.once.Do(func() {
		var work context.Context
		work, c.cut = context.WithCancel(context.WithoutCancel(ctx))
		go ps.close(work, leave)
	})
	select {
	case <-c.ended:
	case <-ctx.Done():
		c.cut()
		<-c.ended
	}
	return c.report, c.err
}

func (ps *Players) close(ctx context.Context, leave bool) {
	defer close(ps.closing.ended)
	defer ps.closing.cut()
	begun := ps.set.clk.Now()
	for _, p := range ps.refuseJoins() {
		if leave {
			p.Leave()
		}
	}
	quiet := ps.quietened()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
	r := ps.reckon()
	ps.halt()
	r.Took = ps.set.clk.Now().Sub(begun)
	ps.closing.report = r
	if r.Complete() {
		ps.tasks.wait(ctx) // the goroutines that have just told so
		return
	}
	ps.closing.err = fmt.Errorf("profile: close players of %s: %d players remaining, %d callbacks running", ps.set.name, len(r.Remaining), len(r.Running))
	ps.set.log.WarnContext(ctx, "players have not left", "remaining", len(r.Remaining), "callbacks", strings.Join(r.Running, ", "))
}

// refuseJoins answers everybody who is here or waits.
func (ps *Players) refuseJoins() []*Player {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.mu.closing = true
	var out []*Player
	for _, st := range ps.mu.seats {
		out = append(out, st.now)
		if st.next != nil {
			out = append(out, st.next)
		}
	}
	return out
}

// quietened is closed when nobody is left, except where a callback does not return.
func (ps *Players) quietened() <-chan struct{} {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	quiet := make(chan struct{})
	ps.mu.quiet = quiet
	ps.quietenLocked()
	return quiet
}

func (ps *Players) quietenLocked() {
	if ps.mu.quiet != nil && len(ps.mu.seats) == ps.mu.stuck {
		close(ps.mu.quiet)
		ps.mu.quiet = nil
	}
}

// reckon tells who and what is left.
func (ps *Players) reckon() PlayersReport {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var r PlayersReport
	for key, st := range ps.mu.seats {
		r.Remaining = append(r.Remaining, key)
		if st.call != "" {
			r.Running = append(r.Running, ps.label(st.call)+" for "+key)
		}
	}
	slices.Sort(r.Remaining)
	slices.Sort(r.Running)
	return r
}

// label names a callback and its function.
func (ps *Players) label(call string) string {
	for what, fn := range map[string]any{"Joined": ps.opts.Joined, "Failed": ps.opts.Failed, "Left": ps.opts.Left, "Kicked": ps.opts.Kicked} {
		if what == call && !reflect.ValueOf(fn).IsNil() {
			return call + " " + funcName(fn)
		}
	}
	return call
}
