package season_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/season"
)

// drawStats are stats of any kind over the events a, b and c. Runs come first, so that a best
// has one to follow; the order is drawn too.
func drawStats(t *rapid.T) []season.Stat {
	events := func(what string, least int) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), least, 3, rapid.ID).Draw(t, what)
	}
	var stats []season.Stat
	for i := range rapid.IntRange(1, 3).Draw(t, "runs") {
		s := season.Stat{Name: fmt.Sprint("run", i), Kind: season.Run, On: events("on", 1)}
		s.Each = rapid.SampledFrom([]int64{0, 1, 3, math.MaxInt64 / 3}).Draw(t, "each")
		for _, e := range events("resetOn", 0) {
			if !slices.Contains(s.On, e) {
				s.ResetOn = append(s.ResetOn, e)
			}
		}
		stats = append(stats, s, season.Stat{Name: fmt.Sprint("best", i), Kind: season.BestOfRun, Of: s.Name})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "others") {
		s := season.Stat{Name: fmt.Sprint("stat", i), On: events("on", 1)}
		s.Kind = rapid.SampledFrom([]season.Kind{season.Sum, season.Max, season.Min, season.Last}).Draw(t, "kind")
		if s.Kind == season.Sum {
			s.Each = rapid.SampledFrom([]int64{0, 0, 1, -2}).Draw(t, "each")
		}
		stats = append(stats, s)
	}
	return rapid.Permutation(stats).Draw(t, "order")
}

// valueOf is what a stat is after events, by its definition. ok is false when it has left int64
// on the way; has is false when no event has touched it.
func valueOf(s season.Stat, all []season.Stat, h history) (v int64, has, ok bool) {
	if s.Kind == season.BestOfRun {
		run := all[slices.IndexFunc(all, func(r season.Stat) bool { return r.Name == s.Of })]
		for n := range h {
			if !slices.Contains(run.On, h[n].Name) {
				continue
			}
			if now, _, _ := valueOf(run, all, h[:n+1]); !has || now > v {
				v, has = now, true
			}
		}
		return v, has, true // what is wrong with the run is the run's fault
	}
	var amounts []int64
	for _, e := range h {
		switch {
		case slices.Contains(s.ResetOn, e.Name):
			amounts, has = nil, true
		case slices.Contains(s.On, e.Name):
			by := e.Amount
			if s.Each != 0 {
				by = s.Each
			} else if s.Kind == season.Run {
				by = 1
			}
			amounts, has = append(amounts, by), true
		}
	}
	if !has {
		return 0, false, true
	}
	switch s.Kind {
	case season.Max:
		return slices.Max(amounts), true, true
	case season.Min:
		return slices.Min(amounts), true, true
	case season.Last:
		return amounts[len(amounts)-1], true, true
	case season.Sum, season.Run, season.BestOfRun:
	}
	sum := new(big.Int)
	for _, by := range amounts {
		if sum.Add(sum, big.NewInt(by)); !sum.IsInt64() {
			return 0, true, false
		}
	}
	return sum.Int64(), true, true
}

// Whatever is declared counts as it is defined, alone or several events at once, and a value
// that leaves int64 refuses all of them.
func TestStatsOfEveryKindFollowTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := season.Reef()
		cfg.Stats = drawStats(t)
		cfg.Boards = nil
		r := rulesOf(t, cfg)
		known := make(map[string]bool)
		for _, s := range cfg.Stats {
			for _, e := range append(slices.Clone(s.On), s.ResetOn...) {
				known[e] = true
			}
		}
		data := parse(t, `{}`)
		var h history
		for range rapid.IntRange(1, 8).Draw(t, "records") {
			events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) season.Event {
				return season.Event{
					Name:   rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "event"),
					Amount: rapid.SampledFrom([]int64{0, 1, -1, 7, -30, math.MaxInt64, math.MinInt64, math.MaxInt64/2 + 1}).Draw(t, "amount"),
				}
			}), 1, 4).Draw(t, "events")
			if slices.ContainsFunc(events, func(e season.Event) bool { return !known[e.Name] }) {
				if _, _, err := r.Record(data, 0, events...); !errors.Is(err, season.ErrUnknownEvent) && !errors.Is(err, season.ErrOverflow) {
					t.Fatalf("an event that nobody knows: %v", err)
				}
				continue
			}
			next := append(slices.Clone(h), events...)
			want, fits := make(map[string]int64), true
			for _, s := range cfg.Stats {
				for n := range events { // every state on the way counts
					_, _, ok := valueOf(s, cfg.Stats, next[:len(h)+n+1])
					fits = fits && ok
				}
				if v, has, _ := valueOf(s, cfg.Stats, next); has {
					want[s.Name] = v
				}
			}
			after, _, err := r.Record(data, 0, events...)
			if fits != (err == nil) || err != nil && !errors.Is(err, season.ErrOverflow) {
				t.Fatalf("%v after %v: %v, want counted %v", events, h, err, fits)
			}
			if err != nil {
				continue
			}
			data, h = after, next
			b, err := r.View(data, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, b.Stats); diff != "" {
				t.Fatalf("%+v after %v (-want +got):\n%s", cfg.Stats, h, diff)
			}
		}
	})
}
