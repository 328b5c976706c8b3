package storetest_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
)

func brokenReads() []broken {
	return append([]broken{
		{name: "empty values are nil", topic: "read", records: eachRecord(func(r *store.Record) {
			if len(r.Value) == 0 {
				r.Value = nil
			}
		})},
		{name: "values end at a zero", topic: "read", records: eachRecord(func(r *store.Record) {
			if before, _, found := strings.Cut(string(r.Value), "\x00"); found {
				r.Value = []byte(before)
			}
		})},
		{name: "keys fold case", topic: "read", records: stateless(func(r *records) {
			r.commit = func(ctx context.Context, txs []store.Tx) []error {
				errs := make([]error, len(txs))
				for i, tx := range txs {
					for j := range tx {
						tx[j].Key = strings.ToLower(tx[j].Key)
					}
					errs[i] = r.Records.Commit(ctx, tx)[0]
				}
				return errs
			}
			r.get = func(ctx context.Context, keys []string) ([]store.Record, error) {
				lower := make([]string, len(keys))
				for i, key := range keys {
					lower[i] = strings.ToLower(key)
				}
				found, err := r.Records.Get(ctx, lower...)
				for i := range found {
					found[i].Key = keys[i]
				}
				return found, err
			}
		})},
		{name: "missing records are left out", topic: "read", records: stateless(func(r *records) {
			r.get = func(ctx context.Context, keys []string) ([]store.Record, error) {
				found, err := r.Records.Get(ctx, keys...)
				var kept []store.Record
				for _, rec := range found {
					if !rec.Missing() || len(found) == 1 {
						kept = append(kept, rec)
					}
				}
				return kept, err
			}
		})},
		{name: "handles cache what they read", topic: "read", records: stateless(caching)},
		{name: "handles cache what they read, histories", topic: "history", records: stateless(caching)},
		{name: "scan is not sorted", topic: "scan", records: scanning(func(all []store.Record) []store.Record {
			for i := 1; i < len(all); i += 2 {
				all[i-1], all[i] = all[i], all[i-1]
			}
			return all
		})},
		{name: "scan repeats at the end of a page", topic: "scan", records: scanning(func(all []store.Record) []store.Record {
			if len(all) > 256 {
				all = append(all[:256:256], all[255:]...)
			}
			return all
		})},
		{name: "scan skips at the end of a page", topic: "scan", records: scanning(func(all []store.Record) []store.Record {
			if len(all) > 256 {
				all = append(all[:255:255], all[256:]...)
			}
			return all
		})},
		{name: "scan includes its end", topic: "scan", records: bounded(func(r *store.Range) {
			if r.To != "" {
				r.To += "\x00"
			}
		})},
		{name: "scan excludes its begin", topic: "scan", records: bounded(func(r *store.Range) { r.From += "\x00" })},
		{name: "scan knows no limit", topic: "scan", records: bounded(func(r *store.Range) { r.Limit = 0 })},
		{name: "scan reads on after its context ended", topic: "scan", records: stateless(func(r *records) {
			r.scan = func(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
				return r.Records.Scan(context.WithoutCancel(ctx), rng)
			}
		})},
		{name: "scan is one old state", topic: "scan", records: stateless(func(r *records) {
			r.scan = func(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
				var all []store.Record
				var failed error
				for rec, err := range r.Records.Scan(ctx, rng) {
					if failed = err; err == nil {
						all = append(all, rec)
					}
				}
				return func(yield func(store.Record, error) bool) {
					for _, rec := range all {
						if !yield(rec, nil) {
							return
						}
					}
					if failed != nil {
						yield(store.Record{}, failed)
					}
				}
			}
		})},
		{name: "values are the driver's own", topic: "read", records: sharing},
	}, brokenAges()...)
}

// caching answers from what the handle has once read or written.
func caching(r *records) {
	var mu sync.Mutex
	known := make(map[string]store.Record)
	r.get = func(ctx context.Context, keys []string) ([]store.Record, error) {
		found, err := r.Records.Get(ctx, keys...)
		mu.Lock()
		defer mu.Unlock()
		for i, rec := range found {
			if old, ok := known[rec.Key]; ok {
				found[i] = old
			} else if !rec.Missing() {
				known[rec.Key] = rec
			}
		}
		return found, err
	}
	r.commit = func(ctx context.Context, txs []store.Tx) []error {
		mu.Lock()
		for _, tx := range txs {
			for _, w := range tx {
				delete(known, w.Key)
			}
		}
		mu.Unlock()
		return r.Records.Commit(ctx, txs...)
	}
}

