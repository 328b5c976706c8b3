package server

// gate bounds how many calls are worked on at once. A call that does not fit is refused at
// once: whoever waits in front of a busy daemon only makes it busier.
type gate chan struct{}

func newGate(size int) gate { return make(gate, size) }

func (g gate) enter() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g gate) leave() { <-g }
