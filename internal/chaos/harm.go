package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/engines"
)

const (
	// failOverWithin is how long a master that was killed waits for its replica to replace it.
	failOverWithin = 15 * time.Second
	// stopPatience is how long a daemon may take to end in order.
	stopPatience = 4 * time.Second
)

// run lets a lane of the plan happen until ctx ends. Every fault is over when it returns.
func (w *world) run(ctx context.Context, plan []Fault, l lane) error {
	for _, f := range plan {
		if f.lane != l {
			continue
		}
		if !w.has(f.Kind) || w.forgets(f.Kind) && keepsMemory(f.At, w.length) {
			continue
		}
		if !w.comes(ctx, f.At) {
			break
		}
		w.say("%7.2fs %s", w.ledger.now().Seconds(), f)
		if err := w.happen(ctx, f); err != nil {
			return fmt.Errorf("chaos: %s: %w", f, err)
		}
	}
	return nil
}

// comes waits for a time of the run; false when ctx ends before.
func (w *world) comes(ctx context.Context, at time.Duration) bool {
	return clock.Sleep(ctx, clock.System(), at-w.ledger.now()) == nil
}

// has tells whether there is what a fault breaks.
func (w *world) has(k Kind) bool {
	switch k {
	case StrikeDaemon, KillDaemon, StopDaemon, PauseDaemon, StepClock:
		return true
	case ForgetRedis, RewindRedis, PauseRedis:
		return w.redis != nil || w.sentinel != nil || w.cluster != nil
	case CutFast, DeafToFast:
		return w.redis != nil || w.cluster != nil
	case KillPostgres, RestartPostgres, PausePostgres, CutStore, CutBoth, DelayBoth, ResetBoth, DeafToStore:
		return w.postgres != nil
	}
	return false
}

// forgets tells whether a fault takes the fast store's memory. Without Redis that is in
// unlogged tables of PostgreSQL, which are empty after a crash. A replica that replaces its
// master may lack what came last.
func (w *world) forgets(k Kind) bool {
	switch {
	case w.kept:
		return false
	case w.redis != nil, w.cluster != nil:
		return k == ForgetRedis || k == RewindRedis
	case w.sentinel != nil:
		return k == ForgetRedis || k == RewindRedis || k == PauseRedis
	}
	return k == KillPostgres
}

// happen makes one fault and heals it.
func (w *world) happen(ctx context.Context, f Fault) error {
	if f.lane == engineLane {
		rush(ctx, w.members, rushBefore)
	}
	end := w.trouble(f)
	heal, err := w.begin(ctx, f)
	if err != nil {
		return err
	}
	_ = clock.Sleep(ctx, clock.System(), f.For)
	err = heal(context.WithoutCancel(ctx))
	end()
	return err
}

// trouble notes a fault for the ledger until end is called.
func (w *world) trouble(f Fault) (end func()) {
	var ends []func(time.Duration)
	for _, daemon := range w.whom(f) {
		ends = append(ends, w.ledger.times.begin(w.ledger.now(), daemon, w.forgets(f.Kind)))
	}
	return func() {
		for _, end := range ends {
			end(w.ledger.now())
		}
	}
}

// whom are the daemons that a fault concerns. All of them share the way to a cluster. Clocks
// concern nobody: whatever they say, nothing may be lost.
func (w *world) whom(f Fault) []int {
	switch {
	case f.lane == clockLane:
		return nil
	case f.lane == engineLane:
		return []int{everybody}
	case w.cluster != nil && (f.lane == networkLane || f.Kind == StrikeDaemon):
		all := make([]int, len(w.members))
		for i := range all {
			all[i] = i
		}
		return all
	}
	return []int{f.Daemon}
}

// begin makes a fault; heal ends it.
func (w *world) begin(ctx context.Context, f Fault) (heal func(context.Context) error, err error) {
	m := w.members[f.Daemon]
	switch f.lane {
	case daemonLane:
		return m.suffer(ctx, f)
	case engineLane:
		return w.shake(ctx, f)
	case networkLane:
		return m.disconnect(f), nil
	case clockLane:
		back, err := m.clock.step(f.Offset)
		return func(context.Context) error { return back() }, err
	case lanes:
	}
	return nil, fmt.Errorf("no lane %d", f.lane)
}

// suffer is a fault of a daemon's process.
func (m *member) suffer(ctx context.Context, f Fault) (heal func(context.Context) error, err error) {
	restart := func(ctx context.Context) error { return m.restart(ctx, f.Offset) }
	switch f.Kind { //nolint:exhaustive // the others are no faults of a process
	case PauseDaemon:
		defer m.bell.hurry()()
		_ = clock.Sleep(ctx, clock.System(), rushBefore)
		err := m.Pause()
		m.bell.leave()
		return func(context.Context) error { return m.Continue() }, err
	case StrikeDaemon:
		return restart, m.strike(ctx, f)
	case KillDaemon:
		return restart, m.Kill()
	case StopDaemon:
		return restart, m.stopSoon()
	}
	return nil, fmt.Errorf("%s is no fault of a process", f.Kind)
}

