package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/engines"
)

// Configuration is what daemons need to be played on: little time between saves, a board that
// is submitted to and one that follows the profiles, and short seasons, of which the first begins
// at a time of UTC.
func Configuration(begin time.Time) string {
	return fmt.Sprintf(`sets:
  players:
    template: {count: 0, got: {}, prizes: 0}
    autosave: 15s
    reapEvery: 5s
boards:
  Best: {}
  Count: {rule: last, from: {set: players, path: /count}}
seasons:
  %s:
    set: players
    epoch: %q
    length: %s
    perCycle: 10000
    grace: 10s
    flushEvery: 2s
    cacheFor: 2s
    firstClose: 2s
    closeEvery: 3s
    stats:
      - {name: fish, kind: sum, on: [catch], each: 1}
    boards:
      - name: Fish
        stat: fish
        rewards: [{to: 50, ops: [{op: increment, path: /prizes, by: 1}]}]
`, season, begin.UTC().Truncate(time.Second).Format(time.RFC3339), seasonLength)
}

// world is the servers, the daemons and the networks between them.
type world struct {
	postgres *engines.Postgres
	redis    *engines.Redis
	members  []*member
	ledger   *Ledger
	say      func(format string, args ...any)
	closers  []func() error
	config   string // of the daemons
}

// member is a daemon with its own network.
type member struct {
	*engines.Shoal

	store, fast *engines.Proxy
	api         *api
}

// build starts everything.
func (w *world) build(ctx context.Context, o *Options) error {
	if o.Folder {
		return w.populate(ctx, o)
	}
	var err error
	settings := map[string]string{"max_connections": "300"}
	if o.Lossy {
		settings["synchronous_commit"] = "off"
	}
	if w.postgres, err = engines.StartPostgres(ctx, &engines.PostgresOptions{Durable: true, Settings: settings}); err != nil {
		return err
	}
	w.closers = append(w.closers, w.postgres.Close)
	if w.redis, err = engines.StartRedis(ctx, nil); err != nil {
		return err
	}
	w.closers = append(w.closers, w.redis.Close)
	return w.populate(ctx, o)
}

// populate starts the daemons.
func (w *world) populate(ctx context.Context, o *Options) error {
	for i := range o.Daemons {
		if err := w.join(ctx, o, i); err != nil {
			return err
		}
	}
	return nil
}

// join starts a daemon behind proxies of its own.
func (w *world) join(ctx context.Context, o *Options, i int) error {
	m := new(member)
	so := engines.ShoalOptions{
		Binary: o.Binary, Name: fmt.Sprintf("d%d", i), Config: w.config,
		Store: filepath.Join(o.Logs, "game"), Log: filepath.Join(o.Logs, fmt.Sprintf("daemon%d.log", i)),
	}
	if !o.Folder {
		if err := w.connect(ctx, m); err != nil {
			return err
		}
		so.Store = w.postgres.URLAt(m.store.Addr(), "shoal")
		so.Fast = w.redis.URLAt(m.fast.Addr(), "shoal")
	}
	var err error
	if m.Shoal, err = engines.NewShoal(ctx, so); err != nil {
		return err
	}
	w.closers = append(w.closers, m.Close)
	m.api = newAPI(m.URL())
	w.closers = append(w.closers, func() error { m.api.http.CloseIdleConnections(); return nil })
	w.members = append(w.members, m)
	return m.Start(ctx)
}

// connect puts proxies between a daemon and the servers.
func (w *world) connect(ctx context.Context, m *member) (err error) {
	if m.store, err = engines.StartProxy(ctx, w.postgres.Addr()); err != nil {
		return err
	}
	w.closers = append(w.closers, m.store.Close)
	if m.fast, err = engines.StartProxy(ctx, w.redis.Addr()); err != nil {
		return err
	}
	w.closers = append(w.closers, m.fast.Close)
	return nil
}

// close ends everything, the last first.
func (w *world) close() error {
	var errs []error
	for i := range w.closers {
		errs = append(errs, w.closers[len(w.closers)-1-i]())
	}
	return errors.Join(errs...)
}

// run lets a lane of the plan happen until ctx ends. Every fault is over when it returns.
func (w *world) run(ctx context.Context, plan []Fault, l lane) error {
	for _, f := range plan {
		if f.lane != l {
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

// happen makes one fault and heals it.
func (w *world) happen(ctx context.Context, f Fault) error {
	whom, memory := everybody, f.Kind == ForgetRedis || f.Kind == RewindRedis
	if f.lane != engineLane {
		whom = f.Daemon
	}
	end := w.ledger.times.begin(w.ledger.now(), whom, memory)
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
	switch f.Kind {
	case CutStore:
		m.store.Cut()
	case CutFast:
		m.fast.Cut()
	case CutBoth:
		m.store.Cut()
		m.fast.Cut()
	case DelayBoth:
		m.store.Delay(f.Delay)
		m.fast.Delay(f.Delay)
	case ResetBoth:
		m.store.Reset()
		m.fast.Reset()
	case DeafToStore:
		m.store.DropAnswers()
	case DeafToFast:
		m.fast.DropAnswers()
	case KillDaemon, StopDaemon, PauseDaemon, KillPostgres, RestartPostgres, PausePostgres, ForgetRedis, RewindRedis, PauseRedis:
	}
	return func(context.Context) error {
		m.store.Heal()
		m.fast.Heal()
		return nil
	}
}

// folder is where the daemons' logs go.
func folder(o *Options) error { return os.MkdirAll(o.Logs, 0o750) }
