package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// rivalHold is a rival's session.
type rivalHold struct {
	host *rivalHost
	key  string
	me   string
	done chan struct{}
	kick chan struct{} // somebody has asked
	busy chan struct{} // a save is under way: holds one token

	mu struct {
		sync.Mutex
		data   doc.Value
		rev    uint64
		frozen bool
		end    End
	}
}

var (
	errRivalEnded = errors.New("sim: session has ended")
	errRivalBusy  = errors.New("sim: session is frozen")
	errRivalLost  = errors.New("sim: session lost")
	errRivalLarge = errors.New("sim: data too large")
)

func newRivalHold(h *rivalHost, key, me string, rec rivalRecord) (*rivalHold, error) {
	data, err := rec.value()
	hold := &rivalHold{
		host: h, key: key, me: me, done: make(chan struct{}),
		kick: make(chan struct{}, 1), busy: make(chan struct{}, 1),
	}
	hold.mu.data, hold.mu.rev = data, rec.Rev
	return hold, err
}

// Epoch implements Hold: there are none.
func (r *rivalHold) Epoch() uint64 { return 0 }

// Data implements Hold.
func (r *rivalHold) Data() doc.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.data
}

// Revision implements Hold.
func (r *rivalHold) Revision() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.rev
}

// Transact implements Hold.
func (r *rivalHold) Transact(ops ...doc.Op) (doc.Value, uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.mu.end != Living:
		return doc.Value{}, 0, errRivalEnded
	case r.mu.frozen:
		return doc.Value{}, 0, errRivalBusy
	}
	after, err := doc.Apply(r.mu.data, ops...)
	if err == nil && after.Size() > Anchor().HardBytes {
		err = errRivalLarge
	}
	if err != nil {
		return doc.Value{}, 0, err
	}
	r.mu.data = after
	r.mu.rev++
	return after, r.mu.rev, nil
}

// Save implements Hold.
func (r *rivalHold) Save(ctx context.Context) error { return r.store(ctx, false) }

// Sync implements Hold.
func (r *rivalHold) Sync(ctx context.Context) error { return r.store(ctx, false) }

// Release implements Hold.
func (r *rivalHold) Release(ctx context.Context) error { return r.finish(ctx, Released) }

// Done implements Hold.
func (r *rivalHold) Done() <-chan struct{} { return r.done }

// End implements Hold.
func (r *rivalHold) End() End {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.end
}

// ask has the session handed over.
func (r *rivalHold) ask() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// autosave saves now and then, and hands over when asked.
func (r *rivalHold) autosave() {
	ctx := r.host.p.Context()
	for {
		t := r.host.clk.NewTimer(r.host.rules.save)
		select {
		case <-r.done:
			t.Stop()
			return
		case <-ctx.Done():
			t.Stop()
			r.over(Closed)
			return
		case <-r.kick:
			_ = r.finish(ctx, HandedOver)
		case <-t.C():
			_ = r.store(ctx, false) // the next one comes
		}
		t.Stop()
	}
}

// finish saves for the last time, again and again until it is stored.
func (r *rivalHold) finish(ctx context.Context, end End) error {
	for {
		err := r.store(ctx, true)
		switch {
		case err == nil:
			r.over(end)
			return nil
		case errors.Is(err, errRivalLost), errors.Is(err, errRivalEnded):
			return err
		}
		if clock.Sleep(ctx, r.host.clk, time.Second) != nil {
			return err
		}
	}
}

// store writes the data, and with it frees the session if it is the last time.
func (r *rivalHold) store(ctx context.Context, last bool) error {
	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.busy }()
	r.mu.Lock()
	if r.mu.end != Living {
		r.mu.Unlock()
		return errRivalEnded
	}
	r.mu.frozen = last
	data, rev := r.mu.data, r.mu.rev
	r.mu.Unlock()

	h, lost, asked := r.host, false, false
	next := func(rec rivalRecord) (rivalRecord, bool) {
		if lost = h.rules.lock && rec.Session != r.me; lost {
			return rec, false
		}
		asked = rec.Request != ""
		rec.Data, rec.Rev, rec.Updated = data.Encode(), rev, h.clk.Now()
		if last || asked {
			rec.Session, rec.Request = "", ""
		}
		return rec, true
	}
	var err error
	if h.rules.lock {
		_, err = h.update(ctx, r.key, next)
	} else {
		rec, _ := next(rivalRecord{})
		err = h.write(ctx, "rival/"+setName+"/"+r.key, rec, store.Any())
	}
	switch {
	case err != nil:
		return err
	case lost:
		r.over(Lost)
		return errRivalLost
	case asked && !last: // it was met at an autosave: what was written is the last
		r.unlessNewer(rev)
	}
	return nil
}

// unlessNewer ends a session that was handed over at a save. What was played while the save
// was under way is lost, unless nothing was.
func (r *rivalHold) unlessNewer(rev uint64) {
	r.mu.Lock()
	newer := r.mu.rev != rev
	r.mu.Unlock()
	if newer {
		r.over(Lost)
		return
	}
	r.over(HandedOver)
}

// over ends the session, once.
func (r *rivalHold) over(end End) {
	r.mu.Lock()
	if r.mu.end != Living {
		r.mu.Unlock()
		return
	}
	r.mu.end, r.mu.frozen = end, true
	r.mu.Unlock()
	r.host.mu.Lock()
	if r.host.mu.holds[r.key] == r {
		delete(r.host.mu.holds, r.key)
	}
	r.host.mu.Unlock()
	close(r.done)
}
