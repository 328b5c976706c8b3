package profile

import (
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// crew runs the writes of sessions, at most limit at once. Workers start when there is work
// and go home when there has been none for a while, so that idle sessions cost nothing. Each
// session waits in each lane at most once: the lanes are as long as there are sessions.
type crew struct {
	limit int
	clk   clock.Clock
	spawn func(func())
	wake  chan struct{} // one for each worker that was called back; never blocks
	home  chan struct{} // closed when nobody lingers any more
	mu    struct {
		sync.Mutex
		lanes   [2][]*Session
		heads   [2]int
		workers int // working or lingering
		idle    int // lingering, and not called back yet
	}
}

// lane is how urgent a write is.
type lane uint8

const (
	urgent lane = iota // somebody waits: Save, final saves
	plain              // autosave, fallback
)

// linger is how long a worker waits for more. A goroutine that has just grown its stack is
// worth keeping while there are saves every moment.
const linger = 100 * time.Millisecond

func newCrew(limit int, clk clock.Clock, spawn func(func())) *crew {
	return &crew{limit: limit, clk: clk, spawn: spawn, wake: make(chan struct{}, limit), home: make(chan struct{})}
}

// dismiss has workers go home as soon as there is nothing to do.
func (c *crew) dismiss() { close(c.home) }

// add queues a session. The session sees to it that it does so once a lane.
func (c *crew) add(s *Session, l lane) {
	c.mu.Lock()
	c.mu.lanes[l] = append(c.mu.lanes[l], s)
	hire := false
	switch {
	case c.mu.idle > 0:
		c.mu.idle--
		c.wake <- struct{}{}
	case c.mu.workers < c.limit:
		c.mu.workers++
		hire = true
	}
	c.mu.Unlock()
	if hire {
		c.spawn(c.work)
	}
}

func (c *crew) work() {
	t := c.clk.NewTimer(linger)
	defer t.Stop()
	for {
		t.Stop()
		for s, l := c.next(); s != nil; s, l = c.next() {
			s.work(l)
		}
		t.Reset(linger)
		if !c.linger(t) {
			return
		}
	}
}

// linger waits for a while to be called back; false sends the worker home.
func (c *crew) linger(t clock.Timer) bool {
	select {
	case <-c.wake:
		return true
	case <-t.C():
	case <-c.home:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.idle == 0 { // all who linger have been called back, this one too
		<-c.wake
		return true
	}
	c.mu.idle--
	c.mu.workers--
	return false
}

// next takes the next session, urgent ones first; nil makes the worker linger.
func (c *crew) next() (*Session, lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := urgent; l <= plain; l++ {
		queue, head := c.mu.lanes[l], c.mu.heads[l]
		if head == len(queue) {
			continue
		}
		s := queue[head]
		queue[head] = nil
		head++
		if 2*head >= len(queue) { // the emptied half is used again, so that a lane does not creep
			queue, head = queue[:copy(queue, queue[head:])], 0
		}
		c.mu.lanes[l], c.mu.heads[l] = queue, head
		return s, l
	}
	c.mu.idle++
	return nil, plain
}
