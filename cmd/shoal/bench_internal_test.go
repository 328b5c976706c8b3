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

func TestThePageOfSeasonsFillsEveryRow(t *testing.T) {
	us, ms := time.Microsecond, time.Millisecond
	r := seasonResult{
		record: recordResult{3500 * time.Nanosecond, spread{9, 3 * us, 9 * us}},
		boundary: boundaryResult{
			sessions: 10_000, entries: 40_000, flush: 800 * ms,
			quiet: waits{spread{9, 30 * us, 90 * us}, 150 * us, 70 * us}, during: waits{spread{9, 31 * us, 91 * us}, 151 * us, 71 * us},
		},
		alone:   closeResult{closers: 1, entries: 1_000_000, store: 60 * ms, landed: 1, calls: 16},
		race:    closeResult{closers: 10, entries: 1_000_000, store: 90 * ms, landed: 1, calls: 16},
		readers: readersResult{readers: 1000, answers: 5000, storeReads: 1, span: time.Second},
	}
	part := seasonsPart("shoal bench seasons", machine{"linux/amd64", "go1", "SQLite 3", 2}, r)
	for _, want := range []string{
		"# Performance of seasons\n\nMade by\n\n    shoal bench seasons\n", "| event | 3.0 µs / 9.0 µs | ≤ 5 µs |\n", "| event, mean | 3.5 µs |  |\n",
		"| boundary: sessions written after | 800 ms | ≤ 2000 ms |\n", "| boundary: entries/s | 50,000 |  |\n",
		"| event while the boundary is written | 31.0 µs / 91.0 µs, longest 151 µs | ≤ 1 ms |\n", "| close, store time | 60.0 ms | ≤ 200 ms |\n",
		"| close by ten at once: results written | 1 | 1 |\n", "| readers: answers/s | 5,000 |  |\n", "| readers: reads of the store meanwhile (a page is kept 30 s) | 1 | 1 |\n",
	} {
		if !strings.Contains(part, want) {
			t.Errorf("the part lacks %q:\n%s", want, part)
		}
	}
}

// A part takes the place of the one with its title, and leaves the others.
func TestAPartTakesItsPlaceOnThePage(t *testing.T) {
	boards, seasons := "# Performance of boards\n\nfast\n", "# Performance of seasons\n\nquick\n"
	for name, c := range map[string]struct{ page, part, want string }{
		"no page":      {"", seasons, seasons},
		"no part":      {"what was there before\n", boards, boards},
		"beside":       {boards, seasons, boards + "\n" + seasons},
		"in its place": {"# Performance of boards\n\nslow\n\n## Growth\n\n" + seasons, boards, boards + "\n" + seasons},
		"again":        {boards + "\n" + seasons, seasons, boards + "\n" + seasons},
	} {
		if d := cmp.Diff(c.want, withPart(c.page, c.part)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
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
	for want, c := range map[string]benchSeasonsCommand{
		"shoal bench seasons": {Players: 10_000, Entries: 1_000_000, Readers: 1000, For: 3 * time.Second},
		"shoal bench seasons --players 5 --for 1s --store FOLDER": {Players: 5, Entries: 1_000_000, Readers: 1000, For: time.Second, Store: "/some/where"},
	} {
		if got := c.words(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
