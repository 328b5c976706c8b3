package overlay_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/overlay"
	"github.com/shoalworks/shoal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryIsADriver(t *testing.T) {
	storetest.Records(t, func(*testing.T) storetest.Harness[store.Records] {
		return storetest.Harness[store.Records]{Open: func(*testing.T) store.Records { return overlay.Memory(nil) }}
	})
}

func TestCopyOfNothingIsADriver(t *testing.T) {
	storetest.Records(t, func(t *testing.T) storetest.Harness[store.Records] {
		t.Helper()
		return storetest.Harness[store.Records]{Open: func(t *testing.T) store.Records {
			t.Helper()
			return overlay.Copy(untouched{t, memstore.New(nil).Records()}, nil)
		}}
	})
}

// untouched fails the test when it is written or closed.
type untouched struct {
	t *testing.T
	store.Records
}

func (u untouched) Commit(_ context.Context, txs ...store.Tx) []error {
	u.t.Errorf("a write reached what is below: %v", txs)
	return make([]error, len(txs))
}

func (u untouched) Close(context.Context) error {
	u.t.Error("what is below was closed")
	return nil
}

// live is a store with some records, and its copy.
func live(t *testing.T, o *overlay.Options, keys ...string) (under, over store.Records) {
	t.Helper()
	under = memstore.New(nil).Records()
	for i, key := range keys {
		put(t, under, key, "live "+key, store.Version(i+1))
	}
	return under, overlay.Copy(untouched{t, under}, o)
}

func put(t *testing.T, r store.Records, key, value string, v store.Version) {
	t.Helper()
	if err := r.Commit(t.Context(), store.Tx{{Key: key, Op: store.Put, Value: []byte(value), Version: v}})[0]; err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, r store.Records, key string) string {
	t.Helper()
	recs, err := r.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(recs[0].Value)
}

func scan(t *testing.T, r store.Records, rng store.Range) []string {
	t.Helper()
	var out []string
	for rec, err := range r.Scan(t.Context(), rng) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec.Key+"="+string(rec.Value))
	}
	return out
}

func TestCopyKeepsWhatItHasRead(t *testing.T) {
	under, over := live(t, nil, "a", "b")
	if got := get(t, over, "a"); got != "live a" {
		t.Errorf("a is %q", got)
	}
	put(t, under, "a", "newer", 9)
	put(t, under, "b", "newer", 10)
	if got := get(t, over, "a"); got != "live a" {
		t.Errorf("a copy that was read is now %q", got)
	}
	if got := get(t, over, "b"); got != "newer" {
		t.Errorf("one that was not read is %q", got)
	}
	put(t, over, "a", "own", 11)
	if get(t, over, "a") != "own" || get(t, under, "a") != "newer" {
		t.Errorf("a is %q, below %q", get(t, over, "a"), get(t, under, "a"))
	}
}

// Conditions hold against what is below, even for keys that were never read.
func TestConditionsSeeWhatIsBelow(t *testing.T) {
	_, over := live(t, nil, "a", "b")
	write := func(w store.Write) error { return over.Commit(t.Context(), store.Tx{w})[0] }
	if err := write(store.Write{Key: "a", Op: store.Put, Value: []byte("x"), If: store.Absent(), Version: 7}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("absent: %v", err)
	}
	if err := write(store.Write{Key: "a", Op: store.Put, Value: []byte("x"), If: store.Is(1), Version: 7}); err != nil {
		t.Errorf("the version from below: %v", err)
	}
	if err := write(store.Write{Key: "b", Op: store.Delete, If: store.Is(2)}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if got := get(t, over, "b"); got != "" {
		t.Errorf("deleted, but %q", got)
	}
	if err := write(store.Write{Key: "b", Op: store.Put, Value: []byte("again"), If: store.Absent(), Version: 8}); err != nil {
		t.Errorf("absent after delete: %v", err)
	}
}

func TestScanShowsBoth(t *testing.T) {
	_, over := live(t, nil, "b", "d", "f", "h")
	put(t, over, "a", "own", 11)
	put(t, over, "d", "own", 12)
	put(t, over, "e", "own", 13)
	put(t, over, "i", "own", 14)
	if err := over.Commit(t.Context(), store.Tx{{Key: "f", Op: store.Delete}})[0]; err != nil {
		t.Fatal(err)
	}
	get(t, over, "g") // known to be missing
	want := []string{"a=own", "b=live b", "d=own", "e=own", "h=live h", "i=own"}
	if diff := cmp.Diff(want, scan(t, over, store.Range{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:4], scan(t, over, store.Range{From: "b", To: "z", Limit: 3})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[2:5], scan(t, over, store.Range{From: "c", To: "i"})); diff != "" {
		t.Error(diff)
	}
}

func TestAdoptChangesWhatIsCopied(t *testing.T) {
	_, over := live(t, &overlay.Options{Adopt: func(key string, value []byte) []byte {
		if key == "secret" {
			return nil
		}
		return []byte(strings.ToUpper(string(value)))
	}}, "a", "b", "secret")
	if got := get(t, over, "a"); got != "LIVE A" {
		t.Errorf("a is %q", got)
	}
	if got := get(t, over, "secret"); got != "" {
		t.Errorf("shown: %q", got)
	}
	if diff := cmp.Diff([]string{"a=LIVE A", "b=LIVE B"}, scan(t, over, store.Range{})); diff != "" {
		t.Error(diff)
	}
}

func TestOutageBelowIsNotDone(t *testing.T) {
	under := memstore.New(nil).Records()
	put(t, under, "a", "live", 1)
	faults := faultstore.New(nil)
	over := overlay.Copy(faults.Records(under, faultstore.Durable), nil)
	get(t, over, "a")
	faults.Outage(faultstore.All, true)
	put(t, over, "a", "own", 2) // known already
	err := over.Commit(t.Context(), store.Tx{{Key: "b", Op: store.Put, Value: []byte("x"), Version: 3}})[0]
	if store.OutcomeOf(err) != store.NotDone || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("commit: %v", err)
	}
	if _, err := over.Get(t.Context(), "b"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v", err)
	}
	faults.Outage(faultstore.All, false)
	if got := get(t, over, "b"); got != "" {
		t.Errorf("b is %q", got)
	}
}

// A copy that arrives late does not undo a write that came first.
func TestLateCopyIsNotTaken(t *testing.T) {
	under := memstore.New(nil).Records()
	put(t, under, "a", "live", 1)
	slow := &slowReads{Records: under, entered: make(chan struct{}), hold: make(chan struct{})}
	over := overlay.Copy(slow, nil)
	var wg sync.WaitGroup
	wg.Go(func() { get(t, over, "a") })
	<-slow.entered
	slow.pass = true
	put(t, over, "a", "own", 2)
	close(slow.hold)
	wg.Wait()
	if got := get(t, over, "a"); got != "own" {
		t.Errorf("a is %q", got)
	}
}

// slowReads holds its first read up after it has been made.
type slowReads struct {
	store.Records
	pass          bool
	entered, hold chan struct{}
}

func (s *slowReads) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	recs, err := s.Records.Get(ctx, keys...)
	if !s.pass {
		close(s.entered)
		<-s.hold
	}
	return recs, err
}
