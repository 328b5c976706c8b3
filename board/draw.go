package board

import "github.com/shoalworks/shoal/store"

// This file takes values out of a queue one by one, for a Backend that writes one key a call.
// A window is opened first; then each key that waited at that time is drawn once. A key that
// comes, or comes back, after it was opened waits for the next one.

// opening begins a window. It is called by the writing goroutine.
func (q *queue) opening() {
	for i := range q.parts {
		p := &q.parts[i]
		p.mu.Lock()
		p.mu.window++
		p.mu.Unlock()
	}
}

// draw takes out the oldest value of a shard that waited when the window was opened. Shards
// take turns.
func (q *queue) draw() (pending, bool) {
	for range shards {
		p := &q.parts[q.turn]
		q.turn = (q.turn + 1) % shards
		if v, ok := p.draw(); ok {
			q.depth.Add(-1)
			return v, true
		}
	}
	return pending{}, false
}

func (p *shard) draw() (pending, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.mu.head < len(p.mu.slots); p.mu.head++ {
		v := p.mu.slots[p.mu.head]
		if v.key == "" {
			continue
		}
		if v.window == p.mu.window {
			break // and all behind it
		}
		p.removeLocked(p.mu.base + int64(p.mu.head))
		p.mu.head++
		if len(p.mu.index) == 0 {
			p.emptyLocked()
		} else {
			p.compactLocked()
		}
		return v, true
	}
	return pending{}, false
}

// returns puts values that were drawn behind what waits, combined with what is newer, so that
// a key that the Backend does not take holds up no other.
func (q *queue) returns(values []pending) {
	for _, v := range values {
		if q.parts[shardOf(v.key)].putBehind(v, q.rule, q.order) {
			q.depth.Add(1)
		}
	}
}

// putBehind tells whether the shard has grown by a key.
func (p *shard) putBehind(v pending, rule store.Rule, order store.Order) (grown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.mixed = true
	number, waits := p.mu.index[v.key]
	if !waits {
		p.pushLocked(v)
		return true
	}
	slot := &p.mu.slots[number-p.mu.base]
	window := slot.window
	*slot = v.with(*slot, rule, order)
	slot.window = window
	return false
}
