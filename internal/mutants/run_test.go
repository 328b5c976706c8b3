package mutants_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/mutants"
)

// module is a small module with a rule and tests of it.
var module = map[string]string{
	"go.mod": "module example.test/game\n\ngo 1.26\n",
	"rules.go": `package game

// Limit is never passed.
func Limit(n int) int {
	if n > 10 {
		return 10
	}
	return n
}

// Done ends a loop.
func Done(n int) bool {
	return n <= 0
}
`,
	"rules_test.go": `package game

import (
	"os"
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	t.Run("high", func(t *testing.T) {
		if got := Limit(11); got != 10 {
			t.Errorf("11 is %d\nand not 10", got)
		}
	})
}

func TestLow(t *testing.T) {
	if Limit(3) != 3 {
		t.Error("3 is another")
	}
}

func TestLoop(t *testing.T) {
	for n := 3; !Done(n); n-- {
		time.Sleep(time.Millisecond)
	}
}

func TestFails(t *testing.T) { t.Error("always") }

func TestEnvironment(t *testing.T) {
	if os.Getenv("GAME_HIGH") == "yes" && Limit(11) != 10 {
		t.Fatal("high")
	}
}

func TestPanics(t *testing.T) {
	done := make(chan int)
	go func() {
		if Limit(11) != 10 {
			panic("higher")
		}
		close(done)
	}()
	<-done
}
`,
}

const (
	weakLimit = "--- rules.go\n\tif n > 10 {\n+++\n\tif n > 11 {\n"
	weakDone  = "--- rules.go\n\treturn n <= 0\n+++\n\treturn n == 99\n"
)

// play writes the module and one mutant, and runs it.
func play(t *testing.T, text string) mutants.Outcome {
	t.Helper()
	root := t.TempDir()
	for name, text := range module {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := mutants.Parse("it.mutant", text)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	r := mutants.Runner{Root: root, Timeout: 5 * time.Second, Jobs: 2, Ended: func(mutants.Outcome) { told++ }}
	out := r.Run(t.Context(), []mutants.Mutant{m})
	if told != 1 || len(out) != 1 {
		t.Fatalf("%d outcomes, %d told", len(out), told)
	}
	if text, err := os.ReadFile(filepath.Join(root, "rules.go")); err != nil || string(text) != module["rules.go"] {
		t.Errorf("the tree was changed: %s, %v", text, err)
	}
	return out[0]
}

func TestFates(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		fate  mutants.Fate
		test  string
		words string
	}{
		"caught":             {"rule: r\ncaught by: . TestLimit$\n\nw\n" + weakLimit, mutants.Caught, "TestLimit/high", "11 is 11 | and not 10"},
		"caught by a panic":  {"rule: r\ncaught by: . TestPanics$\n\nw\n" + weakLimit, mutants.Caught, "", "panic: higher"},
		"caught by all":      {"rule: r\ncaught by: . TestLimit$\ncaught by: . TestPanics$\n\nw\n" + weakLimit, mutants.Caught, "TestLimit/high", "11 is 11"},
		"not by all":         {"rule: r\ncaught by: . TestLimit$\ncaught by: . TestLow$\n\nw\n" + weakLimit, mutants.Survived, "", "./. TestLow$ passes"},
		"survived":           {"rule: r\ncaught by: . TestLow$\n\nw\n" + weakLimit, mutants.Survived, "", "./. TestLow$ passes"},
		"in an environment":  {"rule: r\ncaught by: GAME_HIGH=yes . TestEnvironment$\n\nw\n" + weakLimit, mutants.Caught, "TestEnvironment", "high"},
		"without it":         {"rule: r\ncaught by: GAME_HIGH=no . TestEnvironment$\n\nw\n" + weakLimit, mutants.Survived, "", "GAME_HIGH=no ./. TestEnvironment$ passes"},
		"does not apply":     {"rule: r\ncaught by: . TestLow$\n\nw\n--- rules.go\n\tif n > 12 {\n+++\n", mutants.Broken, "", "rules.go has no such lines as those after line 5"},
		"no such file":       {"rule: r\ncaught by: . TestLow$\n\nw\n--- none.go\n\tif n > 12 {\n+++\n", mutants.Broken, "", "open "},
		"does not compile":   {"rule: r\ncaught by: . TestLow$\n\nw\n--- rules.go\n\treturn n\n+++\n\treturn m\n", mutants.Broken, "", "./. TestLow$ does not compile: rules.go"},
		"fails without":      {"rule: r\ncaught by: . TestFails$\n\nw\n" + weakLimit, mutants.Broken, "", "./. TestFails$ fails without a mutant: TestFails always"},
		"names no test":      {"rule: r\ncaught by: . TestNone$\n\nw\n" + weakLimit, mutants.Broken, "", "./. TestNone$ is not run: the pattern names no test"},
		"names no subtest":   {"rule: r\ncaught by: . TestLimit/low$\n\nw\n" + weakLimit, mutants.Broken, "", "./. TestLimit/low$ is not run: the pattern names no test"},
		"hangs":              {"rule: r\ncaught by: . TestLoop$\n\nw\n" + weakDone, mutants.Broken, "", "./. TestLoop$ hangs"},
		"hangs, as expected": {"rule: r\ncaught by: . TestLoop$\nhangs: yes\n\nw\n" + weakDone, mutants.Caught, "", "panic: test timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := play(t, strings.ReplaceAll(c.text, " . Test", " ./. Test"))
			if o.Fate != c.fate || o.Test != c.test || !strings.HasPrefix(o.Words, c.words) {
				t.Errorf("%v by %q: %s; want %v by %q: %s", o.Fate, o.Test, o.Words, c.fate, c.test, c.words)
			}
		})
	}
}

