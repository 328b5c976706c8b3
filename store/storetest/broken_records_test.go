package storetest_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
)

// records replaces some methods of a driver.
type records struct {
	store.Records
	get    func(ctx context.Context, keys []string) ([]store.Record, error)
	scan   func(ctx context.Context, r store.Range) iter.Seq2[store.Record, error]
	commit func(ctx context.Context, txs []store.Tx) []error
	now    func(ctx context.Context) (time.Time, error)
	close  func(ctx context.Context) error
}

func (r *records) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	if r.get != nil {
		return r.get(ctx, keys)
	}
	return r.Records.Get(ctx, keys...)
}

func (r *records) Scan(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
	if r.scan != nil {
		return r.scan(ctx, rng)
	}
	return r.Records.Scan(ctx, rng)
}

func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	if r.commit != nil {
		return r.commit(ctx, txs)
	}
	return r.Records.Commit(ctx, txs...)
}

func (r *records) Now(ctx context.Context) (time.Time, error) {
	if r.now != nil {
		return r.now(ctx)
	}
	return r.Records.Now(ctx)
}

func (r *records) Close(ctx context.Context) error {
	if r.close != nil {
		return r.close(ctx)
	}
	return r.Records.Close(ctx)
}

// stateless is a decorator without a state that handles share.
func stateless(change func(r *records)) func() func(store.Records) store.Records {
	return func() func(store.Records) store.Records {
		return func(next store.Records) store.Records {
			r := &records{Records: next}
			change(r)
			return r
		}
	}
}

// eachRecord changes every record that Get and Scan return.
func eachRecord(change func(*store.Record)) func() func(store.Records) store.Records {
	return stateless(func(r *records) {
		r.get = func(ctx context.Context, keys []string) ([]store.Record, error) {
			found, err := r.Records.Get(ctx, keys...)
			for i := range found {
				change(&found[i])
			}
			return found, err
		}
		r.scan = func(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
			return func(yield func(store.Record, error) bool) {
				for rec, err := range r.Records.Scan(ctx, rng) {
					change(&rec)
					if !yield(rec, err) {
						return
					}
				}
			}
		}
	})
}

// eachTx changes every transaction before the driver sees it.
func eachTx(change func(store.Tx) store.Tx) func() func(store.Records) store.Records {
	return stateless(func(r *records) {
		r.commit = func(ctx context.Context, txs []store.Tx) []error {
			changed := make([]store.Tx, len(txs))
			for i, tx := range txs {
				changed[i] = change(append(store.Tx(nil), tx...))
			}
			return r.Records.Commit(ctx, changed...)
		}
	})
}

// eachError changes every answer of Commit.
func eachError(change func(error) error) func() func(store.Records) store.Records {
	return stateless(func(r *records) {
		r.commit = func(ctx context.Context, txs []store.Tx) []error {
			errs := r.Records.Commit(ctx, txs...)
			for i := range errs {
				errs[i] = change(errs[i])
			}
			return errs
		}
	})
}

// eachWrite changes every write.
func eachWrite(change func(*store.Write)) func() func(store.Records) store.Records {
	return eachTx(func(tx store.Tx) store.Tx {
		for i := range tx {
			change(&tx[i])
		}
		return tx
	})
}

func withoutChecks(tx store.Tx) store.Tx {
	var kept store.Tx
	for _, w := range tx {
		if w.Op != store.Check {
			kept = append(kept, w)
		}
	}
	return kept
}

