package sim

import "time"

// stream yields numbers that depend on nothing but its seed and how many were drawn: each
// actor and each call has one of its own (splitmix64, Steele, Lea and Flood 2014).
type stream struct{ state uint64 }

func newStream(seed uint64) *stream { return &stream{state: mix(seed)} }

func (s *stream) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return mix(s.state)
}

// unit is a number in [0, 1).
func (s *stream) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

// chance is true with probability p. It always draws, so that another p shifts nothing.
func (s *stream) chance(p float64) bool { return s.unit() < p }

// below is a number in [0, n).
func (s *stream) below(n int) int { return int(s.next() % uint64(max(n, 1))) }

// within is a duration of the span, in whole microseconds.
func (s *stream) within(d Span) time.Duration {
	draw := s.unit()
	if d.Max <= d.Min {
		return d.Min
	}
	return (d.Min + time.Duration(draw*float64(d.Max-d.Min))).Truncate(time.Microsecond)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fold mixes a number into a hash.
func fold(h, x uint64) uint64 { return mix(h*0x100000001b3 ^ x + 0x9e3779b97f4a7c15) }

// foldText mixes a text into a hash.
func foldText(h uint64, s string) uint64 {
	f := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		f = (f ^ uint64(s[i])) * 0x100000001b3
	}
	return fold(h, f^uint64(len(s)))
}

// Span is a range of durations.
type Span struct{ Min, Max time.Duration }

// exactly is the span of one duration.
func exactly(d time.Duration) Span { return Span{Min: d, Max: d} }
