package mutants

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
)

// Fate is what became of a mutant.
type Fate uint8

// The three fates.
const (
	Caught   Fate = iota + 1 // it compiles, and each check has failed
	Survived                 // a check has passed
	Broken                   // nothing is proven: see the words
)

// String is "caught", "survived" or "broken".
func (f Fate) String() string {
	switch f {
	case Caught:
		return "caught"
	case Survived:
		return "survived"
	case Broken:
		return "broken"
	}
	return "no fate"
}

// Outcome is what became of one mutant, and how that is known.
type Outcome struct {
	Mutant Mutant
	Fate   Fate
	Test   string // that failed first, when caught
	Words  string // its message when caught, else what is wrong
	Took   time.Duration
}

// Baseline is a check run without a mutant. It must pass, or nothing that it catches is proven.
type Baseline struct {
	Check Check
	Words string // why it proves nothing; empty when it passed
	Took  time.Duration
}

// Runner runs mutants.
type Runner struct {
	Root    string        // of the module
	Timeout time.Duration // for each run of tests, without compiling. Default 2 minutes.
	Jobs    int           // mutants at a time. Default 1.
	Clock   clock.Clock   // nil: the system's

	// Checked and Ended are told of each baseline and each mutant as it ends, one at a time.
	// Nil: nobody wants to know.
	Checked func(Baseline)
	Ended   func(Outcome)
}

// Run runs the baselines, then the mutants, and answers the outcomes in the order of the
// mutants. It ends early with ctx: the mutants that were not run are broken then.
func (r Runner) Run(ctx context.Context, list []Mutant) []Outcome {
	r.Clock = clock.Or(r.Clock)
	if r.Timeout <= 0 {
		r.Timeout = 2 * time.Minute
	}
	var checks []Check
	for _, m := range list {
		for _, c := range m.Checks {
			if !slices.Contains(checks, c) {
				checks = append(checks, c)
			}
		}
	}
	bases := make([]Baseline, len(checks))
	r.each(len(checks), func(i int) func() {
		bases[i] = r.baseline(ctx, checks[i])
		return func() { tell(r.Checked, bases[i]) }
	})
	broken := make(map[Check]string)
	for _, b := range bases {
		broken[b.Check] = b.Words
	}
	out := make([]Outcome, len(list))
	r.each(len(list), func(i int) func() {
		out[i] = r.try(ctx, list[i], broken)
		return func() { tell(r.Ended, out[i]) }
	})
	return out
}

func tell[T any](who func(T), what T) {
	if who != nil {
		who(what)
	}
}

// each does n jobs, Jobs at a time; what a job answers is done by one at a time.
func (r Runner) each(n int, do func(i int) (then func())) {
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	next := make(chan int)
	for range max(1, r.Jobs) {
		wg.Go(func() {
			for i := range next {
				then := do(i)
				mu.Lock()
				then()
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

func (r Runner) baseline(ctx context.Context, c Check) Baseline {
	begun := r.Clock.Now()
	tr := r.goTest(ctx, c, "")
	b := Baseline{Check: c, Took: r.Clock.Now().Sub(begun)}
	switch tr.result {
	case passed:
	case failed:
		b.Words = strings.TrimSpace("fails without a mutant: " + tr.test + " " + tr.words)
	case hung:
		b.Words = "hangs without a mutant"
	case notBuilt:
		b.Words = "does not compile without a mutant: " + tr.words
	case notRun:
		b.Words = "is not run: " + tr.words
	}
	return b
}

// try has every check of a mutant run; the first that does not catch it decides.
func (r Runner) try(ctx context.Context, m Mutant, broken map[Check]string) Outcome {
	begun := r.Clock.Now()
	o := Outcome{Mutant: m}
	overlay, remove, err := r.overlay(m)
	if err != nil {
		o.Fate, o.Words = Broken, err.Error()
		return o
	}
	defer remove()
	for _, c := range m.Checks {
		if words := broken[c]; words != "" {
			o.Fate, o.Words = Broken, fmt.Sprintf("%v %s", c, words)
			break
		}
		tr := r.goTest(ctx, c, overlay)
		tr.words = strings.ReplaceAll(tr.words, filepath.Dir(overlay)+string(filepath.Separator), "")
		fate, words := m.fate(tr)
		if fate != Caught {
			o.Fate, o.Test, o.Words = fate, "", fmt.Sprintf("%v %s", c, words)
			break
		}
		if o.Fate == 0 { // of several checks the first is shown
			o.Fate, o.Test, o.Words = fate, tr.test, words
		}
	}
	o.Took = r.Clock.Now().Sub(begun)
	return o
}

// fate is what one check says of the mutant.
func (m Mutant) fate(tr testRun) (Fate, string) {
	switch tr.result {
	case passed:
		return Survived, "passes"
	case failed:
		return Caught, tr.words
	case hung:
		if m.Hangs {
			return Caught, tr.words
		}
		return Broken, "hangs, and nothing has failed by then"
	case notBuilt:
		return Broken, "does not compile: " + tr.words
	case notRun:
	}
	return Broken, "is not run: " + tr.words
}

// overlay writes the changed files into a folder of their own, and the list of them that the
// compiler takes.
func (r Runner) overlay(m Mutant) (list string, remove func(), err error) {
	changed, err := m.Changed(r.Root)
	if err != nil {
		return "", nil, err
	}
	folder, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	root, err := filepath.Abs(r.Root)
	if err != nil {
		return "", nil, err
	}
	replace := make(map[string]string)
	for file, text := range changed {
		at := filepath.Join(folder, filepath.FromSlash(file))
		if err = os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return "", nil, err
		}
		if err = os.WriteFile(at, []byte(text), 0o600); err != nil {
			return "", nil, err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = at
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	list = filepath.Join(folder, "overlay.json")
	return list, remove, os.WriteFile(list, b, 0o600)
}
