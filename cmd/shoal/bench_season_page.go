package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// This file makes the part of the page that is about seasons.

// partTitle begins the heading of each part of the page.
const partTitle = "# Performance of "

// seasonsPart is the whole part.
func seasonsPart(command string, m machine, r seasonResult) string {
	var out strings.Builder
	writeHeading(&out, "seasons", command, m)
	fmt.Fprintf(&out, seasonsIntro, count(r.boundary.sessions), count(r.alone.entries), count(r.readers.readers))
	writeTable(&out, append([][]string{{"what", "measured", "goal"}}, seasonRows(r)...))
	return out.String()
}

// writeHeading begins a part.
func writeHeading(out *strings.Builder, of, command string, m machine) {
	fmt.Fprintf(out, "%s%s\n\nMade by\n\n    %s\n\n", partTitle, of, command)
	fmt.Fprintf(out, "%s, %d cores, %s; engine: %s. This part is written whole by that command: change it there.\n\n", m.system, m.cores, m.goVersion, m.engine)
}

const seasonsIntro = "Reef's rules: four boards. Profiles have 2 KB. An *event* is one Record of one player. The *boundary* is that of a season in\n" +
	"whose last moments all of %s open sessions changed, from its moment until the last of their values is on a board of the\n" +
	"season that has ended, syncs of the journals included, while an event comes every millisecond. The *machine's part* is the\n" +
	"most by which a loop of 40 µs that waits for nothing was held up beside the events, by other work on the machine. The\n" +
	"*close* is that of four boards of %s entries; its store time is all calls of the closer, added up. Ten nodes that race\n" +
	"write one result. The readers (%s) ask for the best 50 of one board all the time. Latencies are the median and the 99th\n" +
	"percentile.\n\n"

func seasonRows(r seasonResult) [][]string {
	b := r.boundary
	perEntry := none
	if b.flush > 0 {
		perEntry = rate(float64(b.entries) / b.flush.Seconds())
	}
	return [][]string{
		{"event", small(r.record.spread.p50) + " / " + small(r.record.spread.p99), "≤ 5 µs"},
		{"event, mean", small(r.record.mean), ""},
		{"boundary: sessions written after", latency(b.flush), "≤ 2000 ms"},
		{"boundary: entries/s", perEntry, ""},
		{"event before the boundary", b.quiet.cell(), ""},
		{"event while the boundary is written", b.during.cell(), "≤ 1 ms"},
		{"the machine's part in the longest, before and while", small(b.quiet.machine) + ", " + small(b.during.machine), ""},
		{"close, store time", latency(r.alone.store), "≤ 200 ms"},
		{"close, calls of the store", rate(float64(r.alone.calls)), ""},
		{"close by ten at once: store time of the winner", latency(r.race.store), ""},
		{"close by ten at once: results written", rate(float64(r.race.landed)), "1"},
		{"readers: answers/s", rate(float64(r.readers.answers) / max(r.readers.span.Seconds(), 1e-9)), ""},
		{"readers: reads of the store meanwhile (a page is kept 30 s)", rate(float64(r.readers.storeReads)), "1"},
	}
}

// cell is the latencies of events, and the longest.
func (w waits) cell() string {
	return small(w.spread.p50) + " / " + small(w.spread.p99) + ", longest " + small(w.worst)
}

// small is a duration of microseconds, to one digit.
func small(d time.Duration) string {
	if d == 0 || d >= 100*time.Microsecond {
		return latency(d)
	}
	return fmt.Sprintf("%.1f µs", float64(d)/float64(time.Microsecond))
}

// writePart replaces the part of a page that has the same title, or appends it, and leaves the
// other parts as they are.
func writePart(file, part string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &exitError{exitUnserved, err}
	}
	return writeWhole(file, withPart(string(old), part))
}

// withPart is a page with a part in the place of its namesake, or at the end. What is in no
// part goes.
func withPart(page, part string) string {
	title, _, _ := strings.Cut(part, "\n")
	var parts []string
	found := false
	for i, p := range strings.Split("\n"+page, "\n"+partTitle) {
		if i == 0 {
			continue // what stands before the first part
		}
		p = partTitle + strings.TrimRight(p, "\n") + "\n"
		if head, _, _ := strings.Cut(p, "\n"); head == title {
			p, found = part, true
		}
		parts = append(parts, p)
	}
	if !found {
		parts = append(parts, part)
	}
	return strings.Join(parts, "\n")
}
