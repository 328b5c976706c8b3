package redisstore

import "time"

// PassTime sets the servers' clock forward, as far as the walks of this engine's boards are
// concerned.
func (e *Engine) PassTime(d time.Duration) { e.boards.ahead.Add(d.Microseconds()) }
