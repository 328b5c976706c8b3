package server_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/server"
)

func TestCloseWaitsForCallsInFlight(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	release := v.hold()
	defer release()
	got := make(chan answer, 1)
	go func() { got <- d.call("NodeService/Status", "{}") }()
	<-v.entered
	closed := make(chan error, 2)
	for range 2 {
		go func() { closed <- d.server.Close(context.WithoutCancel(t.Context())) }()
	}
	// The listener is gone before the call has ended.
	for {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", d.addr)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	select {
	case err := <-closed:
		t.Fatalf("closed with a call in flight: %v", err)
	default:
	}
	release()
	if a := <-got; a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for range 2 {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	if err := <-d.served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	d.served <- nil
	if err := d.server.Close(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
}

// A call over HTTP/2 is waited for as well: its connection carries many, and says goodbye.
func TestCloseWaitsForGRPCCalls(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	client := shoalv1connect.NewNodeServiceClient(d.wires()["gRPC"])
	release := v.hold()
	defer release()
	got := make(chan error, 1)
	go func() {
		_, err := client.Status(t.Context(), &shoalv1.NodeStatusRequest{})
		got <- err
	}()
	<-v.entered
	closed := make(chan error, 1)
	go func() { closed <- d.server.Close(context.WithoutCancel(t.Context())) }()
	for err := error(nil); err == nil; { // until the listener is gone
		var c net.Conn
		if c, err = new(net.Dialer).DialContext(t.Context(), "tcp", d.addr); err == nil {
			_ = c.Close()
		}
	}
	release()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := client.Status(t.Context(), &shoalv1.NodeStatusRequest{}); err == nil {
		t.Error("a call was answered after Close")
	}
}

func TestCloseBreaksWhatDoesNotEnd(t *testing.T) {
	v := newValve()
	d := startDaemon(t, setup{parts: v.install})
	release := v.hold()
	defer release()
	broken := make(chan error, 1)
	go func() {
		c, r := d.dial("POST /shoal.v1.NodeService/Status HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		_, err := r.ReadByte()
		_ = c.Close()
		broken <- err
	}()
	<-v.entered
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	err := d.server.Close(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 calls in flight") {
		t.Errorf("got %v", err)
	}
	if err := <-broken; err == nil {
		t.Error("the call was answered")
	}
	if served := <-d.served; !errors.Is(served, context.DeadlineExceeded) {
		t.Errorf("Serve: %v", served)
	}
	d.served <- nil
}

func TestServeEndsWithItsContext(t *testing.T) {
	d := startDaemon(t, setup{})
	s, err := server.New(server.Config{Node: d.node})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	d := startDaemon(t, setup{})
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.server.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
