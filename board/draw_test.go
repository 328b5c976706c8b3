package board_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// The age of what waits counts what came back, though it is behind what is newer.
func TestOldestIsFoundBehindNewerOnes(t *testing.T) {
	q := board.NewQueue(store.Best, store.Descending, 1000)
	for _, key := range manyKeys(64) {
		if err := q.Submit(key, 1, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	q.Opening()
	var back []board.Waiting
	for v, ok := q.Draw(); ok; v, ok = q.Draw() {
		back = append(back, v)
	}
	want(t, "drawn", len(back), 64)
	for _, key := range manyKeys(128)[64:] {
		if err := q.Submit(key, 1, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	q.Returns(back)
	if since, ok := q.Oldest(); !ok || since != time.Second {
		t.Errorf("the oldest waits since %v, want 1s", since)
	}
}

// Whatever comes, comes back and is taken out meanwhile, a window draws each key that waited
// when it was opened once, with its value of that moment, and no other.
func TestDrawEqualsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := board.NewQueue(store.Best, store.Descending, 1000)
		waits, due := map[string]int64{}, map[string]bool{} // all that waits; what the window has not drawn
		var out []board.Waiting
		keys := rapid.SampledFrom(manyKeys(40))
		submit := func(key string, score int64) {
			if have, ok := waits[key]; !ok || score > have {
				waits[key] = score
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"submit": func(t *rapid.T) {
				key, score := keys.Draw(t, "key"), rapid.Int64Range(0, 9).Draw(t, "score")
				if err := q.Submit(key, score, 0); err != nil {
					t.Fatal(err)
				}
				submit(key, score)
			},
			"open": func(*rapid.T) {
				q.Opening()
				due = map[string]bool{}
				for key := range waits {
					due[key] = true
				}
			},
			"draw": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "n") {
					v, ok := q.Draw()
					if ok != (len(due) > 0) {
						t.Fatalf("drawn %v, %v while %v are due", v, ok, due)
					}
					if !ok {
						return
					}
					if !due[v.Key] || waits[v.Key] != v.Score {
						t.Fatalf("%s=%d was drawn, want %d, due %v", v.Key, v.Score, waits[v.Key], due[v.Key])
					}
					delete(due, v.Key)
					delete(waits, v.Key)
					out = append(out, v)
				}
			},
			"return": func(*rapid.T) {
				q.Returns(out)
				for _, v := range out {
					submit(v.Key, v.Score)
				}
				out = nil
			},
			"take": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				got := q.Take(key)
				if _, ok := waits[key]; ok != (len(got) == 1) {
					t.Fatalf("took %v of %s", got, key)
				}
				delete(waits, key)
				delete(due, key)
			},
			"": func(t *rapid.T) {
				if q.Depth() != len(waits) {
					t.Fatalf("depth %d, want %d", q.Depth(), len(waits))
				}
			},
		})
		for _, v := range q.Detach(1000) {
			if waits[v.Key] != v.Score {
				t.Fatalf("%s=%d is left, want %d", v.Key, v.Score, waits[v.Key])
			}
			delete(waits, v.Key)
		}
		if len(waits) > 0 {
			t.Fatalf("lost: %v", slices.Sorted(maps.Keys(waits)))
		}
	})
}
