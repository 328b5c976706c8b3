package profile

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
)

// This file is the search itself: breadth first, so that what it finds is as short as can be.

// print is a state, hashed.
type statePrint [2]uint64

// printSet is a set of them in one flat table.
type printSet struct {
	table []statePrint
	count int
}

func (p *printSet) add(x statePrint) bool {
	if 10*p.count >= 7*len(p.table) {
		p.grow()
	}
	mask := uint64(len(p.table) - 1)
	for i := x[0] & mask; ; i = (i + 1) & mask {
		switch p.table[i] {
		case x:
			return false
		case statePrint{}:
			p.table[i] = x
			p.count++
			return true
		}
	}
}

func (p *printSet) grow() {
	old := p.table
	p.table, p.count = make([]statePrint, max(1<<12, 2*len(old))), 0
	for _, x := range old {
		if x != (statePrint{}) {
			p.add(x)
		}
	}
}

// chunked is a queue of byte strings in chunks, so that what was read is let go.
type chunked struct {
	chunks [][]byte
	pos    int
}

const chunkSize = 1 << 20

func (q *chunked) push(b []byte) {
	if n := len(q.chunks); n == 0 || len(q.chunks[n-1])+len(b)+2 > chunkSize {
		q.chunks = append(q.chunks, make([]byte, 0, chunkSize))
	}
	last := &q.chunks[len(q.chunks)-1]
	*last = binary.LittleEndian.AppendUint16(*last, uint16(len(b)))
	*last = append(*last, b...)
}

func (q *chunked) pop() []byte {
	for len(q.chunks) > 0 && q.pos == len(q.chunks[0]) {
		q.chunks[0], q.chunks, q.pos = nil, q.chunks[1:], 0
	}
	if len(q.chunks) == 0 {
		return nil
	}
	c := q.chunks[0]
	n := int(binary.LittleEndian.Uint16(c[q.pos:]))
	b := c[q.pos+2 : q.pos+2+n]
	q.pos += 2 + n
	return b
}

// origin is how a state was found first.
type origin struct {
	from uint32
	step uint8 // its place in the steps of that state
}

// searcher visits every state within bounds.
type searcher struct {
	start   world
	seeds   [2]maphash.Seed
	seen    printSet
	queue   chunked
	origins []origin
	enc     coder
	buf     []byte

	depth   int // of the violation
	excused int // losses of acknowledged commits that two faults together explain
	cut     int // calls that were not kept for later because there were too many
	rests   int // states in which nothing happens any more
}

func newSearcher(b bounds, broken mutant) *searcher {
	return &searcher{
		start: world{left: b, broken: broken},
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

// visit takes in a state; it is queued when it is new.
func (s *searcher) visit(w *world, o origin) {
	s.buf = s.enc.encode(w, s.buf[:0])
	p := statePrint{maphash.Bytes(s.seeds[0], s.buf), maphash.Bytes(s.seeds[1], s.buf) | 1}
	if s.seen.add(p) {
		s.queue.push(s.buf)
		s.origins = append(s.origins, o)
	}
}

// run visits every state, and ends with the first violation and how it came about. A limit
// of 0 is none.
func (s *searcher) run(limit int) error {
	first := s.start
	s.visit(&first, origin{})
	var (
		dec   coder
		steps []modelStep
		w, n  world
	)
	w.broken = s.start.broken
	for at := uint32(0); ; at++ {
		b := s.queue.pop()
		if b == nil || limit > 0 && len(s.origins) > limit {
			return nil
		}
		dec.decode(b, &w)
		steps = w.steps(steps[:0])
		if err := s.pause(&w, at, steps); err != nil {
			return s.violation(at, nil, err)
		}
		for k, step := range steps {
			n = w
			if err := n.do(step); err != nil {
				return s.violation(at, &step, err)
			}
			s.excused, s.cut = s.excused+int(n.excused), s.cut+int(n.cut)
			n.excused, n.cut = 0, 0
			s.visit(&n, origin{at, uint8(k)})
		}
	}
}

// pause checks a state in which nothing has to happen; and of the others one in many, when
// all that has to happen has happened.
func (s *searcher) pause(w *world, at uint32, steps []modelStep) error {
	if w.quiet(steps) {
		s.rests++
		return w.checkRest(s.start.left)
	}
	if at > 1024 && at%64 != 0 {
		return nil
	}
	calm := *w
	return calm.settle(s.start.left)
}

// violation is the path to a state, and what is wrong after one more step.
func (s *searcher) violation(at uint32, last *modelStep, wrong error) error {
	var path []uint8
	for ; at != 0; at = s.origins[at].from {
		path = append(path, s.origins[at].step)
	}
	slices.Reverse(path)
	s.depth = len(path)
	if last != nil {
		s.depth++
	}
	return fmt.Errorf("%w, after %d steps:%s", wrong, s.depth, tell(s.start, path, last))
}