func TestInterruptedIsBroken(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, err := mutants.Parse("it.mutant", "rule: r\ncaught by: ./. TestLow$\n\nw\n"+weakLimit)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "rules.go"), []byte(module["rules.go"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := (mutants.Runner{Root: root}).Run(ctx, []mutants.Mutant{m}); out[0].Fate != mutants.Broken {
		t.Errorf("%v: %s", out[0].Fate, out[0].Words)
	}
}

func TestReportIsALineForEach(t *testing.T) {
	var b bytes.Buffer
	m := mutants.Mutant{Name: "weak", Rule: "H2", Checks: make([]mutants.Check, 2)}
	r := mutants.NewReport(&b, 3)
	r.Checked(mutants.Baseline{Check: mutants.Check{Package: "./a", Pattern: "TestA$"}})
	outcomes := []mutants.Outcome{
		{Mutant: m, Fate: mutants.Caught, Test: "TestA/b", Words: "so\nand   so " + strings.Repeat("x", 500), Took: time.Second},
		{Mutant: m, Fate: mutants.Survived, Words: "./a TestA$ passes"},
		{Mutant: m, Fate: mutants.Broken, Words: "does not compile"},
	}
	for _, o := range outcomes {
		r.Ended(o)
	}
	if r.Sum(outcomes) {
		t.Error("all is well, though two were not caught")
	}
	got := regexp.MustCompile(`x{100,}…`).ReplaceAllString(b.String(), "x…")
	want := `             0.0s  ./a TestA$: passes without a mutant
  1/3 caught      1.0s  weak: TestA/b: so and so x… (and by 1 more)
  2/3 survived    0.0s  weak: ./a TestA$ passes
  3/3 broken      0.0s  weak: does not compile

3 mutants: 1 caught, 1 survived, 1 broken; 0 s
survived: weak (H2)
broken: weak (H2)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !mutants.NewReport(&b, 1).Sum(outcomes[:1]) {
		t.Error("all were caught, and it is not said")
	}
}
