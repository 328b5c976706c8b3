package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/engines"
)

// run lets a lane of the plan happen until ctx ends. Every fault is over when it returns.
func (w *world) run(ctx context.Context, plan []Fault, l lane) error {
	for _, f := range plan {
		if f.lane != l {
			continue
		}
		if !w.has(f.Kind) {
			continue
		}
		_ = clock.Sleep(ctx, clock.System(), f.At-w.ledger.now())
		if ctx.Err() != nil {
			return nil
		}
		w.say("%7.2fs %s", w.ledger.now().Seconds(), f)
		if err := w.happen(ctx, f); err != nil {
			return fmt.Errorf("chaos: %s: %w", f, err)
		}
	}
	return nil
}

// has tells whether there is what a fault breaks.
func (w *world) has(k Kind) bool {
	switch k {
	case KillDaemon, StopDaemon, PauseDaemon:
		return true
	case ForgetRedis, RewindRedis, PauseRedis, CutFast, DeafToFast:
		return w.redis != nil
	case KillPostgres, RestartPostgres, PausePostgres, CutStore, CutBoth, DelayBoth, ResetBoth, DeafToStore:
		return w.postgres != nil
	}
	return false
}

// forgets tells whether a fault takes the fast store's memory. Without Redis that is in
// unlogged tables of PostgreSQL, which are empty after a crash.
func (w *world) forgets(k Kind) bool {
	if w.redis == nil {
		return k == KillPostgres
	}
	return k == ForgetRedis || k == RewindRedis
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
	case PauseRedis:
		return func(context.Context) error { return w.redis.Continue() }, w.redis.Pause()
	case ForgetRedis:
		return w.redis.Start, errors.Join(w.redis.Forget(), w.redis.Kill())
	case RewindRedis:
		return func(ctx context.Context) error {
			return errors.Join(w.redis.Kill(), w.redis.Start(ctx))
		}, w.redis.Snapshot(ctx)
	case KillDaemon, StopDaemon, PauseDaemon, CutStore, CutFast, CutBoth, DelayBoth, ResetBoth, DeafToStore, DeafToFast:
	}
	return nil, fmt.Errorf("%s is no fault of a server", f.Kind)
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