// sharing hands out the same slice to every reader of a version.
func sharing() func(store.Records) store.Records {
	var mu sync.Mutex
	values := make(map[store.Version][]byte)
	return eachRecord(func(r *store.Record) {
		mu.Lock()
		defer mu.Unlock()
		if shared, ok := values[r.Version]; ok {
			r.Value = shared
		}
		values[r.Version] = r.Value
	})()
}

// scanning changes what a scan yields, when it yields without error.
func scanning(change func([]store.Record) []store.Record) func() func(store.Records) store.Records {
	return stateless(func(r *records) {
		r.scan = func(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
			return func(yield func(store.Record, error) bool) {
				var all []store.Record
				for rec, err := range r.Records.Scan(ctx, rng) {
					if err != nil {
						yield(rec, err)
						return
					}
					all = append(all, rec)
				}
				for _, rec := range change(all) {
					if !yield(rec, nil) {
						return
					}
				}
			}
		}
	})
}

// bounded changes the range of a scan.
func bounded(change func(*store.Range)) func() func(store.Records) store.Records {
	return stateless(func(r *records) {
		r.scan = func(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
			change(&rng)
			return r.Records.Scan(ctx, rng)
		}
	})
}

func brokenAges() []broken {
	return []broken{
		{name: "age stands still", topic: "age", records: eachRecord(func(r *store.Record) { r.Age = 0 })},
		{name: "age is negative", topic: "age", records: eachRecord(func(r *store.Record) { r.Age = -r.Age - 1 })},
		{name: "age runs fast", topic: "age", records: eachRecord(func(r *store.Record) { r.Age *= 40 })},
		{name: "age is that of the key", topic: "age", records: agesOf(func(w store.Write) string { return w.Key })},
		{name: "age is that of the value", topic: "age", records: agesOf(func(w store.Write) string { return w.Key + string(w.Value) })},
		{name: "age by the clock of the handle", topic: "age", records: func() func(store.Records) store.Records {
			var handles atomic.Int64
			return func(next store.Records) store.Records {
				offset := time.Duration(handles.Add(1)) * time.Second
				return eachRecord(func(r *store.Record) {
					if !r.Missing() {
						r.Age += offset
					}
				})()(next)
			}
		}},
		{name: "age restarts with a read", topic: "age", records: agesSinceRead},
		{name: "now is local", topic: "age", records: stateless(func(r *records) {
			r.now = func(ctx context.Context) (time.Time, error) {
				now, err := r.Records.Now(ctx)
				return now.In(time.FixedZone("elsewhere", 7200)), err
			}
		})},
		{name: "now stands still", topic: "age", records: stateless(func(r *records) {
			r.now = func(context.Context) (time.Time, error) { return time.Date(2026, 8, 11, 0, 0, 0, 0, time.UTC), nil }
		})},
	}
}

// agesOf counts the age from the first write of what a write is named after.
func agesOf(name func(store.Write) string) func() func(store.Records) store.Records {
	return func() func(store.Records) store.Records {
		var mu sync.Mutex
		first := make(map[string]time.Time)
		return func(next store.Records) store.Records {
			r := eachRecord(func(rec *store.Record) {
				mu.Lock()
				defer mu.Unlock()
				if begun, ok := first[name(store.Write{Key: rec.Key, Value: rec.Value})]; ok && !rec.Missing() {
					rec.Age = time.Since(begun)
				}
			})()(next).(*records)
			r.commit = func(ctx context.Context, txs []store.Tx) []error {
				mu.Lock()
				for _, tx := range txs {
					for _, w := range tx {
						if _, ok := first[name(w)]; !ok {
							first[name(w)] = time.Now()
						}
					}
				}
				mu.Unlock()
				return next.Commit(ctx, txs...)
			}
			return r
		}
	}
}

// agesSinceRead counts from the last time the record was read.
func agesSinceRead() func(store.Records) store.Records {
	var mu sync.Mutex
	last := make(map[string]time.Time)
	return eachRecord(func(rec *store.Record) {
		mu.Lock()
		defer mu.Unlock()
		if before, ok := last[rec.Key]; ok {
			rec.Age = min(rec.Age, time.Since(before))
		}
		last[rec.Key] = time.Now()
	})()
}
