package season

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shoalworks/shoal/node"
)

// looks has one caller at a time read what others of its class wait for too. Each class has a
// look of its own: who joins does not wait for one that waits as background work.
type looks map[node.Class]*oneLook

func newLooks() looks {
	l := make(looks)
	for _, c := range []node.Class{node.ClassSave, node.ClassLoad, node.ClassBoard, node.ClassBackground} {
		l[c] = &oneLook{token: make(chan struct{}, 1)}
	}
	return l
}

// oneLook is held by the one who reads. A look that the budget did not let through fails for
// all who waited meanwhile: else each of them would wait for the budget in turn.
type oneLook struct {
	token chan struct{}
	mu    struct {
		sync.Mutex
		fails uint64
		last  error
	}
}

func (l *oneLook) failed() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.fails, l.mu.last
}

// end gives the look to the next. One that its caller gave up says nothing to the others.
func (l *oneLook) end(ctx context.Context, err error) {
	if errors.Is(err, node.ErrBudget) && ctx.Err() == nil {
		l.mu.Lock()
		l.mu.fails++
		l.mu.last = err
		l.mu.Unlock()
	}
	<-l.token
}

// look waits until the caller may read; release it with what came of that.
func (s *Service) look(ctx context.Context) (release func(error), err error) {
	l := s.shelf.looking[classOf(ctx)]
	before, _ := l.failed()
	select {
	case l.token <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("season: read results of %s: %w", s.set, context.Cause(ctx))
	}
	if now, last := l.failed(); now != before {
		<-l.token
		return nil, last
	}
	return func(err error) { l.end(ctx, err) }, nil
}
