package drift_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadmeShowsTheQuickstart(t *testing.T) {
	program := read(t, "examples/quickstart/main.go")
	if !strings.Contains(read(t, "README.md"), "```go\n"+program+"```") {
		t.Error("the README's program is not examples/quickstart/main.go")
	}
	if lines := strings.Count(program, "\n"); lines > 40 {
		t.Errorf("the quickstart has %d lines, at most 40 are wanted", lines)
	}
}

func TestQuickstartRuns(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "quickstart")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../examples/quickstart").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder := t.TempDir()
	for _, want := range []string{`{"coins":10}`, `{"coins":20}`} {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Dir = folder
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "best: u_42 7") {
			t.Fatalf("%v: %s, want %s", err, out, want)
		}
	}
}

var makeTarget = regexp.MustCompile("make ([a-z-]+)")

func TestMentionedMakeTargetsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	for _, doc := range documents(t) {
		for _, line := range strings.Split(read(t, doc), "\n") {
			if !strings.Contains(line, "`make ") && !strings.HasPrefix(line, "make ") {
				continue
			}
			for _, m := range makeTarget.FindAllStringSubmatch(line, -1) {
				if !strings.Contains(makefile, "\n"+m[1]+":") {
					t.Errorf("%s speaks of make %s, which is no target", doc, m[1])
				}
			}
		}
	}
}

// fenced is a block of code, where brackets are no links.
var fenced = regexp.MustCompile("(?s)```.*?```")

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, doc := range documents(t) {
		prose := fenced.ReplaceAllString(read(t, doc), "")
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
}

// documents are the Markdown files of the tree.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			rel, relErr := filepath.Rel(root, path)
			out = append(out, rel)
			return relErr
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d documents, %v", len(out), err)
	}
	return out
}

// The guide to what is around a profile shows a program that runs.
func TestTheGuideShowsTheMarket(t *testing.T) {
	program := read(t, "examples/market/main.go")
	if !strings.Contains(read(t, "docs/profiles.md"), "```go\n"+program+"```") {
		t.Error("the program in docs/profiles.md is not examples/market/main.go")
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "../../examples/market").Output()
	for _, want := range []string{"granted, repeated: true coins: 100", `ann: {"bag":{"cod":1},"coins":90} bob: {"bag":{"cod":2},"coins":10}`, `guild: {"gold":7}`, "undo of ticket-9"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %q is not in\n%s", err, want, out)
		}
	}
}

// The guide to boards shows a program that runs.
func TestTheGuideShowsTheBoards(t *testing.T) {
	program := read(t, "examples/boards/main.go")
	if !strings.Contains(read(t, "docs/boards.md"), "```go\n"+program+"```") {
		t.Error("the program in docs/boards.md is not examples/boards/main.go")
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "../../examples/boards").Output()
	for _, want := range []string{`at most 3 decimals expected, got "61.2504"`, "level 2 Cid 7", "time 2 61.250", "in the best 50 percent of 4", "BestTime: key: is banned", "walk 2 u_3"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %q is not in\n%s", err, want, out)
		}
	}
}

// The guide to seasons shows a program that runs.
func TestTheGuideShowsTheSeasons(t *testing.T) {
	program := read(t, "examples/seasons/main.go")
	if !strings.Contains(read(t, "docs/seasons.md"), "```go\n"+program+"```") {
		t.Error("the program in docs/seasons.md is not examples/seasons/main.go")
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "../../examples/seasons").CombinedOutput()
	for _, want := range []string{
		"Cycle 1 Season 1 1 ann 900", "ann has 950 and on the board 900 rank 1 of 2", "C1S1 SEA KING ann 950", "C1S1 RELENTLESS KING ann 5", "ann is #1 SEA KING (S1)",
		"first is now bob", `ann was "#1 SEA KING (S1)", is ""`, "bob is #1 RELENTLESS KING (S1)", `bob {"coins":500`,
	} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %q is not in\n%s", err, want, out)
		}
	}
}
