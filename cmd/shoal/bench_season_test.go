package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchOfSmallSeasonsFillsItsPart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte("# Performance of boards\n\nfast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := benchOf(t, "seasons", "--players", "20", "--entries", "300", "--readers", "10", "--for", "20ms", "--out", file)
	if a.code != 0 || a.out != "" || !strings.Contains(a.err, "close of four boards of 300 entries by 10") {
		t.Fatalf("exit %d, printed %q\n%s", a.code, a.out, a.err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begins = "# Performance of boards\n\nfast\n\n# Performance of seasons\n\nMade by\n\n" +
		"    shoal bench seasons --players 20 --entries 300 --readers 10 --for 20ms\n"
	if !strings.HasPrefix(string(page), begins) || !strings.Contains(string(page), "engine: SQLite 3.") {
		t.Errorf("the page begins with\n%.300s", page)
	}
	measured(t, string(page), "event", "boundary: sessions written after", "boundary: entries/s", "event before the boundary",
		"event while the boundary is written", "close, store time", "close by ten at once: store time of the winner", "readers: answers/s")
	for _, row := range []string{"| close by ten at once: results written | 1 | 1 |", "| readers: reads of the store meanwhile (a page is kept 30 s) | 1 | 1 |"} {
		if !strings.Contains(string(page), row) {
			t.Errorf("the page lacks %q:\n%s", row, page)
		}
	}
}

func TestBenchOfSeasonsInMemory(t *testing.T) {
	t.Parallel()
	a := benchOf(t, "seasons", "--players", "5", "--entries", "150", "--readers", "2", "--for", "5ms", "--store", "memory:")
	if a.code != 0 || !strings.Contains(a.out, "engine: memory.") || !strings.Contains(a.out, "| close by ten at once: results written | 1 | 1 |") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
}

func TestBenchOfSeasonsRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	if a := benchOf(t, "seasons", "--players", "0"); a.code != 2 || !strings.Contains(a.err, "more than 0 expected") {
		t.Errorf("exit %d\n%s", a.code, a.err)
	}
}
