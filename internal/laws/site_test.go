package laws_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// patience is how long a test waits for what must come: reaching it is a failure.
const patience = 60 * time.Second

// site is one composition of engines; every node opens handles of its own.
type site struct {
	open func(t *testing.T) store.Parts
}

// compositions are the sites that are tested, by name.
func compositions() map[string]func(t *testing.T) site {
	return map[string]func(t *testing.T) site{
		"memory": func(*testing.T) site {
			e := memstore.New(&memstore.Options{Apart: true})
			return site{open: func(*testing.T) store.Parts { return e.Parts() }}
		},
		"memory, single keys": func(*testing.T) site {
			durable, fast := memstore.New(nil), memstore.New(&memstore.Options{SingleKey: true})
			return site{open: func(*testing.T) store.Parts { return beside(durable.Parts(), fast.Parts()) }}
		},
		"sqlite": func(t *testing.T) site {
			t.Helper()
			folder := t.TempDir()
			return site{open: func(t *testing.T) store.Parts { t.Helper(); return onSQLite(t, folder) }}
		},
		"sqlite, redis": func(t *testing.T) site {
			t.Helper()
			folder, url := t.TempDir(), enginetest.Redis(t).URL(enginetest.Prefix(t))
			return site{open: func(t *testing.T) store.Parts {
				t.Helper()
				return beside(onSQLite(t, folder), onRedis(t, url))
			}}
		},
		"postgres": func(t *testing.T) site {
			t.Helper()
			url := enginetest.Postgres(t).URL(enginetest.Schema(t))
			return site{open: func(t *testing.T) store.Parts { t.Helper(); return onPostgres(t, url) }}
		},
		"postgres, redis": func(t *testing.T) site {
			t.Helper()
			url, fast := enginetest.Postgres(t).URL(enginetest.Schema(t)), enginetest.Redis(t).URL(enginetest.Prefix(t))
			return site{open: func(t *testing.T) store.Parts {
				t.Helper()
				return beside(onPostgres(t, url), onRedis(t, fast))
			}}
		},
		"pgbouncer, redis cluster": func(t *testing.T) site {
			t.Helper()
			url := enginetest.PgBouncer(t, enginetest.Postgres(t)).URL(enginetest.Schema(t))
			fast := enginetest.Cluster(t).URL(enginetest.Prefix(t))
			return site{open: func(t *testing.T) store.Parts {
				t.Helper()
				return beside(onPostgres(t, url), onRedis(t, fast))
			}}
		},
	}
}

// beside is a store whose beats, journals, boards and messages are on another engine.
func beside(p, fast store.Parts) store.Parts {
	p.Boards, p.Bus = fast.Boards, fast.Bus
	if p.Fast = fast.Fast; p.Fast == nil {
		p.Fast = fast.Durable
	}
	return p
}

func onSQLite(t *testing.T, folder string) store.Parts {
	t.Helper()
	e, err := sqlitestore.Open(t.Context(), folder, nil)
	must(t, err)
	closing(t, e.Close)
	return store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus()}
}

func onPostgres(t *testing.T, url string) store.Parts {
	t.Helper()
	e, err := pgstore.Open(t.Context(), url, nil)
	must(t, err)
	closing(t, e.Close)
	return store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus()}
}

func onRedis(t *testing.T, url string) store.Parts {
	t.Helper()
	e, err := redisstore.Open(t.Context(), url, nil)
	must(t, err)
	closing(t, e.Close)
	return store.Parts{Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus()}
}

// onEachSite runs a test on every composition.
func onEachSite(t *testing.T, test func(t *testing.T, s site)) {
	t.Helper()
	for name, build := range compositions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, build(t))
		})
	}
}

// closing ends something when the test does, after what was started later.
func closing(t *testing.T, end func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := end(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// server is a node of the site, behind faults of its own.
type server struct {
	*shoal.Node
	faults  *faultstore.Faults
	players *profile.Set
}

var servers atomic.Int64 // that were started, for their names

// boards are the leaderboards of every server.
func boards() map[string]board.Config {
	return map[string]board.Config{
		"best": {Rule: store.Best}, "sum": {Rule: store.Sum}, "fastest": {Rule: store.Best, Order: store.Ascending},
	}
}

// start starts a node. It beats five times a second, so that the dead are found soon.
func (s site) start(t *testing.T, change func(*shoal.Options)) *server {
	t.Helper()
	faults := faultstore.New(nil)
	st, err := store.New(faults.Wrap(s.open(t)))
	if err != nil {
		t.Fatal(err)
	}
	o := &shoal.Options{
		Node: node.Options{
			Name: fmt.Sprintf("n%d", servers.Add(1)), Beat: 200 * time.Millisecond, DeadAfter: time.Second,
			LeaseTimeout: 5 * time.Second, CloseTimeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
		},
		Sets: map[string]*profile.Options{"players": {
			Template: doc.Must(map[string]any{"coins": 0, "done": map[string]any{}}), JournalEvery: 200 * time.Millisecond,
			ReapEvery: time.Second, FallbackSave: time.Second,
		}},
		Boards: boards(),
		Flush:  &board.Options{FlushEvery: 100 * time.Millisecond},
	}
	if change != nil {
		change(o)
	}
	n, err := shoal.Start(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	x := &server{Node: n, faults: faults, players: n.Set("players")}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		faults.SetRule(nil)
		if _, err := n.Close(ctx); err != nil && !faults.Crashed() {
			t.Errorf("close %s: %v", n.ID(), err)
		}
	})
	return x
}

// fleet starts n nodes.
func (s site) fleet(t *testing.T, n int) []*server {
	t.Helper()
	out := make([]*server, n)
	for i := range out {
		out[i] = s.start(t, nil)
	}
	return out
}

// within is a context for what must come.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// load opens a player, however often it takes.
func (x *server) load(t *testing.T, key string) *profile.Session {
	t.Helper()
	ctx := within(t)
	for {
		s, err := x.players.Load(ctx, key, nil)
		if err == nil {
			return s
		}
		if ctx.Err() != nil {
			t.Fatalf("%s never opened on %s: %v", key, x.ID(), err)
		}
	}
}
