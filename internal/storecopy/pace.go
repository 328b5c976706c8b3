package storecopy

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// pace holds a pass to a number of records and entries a second.
type pace struct {
	clock clock.Clock
	rate  int // 0: as fast as it goes
	begun time.Time
	done  int64
}

// wait returns when n more may be written.
func (p *pace) wait(ctx context.Context, n int) error {
	if p.rate <= 0 {
		return context.Cause(ctx)
	}
	now := p.clock.Now()
	if p.begun.IsZero() {
		p.begun = now
	}
	due := p.begun.Add(time.Duration(float64(p.done) / float64(p.rate) * float64(time.Second)))
	p.done += int64(n)
	return clock.Sleep(ctx, p.clock, due.Sub(now))
}
