package engines

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
)

const (
	// chunkSize is how much of a direction is passed on at once.
	chunkSize = 32 << 10
	// chunksOnTheWay is how many chunks a delayed direction holds; then its sender waits.
	chunksOnTheWay = 256
)

// pipe is one connection through a [Proxy].
type pipe struct {
	proxy  *Proxy
	client net.Conn
	ended  chan struct{} // closed when the connection is to end
	lossy  atomic.Bool   // an answer has been lost

	mu struct {
		sync.Mutex
		server net.Conn
		over   bool
	}
}

// chunk is bytes on their way.
type chunk struct {
	bytes []byte
	since time.Time
}

// serve connects to the target and passes bytes until one side ends.
func (c *pipe) serve() {
	defer c.proxy.remove(c)
	defer c.reset()
	if !c.fair() { // nobody learns whether the target is there
		return
	}
	server, err := net.DialTimeout("tcp", c.proxy.target, 5*time.Second) //nolint:noctx // a connection has no context; Reset ends it
	if err != nil || !c.join(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { c.pass(server, c.client, false) })
	both.Go(func() { c.pass(c.client, server, true) })
	both.Wait()
}

// join notes the target's side, unless the connection has ended meanwhile.
func (c *pipe) join(server net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.over {
		_ = server.Close()
		return false
	}
	c.mu.server = server
	return true
}

// reset breaks both sides. Bytes that are on their way are lost.
func (c *pipe) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.over {
		return
	}
	c.mu.over = true
	close(c.ended)
	breakOff(c.client)
	if c.mu.server != nil {
		breakOff(c.mu.server)
	}
}

// breakOff closes a connection so that the other side gets a reset.
func breakOff(conn net.Conn) {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = conn.Close()
}

// finish ends both sides as a server does that has said all.
func (c *pipe) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.over {
		return
	}
	c.mu.over = true
	close(c.ended)
	_ = c.client.Close()
	_ = c.mu.server.Close()
}

// pass carries one direction: one goroutine reads, another sends when the weather lets it.
func (c *pipe) pass(to, from net.Conn, answers bool) {
	way := make(chan chunk, chunksOnTheWay)
	var sender sync.WaitGroup
	sender.Go(func() {
		c.deliver(to, way, answers)
	})
	c.collect(from, way)
	close(way)
	sender.Wait()
	c.finish()
}

// collect reads until the sender ends.
func (c *pipe) collect(from net.Conn, way chan<- chunk) {
	for {
		b := make([]byte, chunkSize)
		n, err := from.Read(b)
		if n > 0 {
			select {
			case way <- chunk{bytes: b[:n], since: clock.System().Now()}:
			case <-c.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliver sends what comes, late or never.
func (c *pipe) deliver(to net.Conn, way <-chan chunk, answers bool) {
	for b := range way {
		if !c.fair() || !c.held(b.since) {
			return
		}
		if now, _ := c.proxy.now(); answers && now.deaf {
			c.lossy.Store(true)
			now.lose()
			continue
		}
		if c.lossy.Load() {
			c.reset()
			return
		}
		if _, err := to.Write(b.bytes); err != nil {
			c.reset()
			return
		}
	}
}

// fair waits while the network is cut; false when the connection ended meanwhile.
func (c *pipe) fair() bool {
	for {
		now, changed := c.proxy.now()
		if !now.cut {
			return true
		}
		select {
		case <-changed:
		case <-c.ended:
			return false
		}
	}
}

// held waits until bytes have been on their way for long enough; false when the connection
// ended meanwhile.
func (c *pipe) held(since time.Time) bool {
	for {
		now, changed := c.proxy.now()
		left := now.delay - clock.System().Now().Sub(since)
		if left <= 0 {
			return true
		}
		timer := clock.System().NewTimer(left)
		select {
		case <-timer.C():
		case <-changed:
		case <-c.ended:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}
