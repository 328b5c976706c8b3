package board_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func TestSubmitRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{MaxQueued: 2, Boards: boards{
			"Kills": {Min: ptr(-5), Max: ptr(100)},
			"Time":  {Decimals: 3, Order: store.Ascending, Min: ptr(1000)},
		}})
		r.submit("Kills", "u1", 7)
		submits := 0
		for _, c := range []struct {
			what   string
			err    error
			field  string
			reason error
		}{
			{"unknown board", r.Submit("Deaths", "u1", 1), "board", board.ErrUnknownBoard},
			{"no board", r.Submit("", "u1", 1), "board", board.ErrUnknownBoard},
			{"empty key", r.Submit("Kills", "", 1), "key", board.ErrName},
			{"a key with a slash", r.Submit("Kills", "../u1", 1), "key", board.ErrName},
			{"a key with a space", r.Submit("Kills", "u 1", 1), "key", board.ErrName},
			{"a key of 129 bytes", r.Submit("Kills", strings.Repeat("k", 129), 1), "key", board.ErrName},
			{"below Min", r.Submit("Kills", "u1", -6), "score", board.ErrLimit},
			{"above Max", r.Submit("Kills", "u1", 101), "score", board.ErrLimit},
			{"a stamp without use", r.SubmitLast("Kills", "u1", 1, store.Stamp{Epoch: 1}), "stamp", board.ErrRule},
			{"no number", r.SubmitDecimal("Time", "u1", "fast"), "score", board.ErrNotNumber},
			{"absent", r.SubmitDecimal("Time", "u1", ""), "score", board.ErrNotNumber}, // case B14
			{"too many decimals", r.SubmitDecimal("Time", "u1", "12.3456"), "score", board.ErrInexact},
			{"exponent", r.SubmitDecimal("Time", "u1", "1e300"), "score", board.ErrNotNumber}, // case B12
			{"below Min, as text", r.SubmitDecimal("Time", "u1", "0.999"), "score", board.ErrLimit},
			{"NaN", r.SubmitFloat("Time", "u1", math.NaN()), "score", board.ErrNotNumber},
			{"infinity", r.SubmitFloat("Time", "u1", math.Inf(-1)), "score", board.ErrNotNumber},
			{"1e300", r.SubmitFloat("Time", "u1", 1e300), "score", board.ErrOverflow},
			{"a float's noise", r.SubmitFloat("Time", "u1", 1.0000001), "score", board.ErrInexact},
			{"text to no board", r.SubmitDecimal("Deaths", "u1", "1"), "board", board.ErrUnknownBoard},
			{"float to no board", r.SubmitFloat("Deaths", "u1", 1), "board", board.ErrUnknownBoard},
		} {
			submits++
			var bad *board.RefusedError
			if !errors.As(c.err, &bad) || bad.Field != c.field || !errors.Is(c.err, c.reason) || bad.Problem == "" {
				t.Errorf("%s: %v, want a refusal of %q with %v", c.what, c.err, c.field, c.reason)
			}
		}
		r.submit("Kills", "u2", 1)
		wantRefused(t, r.Submit("Kills", "u3", 1), "key", board.ErrFull)
		r.submit("Kills", "u1", 8) // what waits still combines
		want(t, "refused", r.Stats().Total.Refused, uint64(submits+1))
		want(t, "accepted", r.Stats().Total.Submitted, 3)
		r.flush()
		want(t, "what is stored", r.stored("Kills"), []string{"u1=8", "u2=1"})
		want(t, "lines about fractions", r.log.count("too many decimals"), 1)
	})
}

func TestZeroAndNegativeScores(t *testing.T) {
	// case B13: negative scores are scores. case B14: so is zero.
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.submit("Kills", "zero", 0)
		r.submit("Kills", "minus", -12)
		r.flush()
		want(t, "the page", r.top("Kills", 0), []string{"zero=0", "minus=-12"})
		got, err := r.Scores(t.Context(), "Kills", "zero", "absent")
		if _, ok := got["absent"]; err != nil || ok || len(got) != 1 {
			t.Fatalf("Scores: %v, %v, want no entry for an absent score", got, err)
		}
	})
}

