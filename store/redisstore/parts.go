package redisstore

import "sync"

// parts counts the parts of an engine that are in use: when the last of them is closed, so
// are the connections, whoever closes them.
type parts struct {
	free func()
	mu   struct {
		sync.Mutex
		used, closed map[string]bool
	}
}

func newParts(free func()) *parts {
	p := &parts{free: free}
	p.mu.used, p.mu.closed = make(map[string]bool), make(map[string]bool)
	return p
}

// use tells that somebody has got the part, and will close it.
func (p *parts) use(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.used[name] = true
}

// end is called when the part has been closed.
func (p *parts) end(name string) func() {
	return func() {
		p.mu.Lock()
		p.mu.closed[name] = true
		last := true
		for used := range p.mu.used {
			last = last && p.mu.closed[used]
		}
		p.mu.Unlock()
		if last {
			p.free()
		}
	}
}
