package overlay

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// Options of an overlay. Nil is fine, zero is the default.
type Options struct {
	// Adopt changes what is copied from below: it gets a key and its value, which it may
	// change, and answers the value to keep; nil hides the record. It must be pure: a scan
	// calls it again. Default: everything is copied as it is.
	Adopt func(key string, value []byte) []byte
	// Clock tells ages and, without anything below, the time. Default: the system's.
	Clock clock.Clock
}

// overlay implements store.Records.
type overlay struct {
	under store.Records // nil: nothing
	adopt func(key string, value []byte) []byte
	layer layer

	mu struct {
		sync.Mutex
		closed bool
		calls  sync.WaitGroup // Add under the lock, and never once closed
	}
}

// Memory is an empty overlay over nothing. Of the options only the Clock counts.
func Memory(o *Options) store.Records { return newOverlay(nil, o) }

// Copy is an overlay over other records, which it reads and never writes or closes.
func Copy(under store.Records, o *Options) store.Records { return newOverlay(under, o) }

func newOverlay(under store.Records, o *Options) *overlay {
	if o == nil {
		o = &Options{}
	}
	v := &overlay{under: under, adopt: o.Adopt}
	v.layer.clock = clock.Or(o.Clock)
	v.layer.mu.records = make(map[string]stored)
	return v
}

// enter begins a call, unless its context has ended or the overlay is closed.
func (o *overlay) enter(ctx context.Context, operation string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("overlay: %s: %w: %w", operation, store.ErrUnavailable, context.Cause(ctx))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.closed {
		return fmt.Errorf("overlay: %s: %w", operation, store.ErrClosed)
	}
	o.mu.calls.Add(1)
	return nil
}

func (o *overlay) leave() { o.mu.calls.Done() }

// Get implements store.Records.
func (o *overlay) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	if err := o.enter(ctx, "get"); err != nil {
		return nil, err
	}
	defer o.leave()
	if err := o.know(ctx, keys); err != nil {
		return nil, fmt.Errorf("overlay: get: %w", err)
	}
	out := make([]store.Record, len(keys))
	for i, key := range keys {
		out[i], _ = o.layer.get(key)
	}
	return out, nil
}

// know copies the keys that the layer does not know.
func (o *overlay) know(ctx context.Context, keys []string) error {
	if o.under == nil {
		return nil
	}
	for part := range slices.Chunk(o.layer.unknown(keys), store.MaxGetKeys) {
		recs, err := o.under.Get(ctx, part...)
		if err != nil {
			return err
		}
		for i, rec := range recs {
			recs[i] = o.adopted(rec)
		}
		o.layer.adopt(recs)
	}
	return nil
}

// adopted is a record from below as the overlay shows it.
func (o *overlay) adopted(rec store.Record) store.Record {
	if rec.Missing() || o.adopt == nil {
		return rec
	}
	if rec.Value = o.adopt(rec.Key, rec.Value); rec.Value == nil {
		return store.Record{Key: rec.Key}
	}
	return rec
}

// Commit implements store.Records.
func (o *overlay) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	for i, tx := range txs {
		errs[i] = o.commit(ctx, tx)
	}
	return errs
}

func (o *overlay) commit(ctx context.Context, tx store.Tx) error {
	if err := o.enter(ctx, "commit"); err != nil {
		return err
	}
	defer o.leave()
	keys := make([]string, len(tx))
	for i, w := range tx {
		keys[i] = w.Key
	}
	if err := o.know(ctx, keys); err != nil {
		return fmt.Errorf("overlay: commit: what is below cannot be read (%s): %w", err.Error(), store.ErrUnavailable)
	}
	return o.layer.apply(tx)
}

// Now implements store.Records: it is the clock of what is below.
func (o *overlay) Now(ctx context.Context) (time.Time, error) {
	if err := o.enter(ctx, "now"); err != nil {
		return time.Time{}, err
	}
	defer o.leave()
	if o.under != nil {
		return o.under.Now(ctx)
	}
	return o.layer.clock.Now().Round(0).UTC(), nil
}

// Abilities implements store.Records. Scan is that of what is below.
func (o *overlay) Abilities() store.Abilities {
	return store.Abilities{MultiKey: true, Scan: o.under == nil || o.under.Abilities().Scan}
}

// Close implements store.Records. What is below stays open.
func (o *overlay) Close(context.Context) error {
	o.mu.Lock()
	o.mu.closed = true
	o.mu.Unlock()
	o.mu.calls.Wait()
	return nil
}
