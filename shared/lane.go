package shared

import (
	"context"
	"sync"
)

// lanes let the changes of one document on this node go one after the other, so that they do
// not refuse each other's writes. There is one lane for each key that is being changed now.
type lanes struct {
	mu struct {
		sync.Mutex
		open map[string]*lane
	}
}

// lane is the way of the changes of one key.
type lane struct {
	key   string
	turn  chan struct{} // holds one token
	users int           // guarded by lanes

	// known is what the last change found or wrote; nil when that is not known. It belongs to
	// who has the turn.
	known *reading
}

// enter waits for the turn of a key.
func (l *lanes) enter(ctx context.Context, key string) (*lane, error) {
	l.mu.Lock()
	w := l.mu.open[key]
	if w == nil {
		w = &lane{key: key, turn: make(chan struct{}, 1)}
		w.turn <- struct{}{}
		l.mu.open[key] = w
	}
	w.users++
	l.mu.Unlock()
	select {
	case <-w.turn:
		return w, nil
	case <-ctx.Done():
		l.drop(w)
		return nil, context.Cause(ctx)
	}
}

// leave gives the turn to the next.
func (l *lanes) leave(w *lane) {
	w.turn <- struct{}{}
	l.drop(w)
}

func (l *lanes) drop(w *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.users--; w.users == 0 {
		delete(l.mu.open, w.key)
	}
}
