package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/store"
)

func testQueue(t *testing.T, o Options) *queue {
	t.Helper()
	full, err := (&o).withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return newQueue(full, full.GroupSize)
}

// putJob queues a Put under Any.
func putJob(t *testing.T, q *queue, key string, size int) *job {
	t.Helper()
	j := newJob(store.Write{Key: key, Op: store.Put, Value: make([]byte, size), Version: 1})
	if err := q.push(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	return j
}

func keysOf(group []*job) (keys []string) {
	for _, j := range group {
		keys = append(keys, j.write.Key)
	}
	return keys
}

func wantKeys(t *testing.T, what string, group []*job, keys ...string) {
	t.Helper()
	if got := keysOf(group); !slices.Equal(got, keys) {
		t.Fatalf("%s takes %v, want %v", what, got, keys)
	}
}

// One key is never in two groups at once, nor twice in one.
func TestKeysTakeTurns(t *testing.T) {
	q := testQueue(t, Options{})
	putJob(t, q, "a", 1)
	putJob(t, q, "a", 2)
	putJob(t, q, "b", 1)
	first := q.take()
	wantKeys(t, "the first group", first, "a", "b")
	wantKeys(t, "while it flies, another", q.take())
	putJob(t, q, "c", 1)
	wantKeys(t, "then another", q.take(), "c")
	q.end(first)
	second := q.take()
	wantKeys(t, "the next", second, "a")
	if len(second[0].write.Value) != 2 {
		t.Error("the second write of the key is not the one that came second")
	}
}

// A group is of one kind, and what is older goes first.
func TestGroupsAreOfOneKind(t *testing.T) {
	q := testQueue(t, Options{})
	ctx := t.Context()
	for i, w := range []store.Write{
		{Op: store.Put, Value: []byte{}, Version: 1, If: store.Is(7)},
		{Op: store.Put, Value: []byte{}, Version: 1, If: store.Absent()},
		{Op: store.Delete, If: store.Is(7)},
		{Op: store.Put, Value: []byte{}, Version: 1},
		{Op: store.Put, Value: []byte{}, Version: 1, If: store.Is(8)},
		{Op: store.Delete},
	} {
		w.Key = fmt.Sprint(i)
		if err := q.push(ctx, newJob(w)); err != nil {
			t.Fatal(err)
		}
	}
	wantKeys(t, "replace", q.take(), "0", "4")
	wantKeys(t, "create", q.take(), "1")
	wantKeys(t, "remove", q.take(), "2", "5")
	wantKeys(t, "put", q.take(), "3")
	wantKeys(t, "nothing", q.take())
}

func TestGroupsAreBounded(t *testing.T) {
	q := testQueue(t, Options{GroupSize: 3, GroupBytes: 4000})
	for i := range 7 {
		putJob(t, q, fmt.Sprint(i), 1)
	}
	putJob(t, q, "large", 100_000)
	wantKeys(t, "by number", q.take(), "0", "1", "2")
	wantKeys(t, "by number", q.take(), "3", "4", "5")
	wantKeys(t, "by bytes", q.take(), "6")
	wantKeys(t, "what is larger than a group", q.take(), "large")
}

// A caller that leaves before a writer has the job knows that it is not done; later it is
// unknown.
func TestCallersLeave(t *testing.T) {
	q := testQueue(t, Options{})
	waiting, taken := putJob(t, q, "a", 1), putJob(t, q, "b", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := waiting.wait(ctx); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("before it is taken: %v", err)
	}
	wantKeys(t, "the group", q.take(), "b")
	if err := taken.wait(ctx); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("after it is taken: %v", err)
	}
	taken.end(nil)
	if err := taken.wait(ctx); err != nil {
		t.Errorf("after it is done: %v", err)
	}
}

// When the room is full callers wait for it, and those who give up have done nothing.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(t, Options{QueueBytes: 2000})
		putJob(t, q, "a", 1400)
		ctx, cancel := context.WithCancel(t.Context())
		gone, waits := make(chan error, 1), make(chan error, 1)
		push := func(ctx context.Context, key string, answer chan error) {
			answer <- q.push(ctx, newJob(store.Write{Key: key, Op: store.Put, Value: make([]byte, 1400), Version: 1}))
		}
		go push(ctx, "gone", gone)
		synctest.Wait()
		go push(t.Context(), "b", waits)
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a caller that gave up hears %v", err)
		}
		select {
		case err := <-waits:
			t.Fatalf("a job over the room was queued: %v", err)
		default:
		}
		wantKeys(t, "the first", q.take(), "a")
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
		wantKeys(t, "the one that waited", q.take(), "b")
	})
}

// The writers end when the queue is closed and empty; what is refused is not done.
func TestQueueCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testQueue(t, Options{})
		left := putJob(t, q, "a", 1)
		q.close()
		if err := q.push(t.Context(), newJob(store.Write{Key: "b", Op: store.Delete})); !errors.Is(err, store.ErrClosed) {
			t.Errorf("a closed queue answers %v", err)
		}
		if !q.wait() {
			t.Fatal("a closed queue forgets what it holds")
		}
		ended := make(chan bool, 1)
		q.refuse(store.ErrClosed)
		go func() { ended <- q.wait() }()
		if <-ended {
			t.Fatal("an empty closed queue has something")
		}
		if err := left.wait(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("what was refused is %v", err)
		}
	})
}
