package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/clock"
)

// progress shows how far a long work is, on a terminal's standard error: one line, redrawn.
type progress struct {
	o     *output
	what  string
	clk   clock.Clock
	begun time.Time
	last  time.Time
	shown bool
}

// redraw is how often the line is drawn at most.
const redraw = 200 * time.Millisecond

func newProgress(o *output, what string) *progress {
	clk := clock.System()
	return &progress{o: o, what: what, clk: clk, begun: clk.Now()}
}

// show draws the line, if it is time to. Bytes are left out when there are none.
func (p *progress) show(n int, bytes int64) {
	now := p.clk.Now()
	if now.Sub(p.last) < redraw || !isTerminal(p.o.err) {
		return
	}
	p.last, p.shown = now, true
	rate := float64(n) / max(now.Sub(p.begun).Seconds(), 0.001)
	line := fmt.Sprintf("%s %s, %s/s", humanize.Comma(int64(n)), p.what, humanize.Comma(int64(rate)))
	if bytes > 0 {
		line += ", " + humanize.IBytes(uint64(bytes))
	}
	fmt.Fprintf(p.o.err, "\r\x1b[K%s", line)
}

// done removes the line.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.o.err, "\r\x1b[K")
	}
}
