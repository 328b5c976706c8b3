package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shoalworks/shoal/internal/chaos/wrongclock"
	"github.com/shoalworks/shoal/internal/engines"
)

// Configuration is what daemons need to be played on: little time between saves, a board that
// is submitted to and one that follows the profiles, and short seasons, of which the first begins
// at a time of UTC.
func Configuration(begin time.Time) string {
	return fmt.Sprintf(`sets:
  players:
    template: {count: 0, got: {}, prizes: 0, coins: 0}
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
	postgres *engines.Postgres // nil when the store is a folder
	redis    *engines.Redis    // nil when the fast store is another
	sentinel *engines.Sentinel // nil when the fast store is another
	cluster  *engines.Cluster  // nil when the fast store is another
	shared   []*engines.Proxy  // before the cluster's masters, in their order
	members  []*member
	ledger   *Ledger
	say      func(format string, args ...any)
	kept     bool // redis keeps what it has acknowledged
	closers  []func() error
	config   string // of the daemons
	length   time.Duration
}

// member is a daemon with its own network.
type member struct {
	*engines.Shoal

	store *engines.Proxy   // nil when there is none
	fast  []*engines.Proxy // one for each server that it calls; those of a cluster are everybody's
	clock *timepiece
	api   *api
	bell  *bell
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
	if err := w.hasten(ctx, o.Fast); err != nil {
		return err
	}
	return w.populate(ctx, o)
}

// hasten starts the fast store.
func (w *world) hasten(ctx context.Context, fast Fast) (err error) {
	switch fast {
	case OneRedis, KeptRedis:
		w.kept = fast == KeptRedis
		if w.redis, err = engines.StartRedis(ctx, &engines.RedisOptions{AppendOnly: w.kept}); err == nil {
			w.closers = append(w.closers, w.redis.Close)
		}
	case Sentinel:
		if w.sentinel, err = engines.StartSentinel(ctx, nil); err == nil {
			w.closers = append(w.closers, w.sentinel.Close)
		}
	case Cluster:
		err = w.gather(ctx)
	case NoFast:
	default:
		return fmt.Errorf("chaos: fast store %q: %s, %s, %s, %s or %s expected", fast, OneRedis, KeptRedis, Sentinel, Cluster, NoFast)
	}
	return err
}

// gather starts a cluster, with a proxy before each master. A master tells its callers an
// address; here that is the proxy's, so that they can be cut off. The masters reach each other
// without.
func (w *world) gather(ctx context.Context) (err error) {
	if w.cluster, err = engines.StartCluster(ctx, nil); err != nil {
		return err
	}
	w.closers = append(w.closers, w.cluster.Close)
	for _, r := range w.cluster.Nodes() {
		p, err := engines.StartProxy(ctx, r.Addr())
		if err != nil {
			return err
		}
		w.closers = append(w.closers, p.Close)
		w.shared = append(w.shared, p)
	}
	return w.cluster.Announce(ctx, w.shared)
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

// forgetful tells whether boards are in a store that may lose what it has acknowledged.
func (w *world) forgetful() bool {
	return w.redis != nil && !w.kept || w.sentinel != nil || w.cluster != nil
}

// join starts a daemon behind proxies of its own.
func (w *world) join(ctx context.Context, o *Options, i int) error {
	m := &member{bell: newBell(), clock: &timepiece{dial: wrongclock.Dial(filepath.Join(o.Logs, fmt.Sprintf("clock%d", i)))}}
	so := engines.ShoalOptions{
		Binary: o.Binary, Name: fmt.Sprintf("d%d", i), Config: w.config,
		Flags: []string{"--clock-dial", string(m.clock.dial)},
		Store: filepath.Join(o.Logs, "game"), Log: filepath.Join(o.Logs, fmt.Sprintf("daemon%d.log", i)),
	}
	if !o.Folder {
		if err := w.connect(ctx, m, &so); err != nil {
			return err
		}
	}
	var err error
	if m.Shoal, err = engines.NewShoal(ctx, so); err != nil {
		return err
	}
	w.closers = append(w.closers, m.Close)
	m.api = newAPI(m.URL())
	w.closers = append(w.closers, func() error { m.api.http.CloseIdleConnections(); return nil })
	w.members = append(w.members, m)
	return errors.Join(m.clock.start(0), m.Start(ctx))
}

// connect puts proxies between a daemon and the servers.
func (w *world) connect(ctx context.Context, m *member, so *engines.ShoalOptions) (err error) {
	if m.store, err = engines.StartProxy(ctx, w.postgres.Addr()); err != nil {
		return err
	}
	w.closers = append(w.closers, m.store.Close)
	so.Store = w.postgres.URLAt(m.store.Addr(), "shoal")
	if w.sentinel != nil {
		so.Fast = w.sentinel.URL("shoal")
	}
	if w.cluster != nil {
		m.fast, so.Fast = w.shared, w.cluster.URLAt(w.shared, "shoal")
	}
	if w.redis == nil {
		return nil
	}
	fast, err := engines.StartProxy(ctx, w.redis.Addr())
	if err != nil {
		return err
	}
	w.closers = append(w.closers, fast.Close)
	m.fast, so.Fast = []*engines.Proxy{fast}, w.redis.URLAt(fast.Addr(), "shoal")
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

// folder is where the daemons' logs go.
func folder(o *Options) error { return os.MkdirAll(o.Logs, 0o750) }
