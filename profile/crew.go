package profile

import "sync"

// crew runs the writes of sessions, at most limit at once. Workers start when there is work
// and end when there is none, so that idle sessions cost nothing. Each session waits in each
// lane at most once: the lanes are as long as there are sessions.
type crew struct {
	limit int
	spawn func(func())
	mu    struct {
		sync.Mutex
		lanes [2][]*Session
		heads [2]int
		busy  int
	}
}

// lane is how urgent a write is.
type lane uint8

const (
	urgent lane = iota // somebody waits: Save, final saves
	plain              // autosave, fallback
)

// add queues a session. The session sees to it that it does so once a lane.
func (c *crew) add(s *Session, l lane) {
	c.mu.Lock()
	c.mu.lanes[l] = append(c.mu.lanes[l], s)
	hire := c.mu.busy < c.limit
	if hire {
		c.mu.busy++
	}
	c.mu.Unlock()
	if hire {
		c.spawn(c.work)
	}
}

func (c *crew) work() {
	for {
		s, l := c.next()
		if s == nil {
			return
		}
		s.work(l)
	}
}

// next takes the next session, urgent ones first; nil ends the worker.
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
	c.mu.busy--
	return nil, plain
}