func TestDecimals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Time": {Decimals: 3, Order: store.Ascending}}})
		if err := errors.Join(r.SubmitDecimal("Time", "text", "12.345"), r.SubmitFloat("Time", "float", 12.344), r.Submit("Time", "raw", 12346)); err != nil {
			t.Fatal(err)
		}
		r.flush()
		want(t, "the page", r.top("Time", 0), []string{"float=12344", "text=12345", "raw=12346"})
		text, err := r.FormatScore("Time", 12345)
		if err != nil || text != "12.345" {
			t.Fatalf("FormatScore: %q, %v", text, err)
		}
		score, err := r.ParseScore("Time", "-0.5")
		if err != nil || score != -500 {
			t.Fatalf("ParseScore: %d, %v", score, err)
		}
		_, err = r.ParseScore("Time", "0.0005")
		wantRefused(t, err, "score", board.ErrInexact)
		_, err = r.ParseScore("Nope", "1")
		wantRefused(t, err, "board", board.ErrUnknownBoard)
		_, err = r.FormatScore("Nope", 1)
		wantRefused(t, err, "board", board.ErrUnknownBoard)
	})
}

func TestSubmitNeverWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		gate := make(chan struct{})
		r.store.failAll("merge", fault{block: gate, stubborn: true})
		r.submit("Kills", "u1", 1)
		later(time.Second)
		start := time.Now()
		for i := range 1000 {
			r.submit("Kills", fmt.Sprintf("u%d", i), int64(i))
		}
		if took := time.Since(start); took != 0 {
			t.Fatalf("submits took %v while the store hung", took)
		}
		close(gate)
	})
}

