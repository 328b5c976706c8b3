package server_test

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
)

// valve is a record store whose scans and clock can be held, broken and made to panic; the
// node's own calls pass. Status scans, and /readyz asks for the time.
type valve struct {
	store.Records
	entered chan struct{} // gets a token for each scan that is held

	mu struct {
		sync.Mutex
		open   chan struct{} // scans wait until it is closed; nil: they pass
		broken error
		panics any
	}
}

func newValve() *valve { return &valve{entered: make(chan struct{}, 100)} }

// install puts the valve around a store's durable records, which are the fast ones too.
func (v *valve) install(p store.Parts) store.Parts {
	v.Records = p.Durable
	p.Durable = v
	return p
}

// mute is a record store that takes no writes while it is shut.
type mute struct {
	store.Records
	shut atomic.Bool
}

// install puts the mute around a store's fast records.
func (m *mute) install(p store.Parts) store.Parts {
	m.Records = p.Fast
	p.Fast = m
	return p
}

// Commit fails while the mute is shut.
func (m *mute) Commit(ctx context.Context, txs ...store.Tx) []error {
	if !m.shut.Load() {
		return m.Records.Commit(ctx, txs...)
	}
	errs := make([]error, len(txs))
	for i := range errs {
		errs[i] = store.ErrUnavailable
	}
	return errs
}

// hold makes scans wait for what it returns.
func (v *valve) hold() (release func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	open := make(chan struct{})
	v.mu.open = open
	return sync.OnceFunc(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.mu.open = nil
		close(open)
	})
}

func (v *valve) breakWith(err error, panics any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.broken, v.mu.panics = err, panics
}

func (v *valve) state() (open chan struct{}, panics any, broken error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.open, v.mu.panics, v.mu.broken
}

// Scan waits, fails, panics or scans.
func (v *valve) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Record, error] {
	open, panics, broken := v.state()
	if ctx.Value(http.ServerContextKey) == nil { // of the node itself: no request's
		open, panics, broken = nil, nil, nil
	}
	if panics != nil {
		panic(panics)
	}
	if open != nil {
		v.entered <- struct{}{}
		select {
		case <-open:
		case <-ctx.Done():
			broken = ctx.Err()
		}
	}
	if broken != nil {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, broken) }
	}
	return v.Records.Scan(ctx, r)
}

// Now fails while the valve is broken.
func (v *valve) Now(ctx context.Context) (time.Time, error) {
	if _, _, broken := v.state(); broken != nil {
		return time.Time{}, broken
	}
	return v.Records.Now(ctx)
}