func brokenConditions() []broken {
	conflict := func(err error) bool { return errors.Is(err, store.ErrConflict) }
	return []broken{
		{name: "conflict is done", topic: "condition", records: eachError(func(err error) error {
			if conflict(err) {
				return nil
			}
			return err
		})},
		{name: "conflict names another key", topic: "condition", records: eachError(func(err error) error {
			if conflict(err) {
				return &store.ConflictError{Key: "somewhere"}
			}
			return err
		})},
		{name: "conflict names no key", topic: "condition", records: eachError(func(err error) error {
			if conflict(err) {
				return store.ErrConflict
			}
			return err
		})},
		{name: "conflict is unavailable", topic: "condition", records: eachError(func(err error) error {
			if conflict(err) {
				return store.ErrUnavailable
			}
			return err
		})},
		{name: "two words at once", topic: "condition", records: eachError(func(err error) error {
			if conflict(err) {
				return errors.Join(err, store.ErrUnavailable)
			}
			return err
		})},
		{name: "absent is any", topic: "condition", records: eachWrite(func(w *store.Write) {
			if w.If == store.Absent() {
				w.If = store.Any()
			}
		})},
		{name: "conditions of deletes are ignored", topic: "condition", records: eachWrite(func(w *store.Write) {
			if w.Op == store.Delete {
				w.If = store.Any()
			}
		})},
		{name: "versions are doubles", topic: "condition", records: eachRecord(func(r *store.Record) {
			r.Version = store.Version(float64(r.Version))
		})},
		{name: "versions have 32 bits", topic: "condition", records: eachWrite(func(w *store.Write) {
			if v, ok := w.If.Wants(); ok && v != 0 {
				w.If = store.Is(v & 0xffffffff)
			}
			w.Version &= 0xffffffff
		})},
		{name: "deleted versions come back", topic: "condition", records: resurrecting},
		{name: "compare and set in two steps", topic: "race", records: stateless(twoSteps)},
		{name: "compare and set in two steps, histories", topic: "history", records: stateless(twoSteps)},
		{name: "transactions apply in part", topic: "transaction", records: stateless(func(r *records) { r.commit = inParts(r.Records) })},
		{name: "one failure fails the call", topic: "transaction", records: stateless(func(r *records) {
			r.commit = func(ctx context.Context, txs []store.Tx) []error {
				errs := r.Records.Commit(ctx, txs...)
				for _, err := range errs {
					if err != nil {
						for i := range errs {
							errs[i] = err
						}
						break
					}
				}
				return errs
			}
		})},
		{name: "a call stops at its first failure", topic: "transaction", records: stateless(func(r *records) {
			r.commit = func(ctx context.Context, txs []store.Tx) []error {
				errs := make([]error, len(txs))
				for i, tx := range txs {
					if i > 0 && errs[i-1] != nil {
						errs[i] = errs[i-1]
						continue
					}
					errs[i] = r.Records.Commit(ctx, tx)[0]
				}
				return errs
			}
		})},
		{name: "checks are ignored", topic: "check", records: eachTx(withoutChecks)},
		{name: "checks are not held", topic: "check", records: stateless(func(r *records) {
			r.commit = func(ctx context.Context, txs []store.Tx) []error {
				errs := make([]error, len(txs))
				for i, tx := range txs {
					for _, w := range tx {
						if w.Op == store.Check && errs[i] == nil {
							errs[i] = r.Records.Commit(ctx, store.Tx{w})[0]
						}
					}
					timeGoesBy()
					if kept := withoutChecks(tx); errs[i] == nil && len(kept) > 0 {
						errs[i] = r.Records.Commit(ctx, kept)[0]
					}
				}
				return errs
			}
		})},
		{name: "checks write", topic: "check", records: eachWrite(func(w *store.Write) {
			if w.Op == store.Check {
				v, _ := w.If.Wants()
				w.Op, w.Value, w.Version = store.Put, []byte("checked"), v
			}
		})},
	}
}

// inParts makes every write a transaction of its own.
func inParts(next store.Records) func(context.Context, []store.Tx) []error {
	return func(ctx context.Context, txs []store.Tx) []error {
		errs := make([]error, len(txs))
		for i, tx := range txs {
			for _, w := range tx {
				if err := next.Commit(ctx, store.Tx{w})[0]; err != nil {
					errs[i] = err
					break
				}
			}
		}
		return errs
	}
}

// twoSteps looks whether the condition holds and then writes whatever has happened since.
func twoSteps(r *records) {
	r.commit = func(ctx context.Context, txs []store.Tx) []error {
		errs := make([]error, len(txs))
		for i, tx := range txs {
			for j, w := range tx {
				found, err := r.Records.Get(ctx, w.Key)
				if err != nil {
					errs[i] = err
				} else if !w.If.Holds(found[0].Version) {
					errs[i] = &store.ConflictError{Key: w.Key}
				}
				if w.Op != store.Check {
					tx[j].If = store.Any()
				}
			}
			timeGoesBy()
			if errs[i] == nil {
				errs[i] = r.Records.Commit(ctx, tx)[0]
			}
		}
		return errs
	}
}

// timeGoesBy lets others run, as they do while a driver waits for its engine.
func timeGoesBy() {
	for range 50 {
		runtime.Gosched()
	}
}