// leastAllocs is the least of several measurements: allocations of other goroutines of the
// process are counted too, those of f are in every one.
func leastAllocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for range 4 {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

func TestSubmitDoesNotAllocate(t *testing.T) {
	for _, rule := range []store.Rule{store.Best, store.Last, store.Sum} {
		s := newScript()
		r := startOn(t, s, nil, &board.Options{FlushEvery: time.Hour, Boards: boards{"Kills": {Rule: rule}}})
		r.submit("Kills", "player_12345678", 0)
		n := int64(0)
		if got := leastAllocs(1000, func() {
			n++
			_ = r.Submit("Kills", "player_12345678", n)
		}); got != 0 {
			t.Errorf("%v: %v allocations a submit of a key that waits", rule, got)
		}
	}
}

// Windows empty the queue again and again: a known key costs nothing in the long run.
func TestSubmitDoesNotAllocateOverWindows(t *testing.T) {
	q := board.NewQueue(store.Best, store.Descending, 1000)
	keys := manyKeys(200)
	round := func() {
		for _, key := range keys {
			if err := q.Submit(key, 1, 0); err != nil {
				t.Fatal(err)
			}
		}
		q.Detach(1000)
	}
	round()
	// What is taken out is two lists: the queue's own, and the one of this test.
	if got := leastAllocs(50, round); got > 2 {
		t.Fatalf("%v allocations a round of 200 submits", got)
	}
}

func TestManyGoroutinesSubmitAndNothingIsLost(t *testing.T) {
	s := newScript()
	r := startOn(t, s, nil, &board.Options{FlushEvery: time.Millisecond, CallTimeout: -1, Boards: boards{"Coins": {Rule: store.Sum}, "Kills": {}}})
	n := 0
	s.setRule(func(c call) fault {
		if c.Op != "merge" {
			return fault{}
		}
		n++
		return []fault{{}, notDone, {}, lost, {}, vanish}[n%6]
	})
	var wg sync.WaitGroup
	const goroutines, each, keys = 8, 3000, 20
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				key := fmt.Sprintf("u%d", i%keys)
				if err := errors.Join(r.Submit("Coins", key, 1), r.Submit("Kills", key, int64(g*each+i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s.setRule(nil)
	for r.Stats().Total.Queued+r.Stats().Total.InFlight > 0 {
		r.flush()
	}
	for k := range keys {
		key := fmt.Sprintf("u%d", k)
		coins, err := s.Boards.Scores(t.Context(), "Coins", key)
		if err != nil || coins[key].Score != goroutines*each/keys {
			t.Fatalf("Coins of %s: %d, %v, want %d", key, coins[key].Score, err, goroutines*each/keys)
		}
		kills, err := s.Boards.Scores(t.Context(), "Kills", key)
		if best := int64(goroutines*each - keys + k); err != nil || kills[key].Score != best {
			t.Fatalf("Kills of %s: %d, %v, want %d", key, kills[key].Score, err, best)
		}
	}
}

// A submit at the moment in which the writing goroutine finds nothing more to do wakes it
// again: every value is written without anybody asking.
func TestNoSubmitIsOverlooked(t *testing.T) {
	r := startOn(t, newScript(), nil, &board.Options{FlushEvery: 1, CallTimeout: -1, Boards: boards{"Kills": {}}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range int64(5_000) {
		r.submit("Kills", "u1", i)
		for stats := r.Stats().Total; stats.Queued+stats.InFlight > 0; stats = r.Stats().Total {
			if ctx.Err() != nil {
				t.Fatalf("submit %d waits for ever", i)
			}
			runtime.Gosched()
		}
		for range i % 500 { // meets the writing goroutine at another point each time
			r.Boards()
		}
	}
}

// A submit that races with Forget is refused, or the board is not forgotten.
func TestSubmitRacesWithForget(t *testing.T) {
	r := startOn(t, newScript(), nil, &board.Options{FlushEvery: time.Millisecond})
	var wg sync.WaitGroup
	done := make(chan struct{})
	accepted := make([]int64, 4)
	for g := range accepted {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if r.Submit("Coins", fmt.Sprintf("u%d", g), 1) == nil {
					accepted[g]++
				}
			}
		})
	}
	for forgotten := 0; forgotten < 300; {
		if err := r.Define("Coins", board.Config{Rule: store.Sum}); err != nil {
			t.Fatal(err)
		}
		if err := r.Forget("Coins"); err == nil {
			forgotten++
		}
	}
	close(done)
	wg.Wait()
	if err := r.Define("Coins", board.Config{Rule: store.Sum}); err != nil {
		t.Fatal(err)
	}
	r.flush()
	for g, n := range accepted {
		key := fmt.Sprintf("u%d", g)
		stored, err := r.store.Boards.Scores(t.Context(), "Coins", key)
		if n > 0 && (err != nil || stored[key].Score != n) {
			t.Fatalf("%s: %d accepted, %d stored, %v", key, n, stored[key].Score, err)
		}
	}
}

func FuzzSubmitKey(f *testing.F) {
	// case B17
	for _, key := range []string{"u1", "", "a/b", "../x", "a\x00b", "ü", strings.Repeat("k", 129), "Kills", "a b"} {
		f.Add(key, int64(1))
	}
	s := newScript()
	st, err := store.New(store.Parts{Durable: s.engine.Records(), Boards: s, Bus: s.engine.Bus()})
	if err != nil {
		f.Fatal(err)
	}
	svc, err := board.NewOn(board.Host{ID: "n", Boards: st.Boards(), Now: time.Now, Logger: discard()}, &board.Options{FlushEvery: -1, Boards: boards{"Kills": {Rule: store.Last}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _, _ = svc.Close(context.WithoutCancel(f.Context())) })
	f.Fuzz(func(t *testing.T, key string, score int64) {
		err := svc.Submit("Kills", key, score)
		var bad *board.RefusedError
		if err != nil && (!errors.As(err, &bad) || bad.Field != "key") {
			t.Fatalf("%q: %v", key, err)
		}
		if e := svc.FlushNow(t.Context()); e != nil {
			t.Fatalf("%q was accepted and cannot be written: %v", key, e)
		}
		if err != nil {
			return
		}
		got, e := svc.Scores(t.Context(), "Kills", key)
		if e != nil || got[key].Score != score {
			t.Fatalf("%q: stored %v, %v, want %d", key, got, e, score)
		}
	})
}

func FuzzDefine(f *testing.F) {
	// case B17
	for _, name := range []string{"Kills", "season/reef/Fish/C1S2", "", "/", "a//b", "a b", "profile/players/u1", "\xff"} {
		f.Add(name)
	}
	s := newScript()
	svc, err := board.NewOn(board.Host{ID: "n", Boards: s, Now: time.Now, Logger: discard()}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _, _ = svc.Close(context.WithoutCancel(f.Context())) })
	f.Fuzz(func(t *testing.T, name string) {
		err := svc.Define(name, board.Config{})
		var bad *board.RefusedError
		if err != nil && (!errors.As(err, &bad) || bad.Field != "board") {
			t.Fatalf("%q: %v", name, err)
		}
		if strings.ContainsAny(name, " \x00\\%\n") && err == nil || name == "" && err == nil {
			t.Fatalf("%q is a board", name)
		}
		if err == nil {
			if err := svc.Forget(name); err != nil {
				t.Fatalf("%q: %v", name, err)
			}
		}
	})
}
