package overlay

import (
	"context"
	"iter"

	"github.com/shoalworks/shoal/store"
)

// Scan implements store.Records.
func (o *overlay) Scan(ctx context.Context, r store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		left := r.Limit
		for rec, err := range o.merged(ctx, r) {
			if !yield(rec, err) || err != nil {
				return
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// merged is a scan without a limit.
func (o *overlay) merged(ctx context.Context, r store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := o.enter(ctx, "scan"); err != nil {
			yield(store.Record{}, err)
			return
		}
		own := o.layer.keys(r)
		o.leave()
		// show yields one record of the overlay's own, unless it is gone.
		show := func(key string) bool {
			if err := o.enter(ctx, "scan"); err != nil {
				yield(store.Record{}, err)
				return false
			}
			rec, _ := o.layer.get(key)
			o.leave()
			return rec.Missing() || yield(rec, nil)
		}
		for rec, err := range o.below(ctx, r) {
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for len(own) > 0 && own[0] < rec.Key {
				if !show(own[0]) {
					return
				}
				own = own[1:]
			}
			if len(own) > 0 && own[0] == rec.Key {
				continue // the overlay's own, at its turn
			}
			if !o.showBelow(rec, yield) {
				return
			}
		}
		for _, key := range own {
			if !show(key) {
				return
			}
		}
	}
}

// showBelow yields a record from below, as adopted, or what has come in its place since the
// scan began.
func (o *overlay) showBelow(rec store.Record, yield func(store.Record, error) bool) bool {
	own, known := o.layer.get(rec.Key)
	if !known {
		own = o.adopted(rec)
	}
	return own.Missing() || yield(own, nil)
}

// below is the scan of what is below.
func (o *overlay) below(ctx context.Context, r store.Range) iter.Seq2[store.Record, error] {
	if o.under == nil {
		return func(func(store.Record, error) bool) {}
	}
	return o.under.Scan(ctx, store.Range{From: r.From, To: r.To})
}
