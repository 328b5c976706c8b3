package board_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
)

// dealByTurns is deal as the rule is told: one entry a turn, in order, while there is budget.
func dealByTurns(waiting []int, budget int) (quotas []int, last int) {
	quotas, last = make([]int, len(waiting)), -1
	for dealt := true; dealt; {
		dealt = false
		for i := range waiting {
			if quotas[i] < waiting[i] && budget > 0 {
				quotas[i]++
				budget--
				dealt, last = true, i
			}
		}
	}
	return quotas, last
}

func TestDealEqualsTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		waiting := rapid.SliceOfN(rapid.IntRange(0, 30), 0, 8).Draw(t, "waiting")
		budget := rapid.IntRange(0, 100).Draw(t, "budget")
		got, last := board.Deal(waiting, budget)
		wanted, wantedLast := dealByTurns(waiting, budget)
		if !slices.Equal(got, wanted) || last != wantedLast {
			t.Fatalf("%v with %d: %v, last %d, want %v, last %d", waiting, budget, got, last, wanted, wantedLast)
		}
	})
}

func TestDealWithoutCap(t *testing.T) {
	got, last := board.Deal([]int{3, 10_000, 0}, math.MaxInt)
	want(t, "quotas", got, []int{3, 10_000, 0})
	want(t, "last", last, 1)
}

func TestRotation(t *testing.T) {
	names := []string{"a", "c", "e"}
	for last, first := range map[string]int{"": 0, "a": 1, "b": 1, "c": 2, "d": 2, "e": 0, "z": 0} {
		want(t, "first after "+last, board.Rotation(names, last), first)
	}
	want(t, "first of none", board.Rotation(nil, "a"), 0)
}

func TestRetryDelay(t *testing.T) {
	got := []time.Duration{}
	for failures := 1; failures <= 7; failures++ {
		got = append(got, board.RetryDelay(time.Second, failures)/time.Second)
	}
	want(t, "delays in seconds", got, []time.Duration{1, 2, 4, 8, 15, 15, 15})
	want(t, "the delay of a slow board", board.RetryDelay(time.Minute, 9), time.Minute)
	want(t, "the delay after very many failures", board.RetryDelay(time.Millisecond, 1<<30), board.LongestRetry)
}

func TestBudgetOf(t *testing.T) {
	budget := func(n int) func() int { return func() int { return n } }
	for _, c := range []struct {
		writes int
		budget func() int
		want   int
	}{
		{30, nil, 30}, {30, budget(10), 10}, {30, budget(50), 30}, {30, budget(-5), 0}, {-1, nil, math.MaxInt}, {-1, budget(7), 7},
	} {
		want(t, "budget", board.BudgetOf(c.writes, c.budget), c.want)
	}
}
