package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// daemon is a server on a real socket, over memory.
type daemon struct {
	t      *testing.T
	addr   string
	engine *memstore.Engine
	node   *node.Node
	server *server.Server
	client *http.Client
	log    *logbook
	served chan error
}

// setup is what a test wants otherwise.
type setup struct {
	engine *memstore.Engine
	parts  func(store.Parts) store.Parts // decorates the store
	config func(*server.Config)
}

func startDaemon(t *testing.T, set setup) *daemon {
	t.Helper()
	d := &daemon{t: t, engine: set.engine, log: new(logbook), served: make(chan error, 1)}
	if d.engine == nil {
		d.engine = memstore.New(nil)
	}
	parts := d.engine.Parts()
	if set.parts != nil {
		parts = set.parts(parts)
	}
	st, err := store.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d.node, err = node.Start(t.Context(), st, &node.Options{Name: "test", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	cfg := server.Config{Node: d.node, Version: "1.2.3"}
	if set.config != nil {
		set.config(&cfg)
	}
	d.server, err = server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr().String()
	d.client = &http.Client{Transport: &http.Transport{}}
	go func() { d.served <- d.server.Serve(context.WithoutCancel(t.Context()), l) }()
	t.Cleanup(func() { d.stop(st) })
	return d
}

// stop ends the daemon in order. The test's own context has ended by then.
func (d *daemon) stop(st *store.Store) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	d.client.CloseIdleConnections()
	_ = d.server.Close(ctx) // tests that break it look at the error themselves
	<-d.served
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
	defer res.Body.Close()
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
