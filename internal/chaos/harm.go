package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/engines"
)

// failOverWithin is how long a master that was killed waits for its replica to replace it.
const failOverWithin = 15 * time.Second

// run lets a lane of the plan happen until ctx ends. Every fault is over when it returns.
func (w *world) run(ctx context.Context, plan []Fault, l lane) error {
	for _, f := range plan {
		if f.lane != l {
			continue
		}
		if !w.has(f.Kind) {
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
	case KillDaemon, StopDaemon, PauseDaemon:
		return true
	case ForgetRedis, RewindRedis, PauseRedis:
		return w.redis != nil || w.sentinel != nil
	case CutFast, DeafToFast:
		return w.redis != nil
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
	case w.redis != nil:
		return k == ForgetRedis || k == RewindRedis
	case w.sentinel != nil:
		return k == ForgetRedis || k == RewindRedis || k == PauseRedis
	}
	return k == KillPostgres
}

// happen makes one fault and heals it.
func (w *world) happen(ctx context.Context, f Fault) error {
	whom := everybody
	if f.lane != engineLane {
		whom = f.Daemon
	}
	end := w.ledger.times.begin(w.ledger.now(), whom, w.forgets(f.Kind))
	heal, err := w.begin(ctx, f)
	if err != nil {
		return err
	}
	_ = clock.Sleep(ctx, clock.System(), f.For)
	err = heal(context.WithoutCancel(ctx))
	end(w.ledger.now())
	return err
}

// begin makes a fault; heal ends it.
func (w *world) begin(ctx context.Context, f Fault) (heal func(context.Context) error, err error) {
	switch f.lane {
	case daemonLane:
		return w.members[f.Daemon].suffer(f)
	case engineLane:
		return w.shake(ctx, f)
	case networkLane:
		return w.members[f.Daemon].disconnect(f), nil
	case lanes:
	}
	return nil, fmt.Errorf("no lane %d", f.lane)
}

// suffer is a fault of a daemon's process.
func (m *member) suffer(f Fault) (heal func(context.Context) error, err error) {
	if f.Kind == PauseDaemon {
		return func(context.Context) error { return m.Continue() }, m.Pause()
	}
	stop := m.Kill
	if f.Kind == StopDaemon {
		stop = m.Stop
	}
	return func(ctx context.Context) error { return m.restart(ctx, f.Offset) }, stop()
}

// restart starts a daemon as a supervisor does: again and again, since its store may be down.
func (m *member) restart(ctx context.Context, offset time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := m.Start(ctx, "--clock-offset="+offset.String())
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
		if w.sentinel != nil {
			return w.failOver(ctx, f)
		}
		return w.shakeRedis(ctx, f)
	case KillDaemon, StopDaemon, PauseDaemon, CutStore, CutFast, CutBoth, DelayBoth, ResetBoth, DeafToStore, DeafToFast:
	}
	return nil, fmt.Errorf("%s is no fault of a server", f.Kind)
}

// shakeRedis is a fault of the only Redis.
func (w *world) shakeRedis(ctx context.Context, f Fault) (heal func(context.Context) error, err error) {
	switch {
	case f.Kind == PauseRedis:
		return func(context.Context) error { return w.redis.Continue() }, w.redis.Pause()
	case f.Kind == ForgetRedis, w.kept:
		return w.redis.Start, errors.Join(w.redis.Forget(), w.redis.Kill())
	}
	return func(ctx context.Context) error {
		return errors.Join(w.redis.Kill(), w.redis.Start(ctx))
	}, w.redis.Snapshot(ctx)
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
	for _, p := range m.links(f.Kind) {
		switch f.Kind {
		case CutStore, CutFast, CutBoth:
			p.Cut()
		case DelayBoth:
			p.Delay(f.Delay)
		case ResetBoth:
			p.Reset()
		case DeafToStore, DeafToFast:
			p.DropAnswers()
		case KillDaemon, StopDaemon, PauseDaemon, KillPostgres, RestartPostgres, PausePostgres, ForgetRedis, RewindRedis, PauseRedis:
		}
	}
	return func(context.Context) error {
		for _, p := range m.links(f.Kind) {
			p.Heal()
		}
		return nil
	}
}

// links are the connections that a fault concerns.
func (m *member) links(k Kind) []*engines.Proxy {
	switch {
	case k == CutStore || k == DeafToStore || m.fast == nil:
		return []*engines.Proxy{m.store}
	case k == CutFast || k == DeafToFast:
		return []*engines.Proxy{m.fast}
	}
	return []*engines.Proxy{m.store, m.fast}
}
