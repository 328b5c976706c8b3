package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSizesArePowersOfTenAndTheLargest(t *testing.T) {
	for largest, want := range map[int][]int{
		1000: {1000}, 1001: {1000, 1001}, 25_000: {1000, 10_000, 25_000}, 1_000_000: {1000, 10_000, 100_000, 1_000_000},
	} {
		if d := cmp.Diff(want, sizesUpTo(largest)); d != "" {
			t.Errorf("up to %d (-want +got):\n%s", largest, d)
		}
	}
}

func TestSpreadIsMedianAndNinetyNinth(t *testing.T) {
	var all []time.Duration
	for i := range 101 {
		all = append(all, time.Duration(100-i)*time.Millisecond)
	}
	if got, want := spreadOf(all), (spread{101, 50 * time.Millisecond, 99 * time.Millisecond}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := spreadOf(nil).cell(); got != none {
		t.Errorf("nothing measured is %q", got)
	}
}

func TestCellsOfTheTable(t *testing.T) {
	got := []string{
		latency(0), latency(950 * time.Nanosecond), latency(12_345 * time.Nanosecond), latency(1_260 * time.Microsecond), latency(1500 * time.Millisecond),
		rate(0), rate(1234567.8), share(60, 80), share(60, 0), spread{2, time.Millisecond, 20 * time.Millisecond}.cell(),
	}
	want := []string{none, "1 µs", "12 µs", "1.3 ms", "1500 ms", none, "1,234,568", "75 %", none, "1.0 ms / 20.0 ms"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A window has each key once, and no more keys than the board.
func TestWindowsHaveEachKeyOnce(t *testing.T) {
	b := newBoardBench("", time.Second, func(string, ...any) {})
	for _, n := range []int{1000, 7919, 9999, 10_000, 10_001, 15_838, 123_456} {
		seen := make(map[string]bool)
		for _, e := range b.window(n) {
			if seen[e.Key] || e.Key >= benchKey(n) {
				t.Errorf("of %d: %s twice, or not on the board", n, e.Key)
			}
			seen[e.Key] = true
		}
		if len(seen) < min(n-1, 10_000) {
			t.Errorf("of %d: %d keys", n, len(seen))
		}
	}
}

func TestThePageSaysHowItWasMadeAndFillsEveryRow(t *testing.T) {
	r := benchResult{curves: []curve{{entries: 1000}, {entries: 10_000, fill: 5}}, submits: []submitRate{{16, 90}}, cachedTop: 40}
	page := performancePage("shoal bench boards --max 10000", machine{"linux/amd64", "go1", "SQLite 3", 2}, r)
	for _, want := range []string{
		"    shoal bench boards --max 10000\n", "linux/amd64, 2 cores, go1; engine: SQLite 3.", "| entries | 1,000 | 10,000 |\n|---|---:|---:|\n",
		"| fill, entries/s | – | 5 |\n", "| Submit, 16 goroutines | 90 ns |\n", "| Top(50), cached | 40 ns |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for line := range strings.Lines(page) {
		if cells := strings.Count(line, "|"); strings.HasPrefix(line, "|") && !slices.Contains([]int{3, 4}, cells) {
			t.Errorf("a row of another width: %s", line)
		}
	}
}

// What is a matter of this machine is not in the command that the page shows.
func TestTheCommandOfThePageNamesNoFolder(t *testing.T) {
	for want, c := range map[string]benchBoardsCommand{
		"shoal bench boards --max 5000":                          {Max: 5000, For: 3 * time.Second},
		"shoal bench boards --max 5000 --for 1s --store memory:": {Max: 5000, For: time.Second, Store: memoryStore},
		"shoal bench boards --max 5000 --for 1s --store FOLDER":  {Max: 5000, For: time.Second, Store: "/some/where"},
	} {
		if got := c.words(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
