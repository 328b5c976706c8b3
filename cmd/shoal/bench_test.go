package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bench runs shoal bench boards, and answers what it printed and how it ended.
func bench(t *testing.T, args ...string) answer {
	t.Helper()
	return benchOf(t, "boards", args...)
}

// benchOf runs one of the benches.
func benchOf(t *testing.T, what string, args ...string) answer {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"bench", what}, args...)...)
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the exit code says it
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// measured are rows that a run must have filled.
func measured(t *testing.T, page string, rows ...string) {
	t.Helper()
	for _, row := range rows {
		at := strings.Index(page, "| "+row+" |")
		if at < 0 {
			t.Errorf("the page has no row %q:\n%s", row, page)
			continue
		}
		if line, _, _ := strings.Cut(page[at:], "\n"); strings.Contains(line, "–") {
			t.Errorf("not measured: %s", line)
		}
	}
}

func TestBenchOfASmallBoardFillsThePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte("what was there before"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "bench")
	a := bench(t, "--max", "1500", "--for", "5ms", "--store", folder, "--out", file)
	if a.code != 0 || a.out != "" || !strings.Contains(a.err, "1,500 entries: ranks under writes") {
		t.Fatalf("exit %d, printed %q\n%s", a.code, a.out, a.err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(page), "# Performance of boards\n\nMade by\n\n    shoal bench boards --max 1500 --for 5ms --store FOLDER\n") || !strings.Contains(string(page), "engine: SQLite 3.") ||
		strings.Contains(string(page), folder) {
		t.Errorf("the page begins with\n%.300s", page)
	}
	measured(t, string(page), "entries", "fill, entries/s", "flush, entries/s", "plain table, entries/s", "of plain", "rank at the top",
		"rank in the middle", "rank at the end", "rank in the middle, under writes", "these writes, entries/s", "first rank after opening",
		"page of 50 at the top", "page of 50 in the middle", "10 above and 10 below", "bytes an entry on disk", "Submit, 16 goroutines", "Top(50), cached")
	if _, err := os.Stat(filepath.Join(folder, "store", "boards.db")); err != nil {
		t.Errorf("the folder was not kept: %v", err)
	}
	if again := bench(t, "--max", "1500", "--store", folder); again.code != 2 {
		t.Errorf("a folder with something in it: exit %d\n%s", again.code, again.err)
	}
}

func TestBenchInMemoryHasNoPlainTable(t *testing.T) {
	a := bench(t, "--max", "1000", "--for", "5ms", "--store", "memory:")
	if a.code != 0 || !strings.Contains(a.out, "engine: memory.") || !strings.Contains(a.out, "| plain table, entries/s | – |") {
		t.Fatalf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	measured(t, a.out, "flush, entries/s", "rank in the middle", "shared rank (1, 2, 2, 4) in the middle", "walk, entries/s")
}

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	for want, args := range map[string][]string{
		"at least 1000 expected, got 999": {"--max", "999"},
		"a span above 0 expected":         {"--max", "1000", "--for", "0s"},
	} {
		if a := bench(t, args...); a.code != 2 || !strings.Contains(a.err, want) {
			t.Errorf("%v: exit %d\n%s", args, a.code, a.err)
		}
	}
}