// stopSoon ends a daemon in order, and kills one that takes long, as a supervisor does: its store
// may be down.
func (m *member) stopSoon() error {
	stopped := make(chan error, 1)
	go func() { stopped <- m.Stop() }()
	timer := clock.System().NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case err := <-stopped:
		return err
	case <-timer.C():
		return errors.Join(m.Kill(), <-stopped)
	}
}

// restart starts a daemon as a supervisor does: again and again, since its store may be down.
func (m *member) restart(ctx context.Context, offset time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := m.clock.start(offset); err != nil {
		return err
	}
	for {
		err := m.Start(ctx)
		if err == nil || clock.Sleep(ctx, clock.System(), retryAfter) != nil {
			return err
		}
	}
}

// shake is a fault of a server.
func (w *world) shake(ctx context.Context, f Fault) (heal func(context.Context) error, err error) {
	switch f.Kind {
	case KillPostgres:
		return w.postgres.Start, w.postgres.Kill()
	case RestartPostgres:
		return w.postgres.Start, w.postgres.Stop()
	case PausePostgres:
		return func(context.Context) error { return w.postgres.Continue() }, w.postgres.Pause()
	case PauseRedis, ForgetRedis, RewindRedis:
		switch {
		case w.sentinel != nil:
			return w.failOver(ctx, f)
		case w.cluster != nil:
			nodes := w.cluster.Nodes()
			return w.shakeRedis(ctx, nodes[f.Server%len(nodes)], f)
		}
		return w.shakeRedis(ctx, w.redis, f)
	case StrikeDaemon, KillDaemon, StopDaemon, PauseDaemon, StepClock, CutStore, CutFast, CutBoth, DelayBoth, ResetBoth, DeafToStore, DeafToFast:
	}
	return nil, fmt.Errorf("%s is no fault of a server", f.Kind)
}

// shakeRedis is a fault of the only Redis, or of one master of a cluster.
func (w *world) shakeRedis(ctx context.Context, r *engines.Redis, f Fault) (heal func(context.Context) error, err error) {
	switch {
	case f.Kind == PauseRedis:
		return func(context.Context) error { return r.Continue() }, r.Pause()
	case f.Kind == ForgetRedis, w.kept:
		return r.Start, errors.Join(r.Forget(), r.Kill())
	}
	return func(ctx context.Context) error {
		return errors.Join(r.Kill(), r.Start(ctx))
	}, r.Snapshot(ctx)
}

// failOver kills or pauses the master. When it comes back, its replica has taken its place,
// unless the replica was not fit to.
func (w *world) failOver(ctx context.Context, f Fault) (heal func(context.Context) error, err error) {
	master, err := w.sentinel.Master(ctx)
	if err != nil {
		return nil, err
	}
	if f.Kind == PauseRedis {
		return func(context.Context) error { return master.Continue() }, master.Pause()
	}
	return func(ctx context.Context) error {
		within, cancel := context.WithTimeout(ctx, failOverWithin)
		defer cancel()
		if err := w.sentinel.AwaitMaster(within, master); err != nil {
			w.say("%7.2fs %v", w.ledger.now().Seconds(), err)
		}
		return master.Start(ctx)
	}, master.Kill()
}

// disconnect is a fault of a daemon's network.
func (m *member) disconnect(f Fault) (heal func(context.Context) error) {
	links := m.links(f)
	for _, p := range links {
		switch f.Kind {
		case CutStore, CutFast, CutBoth:
			p.Cut()
		case DelayBoth:
			p.Delay(f.Delay)
		case ResetBoth:
			p.Reset()
		case DeafToStore, DeafToFast:
			p.DropAnswers()
		case StrikeDaemon, KillDaemon, StopDaemon, PauseDaemon, StepClock,
			KillPostgres, RestartPostgres, PausePostgres, ForgetRedis, RewindRedis, PauseRedis:
		}
	}
	return func(context.Context) error {
		for _, p := range links {
			p.Heal()
		}
		return nil
	}
}

// links are the connections that a fault concerns: to the store, and to the fast one's server.
func (m *member) links(f Fault) []*engines.Proxy {
	var fast []*engines.Proxy
	if len(m.fast) > 0 {
		fast = append(fast, m.fast[f.Server%len(m.fast)])
	}
	switch f.Kind { //nolint:exhaustive // the others concern no network
	case "":
		return nil
	case CutStore, DeafToStore:
		return []*engines.Proxy{m.store}
	case CutFast, DeafToFast:
		return fast
	}
	return append(fast, m.store)
}
