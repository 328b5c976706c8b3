package engines

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy is a TCP proxy on loopback before one address, whose network can be made to fail. It
// begins healed. Each fault holds for the connections that are there and those that come,
// until Heal or another fault takes its place.
type Proxy struct {
	target string
	listen net.Listener
	loops  sync.WaitGroup

	mu struct {
		sync.Mutex
		weather weather
		changed chan struct{} // closed when the weather changes
		pipes   map[*pipe]struct{}
		closed  bool
	}
}

// weather is what the network does to bytes.
type weather struct {
	cut   bool          // they wait
	deaf  bool          // answers are lost
	delay time.Duration // each way

	lost  chan struct{} // closed, once, with the first answer that is lost
	first *sync.Once
}

// lose drops an answer.
func (w weather) lose() { w.first.Do(func() { close(w.lost) }) }

// StartProxy listens on a port of loopback and passes connections on to target (host:port),
// which need not be there yet.
func StartProxy(ctx context.Context, target string) (*Proxy, error) {
	var l net.ListenConfig
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	listen, err := l.Listen(ctx, "tcp", loopback(port))
	if err != nil {
		return nil, fmt.Errorf("engines: proxy: %w", err)
	}
	p := &Proxy{target: target, listen: listen}
	p.mu.changed = make(chan struct{})
	p.mu.pipes = make(map[*pipe]struct{})
	p.loops.Go(p.accept)
	return p, nil
}

// Addr is host:port on which the proxy listens.
func (p *Proxy) Addr() string { return p.listen.Addr().String() }

// Cut stops all bytes, as a cable that is pulled does: nobody is told. Connections that are
// opened meanwhile are accepted and hear nothing. After Heal what was sent goes on.
func (p *Proxy) Cut() { p.set(weather{cut: true}) }

// Delay holds every byte for d in each direction. The order stays.
func (p *Proxy) Delay(d time.Duration) { p.set(weather{delay: d}) }

// DropAnswers passes on what clients send, and loses what the server answers. Connections that
// have lost something are reset by Heal, since what follows would make no sense. The channel
// is closed when the first answer has been lost.
func (p *Proxy) DropAnswers() (lost <-chan struct{}) {
	w := weather{deaf: true, lost: make(chan struct{}), first: &sync.Once{}}
	p.set(w)
	return w.lost
}

// Heal ends the faults.
func (p *Proxy) Heal() { p.set(weather{}) }

// Reset breaks all connections at once, on both sides; new ones are served as the faults have it.
func (p *Proxy) Reset() {
	p.mu.Lock()
	pipes := make([]*pipe, 0, len(p.mu.pipes))
	for c := range p.mu.pipes {
		pipes = append(pipes, c)
	}
	p.mu.Unlock()
	for _, c := range pipes {
		c.reset()
	}
}

// Close ends the proxy and its connections. Closed again it does nothing.
func (p *Proxy) Close() error {
	p.mu.Lock()
	closed := p.mu.closed
	p.mu.closed = true
	p.mu.Unlock()
	if closed {
		return nil
	}
	err := p.listen.Close()
	p.Reset()
	p.loops.Wait()
	return err
}

func (p *Proxy) set(w weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.weather = w
	close(p.mu.changed)
	p.mu.changed = make(chan struct{})
}

// now is the weather, and a channel that is closed when it changes.
func (p *Proxy) now() (weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.weather, p.mu.changed
}

// accept serves connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		c := &pipe{proxy: p, client: client, ended: make(chan struct{})}
		if !p.add(c) {
			c.reset()
			return
		}
		p.loops.Go(c.serve)
	}
}

// add notes a connection, unless the proxy has been closed.
func (p *Proxy) add(c *pipe) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed {
		return false
	}
	p.mu.pipes[c] = struct{}{}
	return true
}

func (p *Proxy) remove(c *pipe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.pipes, c)
}
