package board

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
)

// shards is how many parts a queue has, so that submits of many goroutines seldom meet.
const shards = 16

// roomy is the size up to which an emptied shard keeps its memory for the next window.
const roomy = 4096

// pending is a value that waits, or that is being written.
type pending struct {
	value
	key    string
	since  time.Duration // when the oldest of what it combines was submitted, since the service began
	awaits *tickets      // who waits for it to be stored; nil: nobody
	tries  int           // failed windows in a row
	window uint32        // the window of the queue in which it came; see opening
	doubt  bool          // an earlier write of a part of it may have been applied, or still will be
}

// submission is a call of Submit.
type submission struct {
	value
	key    string
	since  time.Duration
	own    bool     // store.Last: the stamp's revision is a time; keep it growing
	awaits *tickets // who waits for it to be stored; nil: nobody

	mirrored bool // from a profile, for a board with Config.From
}

// queue is what waits for one board, oldest first within each shard. It holds no more keys
// than limit, but for values that come back from a failed write.
//
// The keys of a shard are found by their number, which counts on while slots are taken from
// the front: slots[number-base]. It is a deque, not a list, so that submits allocate nothing
// once it has grown.
type queue struct {
	rule  store.Rule
	order store.Order
	limit int64

	depth atomic.Int64 // keys in all shards
	parts [shards]shard
	turn  int // the shard that detach and draw begin with; owned by the board's mutex
}

type shard struct {
	mu struct {
		sync.Mutex
		closed    error            // why submits are refused; nil while they are not
		submitted uint64           // accepted submits
		stamp     uint64           // the last own stamp
		index     map[string]int64 // key → number of its slot
		slots     []pending        // slots[head:] wait; one without key was taken out
		head      int
		base      int64  // the number of slots[0]
		window    uint32 // see opening
		mixed     bool   // a value that came back is behind newer ones
	}
	_ [32]byte // fills two cache lines: neighbours do not share one
}

// shardOf spreads keys over the shards. It is the same in every process, so that a simulated
// run can be repeated.
func shardOf(key string) int {
	var first, last uint64
	if n := len(key); n >= 8 {
		first, last = eight(key), eight(key[n-8:])
	} else {
		for i := range n {
			first = first<<8 | uint64(key[i])
		}
	}
	h := (first ^ last*0x9e3779b97f4a7c15 ^ uint64(len(key))) * 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return int(h >> 60)
}

func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// submit combines s with what waits for its key. It answers ErrFull, ErrOverflow, a
// refusal of the key, or the reason of close.
func (q *queue) submit(board string, s *submission) error {
	p := &q.parts[shardOf(s.key)]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.closed != nil {
		return p.mu.closed
	}
	if s.own {
		p.mu.stamp = max(p.mu.stamp+1, s.stamp.Revision)
		s.stamp.Revision = p.mu.stamp
	}
	if number, ok := p.mu.index[s.key]; ok {
		slot := &p.mu.slots[number-p.mu.base]
		combined, fits := coalesce(q.rule, q.order, slot.value, s.value)
		if !fits {
			return ErrOverflow
		}
		slot.value = combined
		if s.awaits != nil {
			slot.awaits = slot.awaits.and(s.awaits)
		}
		p.mu.submitted++
		return nil
	}
	// A key that waits was checked when it came.
	if err := checkKey(board, s.key); err != nil {
		return err
	}
	if q.depth.Add(1) > q.limit {
		q.depth.Add(-1)
		return ErrFull
	}
	p.pushLocked(pending{value: s.value, key: s.key, since: s.since, awaits: s.awaits})
	p.mu.submitted++
	return nil
}

// detach takes up to n values out, the oldest of each shard first. Shards take turns from
// one call to the next.
func (q *queue) detach(n int) []pending {
	out := make([]pending, 0, min(n, int(q.depth.Load())))
	for range shards {
		before := len(out)
		out = q.parts[q.turn].pop(out, n-len(out))
		q.depth.Add(int64(before - len(out)))
		if len(out) == n {
			break
		}
		q.turn = (q.turn + 1) % shards
	}
	return out
}

// giveBack puts values that were taken out to the front again, combined with what is newer.
// It never overflows: sums are not given back (see board.hold).
func (q *queue) giveBack(values []pending) {
	var parts [shards][]pending
	for _, v := range values {
		i := shardOf(v.key)
		parts[i] = append(parts[i], v)
	}
	for i := range parts {
		if len(parts[i]) > 0 {
			q.depth.Add(int64(q.parts[i].unpop(parts[i], q.rule, q.order)))
		}
	}
}

// take takes out what waits for the keys.
func (q *queue) take(keys []string) []pending {
	var out []pending
	for _, key := range keys {
		if v, ok := q.parts[shardOf(key)].take(key); ok {
			q.depth.Add(-1)
			out = append(out, v)
		}
	}
	return out
}

// close refuses submits from now on, for the reason; nil opens the queue again. When it
// returns, no submit is under way that will still be accepted.
func (q *queue) close(reason error) {
	for i := range q.parts {
		p := &q.parts[i]
		p.mu.Lock()
		p.mu.closed = reason
		p.mu.Unlock()
	}
}

