package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file and returns its path.
func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A board goes through a file into another store: scores, metadata, who was first of equals, and
// who is hidden. A second import changes nothing.
func TestBoardsMoveThroughFiles(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	x.submit("BestTime", "zoe", "20", "ann", "20.5", "bob", "20", "cy", "99.999")
	x.does("rank", "board", "submit", "BestTime", "dan", "7.125", "--meta", "car 7")
	x.does("hidden", "board", "hide", "BestTime", "cy", "eve")
	file := filepath.Join(t.TempDir(), "times.jsonl")
	x.does("4 entries exported, and 2 hidden", "board", "export", "BestTime", file)
	x.fails(2, "is there already", "board", "export", "BestTime", file)
	x.does("4 entries exported", "board", "export", "BestTime", file, "--force")
	lines := strings.SplitAfter(contents(t, file), "\n")
	if len(lines) != 9 || !strings.HasPrefix(lines[0], `{"shoal":"board","format":1,"board":"BestTime","order":"ascending","decimals":3,"generation":"`) ||
		lines[1] != `{"rank":1,"key":"dan","score":7125,"decimal":"7.125","sequence":5,"meta":"Y2FyIDc="}`+"\n" ||
		lines[6] != `{"hidden":true,"key":"eve"}`+"\n" || !strings.HasPrefix(lines[7], `{"shoal":"end","entries":4,"hidden":2,"digest":"`) {
		t.Fatalf("%q", lines)
	}
	want := x.boardRows("top", "BestTime")

	y := tool{t: t, store: filepath.Join(t.TempDir(), "copy")}
	serve(t, y.store)
	y.does("6 read: 5 would be created, 0 changed, 0 left as they are, 2 hidden", "board", "import", "BestTime", file, "--dry-run")
	y.does("nobody has written to it", "board", "top", "BestTime")
	y.does("6 read: 5 created, 0 changed, 0 left as they are, 2 hidden", "board", "import", "BestTime", file)
	before := y.boardRows("info", "BestTime")
	y.does("6 read: 0 created, 0 changed, 5 left as they are, 0 hidden", "board", "import", "BestTime", file)
	y.does("6 read: 0 would be created, 0 changed, 5 left as they are, 0 hidden", "board", "import", "BestTime", file, "--dry-run")
	if after := y.boardRows("info", "BestTime"); after != before {
		t.Errorf("the second import changed the board: %s, then %s", before, after)
	}
	if got := y.boardRows("top", "BestTime"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := y.boardRows("hidden", "BestTime"); got != x.boardRows("hidden", "BestTime") {
		t.Errorf("hidden: %s", got)
	}
	// Into a board that the configuration does not know the file brings order and decimals.
	y.does("5 created", "board", "import", "Copy", file)
	if got := y.boardRows("top", "Copy", "--decimals", "3"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestImportsThatDoNotFitAreRefused(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	x.submit("Kills", "ann", "30", "bob", "20")
	file := filepath.Join(t.TempDir(), "kills.jsonl")
	x.does("2 entries exported", "board", "export", "Kills", file)
	x.fails(6, "the file is of a board that is descending, BestTime is ascending", "board", "import", "BestTime", file)
	x.fails(6, "the file has scores of 0 decimals, Fine of 2", "board", "import", "Fine", file, "--decimals", "2")
	x.fails(6, "record an event instead", "board", "import", "season/reef/Fish/C1S1", file)
	x.fails(2, "shoal board export has written", "board", "import", "Kills", put(t, "a.csv", "ann,1\n"))
	x.fails(2, "the file is empty", "board", "import", "Kills", put(t, "empty", ""))
	x.fails(2, "a newer release wrote it", "board", "import", "Kills", put(t, "b", `{"shoal":"board","format":2,"board":"Kills","order":"descending","generation":"g","version":1,"count":0}`+"\n"))
	x.fails(2, "--order descending or ascending expected", "board", "import", "New", put(t, "a.csv", "ann,1\n"), "--format", "csv")

	text := contents(t, file)
	cut := put(t, "cut", text[:strings.LastIndex(strings.TrimSpace(text), "\n")+1])
	x.fails(1, "it is cut off", "board", "import", "Other", cut)
	x.fails(1, "it is cut off in line 3", "board", "import", "Other2", put(t, "cut2", text[:strings.Index(text, `"bob"`)]))
	x.fails(1, "lines of it were changed or are missing: 2 entries expected, 2 found", "board", "import", "Other3", put(t, "changed", strings.Replace(text, `"score":20`, `"score":21`, 1)))

	limited := put(t, "shoal.yaml", "boards: {Low: {max: 25}}\n")
	x.fails(1, "line 2: ann: score: at most 25 expected, got 30", "board", "import", "Low", file, "--config", limited)
	x.does("Kills: sealed", "board", "seal", "Kills", "--confirm", "Kills")
	x.fails(6, "takes no more scores", "board", "import", "Kills", file)
}

// Broken lines are named by their numbers; the rest goes on only when that was asked for.
func TestBrokenLinesOfABoardAreNamed(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	var b strings.Builder
	b.WriteString("key,score,meta\n")
	for i := range 2500 { // more than a batch
		fmt.Fprintf(&b, "p%d,%d\n", i, i%7)
	}
	b.WriteString("ann,12,\"car, 7\"\n\nbob,1.5\ncy\n\"dan,5\nä,5\neve,9223372036854775808\nfay,6," + strings.Repeat("m", 257) + "\ngus,7," + strings.Repeat("m", 70_000) + "\n")
	b.WriteString("ann,11\r\nann,13\nzoe,-2") // a key that comes again; no end of line
	file := put(t, "scores.csv", b.String())

	x.fails(1, "all is decided through line 2001: --after 2001 goes on", "board", "import", "Kills", file, "--format", "csv")
	x.does("2,000", "board", "info", "Kills") // of the batch with the broken line nothing
	a := x.run("board", "import", "Kills", file, "--format", "csv", "--after", "2001", "--keep-going")
	if a.code != 1 || !strings.Contains(a.err, "shoal: 7 lines were not imported") ||
		!strings.Contains(a.out, "511 read: 502 created, 1 changed, 1 left as they are, 0 hidden, 7 refused") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	for _, want := range []string{
		"line 2504: bob: score: at most 0 decimals expected", "line 2505: key,score or key,score,meta expected, got 1 fields", "line 2506: no CSV",
		"line 2507: ä: key: has", "line 2508: eve: score: ", "line 2509: fay: meta: at most 256 bytes expected, got 257", "line 2510: at most 65536 bytes expected in a line",
	} {
		if !strings.Contains(a.err, want) {
			t.Errorf("%q is not in\n%s", want, a.err)
		}
	}
	if got := x.boardRows("scores", "Kills", "ann", "zoe", "p2499"); got != `{"key":"ann","score":13}`+"\n"+`{"key":"zoe","score":-2}`+"\n"+`{"key":"p2499","score":0}` {
		t.Errorf("got %s", got)
	}
	// Of equals, those that come first in the file are first: p6 before p13 on 6.
	if got := x.boardRows("top", "Kills", "-n", "3"); got != `{"rank":1,"key":"ann","score":13}`+"\n"+`{"rank":2,"key":"p6","score":6}`+"\n"+`{"rank":3,"key":"p13","score":6}` {
		t.Errorf("got %s", got)
	}
}

// What is there is left, or gives way to what is better.
func TestImportsMeetEntriesAsAsked(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	x.submit("Kills", "ann", "10", "bob", "10")
	file := put(t, "scores.csv", "ann,5\nbob,15\ncy,1\n")
	x.does("3 read: 1 created, 0 changed, 2 left", "board", "import", "Kills", file, "--format", "csv", "--existing", "keep")
	x.does("3 read: 0 would be created, 1 changed, 2 left", "board", "import", "Kills", file, "--format", "csv", "--dry-run")
	x.does("3 read: 0 created, 1 changed, 2 left", "board", "import", "Kills", file, "--format", "csv")
	if got := x.boardRows("scores", "Kills", "ann", "bob", "cy"); got != `{"key":"ann","score":10}`+"\n"+`{"key":"bob","score":15}`+"\n"+`{"key":"cy","score":1}` {
		t.Errorf("got %s", got)
	}
	// Scores of the game that come later count as ever.
	config := put(t, "shoal.yaml", "boards: {Sum: {rule: sum}, Last: {rule: last}}\n")
	for _, name := range []string{"Sum", "Last"} {
		x.does("3 created", "board", "import", name, file, "--format", "csv", "--config", config)
		x.does("3 left as they are", "board", "import", name, file, "--format", "csv", "--config", config)
	}
	x.does("ann: 7, rank", "board", "submit", "Sum", "ann", "2", "--config", config)
	x.does("ann: 2, rank", "board", "submit", "Last", "ann", "2", "--config", config)
}

// An export that was broken off goes on where it was, and is that of one moment.
func TestExportsOfBoardsAreResumed(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	var b strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&b, "p%d,%d\n", i, i%97)
	}
	x.does("2500 created", "board", "import", "Kills", put(t, "scores.csv", b.String()), "--format", "csv")
	x.does("hidden", "board", "hide", "Kills", "p1", "p2", "p3", "nobody")
	folder := t.TempDir()
	whole := filepath.Join(folder, "whole.jsonl")
	x.does("2497 entries exported, and 4 hidden", "board", "export", "Kills", whole)
	text := contents(t, whole)
	x.does("rank 1", "board", "submit", "Kills", "p9", "1000") // the board goes on meanwhile
	x.does("removed", "board", "remove", "Kills", "p10", "--confirm", "p10")
	third := strings.Index(text, `"rank":3,`)
	for name, part := range map[string]string{
		"in the header":            text[:20],
		"in a line":                text[:third],
		"behind the first entry":   text[:strings.Index(text, `{"rank":2,`)],
		"behind a page":            text[:strings.Index(text, `{"rank":1001,`)],
		"before the last entry":    text[:strings.Index(text, `{"rank":2497,`)],
		"behind the last entry":    text[:strings.Index(text, `{"hidden"`)],
		"behind the first hidden":  text[:strings.Index(text, `{"hidden":true,"key":"p1"`)],
		"behind all":               text,
		"with rubbish behind it":   text[:strings.Index(text, `{"rank":2,`)] + `{"rank":2,"key":"p`,
		"with the end cut":         text[:len(text)-10],
		"in the hidden part, late": text[:strings.Index(text, `{"hidden":true,"key":"p3"`)+10],
	} {
		file := filepath.Join(folder, "part.jsonl")
		if err := os.WriteFile(file, []byte(part), 0o600); err != nil {
			t.Fatal(err)
		}
		x.does("entries exported, and 4 hidden", "board", "export", "Kills", file, "--resume")
		got := contents(t, file)
		if name == "in the header" { // nothing was in it: this is another moment
			if got == text || !strings.Contains(got, `{"rank":1,"key":"p9","score":1000`) {
				t.Errorf("%s: %s", name, got[:min(300, len(got))])
			}
			continue
		}
		if got != text {
			t.Errorf("%s: another file: %d bytes, %d expected", name, len(got), len(text))
		}
	}
	x.fails(2, "line 2", "board", "export", "Kills", put(t, "bad", strings.SplitAfter(text, "\n")[0]+"{}x\n"), "--resume")
	x.submit("BestTime", "ann", "1")
	x.fails(2, "an export of Kills", "board", "export", "BestTime", put(t, "other", text), "--resume")
	x.does("Kills: dropped", "board", "drop", "Kills", "--confirm", "Kills")
	x.does("rank", "board", "submit", "Kills", "ann", "1")
	x.fails(6, "--force begins anew", "board", "export", "Kills", put(t, "old", text[:third]), "--resume")
}

// Standard input and output take part in pipes.
func TestBoardsMoveThroughPipes(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	x.submit("Kills", "ann", "30")
	a := x.run("board", "export", "Kills", "-")
	if a.code != 0 || !bytes.HasPrefix([]byte(a.out), []byte(`{"shoal":"board"`)) || !strings.Contains(a.err, "1 entry exported") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	x.stdin = a.out
	x.does("1 created", "board", "import", "Copy", "-")
}
