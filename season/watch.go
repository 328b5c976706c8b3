package season

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/doc"
)

// What a watch ends with.
var (
	// ErrEnded: the session that is watched has ended.
	ErrEnded = errors.New("season: session ended")
	// ErrWatchClosed: the watch was closed by its reader.
	ErrWatchClosed = errors.New("season: watch closed")
	// ErrBusy: the session has MaxWatches watches already.
	ErrBusy = errors.New("season: too many watches")
)

const (
	// MaxWatches is how many watches one session has at most.
	MaxWatches = 64
	// A watch rests until the season ends, by a clock that is put right now and then, so that it
	// asks again in between.
	maxRest = time.Hour
	minRest = time.Millisecond
)

// Watch follows the block of one session: see [Watch.Next]. It belongs to one reader.
//
// It owns no goroutine and no queue: what it has seen is one block, and a reader who comes
// late finds the newest. Nobody waits for it.
type Watch struct {
	s       *Service
	player  *player
	session Session
	changed chan struct{} // holds a token when the session has committed something
	closed  chan struct{}
	closing func()

	// seen is what Next has answered last; it belongs to the reader.
	seen struct {
		any    bool
		stored doc.Value // what the profile had at the path
		k      int64     // the season that it was then
		block  Block     // zero: there was none
	}
}

// watches are those of a player. They share one listener, which is there while there are any.
type watches struct {
	now atomic.Pointer[[]*Watch] // never changed in place: for the listener, which takes no lock
	mu  struct {
		sync.Mutex
		stop func() // ends the listener
	}
}

func (ws *watches) list() []*Watch {
	if list := ws.now.Load(); list != nil {
		return *list
	}
	return nil
}

// add takes a watch in, unless there are too many.
func (ws *watches) add(w *Watch) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	list := ws.list()
	if len(list) >= MaxWatches {
		return false
	}
	list = append(slices.Clip(list), w)
	ws.now.Store(&list)
	if len(list) == 1 {
		ws.mu.stop = w.session.OnChange(ws.wake)
	}
	return true
}

func (ws *watches) remove(w *Watch) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(ws.list()), func(o *Watch) bool { return o == w })
	ws.now.Store(&list)
	if len(list) == 0 {
		ws.mu.stop()
	}
}

func (ws *watches) wake() {
	for _, w := range ws.list() {
		wake(w.changed)
	}
}

// Watch follows the session's block: events, titles, corrections, an operator's edit, a
// restored version, and the change of the season. A session has at most MaxWatches; one more is
// ErrBusy. Close it when it is not read any more. What it shows is in memory; a crash may take
// the last of it back.
func (s *Service) Watch(session Session) (*Watch, error) {
	p, err := s.playerOf(session)
	if err != nil {
		return nil, err
	}
	w := &Watch{s: s, player: p, session: session, changed: make(chan struct{}, 1), closed: make(chan struct{})}
	w.closing = sync.OnceFunc(func() {
		p.watches.remove(w)
		close(w.closed)
	})
	if !p.watches.add(w) {
		return nil, fmt.Errorf("%w: %s has %d", ErrBusy, session.Key(), MaxWatches)
	}
	return w, nil
}

// Next waits until the block has changed since the last call and answers it; the first call
// answers at once. Changes in between are skipped: the newest block stands for them. At the end
// of a season it answers the block as the next season finds it; that resets nothing yet (an
// event or a View does).
//
// It ends with ErrEnded when the session has ended and its last block was answered, with
// ErrWatchClosed after Close, with ErrClosed after the service's, with ErrBlock when the profile
// has no block any more, and with ctx's error when that ends; then, and after ErrBlock, the
// watch goes on.
func (w *Watch) Next(ctx context.Context) (Block, error) {
	for {
		if err := w.over(ctx); err != nil {
			return Block{}, err
		}
		ended := w.player.gone()
		block, changed, err := w.look()
		if changed || err != nil {
			return block, err
		}
		if ended {
			return Block{}, fmt.Errorf("%w: %s", ErrEnded, w.session.Key())
		}
		w.rest(ctx)
	}
}

// over is why nothing is answered any more.
func (w *Watch) over(ctx context.Context) error {
	select {
	case <-w.closed:
		return fmt.Errorf("%w: %s", ErrWatchClosed, w.session.Key())
	default:
	}
	if w.s.isClosed() {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return fmt.Errorf("season: watch %s: %w", w.session.Key(), context.Cause(ctx))
	}
	return nil
}

// look is the block now, if it is another than the last one. What cannot be read is told once.
func (w *Watch) look() (b Block, changed bool, err error) {
	s, seen := w.s, &w.seen
	k, data := s.season(), w.session.Data()
	stored, _ := data.Get(s.rules.path)
	if seen.any && seen.k == k && seen.stored.Equal(stored) {
		return Block{}, false, nil
	}
	b, err = s.rules.view(data, k, s.cfg.Season(w.session.Created()))
	same := seen.any && err == nil && reflect.DeepEqual(b, seen.block) // as after the reset that a look foresaw
	seen.any, seen.stored, seen.k, seen.block = true, stored, k, b
	return b, !same, err
}

// rest waits until there may be something to see: a commit, another season, an end.
func (w *Watch) rest(ctx context.Context) {
	s := w.s
	left := s.cfg.End(w.seen.k).Sub(s.n.Now())
	timer := s.clock.NewTimer(min(max(left, minRest), maxRest))
	defer timer.Stop()
	select {
	case <-w.changed:
	case <-timer.C():
	case <-w.session.Done():
	case <-w.closed:
	case <-s.ending.begun:
	case <-ctx.Done():
	}
}

// Close ends the watch. It is safe to call it twice, and while somebody is in Next.
func (w *Watch) Close() { w.closing() }
