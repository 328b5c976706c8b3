package faultstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// world is an engine, the decorated handles of one process, and plain handles of another.
type world struct {
	t      *testing.T
	faults *faultstore.Faults
	parts  store.Parts
	plain  store.Parts
}

// newWorld closes everything when the test ends.
func newWorld(t *testing.T, o *faultstore.Options) *world {
	t.Helper()
	e := memstore.New(&memstore.Options{Apart: true})
	f := faultstore.New(o)
	w := &world{t: t, faults: f, parts: f.Wrap(e.Parts()), plain: e.Parts()}
	for _, p := range []store.Parts{w.parts, w.plain} {
		s, err := store.New(p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	_, err := w.plain.Boards.Create(t.Context(), "board", store.BoardSpec{Order: store.Descending, Generation: "g"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(key string) store.Tx {
	return store.Tx{{Key: key, Op: store.Put, Value: []byte("value"), Version: 7}}
}

// stored tells whether the engine has the record, whatever the faults.
func (w *world) stored(key string) bool {
	w.t.Helper()
	found, err := w.plain.Durable.Get(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	return !found[0].Missing()
}

// entered tells whether the board has the entry.
func (w *world) entered(key string) bool {
	w.t.Helper()
	_, ok, err := w.plain.Boards.Standing(w.t.Context(), "board", key, store.Ordinal)
	if err != nil {
		w.t.Fatal(err)
	}
	return ok
}

// always is the rule of one fault for the calls that match.
func always(op string, f faultstore.Fault) faultstore.Rule {
	return func(c faultstore.Call) faultstore.Fault {
		if c.Op == op {
			return f
		}
		return faultstore.Fault{}
	}
}

// kindCase is what a fault does to a write.
type kindCase struct {
	fault   faultstore.Fault
	outcome store.Outcome
	applied bool          // when the answer comes
	landed  bool          // an hour and a Land later
	took    time.Duration // with a context of a minute
	crashed bool
}

func kindCases() []kindCase {
	const s = time.Second
	return []kindCase{
		{faultstore.Fault{}, store.Done, true, true, 0, false},
		{faultstore.Fault{Delay: s, Back: 2 * s}, store.Done, true, true, 3 * s, false},
		{faultstore.Fault{Delay: 2 * time.Minute}, store.Unknown, false, false, time.Minute, false},
		{faultstore.Fault{Back: 2 * time.Minute}, store.Unknown, true, true, time.Minute, false},
		{faultstore.Fault{Kind: faultstore.FailBefore}, store.NotDone, false, false, 0, false},
		{faultstore.Fault{Kind: faultstore.FailBefore, Delay: s}, store.NotDone, false, false, s, false},
		{faultstore.Fault{Kind: faultstore.FailAfter, Delay: s}, store.Unknown, true, true, s, false},
		{faultstore.Fault{Kind: faultstore.Late, After: s}, store.Unknown, false, true, 0, false},
		{faultstore.Fault{Kind: faultstore.Late}, store.Unknown, false, true, 0, false},
		{faultstore.Fault{Kind: faultstore.Hang}, store.Unknown, false, false, time.Minute, false},
		{faultstore.Fault{Kind: faultstore.HangApplied}, store.Unknown, true, true, time.Minute, false},
		{faultstore.Fault{Kind: faultstore.Crash}, store.NotDone, false, false, 0, true},
		{faultstore.Fault{Kind: faultstore.CrashAfter}, store.Unknown, true, true, 0, true},
		{faultstore.Fault{Kind: faultstore.Lose}, store.NotDone, false, false, 0, false},
		{faultstore.Fault{Kind: faultstore.Twice}, store.Done, true, true, 0, false},
	}
}

// writeUnder does a write under each fault in a world of its own and compares what it was
// told with what the engine below has.
func writeUnder(t *testing.T, op string, write func(context.Context, *world) error, applied func(*world) bool) {
	t.Helper()
	for _, c := range kindCases() {
		t.Run(c.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &faultstore.Options{Rule: always(op, c.fault)})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begun := time.Now()
				err := write(ctx, w)
				if got := store.OutcomeOf(err); got != c.outcome {
					t.Errorf("outcome %v (%v), want %v", got, err, c.outcome)
				}
				if took := time.Since(begun); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				if got := applied(w); got != c.applied {
					t.Errorf("applied = %v at the answer, want %v", got, c.applied)
				}
				time.Sleep(time.Hour)
				w.faults.Land()
				if got := applied(w); got != c.landed {
					t.Errorf("applied = %v an hour later, want %v", got, c.landed)
				}
				if got := w.faults.Crashed(); got != c.crashed {
					t.Errorf("crashed = %v, want %v", got, c.crashed)
				}
				if t.Failed() {
					t.Logf("log:\n%s", w.faults)
				}
			})
		})
	}
}

func TestCommitUnderEachFault(t *testing.T) {
	writeUnder(t, "commit",
		func(ctx context.Context, w *world) error { return w.parts.Durable.Commit(ctx, put("key"))[0] },
		func(w *world) bool { return w.stored("key") })
}

func TestMergeUnderEachFault(t *testing.T) {
	batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "key", Score: 1}}}
	writeUnder(t, "merge",
		func(ctx context.Context, w *world) error {
			changes, err := w.parts.Boards.Merge(ctx, "board", batch)
			if (err == nil) != (len(changes) == 1) {
				t.Errorf("Merge = %v, %v", changes, err)
			}
			return err
		},
		func(w *world) bool { return w.entered("key") })
}

