package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

func TestProbes(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	if got := d.do("GET", "/readyz", ""); got.status != 200 || got.body != "ok\n" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %q %v", got.status, got.body, got.header)
	}
	v.breakWith(store.ErrUnavailable, nil)
	if got := d.do("GET", "/readyz", ""); got.status != 503 || !strings.Contains(got.body, "the store does not answer") {
		t.Errorf("with the store down: %d %q", got.status, got.body)
	}
	if got := d.do("GET", "/livez", ""); got.status != 200 {
		t.Errorf("live with the store down: %d", got.status)
	}
	v.breakWith(nil, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := d.node.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := d.do("GET", "/readyz", ""); got.status != 503 || !strings.Contains(got.body, "shutting down") {
		t.Errorf("while the node closes: %d %q", got.status, got.body)
	}
}

// A node whose heartbeats do not land is of no use to players, though the store answers.
func TestSilentNodesAreNotReady(t *testing.T) {
	var m mute
	d := startDaemon(t, setup{engine: memstore.New(&memstore.Options{Apart: true}), parts: m.install, beat: 20 * time.Millisecond})
	m.shut.Store(true)
	got := d.do("GET", "/readyz", "")
	for got.status == 200 {
		got = d.do("GET", "/readyz", "")
	}
	if got.status != 503 || !strings.Contains(got.body, "heartbeats do not land") {
		t.Errorf("%d %q", got.status, got.body)
	}
	m.shut.Store(false)
	for got.status != 200 {
		got = d.do("GET", "/readyz", "")
	}
}
