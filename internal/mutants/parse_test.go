package mutants_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/mutants"
)

const good = `rule: H2, the record decides
caught by: ./game TestGame$
caught by: SEEDS=20 MODE=x ./sim TestSim/of/(one|two)$

What goes wrong,
in two lines.

And a paragraph more.

--- game/rules.go

	if a {

		b()
	}

+++
	if a {
	}
--- game/other.go
func f() {}
+++
`

func TestParse(t *testing.T) {
	got, err := mutants.Parse("some/folder/a-name.mutant", good)
	if err != nil {
		t.Fatal(err)
	}
	want := mutants.Mutant{
		Name: "a-name", Rule: "H2, the record decides",
		Why: "What goes wrong,\nin two lines.\n\nAnd a paragraph more.",
		Checks: []mutants.Check{
			{Package: "./game", Pattern: "TestGame$"},
			{Env: "SEEDS=20 MODE=x", Package: "./sim", Pattern: "TestSim/of/(one|two)$"},
		},
		Changes: []mutants.Change{
			{File: "game/rules.go", Line: 10, Old: []string{"\tif a {", "", "\t\tb()", "\t}"}, New: []string{"\tif a {", "\t}"}},
			{File: "game/other.go", Line: 20, Old: []string{"func f() {}"}, New: []string{}},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if text := got.Checks[1].String(); text != "SEEDS=20 MODE=x ./sim TestSim/of/(one|two)$" {
		t.Errorf("the check is shown as %q", text)
	}
}

func TestParseRefusesAndNamesTheLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", `x.mutant:1: the header has no "rule: "`},
		"no rule":            {"caught by: ./a TestA\n\nwhy\n", `x.mutant:2: the header has no "rule: "`},
		"no check":           {"rule: r\n\nwhy\n", `x.mutant:2: the header has no "caught by: "`},
		"two rules":          {"rule: r\nrule: s\n", "x.mutant:2: rule is there twice"},
		"unknown key":        {"rule: r\nrun: ./a TestA\n", `x.mutant:2: "run" is no key`},
		"no value":           {"rule: r\ncaught by:\n", `x.mutant:2: a header line is "key: value"`},
		"the same check":     {"rule: r\ncaught by: ./a TestA\ncaught by: ./a TestA\n", `x.mutant:3: "./a TestA" is there twice`},
		"check, no pattern":  {"rule: r\ncaught by: ./a\n", `x.mutant:2: a check is`},
		"check, all tests":   {"rule: r\ncaught by: ./a .\n", `x.mutant:2: a check is`},
		"check, bad pattern": {"rule: r\ncaught by: ./a Test(\n", "x.mutant:2: error parsing regexp"},
		"hangs perhaps":      {"rule: r\nhangs: perhaps\n", `x.mutant:2: hangs is "yes"`},
		"no words":           {"rule: r\ncaught by: ./a TestA\n\n--- a.go\nx\n+++\n", "x.mutant:3: nothing says what goes wrong"},
		"no change":          {"rule: r\ncaught by: ./a TestA\n\nwhy\n", "x.mutant:4: no change"},
		"a test is changed":  {"rule: r\ncaught by: ./a TestA\n\nwhy\n--- a/a_test.go\nx\n+++\n", "x.mutant:5: a mutant changes the product"},
		"out of the tree":    {"rule: r\ncaught by: ./a TestA\n\nwhy\n--- ../a.go\nx\n+++\n", "x.mutant:5: a Go or Lua file"},
		"no new mark":        {"rule: r\ncaught by: ./a TestA\n\nwhy\n--- a.go\nx\n", `x.mutant:6: no "+++" follows`},
		"no old lines":       {"rule: r\ncaught by: ./a TestA\n\nwhy\n--- a.go\n\n+++\nx\n", "x.mutant:6: no old lines"},
		"a second new mark":  {"rule: r\ncaught by: ./a TestA\n\nwhy\n--- a.go\nx\n+++\ny\n+++\n", `x.mutant:9: a second "+++"`},
		"nothing is changed": {"rule: r\ncaught by: ./a TestA\n\nwhy\n--- a.go\nx\n+++\nx\n", "x.mutant:8: the new lines are the old ones"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mutants.Parse("x.mutant", c.text)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s…", err, c.want)
			}
		})
	}
}

func TestApplyWantsOnePlace(t *testing.T) {
	text := "a\n\tb\nc\na\n\tb\nd\n"
	change := func(old, to string) mutants.Change {
		return mutants.Change{File: "f.go", Line: 9, Old: strings.Split(old, "\n"), New: strings.Split(to, "\n")}
	}
	for _, c := range []struct {
		old, to, want, err string
	}{
		{"\tb\nc", "\tB", "a\n\tB\na\n\tb\nd\n", ""},
		{"d", "D\ne", "a\n\tb\nc\na\n\tb\nD\ne\n", ""},
		{"b\nc", "x", "", "f.go has no such lines as those after line 9"},
		{"a\n\tb", "x", "", "f.go has the lines after line 9 in 2 places"},
	} {
		got, err := change(c.old, c.to).Apply(text)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%q to %q: %q, %v", c.old, c.to, got, err)
		}
	}
	if _, err := change("twice", "b").Apply("twice\nonce\ntwice\n"); err == nil {
		t.Error("of two lines side by side one was changed")
	}
}

// The mutants of this module fit its files: whoever changes a line that one of them weakens
// changes the mutant too.
func TestMutantsOfTheTreeApply(t *testing.T) {
	const root = "../.."
	all, err := mutants.Load(root + "/mutants")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := m.Changed(root); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}
