package server_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// daemon is a server on a real socket, over memory.
type daemon struct {
	t      testing.TB
	addr   string
	engine *memstore.Engine
	node   *shoal.Node
	set    *profile.Set
	guilds *profile.Set
	boards *board.Service
	reef   *season.Service
	server *server.Server
	client *http.Client
	log    *logbook
	served chan error
	cursor string // the last one of a walk, on the page
}

// setup is what a test wants otherwise.
type setup struct {
	engine *memstore.Engine
	parts  func(store.Parts) store.Parts // decorates the store
	set    profile.Options
	clock  clock.Clock
	name   string
	beat   time.Duration
	epoch  time.Time // of the seasons; default an hour ago
	boards map[string]board.Config
	wire   func(*shoal.Options)
	config func(*server.Config)
}

func startDaemon(tb testing.TB, set setup) *daemon {
	tb.Helper()
	d := &daemon{t: tb, engine: set.engine, log: new(logbook), served: make(chan error, 1)}
	if d.engine == nil {
		d.engine = memstore.New(nil)
	}
	parts := d.engine.Parts()
	if set.parts != nil {
		parts = set.parts(parts)
	}
	st, err := store.New(parts)
	if err != nil {
		tb.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts := set.options(logger)
	if set.wire != nil {
		set.wire(opts)
	}
	d.node, err = shoal.Start(tb.Context(), st, opts)
	if err != nil {
		tb.Fatal(err)
	}
	d.set, d.guilds, d.boards, d.reef = d.node.Set("players"), d.node.Set("guilds"), d.node.Boards(), d.node.Season("reef").Service
	cfg := server.Config{Node: d.node, Version: "1.2.3"}
	if set.config != nil {
		set.config(&cfg)
	}
	d.server, err = server.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	d.addr = l.Addr().String()
	d.client = &http.Client{Transport: &http.Transport{}}
	ctx := context.WithoutCancel(tb.Context())
	go func() { d.served <- d.server.Serve(ctx, l) }()
	tb.Cleanup(func() { d.stop(st) })
	return d
}

// options are the sets players and guilds, the boards coins, laps and total, the seasons reef.
func (set setup) options(logger *slog.Logger) *shoal.Options {
	least, most := int64(0), int64(math.MaxInt64)
	if set.boards == nil {
		set.boards = map[string]board.Config{
			"coins": {CacheFor: time.Minute},
			"laps":  {Order: store.Ascending, Decimals: 3, Min: &least, Max: &most, CacheFor: -1},
			"total": {Rule: store.Sum, CacheFor: -1, MaxEntries: 3},
		}
	}
	rules := season.Reef()
	rules.Epoch, rules.Length = set.epoch, 45*24*time.Hour
	if set.epoch.IsZero() {
		rules.Epoch = time.Now().Truncate(time.Second).Add(-time.Hour)
	}
	return &shoal.Options{
		Node:    node.Options{Name: cmp.Or(set.name, "test"), Logger: logger, Clock: set.clock, Beat: set.beat},
		Sets:    map[string]*profile.Options{"players": &set.set, "guilds": nil},
		Boards:  set.boards,
		Flush:   &board.Options{FlushEvery: -1}, // a test flushes
		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: rules}},
	}
}

// flush writes the scores that wait.
func (d *daemon) flush() {
	d.t.Helper()
	if err := d.boards.FlushNow(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// stop ends the daemon in order. The test's own context has ended by then.
func (d *daemon) stop(st *store.Store) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.t.Context()), 20*time.Second)
	defer cancel()
	d.client.CloseIdleConnections()
	_ = d.server.Close(ctx) // tests that break it look at the error themselves
	if err := <-d.served; err != nil {
		d.t.Logf("served until: %v", err) // tests that break it look at the error themselves
	}
	if _, err := d.node.Close(ctx); err != nil {
		d.t.Errorf("node: close: %v", err)
	}
	if err := st.Close(ctx); err != nil {
		d.t.Errorf("store: close: %v", err)
	}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request as a program without a library would.
func (d *daemon) do(method, path, body string, headers ...string) answer {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), method, "http://"+d.addr+path, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// call posts JSON to a method such as "NodeService/Status".
func (d *daemon) call(method, body string, headers ...string) answer {
	d.t.Helper()
	return d.do(http.MethodPost, "/shoal.v1."+method, body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

// read sends a side-effect-free call as a GET.
func (d *daemon) read(method, message string, headers ...string) answer {
	d.t.Helper()
	q := url.Values{"encoding": {"json"}, "message": {message}}
	return d.do(http.MethodGet, "/shoal.v1."+method+"?"+q.Encode(), "", headers...)
}

// logbook keeps what was logged.
type logbook struct {
	mu struct {
		sync.Mutex
		text bytes.Buffer
	}
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.text.Write(p)
}

// has tells whether one line has all the parts.
func (l *logbook) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.mu.text.String()) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

// put stores a value behind everybody's back.
func put(t *testing.T, d *daemon, key, value string) {
	t.Helper()
	t.Helper()
	for _, err := range d.node.Store().Durable().Commit(t.Context(), store.Tx{{Key: key, Op: store.Put, Value: []byte(value), Version: d.node.NewVersion("test", key)}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}