func TestOtherBoardWritesUnderEachFault(t *testing.T) {
	missing := func(w *world) bool {
		_, err := w.plain.Boards.Info(w.t.Context(), "board")
		return errors.Is(err, store.ErrNoBoard)
	}
	exists := func(w *world) bool {
		_, err := w.plain.Boards.Info(w.t.Context(), "new")
		return err == nil
	}
	sealed := func(w *world) bool {
		info, err := w.plain.Boards.Info(w.t.Context(), "board")
		return err == nil && info.Sealed
	}
	t.Run("drop", func(t *testing.T) {
		writeUnder(t, "drop", func(ctx context.Context, w *world) error { return w.parts.Boards.Drop(ctx, "board") }, missing)
	})
	t.Run("create", func(t *testing.T) {
		writeUnder(t, "create", func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Create(ctx, "new", store.BoardSpec{Order: store.Ascending, Generation: "g"})
			return err
		}, exists)
	})
	t.Run("seal", func(t *testing.T) {
		writeUnder(t, "seal", func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Seal(ctx, "board")
			return err
		}, sealed)
	})
	t.Run("erase", func(t *testing.T) {
		batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "key", Score: 1}}}
		writeUnder(t, "erase", func(ctx context.Context, w *world) error {
			if _, err := w.plain.Boards.Merge(ctx, "board", batch); err != nil {
				return err
			}
			_, err := w.parts.Boards.Erase(ctx, "board", "key")
			return err
		}, func(w *world) bool { return !w.entered("key") })
	})
	t.Run("remove", func(t *testing.T) {
		batch := store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "key", Score: 1}}}
		writeUnder(t, "remove", func(ctx context.Context, w *world) error {
			if _, err := w.plain.Boards.Merge(ctx, "board", batch); err != nil {
				return err
			}
			_, err := w.parts.Boards.Remove(ctx, "board", "key")
			return err
		}, func(w *world) bool { return !w.entered("key") })
	})
}

func TestReadsUnderEachFault(t *testing.T) {
	reads := map[string]func(context.Context, *world) error{
		"get": func(ctx context.Context, w *world) error {
			_, err := w.parts.Durable.Get(ctx, "key")
			return err
		},
		"now": func(ctx context.Context, w *world) error {
			_, err := w.parts.Durable.Now(ctx)
			return err
		},
		"scan": func(ctx context.Context, w *world) error {
			n := 0
			for _, err := range w.parts.Durable.Scan(ctx, store.Range{}) {
				if n++; err != nil {
					return err
				}
			}
			if n != 2 {
				return errors.New("the scan ended without an error")
			}
			return nil
		},
		"info": func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Info(ctx, "board")
			return err
		},
		"page": func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Page(ctx, "board", 0, 1, store.Ordinal)
			return err
		},
		"standing": func(ctx context.Context, w *world) error {
			_, _, err := w.parts.Boards.Standing(ctx, "board", "key", store.Ordinal)
			return err
		},
		"around": func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Around(ctx, "board", "key", 1, store.Ordinal)
			return err
		},
		"scores": func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Scores(ctx, "board", "key")
			return err
		},
		"walk": func(ctx context.Context, w *world) error {
			from := store.Cursor{}
			page, next, err := w.parts.Boards.Walk(ctx, "board", from, 1)
			if (err == nil) == (page.Info.Generation == "") || err != nil && next != from {
				return errors.New("the answer of a walk does not go with its error")
			}
			return err
		},
		"hidden": func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Hidden(ctx, "board", "", 1)
			return err
		},
		"check": func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.Check(ctx, "board", false)
			return err
		},
		"list": func(ctx context.Context, w *world) error {
			_, err := w.parts.Boards.List(ctx, "", "", 1)
			return err
		},
	}
	for op, read := range reads {
		for _, c := range kindCases() {
			t.Run(op+" "+c.fault.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, &faultstore.Options{Rule: always(op, c.fault)})
					for _, err := range w.plain.Durable.Commit(t.Context(), put("a"), put("b")) {
						if err != nil {
							t.Fatal(err)
						}
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					begun := time.Now()
					err := read(ctx, w)
					if fails := c.outcome != store.Done; fails != (err != nil) || err != nil && !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("%s = %v, fails: %v", op, err, fails)
					}
					if took := time.Since(begun); took != c.took {
						t.Errorf("it took %v, want %v", took, c.took)
					}
					if t.Failed() {
						t.Logf("log:\n%s", w.faults)
					}
				})
			})
		}
	}
}
