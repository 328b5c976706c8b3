package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"time"

	"github.com/shoalworks/shoal/store"
)

// records is a process's handle on one of the record stores. Every call parks at the
// turnstile.
type records struct {
	p    *Process
	part Part
}

func (r *records) driver() store.Records { return r.p.w.records[r.part] }

// Get implements store.Records. Each key is read by itself.
func (r *records) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	detached := context.WithoutCancel(ctx) // what has been sent does not end with its caller
	out := make([]store.Record, len(keys))
	asker := stackHash()
	errs := r.p.call(ctx, request{
		part: r.part, op: opGet, key: keys[0], units: len(keys),
		content: func() uint64 { return asker },
		apply: func(i int) error {
			recs, err := r.driver().Get(detached, keys[i])
			if err == nil {
				out[i] = recs[0]
			}
			return err
		},
		done: func(sent time.Duration, errs []error) {
			if firstOf(errs) == nil {
				r.p.w.watch.Saw(r.p, out, sent)
			}
		},
		tell: func(i int) string { return fmt.Sprintf("%s is at %v, age %v", keys[i], out[i].Version, out[i].Age) },
	})
	if err := firstOf(errs); err != nil {
		return nil, err
	}
	return out, nil
}

// stackHash stands for where in the program a call is made: two reads of one key, made at one
// moment by two goroutines of a process, are told apart by it.
func stackHash() uint64 {
	var pcs [12]uintptr
	h := uint64(0)
	for _, pc := range pcs[:runtime.Callers(3, pcs[:])] {
		h = h*0x100000001b3 ^ uint64(pc)
	}
	return h
}

// Scan implements store.Records. It is one call; the pages of the simulator are large.
func (r *records) Scan(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		detached := context.WithoutCancel(ctx)
		var found []store.Record
		errs := r.p.call(ctx, request{
			part: r.part, op: opScan, key: rng.From, units: 1,
			apply: func(int) error {
				found = found[:0]
				for rec, err := range r.driver().Scan(detached, rng) {
					if err != nil {
						return err
					}
					found = append(found, rec)
				}
				return nil
			},
			tell: func(int) string { return fmt.Sprintf("%d records", len(found)) },
		})
		if errs[0] != nil {
			yield(store.Record{}, errs[0])
			return
		}
		for _, rec := range found {
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Commit implements store.Records. Each transaction is applied by itself.
func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	w, detached := r.p.w, context.WithoutCancel(ctx)
	made := w.Steps()
	txs, was := inOrder(txs)
	return backInOrder(r.p.call(ctx, request{
		part: r.part, op: opCommit, key: txs[0][0].Key, units: len(txs),
		apply: func(i int) error {
			err := r.driver().Commit(detached, txs[i])[0]
			switch {
			case err == nil:
				w.watch.Wrote(r.p, txs[i], made)
			case errors.Is(err, store.ErrConflict):
				w.watch.Conflicted(r.p, txs[i])
			}
			return err
		},
		done: func(sent time.Duration, errs []error) {
			for i, err := range errs {
				if err == nil {
					w.watch.Landed(r.p, txs[i], sent)
				}
			}
		},
		content: func() uint64 { return hashTx(txs[0]) },
		tell:    func(i int) string { return tellTx(txs[i]) },
	}), was)
}

// hashTx stands for what a transaction writes, without the versions, which are chance.
func hashTx(tx store.Tx) uint64 {
	h := uint64(len(tx))
	for _, w := range tx {
		h = foldText(fold(h, uint64(w.Op)), string(w.Value))
	}
	return h
}

func tellTx(tx store.Tx) string {
	out := ""
	for _, w := range tx {
		verb := map[store.Op]string{store.Put: "put", store.Delete: "delete", store.Check: "check"}[w.Op]
		out += fmt.Sprintf("[%s %s if %v gets %v %s]", verb, w.Key, w.If, w.Version, w.Value)
	}
	return out
}

// Now implements store.Records.
func (r *records) Now(ctx context.Context) (time.Time, error) {
	detached := context.WithoutCancel(ctx)
	var now time.Time
	errs := r.p.call(ctx, request{
		part: r.part, op: opNow, units: 1,
		apply: func(int) (err error) {
			now, err = r.driver().Now(detached)
			return err
		},
	})
	if errs[0] != nil {
		return time.Time{}, errs[0]
	}
	return now, nil
}

// Abilities implements store.Records.
func (r *records) Abilities() store.Abilities { return r.driver().Abilities() }

// Close implements store.Records. The memory stays.
func (r *records) Close(context.Context) error { return nil }

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
