package faultstore

import (
	"context"
	"iter"
	"time"

	"github.com/shoalworks/shoal/store"
)

// records decorates one record map.
type records struct {
	port
	next store.Records
}

// Get implements store.Records.
func (r *records) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	return through(ctx, r.port, r.call("get", false, keys...), func(ctx context.Context) ([]store.Record, error) {
		return r.next.Get(ctx, keys...)
	})
}

// Scan implements store.Records. Each use of the sequence is a call. A fault that loses the
// answer ends it after the first record.
func (r *records) Scan(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if r.isClosed() || ctx.Err() != nil {
			r.next.Scan(ctx, rng)(yield)
			return
		}
		calls := []Call{r.call("scan", false, rng.From, rng.To)}
		fault := r.faults.decide(calls)[0]
		what, err := r.scan(ctx, calls[0], fault, rng, yield)
		r.faults.log(calls[0], fault, what)
		if err != nil {
			yield(store.Record{}, err)
		}
	}
}

// scan yields what the driver does. An error of its own is for the caller to yield.
func (r *records) scan(ctx context.Context, c Call, fault Fault, rng store.Range, yield func(store.Record, error) bool) (what string, err error) {
	if what, err = r.arrive(ctx, c, fault); what != "" {
		return what, err
	}
	n := 0
	for rec, err := range r.next.Scan(ctx, rng) {
		if r.faults.isCrashed() {
			return "crashed in the middle", notApplied(c, "crashed")
		}
		if n++; !yield(rec, err) {
			return "left early", nil
		}
		if err == nil && n == 1 {
			if why := r.leave(ctx, fault); why != "" {
				return "broken off: " + why, lost(ctx, c, why)
			}
		}
	}
	return "done", nil
}

// Commit implements store.Records. Each transaction meets a fault of its own.
func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	if r.isClosed() || ctx.Err() != nil {
		return r.next.Commit(ctx, txs...)
	}
	return r.commit(ctx, txs, r.next.Commit)
}

// Now implements store.Records.
func (r *records) Now(ctx context.Context) (time.Time, error) {
	return through(ctx, r.port, r.call("now", false), r.next.Now)
}

// Abilities implements store.Records.
func (r *records) Abilities() store.Abilities { return r.next.Abilities() }

// Close implements store.Records. It meets no faults, so that a crashed process can be
// cleared away.
func (r *records) Close(ctx context.Context) error {
	r.close()
	return r.next.Close(ctx)
}
