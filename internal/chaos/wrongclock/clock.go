package wrongclock

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shoalworks/shoal/clock"
)

// lookEvery is how often a clock looks at its dial, at the most.
const lookEvery = 20 * time.Millisecond

// Clock is the clock of a machine whose time is set while it runs.
type Clock struct {
	clock.Clock

	dial   Dial
	start  time.Time
	looked atomic.Int64 // time since start; 0: never
	offset atomic.Int64
}

// New is a clock that is as wrong as a dial says, from its first answer on.
func New(right clock.Clock, d Dial) *Clock {
	c := &Clock{Clock: right, dial: d, start: right.Now()}
	c.look()
	return c
}

// Now is wrong. Two results are apart, in the sense of time.Time.Sub, by what passed between
// them, also when the clock was set meanwhile.
func (c *Clock) Now() time.Time {
	now := c.Clock.Now()
	since, looked := int64(now.Sub(c.start)), c.looked.Load()
	if since-looked >= int64(lookEvery) && c.looked.CompareAndSwap(looked, since) {
		c.look()
	}
	return stepped(now, time.Duration(c.offset.Load()))
}

// look follows the dial. What cannot be read changes nothing.
func (c *Clock) look() {
	if offset, ok := c.dial.read(); ok {
		c.offset.Store(int64(offset))
	}
}

// layout is that of time.Time. The package's test fails where it is another one.
type layout struct {
	wall      uint64 // the highest bit says that there is a monotonic part
	monotonic int64
	_         *time.Location
}

// stepped is t on a clock whose wall part is elsewhere: no function of package time moves one
// part without the other. A time without a monotonic part has but the one.
func stepped(t time.Time, by time.Duration) time.Time {
	out := t.Add(by)
	if l := (*layout)(unsafe.Pointer(&out)); l.wall>>63 == 1 {
		l.monotonic -= int64(by)
	}
	return out
}
