package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

const (
	// partsEvery is how often the parts of the store are asked whether they answer.
	partsEvery = 5 * time.Second
	// probeName is a board and a topic of which nobody else speaks.
	probeName = "probe/parts"
)

// storePart is how a part of the store has answered.
type storePart struct {
	role     store.Role
	asked    time.Time     // when last; zero: not yet
	took     time.Duration // the last answer, or how long it was waited for
	err      error         // nil: it answers
	since    time.Time     // from when on it does, or does not
	failures uint64        // questions without an answer
}

// up tells that the part answers, as far as is known.
func (p *storePart) up() bool { return p.err == nil }

// partWatch asks the parts of the store whether they answer, so that a probe, a scrape and a
// person can be told at once, and which part it is. Each part has a goroutine of its own: one that
// hangs holds up none of the others.
type partWatch struct {
	store   *store.Store
	clock   clock.Clock
	roles   []store.Role
	running sync.WaitGroup
	once    sync.Once
	mu      struct {
		sync.Mutex
		parts map[store.Role]*storePart
	}
}

func newPartWatch(st *store.Store, c clock.Clock) *partWatch {
	w := &partWatch{store: st, clock: c, roles: st.Roles()}
	w.mu.parts = make(map[store.Role]*storePart)
	for _, role := range w.roles {
		w.mu.parts[role] = &storePart{role: role, since: c.Now()}
	}
	return w
}

// start asks until ended is closed. Again does nothing.
func (w *partWatch) start(ctx context.Context, ended <-chan struct{}) {
	w.once.Do(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		w.running.Go(func() { <-ended; cancel() })
		for _, role := range w.roles {
			w.running.Go(func() { w.follow(ctx, role) })
		}
	})
}

// wait returns when nothing is asked any more.
func (w *partWatch) wait() { w.running.Wait() }

func (w *partWatch) follow(ctx context.Context, role store.Role) {
	q := &question{watch: w, role: role}
	defer q.close()
	for ctx.Err() == nil {
		w.step(ctx, q)
		_ = clock.Sleep(ctx, w.clock, partsEvery) // it ends with ctx, which is looked at
	}
}

// step asks once.
func (w *partWatch) step(ctx context.Context, q *question) {
	bounded, cancel := clock.WithTimeout(ctx, w.clock, probeTimeout)
	defer cancel()
	begun := w.clock.Now()
	err := q.ask(bounded)
	if ctx.Err() != nil {
		return // the daemon ends: it is not the part's fault
	}
	w.learn(q.role, begun, w.clock.Now(), err)
}

// learn takes in an answer.
func (w *partWatch) learn(role store.Role, begun, now time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.mu.parts[role]
	if p.up() != (err == nil) {
		p.since = now
	}
	if err != nil {
		p.failures++
	}
	p.asked, p.took, p.err = now, now.Sub(begun), err
}

// all are the parts as they are known, in the order of their roles.
func (w *partWatch) all() []storePart {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]storePart, len(w.roles))
	for i, role := range w.roles {
		out[i] = *w.mu.parts[role]
	}
	return out
}

// down are the parts that do not answer.
func (w *partWatch) down() []storePart {
	return slices.DeleteFunc(w.all(), func(p storePart) bool { return p.up() })
}

// question asks one part.
type question struct {
	watch *partWatch
	role  store.Role
	sub   store.Subscription // of the bus
	heard chan struct{}
}

var errSilentBus = errors.New("a message did not come back")

// ask is nil when the part answers.
func (q *question) ask(ctx context.Context) error {
	switch st := q.watch.store; q.role {
	case store.RoleDurable:
		_, err := st.Durable().Now(ctx)
		return err
	case store.RoleFast:
		_, err := st.Fast().Now(ctx)
		return err
	case store.RoleBoards:
		_, err := st.Boards().Info(ctx, probeName)
		if errors.Is(err, store.ErrNoBoard) { // it answers that there is none
			return nil
		}
		return err
	case store.RoleBus:
		return q.call(ctx)
	}
	return nil
}

// call sends a message and waits until one comes back, from this daemon or another.
func (q *question) call(ctx context.Context) error {
	if q.sub == nil {
		heard := make(chan struct{}, 1)
		sub, err := q.watch.store.Bus().Subscribe(ctx, probeName, func([]byte) {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
		if err != nil {
			return err
		}
		q.sub, q.heard = sub, heard
	}
	select {
	case <-q.heard: // of before
	default:
	}
	if err := q.watch.store.Bus().Publish(ctx, probeName, []byte("?")); err != nil {
		return err
	}
	select {
	case <-q.heard:
		return nil
	case <-ctx.Done():
		return errSilentBus
	}
}

func (q *question) close() {
	if q.sub != nil {
		q.sub.Close()
	}
}
