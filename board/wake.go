package board

import "time"

// wake is why the writing goroutine goes on.
type wake uint8

const (
	ends    wake = iota + 1 // the drain has begun
	closes                  // the node closes
	flushed                 // somebody wants a window now
	kicked                  // something waits
	rings                   // a window is due
)

// await waits for something to do. Of several things that have come while a window ran the
// first of the list is done first: select alone would choose by chance, and no simulated run
// could be repeated.
func (s *Service) await(due <-chan time.Time, closing <-chan struct{}) (wake, chan error) {
	if s.drain.hasBegun() {
		return ends, nil
	}
	select {
	case <-closing:
		return closes, nil
	default:
	}
	select {
	case reply := <-s.flushes:
		return flushed, reply
	default:
	}
	select {
	case <-s.kicks:
		return kicked, nil
	default:
	}
	select {
	case <-s.drain.begun:
		return ends, nil
	case <-closing:
		return closes, nil
	case reply := <-s.flushes:
		return flushed, reply
	case <-s.kicks:
		return kicked, nil
	case <-due:
		return rings, nil
	}
}