// measure is how many submits were accepted, and since when the oldest value waits.
func (q *queue) measure() (submitted uint64, oldest time.Duration, waits bool) {
	for i := range q.parts {
		n, since, ok := q.parts[i].measure()
		submitted += n
		if ok && (!waits || since < oldest) {
			oldest, waits = since, true
		}
	}
	return submitted, oldest, waits
}

func (p *shard) measure() (submitted uint64, oldest time.Duration, waits bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range p.mu.slots[p.mu.head:] {
		if v.key == "" {
			continue
		}
		if !waits || v.since < oldest {
			oldest, waits = v.since, true
		}
		if !p.mu.mixed {
			break
		}
	}
	return p.mu.submitted, oldest, waits
}

// with is a value that comes back, combined with the newer one that waits for its key. Its
// failed windows stay counted.
func (v pending) with(newer pending, rule store.Rule, order store.Order) pending {
	v.value, _ = coalesce(rule, order, v.value, newer.value)
	v.awaits = v.awaits.and(newer.awaits)
	v.doubt = v.doubt || newer.doubt
	return v
}

func (p *shard) pushLocked(v pending) {
	if p.mu.index == nil {
		p.mu.index = make(map[string]int64)
	}
	v.window = p.mu.window
	p.mu.index[v.key] = p.mu.base + int64(len(p.mu.slots))
	p.mu.slots = append(p.mu.slots, v)
}

// pop appends up to n values from the front to out.
func (p *shard) pop(out []pending, n int) []pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	whole := n >= len(p.mu.index)
	for ; n > 0 && p.mu.head < len(p.mu.slots); p.mu.head++ {
		v := &p.mu.slots[p.mu.head]
		if v.key == "" {
			continue
		}
		out = append(out, *v)
		n--
		if !whole {
			delete(p.mu.index, v.key)
		}
		*v = pending{}
	}
	if whole {
		p.emptyLocked()
	} else {
		p.compactLocked()
	}
	return out
}

func (p *shard) take(key string) (pending, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	number, ok := p.mu.index[key]
	if !ok {
		return pending{}, false
	}
	v := p.removeLocked(number)
	if len(p.mu.index) == 0 {
		p.emptyLocked()
	} else {
		p.compactLocked()
	}
	return v, true
}

// removeLocked takes the slot with the number out and leaves a hole.
func (p *shard) removeLocked(number int64) pending {
	slot := &p.mu.slots[number-p.mu.base]
	v := *slot
	*slot = pending{}
	delete(p.mu.index, v.key)
	return v
}

// unpop puts values to the front, in their order, and answers by how many keys the shard has
// grown. The failed windows of a value stay counted when a newer one has come.
func (p *shard) unpop(values []pending, rule store.Rule, order store.Order) (grown int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.makeRoomLocked(len(values))
	if p.mu.index == nil {
		p.mu.index = make(map[string]int64)
	}
	for i := len(values) - 1; i >= 0; i-- {
		v := values[i]
		if number, ok := p.mu.index[v.key]; ok {
			v = v.with(p.removeLocked(number), rule, order)
			grown--
		}
		p.mu.head--
		p.mu.slots[p.mu.head] = v
		p.mu.index[v.key] = p.mu.base + int64(p.mu.head)
		grown++
	}
	return grown
}

// makeRoomLocked makes room for n slots before the head.
func (p *shard) makeRoomLocked(n int) {
	if p.mu.head >= n {
		return
	}
	shift := n - p.mu.head
	slots := make([]pending, n+len(p.mu.slots)-p.mu.head)
	copy(slots[n:], p.mu.slots[p.mu.head:])
	p.mu.slots, p.mu.head = slots, n
	p.mu.base -= int64(shift)
}

// compactLocked closes the gap at the front, and the holes, when they are the larger part.
func (p *shard) compactLocked() {
	n := len(p.mu.slots)
	if n-len(p.mu.index) <= n/2 {
		return
	}
	if holes := n - p.mu.head - len(p.mu.index); holes <= n/4 {
		p.mu.base += int64(p.mu.head)
		p.keepLocked(copy(p.mu.slots, p.mu.slots[p.mu.head:]))
		return
	}
	live := 0
	for _, v := range p.mu.slots[p.mu.head:] {
		if v.key != "" {
			p.mu.slots[live] = v
			p.mu.index[v.key] = p.mu.base + int64(live)
			live++
		}
	}
	p.keepLocked(live)
}

// keepLocked keeps the first n slots, from the first on.
func (p *shard) keepLocked(n int) {
	clear(p.mu.slots[n:])
	p.mu.slots, p.mu.head = p.mu.slots[:n], 0
}

// emptyLocked resets a shard whose slots are all taken; a very large one gives its memory
// back.
func (p *shard) emptyLocked() {
	p.mu.base += int64(len(p.mu.slots))
	p.mu.slots, p.mu.head, p.mu.mixed = p.mu.slots[:0], 0, false
	if cap(p.mu.slots) > roomy {
		p.mu.slots, p.mu.index = nil, nil
		return
	}
	clear(p.mu.index)
}
