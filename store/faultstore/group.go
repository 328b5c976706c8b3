package faultstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// group is the transactions of one Commit on their way. They travel together, for as long
// as the slowest takes, and each meets its own fault; a crash is everybody's.
type group struct {
	port
	calls  []Call
	faults []Fault
	errs   []error
	what   []string // what happened to each, for the log
}

// commit carries the transactions of one Commit to the driver and back.
func (p port) commit(ctx context.Context, txs []store.Tx, apply func(context.Context, ...store.Tx) []error) []error {
	g := group{port: p, calls: make([]Call, len(txs)), errs: make([]error, len(txs)), what: make([]string, len(txs))}
	for i, tx := range txs {
		keys := make([]string, len(tx))
		for j, w := range tx {
			keys[j] = w.Key
		}
		g.calls[i] = p.call("commit", true, keys...)
	}
	g.faults = p.faults.decide(g.calls)
	g.carry(ctx, txs, apply)
	for i, c := range g.calls {
		p.faults.log(c, g.faults[i], g.what[i])
	}
	return g.errs
}

// carry fills in errs and what.
func (g *group) carry(ctx context.Context, txs []store.Tx, apply func(context.Context, ...store.Tx) []error) {
	if !g.departAll(ctx) {
		return
	}
	sent := g.send(ctx, txs, apply)
	if g.any(CrashAfter) {
		g.port.faults.Crash()
	}
	if g.any(Hang) || g.any(HangApplied) {
		g.hang(ctx)
	}
	cut := g.travel(ctx, g.longest(func(f Fault) time.Duration { return f.Back })) != nil
	for i, fault := range g.faults {
		switch {
		case fault.Kind == Hang:
			g.what[i], g.errs[i] = "not applied", lost(ctx, g.calls[i], "hung")
		case !sent[i]:
		case fault.Kind == FailAfter:
			g.lose(ctx, i, "failed after")
		case fault.Kind == HangApplied:
			g.lose(ctx, i, "hung")
		case g.any(CrashAfter):
			g.lose(ctx, i, "crashed")
		case cut:
			g.lose(ctx, i, "cut on the way back")
		}
	}
}

// departAll waits for the slowest, and tells whether the transactions get to the driver.
func (g *group) departAll(ctx context.Context) bool {
	err := g.travel(ctx, g.longest(func(f Fault) time.Duration { return f.Delay }))
	if err == nil && !g.any(Crash) {
		return true
	}
	if err == nil {
		g.port.faults.Crash()
		err = errCut
	}
	for i, c := range g.calls {
		g.what[i], g.errs[i] = stopped(ctx, c, err)
	}
	return false
}

// send hands the driver what it is to see by now, and tells which that was.
func (g *group) send(ctx context.Context, txs []store.Tx, apply func(context.Context, ...store.Tx) []error) (sent []bool) {
	sent = make([]bool, len(txs))
	var now []store.Tx
	for i, c := range g.calls {
		switch kind := g.faults[i].Kind; kind {
		case Pass, FailAfter, HangApplied, CrashAfter, Twice:
			sent[i] = true
			now = append(now, txs[i])
		case Late:
			own := copied(txs[i])
			g.later(ctx, c, g.faults[i], func(ctx context.Context) error { return apply(ctx, own)[0] })
			g.what[i], g.errs[i] = g.refuse(ctx, c, kind)
		case FailBefore, Lose:
			g.what[i], g.errs[i] = g.refuse(ctx, c, kind)
		case Hang, Crash:
		}
	}
	if len(now) == 0 {
		return sent
	}
	answers := apply(ctx, now...)
	for i := range txs {
		if sent[i] {
			g.errs[i], g.what[i] = answers[0], word(answers[0])
			answers = answers[1:]
		}
	}
	return sent
}

// lose replaces the answer of a transaction that was sent.
func (g *group) lose(ctx context.Context, i int, why string) {
	g.what[i] += ", answer lost: " + why
	g.errs[i] = lost(ctx, g.calls[i], why)
}

func (g *group) any(kind Kind) bool {
	return slices.ContainsFunc(g.faults, func(f Fault) bool { return f.Kind == kind })
}

func (g *group) longest(of func(Fault) time.Duration) time.Duration {
	longest := time.Duration(0)
	for _, f := range g.faults {
		longest = max(longest, of(f))
	}
	return longest
}

// copied is a transaction that its caller cannot change any more.
func copied(tx store.Tx) store.Tx {
	own := slices.Clone(tx)
	for i := range own {
		own[i].Value = bytes.Clone(own[i].Value)
	}
	return own
}
