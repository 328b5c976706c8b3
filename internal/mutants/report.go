package mutants

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// maxWords is how much of a message is shown.
const maxWords = 160

// Report tells people how a run goes, a line each.
type Report struct {
	w     io.Writer
	clk   clock.Clock
	begun time.Time
	n     int // mutants
	ended int
}

// NewReport begins a report of n mutants.
func NewReport(w io.Writer, n int) *Report {
	clk := clock.System()
	return &Report{w: w, clk: clk, begun: clk.Now(), n: n}
}

// Checked tells of a baseline: see [Runner].
func (r *Report) Checked(b Baseline) {
	words := "passes without a mutant"
	if b.Words != "" {
		words = strings.ToUpper(b.Words[:1]) + shortened(b.Words[1:])
	}
	fmt.Fprintf(r.w, "          %6.1fs  %v: %s\n", b.Took.Seconds(), b.Check, words)
}

// Ended tells of a mutant: see [Runner].
func (r *Report) Ended(o Outcome) {
	r.ended++
	words := shortened(o.Words)
	if o.Test != "" {
		words = o.Test + ": " + words
	}
	more := ""
	if n := len(o.Mutant.Checks) - 1; n > 0 && o.Fate == Caught {
		more = fmt.Sprintf(" (and by %d more)", n)
	}
	fmt.Fprintf(r.w, "%3d/%d %-8s %6.1fs  %s: %s%s\n", r.ended, r.n, o.Fate, o.Took.Seconds(), o.Mutant.Name, words, more)
}

// Sum ends the report and tells whether all were caught. Those that were not are named again,
// with the rule that nothing watches over.
func (r *Report) Sum(all []Outcome) bool {
	count := make(map[Fate]int)
	for _, o := range all {
		count[o.Fate]++
	}
	fmt.Fprintf(r.w, "\n%d mutants: %d caught, %d survived, %d broken; %.0f s\n",
		len(all), count[Caught], count[Survived], count[Broken], r.clk.Now().Sub(r.begun).Seconds())
	for _, o := range all {
		if o.Fate != Caught {
			fmt.Fprintf(r.w, "%s: %s (%s)\n", o.Fate, o.Mutant.Name, o.Mutant.Rule)
		}
	}
	return count[Caught] == len(all)
}

// List tells what mutants there are.
func List(w io.Writer, all []Mutant) {
	for _, m := range all {
		fmt.Fprintf(w, "%s\n    rule: %s\n", m.Name, m.Rule)
		for _, c := range m.Checks {
			fmt.Fprintf(w, "    caught by: %v\n", c)
		}
	}
}

func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxWords {
		return string(r[:maxWords-1]) + "…"
	}
	return s
}
