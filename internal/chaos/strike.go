package chaos

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// strike kills a daemon at the worst moment: its players have been hurrying, so that saves and
// syncs are on their way; something becomes of its network, so that some of them fail, or
// nobody knows; and right after the last of them were acknowledged it is killed. Whoever had
// an answer goes elsewhere at once, and looks for what was promised.
func (m *member) strike(ctx context.Context, f Fault) error {
	calm := m.bell.hurry()
	defer calm()
	_ = clock.Sleep(ctx, clock.System(), f.Lead)
	m.spoil(ctx, f)
	_ = clock.Sleep(ctx, clock.System(), f.Gap)
	err := m.Kill()
	m.bell.leave()
	return err
}

// spoil has the network fail for a moment. What was on its way then never comes.
func (m *member) spoil(ctx context.Context, f Fault) {
	links := m.links(Fault{Kind: f.Before, Server: f.Server})
	for _, p := range links {
		if f.Before == DeafToStore || f.Before == DeafToFast {
			p.DropAnswers()
		} else {
			p.Cut()
		}
	}
	_ = clock.Sleep(ctx, clock.System(), f.Hold)
	for _, p := range links {
		p.Reset()
		p.Heal()
	}
}

// rush has the players of some daemons hurry for a while.
func rush(ctx context.Context, members []*member, d time.Duration) {
	for _, m := range members {
		defer m.bell.hurry()()
	}
	_ = clock.Sleep(ctx, clock.System(), d)
}

// rushBefore is how long players hurry before a server fails.
const rushBefore = 300 * time.Millisecond
