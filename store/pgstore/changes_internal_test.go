package pgstore

import "testing"

// isClosed tells whether nothing is waited for.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Who subscribes waits until the engine knows, also when the change was taken meanwhile.
func TestChangesAreAppliedWhenReleased(t *testing.T) {
	var c changes
	if !isClosed(c.applied()) {
		t.Error("nothing has changed, and it is waited for")
	}
	c.note()
	early := c.applied()
	interrupted := false
	release := c.take(func() { interrupted = true })
	late := c.applied()
	if isClosed(early) || isClosed(late) {
		t.Error("a change counts as known when it is only taken")
	}
	c.note()
	next := c.applied()
	release()
	if !isClosed(early) || !isClosed(late) || isClosed(next) || !interrupted {
		t.Errorf("released: %v, %v; a later change: %v, interrupts: %v", isClosed(early), isClosed(late), isClosed(next), interrupted)
	}
	release()
	c.take(nil)()
	if !isClosed(next) || !isClosed(c.applied()) {
		t.Error("a change is never known")
	}
}
