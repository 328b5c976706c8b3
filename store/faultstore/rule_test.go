package faultstore_test

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

func calls(n int) []faultstore.Call {
	all := make([]faultstore.Call, n)
	for i := range all {
		all[i] = faultstore.Call{N: uint64(i + 1), Part: faultstore.Durable, Op: "commit", Write: i%2 == 0}
	}
	return all
}

func TestNthStrikesOnce(t *testing.T) {
	fault := faultstore.Fault{Kind: faultstore.FailAfter}
	for n := range 7 {
		var struck []int
		rule := faultstore.Nth(n, faultstore.Writes, fault)
		for i, c := range calls(10) { // writes are 0, 2, 4, 6, 8
			if rule(c) == fault {
				struck = append(struck, i)
			}
		}
		var want []int
		if n >= 1 && n <= 5 {
			want = []int{2 * (n - 1)}
		}
		if !slices.Equal(struck, want) {
			t.Errorf("Nth %d strikes %v, want %v", n, struck, want)
		}
	}
	rule := faultstore.Nth(3, nil, fault)
	for i, c := range calls(10) {
		if (rule(c) == fault) != (i == 2) {
			t.Errorf("Nth of every call at %d", i)
		}
	}
}

func TestFirstTakesTheFirst(t *testing.T) {
	none := func(faultstore.Call) faultstore.Fault { return faultstore.Fault{} }
	slow := func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Delay: time.Second} }
	lost := func(faultstore.Call) faultstore.Fault { return faultstore.Fault{Kind: faultstore.FailAfter} }
	c := calls(1)[0]
	for _, x := range []struct {
		rule faultstore.Rule
		want faultstore.Fault
	}{
		{faultstore.First(), faultstore.Fault{}},
		{faultstore.First(none), faultstore.Fault{}},
		{faultstore.First(none, slow, lost), slow(c)},
		{faultstore.First(lost, slow), lost(c)},
	} {
		if got := x.rule(c); got != x.want {
			t.Errorf("First = %v, want %v", got, x.want)
		}
	}
}

func TestChanceKeepsTheOdds(t *testing.T) {
	odds := faultstore.Odds{FailBefore: 0.1, FailAfter: 0.15, Late: 0.05, Hang: 0.02, HangApplied: 0.03, Lose: 0.2, Twice: 0.25, Delay: time.Second, Back: 2 * time.Second, After: time.Minute}
	want := map[faultstore.Kind]float64{
		faultstore.FailBefore: 0.1, faultstore.FailAfter: 0.15, faultstore.Late: 0.05, faultstore.Hang: 0.02,
		faultstore.HangApplied: 0.03, faultstore.Lose: 0.2, faultstore.Twice: 0.25, faultstore.Pass: 0.2,
	}
	const n = 20_000
	seen := make(map[faultstore.Kind]float64)
	var delay, back time.Duration
	rule, again := faultstore.Chance(42, odds), faultstore.Chance(42, odds)
	for _, c := range calls(n) {
		f := rule(c)
		if f != again(c) || f != rule(c) {
			t.Fatalf("%v draws %v and then another", c, f)
		}
		seen[f.Kind] += 1.0 / n
		delay, back = max(delay, f.Delay), max(back, f.Back)
		if f.Delay < 0 || f.Delay > odds.Delay || f.Back < 0 || f.Back > odds.Back || (f.Kind == faultstore.Late) != (f.After > 0) || f.After > odds.After {
			t.Fatalf("%v draws %v", c, f)
		}
	}
	for kind, share := range want {
		if math.Abs(seen[kind]-share) > 0.02 {
			t.Errorf("%v comes in %.3f of the calls, want %.3f", kind, seen[kind], share)
		}
	}
	if delay < odds.Delay*9/10 || back < odds.Back*9/10 {
		t.Errorf("the longest times are %v and %v of %v and %v", delay, back, odds.Delay, odds.Back)
	}
	other := faultstore.Chance(43, odds)
	if !slices.ContainsFunc(calls(n), func(c faultstore.Call) bool { return other(c) != rule(c) }) {
		t.Error("another seed draws the same")
	}
	if f := faultstore.Chance(1, faultstore.Odds{})(calls(1)[0]); f != (faultstore.Fault{}) {
		t.Errorf("no odds draw %v", f)
	}
}

// A seed names a run: the same calls meet the same faults and end the same.
func TestSeedNamesARun(t *testing.T) {
	run := func(seed uint64) (log string) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, &faultstore.Options{Rule: faultstore.Chance(seed, faultstore.Odds{
				FailBefore: 0.1, FailAfter: 0.1, Late: 0.1, Delay: time.Second, Back: time.Second, After: time.Minute,
			})})
			for i := range 60 {
				commitKeys(t.Context(), w.parts.Durable, "a", "b", string(rune('c'+i%20)))
				_, _ = w.parts.Fast.Get(t.Context(), "a")
				_, _ = w.parts.Boards.Merge(t.Context(), "board", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "key", Score: int64(i)}}})
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			log = w.faults.String()
		})
		return log
	}
	first := run(7)
	if again := run(7); again != first {
		t.Errorf("the same seed:\n%s\n\nand then:\n%s", first, again)
	}
	if run(8) == first {
		t.Error("another seed is the same run")
	}
}

func TestNamesArePrinted(t *testing.T) {
	for got, want := range map[string]string{
		faultstore.All.String():                                            "durable+fast+boards+bus",
		faultstore.Part(0).String():                                        "",
		faultstore.Kind(99).String():                                       "kind 99",
		(faultstore.Fault{}).String():                                      "pass",
		(faultstore.Fault{Delay: time.Second, Back: 1}).String():           "pass delay=1s back=1ns",
		(faultstore.Fault{Kind: faultstore.Late, After: 5}).String():       "late after=5ns",
		(faultstore.Call{N: 3, Part: faultstore.Fast, Op: "now"}).String(): "#3 fast now",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
