package engines_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// echo serves lines: each is sent back. It tells what it has read.
type echo struct {
	net.Listener
	heard chan string
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{Listener: l, heard: make(chan string, 100)}
	var loops sync.WaitGroup
	loops.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			loops.Go(func() { e.serve(c) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); loops.Wait() })
	return e
}

func (e *echo) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		e.heard <- lines.Text()
		if _, err := io.WriteString(c, lines.Text()+"\n"); err != nil {
			return
		}
	}
}

// caller is a connection through a proxy.
type caller struct {
	net.Conn
	lines *bufio.Reader
}

func call(t *testing.T, p *engines.Proxy) *caller {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &caller{c, bufio.NewReader(c)}
}

func (c *caller) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (c *caller) hear(t *testing.T, want string) {
	t.Helper()
	if got, err := c.lines.ReadString('\n'); err != nil || got != want+"\n" {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

// deaf tells that nothing arrives for a while. That something arrives later would pass
// unnoticed; that something arrives at once, which is the fault to find, does not.
func (c *caller) deaf(t *testing.T) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.lines.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("heard %q, %v; want silence", got, err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

func TestProxyCutHoldsBytesUntilItHeals(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := enginetest.Proxy(t, e.Addr().String())
	before := call(t, p)
	before.say(t, "one")
	before.hear(t, "one")
	p.Cut()
	before.say(t, "two")
	meanwhile := call(t, p)
	meanwhile.say(t, "three")
	before.deaf(t)
	meanwhile.deaf(t)
	p.Heal()
	before.hear(t, "two")
	meanwhile.hear(t, "three")
}

func TestProxyResetBreaksConnections(t *testing.T) {
	t.Parallel()
	p := enginetest.Proxy(t, newEcho(t).Addr().String())
	c := call(t, p)
	c.say(t, "one")
	c.hear(t, "one")
	p.Reset()
	if _, err := c.lines.ReadString('\n'); err == nil || errors.Is(err, io.EOF) {
		t.Fatalf("after a reset: %v", err)
	}
	next := call(t, p)
	next.say(t, "two")
	next.hear(t, "two")
}

func TestProxyDropsAnswersOnly(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := enginetest.Proxy(t, e.Addr().String())
	c := call(t, p)
	lost := p.DropAnswers()
	c.say(t, "one")
	if got := <-e.heard; got != "one" {
		t.Fatalf("the server heard %q", got)
	}
	<-lost
	c.deaf(t)
	p.Heal()
	c.say(t, "two") // its answer would be taken for that of one
	if got, err := c.lines.ReadString('\n'); err == nil {
		t.Fatalf("heard %q on a connection that lost an answer", got)
	}
	next := call(t, p)
	next.say(t, "three")
	next.hear(t, "three")
}

func TestProxyDelaysEachWay(t *testing.T) {
	t.Parallel()
	p := enginetest.Proxy(t, newEcho(t).Addr().String())
	c := call(t, p)
	c.say(t, "one")
	c.hear(t, "one")
	const delay = 40 * time.Millisecond
	p.Delay(delay)
	start := time.Now()
	c.say(t, "two")
	c.hear(t, "two")
	if took := time.Since(start); took < 2*delay { // a lower bound: a busy machine only adds
		t.Fatalf("there and back in %v", took)
	}
	p.Delay(time.Hour)
	c.say(t, "three")
	c.deaf(t)
	p.Heal()
	c.hear(t, "three")
}

func TestProxyWithoutATarget(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := enginetest.Proxy(t, e.Addr().String())
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	var d net.Dialer
	if c, err := d.DialContext(t.Context(), "tcp", p.Addr()); err == nil {
		if n, err := c.Read(make([]byte, 1)); err == nil {
			t.Fatalf("a connection to nobody said %d B", n)
		}
		_ = c.Close()
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestProxyPassesMuch(t *testing.T) {
	t.Parallel()
	r := enginetest.OwnRedis(t, nil)
	p := enginetest.Proxy(t, r.Addr())
	c := call(t, p)
	big := make([]byte, 8<<20)
	do(t, r, "SET", "k", string(big))
	c.say(t, "GET k\r")
	c.hear(t, "$8388608\r")
	if n, err := io.ReadFull(c.lines, big); err != nil {
		t.Fatalf("%d B: %v", n, err)
	}
}
