package memstore

import (
	"bytes"
	"context"
	"iter"
	"time"

	"github.com/shoalworks/shoal/store"
)

// records is one handle on a map of records.
type records struct {
	gate
	memory    *recordMap
	singleKey bool
}

// Get implements store.Records: all keys are of one state, which is more than it asks for.
func (r *records) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	if err := r.enter(ctx, "get"); err != nil {
		return nil, err
	}
	defer r.leave()
	found := r.memory.get(keys)
	for i := range found {
		found[i].Value = bytes.Clone(found[i].Value)
	}
	return found, nil
}

// Scan implements store.Records.
func (r *records) Scan(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		from, left := rng.From, rng.Limit
		for {
			limit := scanPage
			if rng.Limit > 0 {
				limit = min(limit, left)
			}
			page, err := r.page(ctx, from, rng.To, limit)
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, rec := range page {
				rec.Value = bytes.Clone(rec.Value)
				if !yield(rec, nil) {
					return
				}
			}
			left -= len(page)
			if len(page) < limit || rng.Limit > 0 && left == 0 {
				return
			}
			from = page[len(page)-1].Key + "\x00"
		}
	}
}

func (r *records) page(ctx context.Context, from, to string, limit int) ([]store.Record, error) {
	if err := r.enter(ctx, "scan"); err != nil {
		return nil, err
	}
	defer r.leave()
	return r.memory.page(from, to, limit), nil
}

// Commit implements store.Records.
func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	for i, tx := range txs {
		errs[i] = r.commit(ctx, tx)
	}
	return errs
}

func (r *records) commit(ctx context.Context, tx store.Tx) error {
	if err := r.enter(ctx, "commit"); err != nil {
		return err
	}
	defer r.leave()
	return r.memory.apply(tx)
}

// Now implements store.Records.
func (r *records) Now(ctx context.Context) (time.Time, error) {
	if err := r.enter(ctx, "now"); err != nil {
		return time.Time{}, err
	}
	defer r.leave()
	return r.memory.now(), nil
}

// Abilities implements store.Records.
func (r *records) Abilities() store.Abilities {
	return store.Abilities{MultiKey: !r.singleKey, Scan: true}
}

// Close implements store.Records. The memory stays for other handles.
func (r *records) Close(context.Context) error {
	r.close()
	return nil
}
