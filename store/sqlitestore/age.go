package sqlitestore

import (
	"hash/fnv"
	"time"
)

// This file holds how old a record is, without clocks.

// moment is a point in time as it is stored with a record: on the host's monotonic clock,
// which the wall clock's steps do not touch, and on the wall clock for what was written
// before the last boot.
type moment struct {
	boot int64 // names the boot that up counts from; 0 when the host cannot tell
	up   int64 // nanoseconds since that boot
	wall int64 // nanoseconds since 1970
}

// since is how long before now m was, never negative. Within one boot only the monotonic
// clock counts. A moment of another boot, or of a host that cannot name its boot, is judged
// by the wall clock: a step of it then changes the age.
func (m moment) since(now moment) time.Duration {
	if m.boot == now.boot && m.boot != 0 {
		return max(0, time.Duration(now.up-m.up))
	}
	return max(0, time.Duration(now.wall-m.wall))
}

// bootNamed turns what identifies a boot into a number other than 0.
func bootNamed(identity string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(identity)) // a hash never fails
	return int64(h.Sum64()>>1) | 1
}

// uptime reads the host's monotonic clock. It does not stop while the host sleeps.
type uptime struct {
	boot int64        // 0 when the host has no such clock
	read func() int64 // nanoseconds since the boot; nil when boot is 0
}

// at is the moment that the wall clock shows as wall.
func (u uptime) at(wall time.Time) moment {
	m := moment{wall: wall.UnixNano()}
	if u.boot != 0 {
		m.boot, m.up = u.boot, u.read()
	}
	return m
}
