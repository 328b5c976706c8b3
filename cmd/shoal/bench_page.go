package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
)

// This file makes the page of what was measured, without I/O.

// machine is the shape of what the numbers were measured on.
type machine struct {
	system, goVersion, engine string
	cores                     int
}

// thisMachine names no host and no path.
func thisMachine(engine string) machine {
	return machine{system: runtime.GOOS + "/" + runtime.GOARCH, goVersion: runtime.Version(), engine: engine, cores: runtime.GOMAXPROCS(0)}
}

// spread is the latencies of one call.
type spread struct {
	n        int
	p50, p99 time.Duration
}

// spreadOf sorts the latencies.
func spreadOf(latencies []time.Duration) spread {
	if len(latencies) == 0 {
		return spread{}
	}
	slices.Sort(latencies)
	at := func(q float64) time.Duration { return latencies[int(q*float64(len(latencies)-1))] }
	return spread{len(latencies), at(0.5), at(0.99)}
}

// curve is what was measured of a board of one size. Rates are entries a second; what was not
// measured is 0.
type curve struct {
	entries            int
	fill, flush, raw   float64
	rank               [3]spread // top, middle, end
	busy, shared       spread    // ranks under writes, and in competition mode
	written            float64   // entries a second while busy was measured
	first              time.Duration
	top, deep, around  spread
	walk, bytesAnEntry float64
}

// benchResult is all that was measured.
type benchResult struct {
	engine    string
	curves    []curve
	submits   []submitRate
	cachedTop time.Duration
}

// submitRate is how long a Submit takes with so many goroutines at it.
type submitRate struct {
	goroutines int
	each       time.Duration
}

// performancePage is the whole page.
func performancePage(command string, m machine, r benchResult) string {
	var out strings.Builder
	writeHeading(&out, "boards", command, m)
	fmt.Fprint(&out, growthIntro)
	rows := [][]string{append([]string{"entries"}, eachCurve(r, func(c curve) string { return count(c.entries) })...)}
	for _, row := range growthRows() {
		rows = append(rows, append([]string{row.name}, eachCurve(r, row.cell)...))
	}
	writeTable(&out, rows)
	fmt.Fprintf(&out, "\n## In memory\n\nWhat needs no store: a score handed in (`Submit`, with so many goroutines at it), and the best 50 from the cached page (`Top`).\n\n")
	rows = [][]string{{"call", "time"}}
	for _, s := range r.submits {
		rows = append(rows, []string{fmt.Sprintf("Submit, %d goroutines", s.goroutines), fmt.Sprintf("%d ns", s.each.Nanoseconds())})
	}
	writeTable(&out, append(rows, []string{"Top(50), cached", fmt.Sprintf("%d ns", r.cachedTop.Nanoseconds())}))
	return out.String()
}

const growthIntro = "## Growth\n\n" +
	"One board, filled from one column to the next. Latencies are the median and the 99th percentile, of calls that came one\n" +
	"after the other. *Flush* is a window of up to 10,000 scores, from the queue to the store, of random keys that all change;\n" +
	"*plain table* is the same rows upserted into a table of the same engine with the same two indexes, one transaction for each\n" +
	"window, by a prepared statement, without ranks, counts or answers; *of plain* is the ratio. Up to two million entries have\n" +
	"random scores; those after them are each worse than all before, which is quicker to fill.\n\n"

// growthRow is a line of the table.
type growthRow struct {
	name string
	cell func(curve) string
}

func growthRows() []growthRow {
	return []growthRow{
		{"fill, entries/s", func(c curve) string { return rate(c.fill) }},
		{"flush, entries/s", func(c curve) string { return rate(c.flush) }},
		{"plain table, entries/s", func(c curve) string { return rate(c.raw) }},
		{"of plain", func(c curve) string { return share(c.flush, c.raw) }},
		{"rank at the top", func(c curve) string { return c.rank[0].cell() }},
		{"rank in the middle", func(c curve) string { return c.rank[1].cell() }},
		{"rank at the end", func(c curve) string { return c.rank[2].cell() }},
		{"rank in the middle, under writes", func(c curve) string { return c.busy.cell() }},
		{"these writes, entries/s", func(c curve) string { return rate(c.written) }},
		{"shared rank (1, 2, 2, 4) in the middle", func(c curve) string { return c.shared.cell() }},
		{"first rank after opening", func(c curve) string { return latency(c.first) }},
		{"page of 50 at the top", func(c curve) string { return c.top.cell() }},
		{"page of 50 in the middle", func(c curve) string { return c.deep.cell() }},
		{"10 above and 10 below", func(c curve) string { return c.around.cell() }},
		{"walk, entries/s", func(c curve) string { return rate(c.walk) }},
		{"bytes an entry on disk", func(c curve) string { return rate(c.bytesAnEntry) }},
	}
}

func eachCurve(r benchResult, cell func(curve) string) (cells []string) {
	for _, c := range r.curves {
		cells = append(cells, cell(c))
	}
	return cells
}

// none is the cell of what was not measured.
const none = "–"

func rate(v float64) string {
	if v == 0 {
		return none
	}
	return count(int(math.Round(v)))
}

func share(v, of float64) string {
	if v == 0 || of == 0 {
		return none
	}
	return fmt.Sprintf("%.0f %%", 100*v/of)
}

func (s spread) cell() string {
	if s.n == 0 {
		return none
	}
	return latency(s.p50) + " / " + latency(s.p99)
}

// latency is a duration to three digits.
func latency(d time.Duration) string {
	switch {
	case d == 0:
		return none
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond))
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

// writeTable writes rows as Markdown; the first is the heading.
func writeTable(out *strings.Builder, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(out, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
	}
}
