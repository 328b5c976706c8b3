package board_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func TestQueueGivesTheOldestFirst(t *testing.T) {
	q := board.NewQueue(store.Best, store.Descending, 100)
	// Keys of one shard would be a matter of the hash; with n = 1 the order within a shard is
	// all there is.
	submitAll(t, q, "a", 3)
	first := q.Detach(1)
	if err := q.Submit("a", 9, time.Second); err != nil {
		t.Fatal(err)
	}
	q.GiveBack(first)
	want(t, "the value that came back, with the newer one", q.Detach(5), []board.Waiting{{Key: "a", Score: 9, Since: 0}})
	want(t, "depth", q.Depth(), 0)
}

func submitAll(t *testing.T, q *board.Queue, key string, score int64) {
	t.Helper()
	if err := q.Submit(key, score, 0); err != nil {
		t.Fatal(err)
	}
}

func TestQueueKeepsFailedWindowsAndAge(t *testing.T) {
	q := board.NewQueue(store.Best, store.Descending, 100)
	if err := q.Submit("a", 1, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	q.GiveBack([]board.Waiting{{Key: "a", Score: 0, Since: time.Second, Tries: 4}})
	if since, ok := q.Oldest(); !ok || since != time.Second {
		t.Fatalf("oldest since %v, %v, want 1s", since, ok)
	}
	want(t, "the combined value", q.Detach(9), []board.Waiting{{Key: "a", Score: 1, Since: time.Second, Tries: 4}})
	if _, ok := q.Oldest(); ok {
		t.Fatal("an empty queue has an oldest value")
	}
}

func TestQueueLimit(t *testing.T) {
	q := board.NewQueue(store.Sum, store.Descending, 2)
	submitAll(t, q, "a", 1)
	submitAll(t, q, "b", 1)
	if err := q.Submit("c", 1, 0); !errors.Is(err, board.ErrFull) {
		t.Fatalf("a third key: %v, want ErrFull", err)
	}
	submitAll(t, q, "a", 1)
	want(t, "depth", q.Depth(), 2)
	q.Take("b")
	submitAll(t, q, "c", 1)
}

// Every shard gets its turn, however small the windows.
func TestQueueStarvesNoKey(t *testing.T) {
	q := board.NewQueue(store.Best, store.Descending, 1000)
	for i := range 64 {
		submitAll(t, q, fmt.Sprintf("old_%d", i), 1)
	}
	seen := 0
	for round := range 64 {
		// A chatty key in every shard, always there.
		for i := range 64 {
			submitAll(t, q, fmt.Sprintf("new_%d_%d", round, i), 1)
		}
		for _, v := range q.Detach(64) {
			if v.Key[:3] == "old" {
				seen++
			}
		}
	}
	if seen != 64 {
		t.Fatalf("%d of 64 old keys came out", seen)
	}
}

// The queue is a map with a rule: any history leaves in it what the map has, its depth is
// exact, and its memory is bounded by what waited, not by how often.
func TestQueueEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.SampledFrom([]store.Order{store.Ascending, store.Descending}).Draw(t, "order")
		q := board.NewQueue(store.Best, order, 30)
		model := map[string]int64{}
		var out []board.Waiting // taken out, in order
		keys := rapid.SampledFrom(manyKeys(40))
		better := func(key string, score int64) {
			if have, ok := model[key]; !ok || order.Better(score, have) {
				model[key] = score
			}
		}
		remove := func(got []board.Waiting) {
			for _, v := range got {
				if have, ok := model[v.Key]; !ok || have != v.Score {
					t.Fatalf("%s=%d came out, want %d, %v", v.Key, v.Score, have, ok)
				}
				delete(model, v.Key)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				key, score := keys.Draw(t, "key"), rapid.Int64().Draw(t, "score")
				_, known := model[key]
				err := q.Submit(key, score, 0)
				if full := !known && len(model) >= 30; full != errors.Is(err, board.ErrFull) || !full && err != nil {
					t.Fatalf("%d keys wait: %v", len(model), err)
				}
				if err == nil {
					better(key, score)
				}
			},
			"detach": func(t *rapid.T) {
				n := rapid.IntRange(0, 50).Draw(t, "n")
				had := len(model)
				got := q.Detach(n)
				if len(got) != min(n, had) {
					t.Fatalf("%d came of %d, asked for %d", len(got), had, n)
				}
				remove(got)
				out = append(out, got...)
			},
			"give back": func(*rapid.T) {
				q.GiveBack(out)
				for _, v := range out {
					better(v.Key, v.Score)
				}
				out = nil
			},
			"take": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				remove(q.Take(key))
				delete(model, key)
			},
			"": func(t *rapid.T) {
				if q.Depth() != len(model) {
					t.Fatalf("depth %d, want %d", q.Depth(), len(model))
				}
				if q.Slots() > 16*64 {
					t.Fatalf("%d slots for at most 80 keys", q.Slots())
				}
			},
		})
		remove(q.Detach(1000))
		if len(model) > 0 {
			t.Fatalf("never came out: %v", slices.Sorted(maps.Keys(model)))
		}
	})
}

func manyKeys(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("u_%d", i)
	}
	return out
}

func TestQueueFromManyGoroutines(t *testing.T) {
	q := board.NewQueue(store.Sum, store.Descending, 1000)
	var wg sync.WaitGroup
	keys := manyKeys(50)
	for range 8 {
		wg.Go(func() {
			for i := range 2000 {
				if err := q.Submit(keys[i%len(keys)], 1, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sums := map[string]int64{}
	drain := func() {
		for _, v := range q.Detach(20) {
			sums[v.Key] += v.Score
		}
	}
	for range 100 {
		drain()
	}
	wg.Wait()
	for q.Depth() > 0 {
		drain()
	}
	for _, key := range keys {
		if sums[key] != 8*2000/50 {
			t.Fatalf("%s: %d, want %d", key, sums[key], 8*2000/50)
		}
	}
}

// After an outage in which values come back again and again, the memory is that of what
// waits.
func TestQueueDoesNotGrowWhileNothingCanBeWritten(t *testing.T) {
	q := board.NewQueue(store.Best, store.Descending, 10_000)
	for _, key := range manyKeys(2000) {
		submitAll(t, q, key, 0)
	}
	for round := range 300 {
		out := q.Detach(60) // a part of one shard, always the same while it comes back
		for _, v := range out {
			submitAll(t, q, v.Key, int64(round))
		}
		q.GiveBack(out)
	}
	if q.Slots() > 4*2000 {
		t.Fatalf("%d slots for 2000 keys", q.Slots())
	}
	want(t, "depth", q.Depth(), 2000)
}

// Nor does it grow when values are submitted and taken out, again and again.
func TestQueueDoesNotGrowByRemovals(t *testing.T) {
	q := board.NewQueue(store.Best, store.Descending, 10_000)
	for _, key := range manyKeys(100) { // no shard is empty
		submitAll(t, q, key, 0)
	}
	for range 10_000 {
		submitAll(t, q, "x", 1)
		q.Take("x")
	}
	if q.Slots() > 16*16 {
		t.Fatalf("%d slots for 100 keys", q.Slots())
	}
}