// resurrecting takes the version of a deleted key for the key's version.
func resurrecting() func(store.Records) store.Records {
	var mu sync.Mutex
	last := make(map[string]store.Version)
	return func(next store.Records) store.Records {
		r := &records{Records: next}
		r.commit = func(ctx context.Context, txs []store.Tx) []error {
			mu.Lock()
			defer mu.Unlock()
			changed := make([]store.Tx, len(txs))
			for i, tx := range txs {
				changed[i] = append(store.Tx(nil), tx...)
				for j, w := range tx {
					v, ok := w.If.Wants()
					if found, err := next.Get(ctx, w.Key); err == nil && ok && v != 0 && found[0].Missing() && v == last[w.Key] && w.Op == store.Put {
						changed[i][j].If = store.Absent()
					}
					if w.Op == store.Put {
						last[w.Key] = w.Version
					}
				}
			}
			return next.Commit(ctx, changed...)
		}
		return r
	}
}

func brokenContexts() []broken {
	ended := func(answer error, apply bool) func() func(store.Records) store.Records {
		return stateless(func(r *records) {
			r.commit = func(ctx context.Context, txs []store.Tx) []error {
				errs := r.Records.Commit(ctx, txs...)
				if ctx.Err() == nil {
					return errs
				}
				if apply {
					r.Records.Commit(context.WithoutCancel(ctx), txs...)
				}
				for i := range errs {
					errs[i] = answer
				}
				return errs
			}
		})
	}
	return []broken{
		{name: "an ended context is answered bare", topic: "context", records: ended(context.Canceled, false)},
		{name: "an ended context is applied and refused", topic: "context", records: ended(store.ErrUnavailable, true)},
		{name: "an ended context is ignored", topic: "context", records: ended(nil, true)},
		{name: "giving up is not done, but it is", topic: "context", records: hasty(store.ErrUnavailable)},
		{name: "giving up is not done, but it is, histories", topic: "history", records: hasty(store.ErrUnavailable)},
		{name: "unknown is not done", topic: "history", records: unknownIsNotDone},
		{name: "unknown is not done, in trouble", topic: "troubles", records: unknownIsNotDone},
		{name: "a read ignores its context", topic: "context", records: stateless(func(r *records) {
			r.get = func(ctx context.Context, keys []string) ([]store.Record, error) {
				return r.Records.Get(context.WithoutCancel(ctx), keys...)
			}
		})},
		{name: "close does nothing", topic: "close", records: stateless(func(r *records) {
			r.close = func(context.Context) error { return nil }
		})},
		{name: "close twice fails", topic: "close", records: stateless(func(r *records) {
			var once atomic.Bool
			r.close = func(ctx context.Context) error {
				if once.Swap(true) {
					return store.ErrClosed
				}
				return r.Records.Close(ctx)
			}
		})},
		{name: "close does not wait", topic: "close", records: stateless(func(r *records) {
			r.commit = func(ctx context.Context, txs []store.Tx) []error {
				errs := make([]error, len(txs)) // done, it says; and then it does it
				if _, err := r.Records.Now(ctx); err != nil {
					return r.Records.Commit(ctx, txs...)
				}
				for i, tx := range txs {
					if len(tx) == 1 && strings.HasPrefix(tx[0].Key, "key/") && tx[0].If == store.Absent() {
						go r.Records.Commit(context.WithoutCancel(ctx), tx)
						continue
					}
					errs[i] = r.Records.Commit(ctx, tx)[0]
				}
				return errs
			}
		})},
		{name: "close leaves a goroutine", topic: "close", records: stateless(func(*records) {
			go func() { select {} }()
		})},
	}
}

// unknownIsNotDone says of what may have been applied that it was not.
func unknownIsNotDone() func(store.Records) store.Records {
	return func(next store.Records) store.Records {
		return eachError(func(err error) error {
			if errors.Is(err, store.ErrUnknown) {
				return store.ErrUnavailable
			}
			return err
		})()(unreliable()(next))
	}
}

// hasty tells a caller whose time is up that nothing was done, while it is being done.
func hasty(answer error) func() func(store.Records) store.Records {
	return stateless(func(r *records) {
		r.commit = func(ctx context.Context, txs []store.Tx) []error {
			if ctx.Err() != nil {
				return r.Records.Commit(ctx, txs...)
			}
			errs := r.Records.Commit(context.WithoutCancel(ctx), txs...)
			for spin := 0; spin < 2000 && ctx.Err() == nil; spin++ {
				_, _ = r.Records.Get(context.WithoutCancel(ctx), "spin")
				if _, hurried := ctx.Deadline(); !hurried {
					break
				}
			}
			if ctx.Err() != nil {
				for i := range errs {
					errs[i] = answer
				}
			}
			return errs
		}
	})
}
