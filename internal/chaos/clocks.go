package chaos

import (
	"sync"
	"time"

	"github.com/shoalworks/shoal/internal/chaos/wrongclock"
)

// Tag is the build tag with which a daemon has a clock that can be set while it runs.
const Tag = "chaos"

// timepiece is the local clock of one daemon.
type timepiece struct {
	dial wrongclock.Dial

	mu struct {
		sync.Mutex
		atStart time.Duration // how wrong it is since the daemon was started
	}
}

// start has the clock be wrong from the daemon's next start on.
func (t *timepiece) start(offset time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.atStart = offset
	return t.dial.Turn(offset)
}

// step moves the clock of a daemon that may be running; back moves it back, to where it was or
// to where a later start has put it.
func (t *timepiece) step(by time.Duration) (back func() error, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return func() error {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.dial.Turn(t.mu.atStart)
	}, t.dial.Turn(t.mu.atStart + by)
}
