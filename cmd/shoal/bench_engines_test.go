package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

func TestBenchOfSmallEnginesFillsItsPart(t *testing.T) {
	t.Parallel()
	postgres, redis := enginetest.OwnPostgres(t, nil), enginetest.OwnRedis(t, nil)
	file := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(file, []byte("# Performance of boards\n\nfast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := benchOf(t, "engines", "--store", postgres.URL("kept"), "--fast", redis.URL("kept"), "--max", "1000", "--nodes", "6", "--players", "24",
		"--for", "50ms", "--beat", "300ms", "--out", file)
	if a.code != 0 || a.out != "" || !strings.Contains(a.err, "6 nodes: 24 players come") {
		t.Fatalf("exit %d, printed %q\n%s", a.code, a.out, a.err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begins = "# Performance of boards\n\nfast\n\n# Performance of engines\n\nMade by\n\n" +
		"    shoal bench engines --store postgres://… --fast redis://… --max 1000 --nodes 6 --players 24 --for 50ms --beat 300ms\n"
	if !strings.HasPrefix(string(page), begins) || !strings.Contains(string(page), "engine: PostgreSQL 1") || strings.Contains(string(page), postgres.Addr()) {
		t.Errorf("the page begins with\n%.400s", page)
	}
	measured(t, string(page), "durable updates: driver", "durable updates: plain loop, 64 connections", "Redis journals: driver",
		"Redis board, windows of 1,000: driver, the best score counts", "Redis board, windows of 10,000: ZADD",
		"Redis board, windows of 1,000: the commands without a script", "Redis board: rank of what the node has written", "Redis board: rank of what another has written", "PostgreSQL board, windows of 10,000: driver",
		"PostgreSQL board: rank at the end",
		"hand-over", "takeover, the slowest", "changes/s", "journals written/s", "beats landed", "a beat takes", "processors: nodes and players")
	for _, row := range []string{"| nodes / players | 1 / 4 | 2 / 8 | 6 / 24 |", "| sessions taken over or lost (goal: 0) | 0 | 0 | 0 |"} {
		if !strings.Contains(string(page), row) {
			t.Errorf("the page lacks %q:\n%s", row, page)
		}
	}
	left, err := redis.Do(t.Context(), "DBSIZE")
	if err != nil || left != int64(0) {
		t.Errorf("keys are left on Redis: %v, %v", left, err)
	}
	const mine = "DO $$ BEGIN IF EXISTS (SELECT FROM pg_namespace WHERE nspname LIKE 'shoal_bench_%') THEN RAISE 'a schema is left'; END IF; END $$"
	if err := postgres.Exec(t.Context(), mine); err != nil {
		t.Error(err)
	}
}

func TestBenchOfTheLargestFleetAlone(t *testing.T) {
	t.Parallel()
	postgres, redis := enginetest.OwnPostgres(t, nil), enginetest.OwnRedis(t, nil)
	a := benchOf(t, "engines", "--store", postgres.URL("kept"), "--fast", redis.URL("kept"), "--nodes", "6", "--players", "24",
		"--for", "50ms", "--beat", "300ms", "--only", "fleet")
	if a.code != 0 || !strings.Contains(a.out, "| nodes / players | 6 / 24 |") || strings.Contains(a.out, "hand-over") {
		t.Fatalf("exit %d, printed %q\n%s", a.code, a.out, a.err)
	}
	if !strings.Contains(a.out, "--players 24 --for 50ms --beat 300ms --only fleet\n") {
		t.Errorf("the command is not told:\n%s", a.out)
	}
	measured(t, a.out, "changes/s", "journals written/s", "beats landed", "a beat takes", "processors: nodes and players")
}

func TestBenchOfEnginesRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--store ./game: a PostgreSQL":        {"--store", "./game", "--fast", "redis://localhost"},
		"--fast redis+cluster://a,b: a Redis": {"--store", "postgres://u:secret@localhost/db", "--fast", "redis+cluster://a,b"},
		"a player for each, expected, got 7":  {"--store", "postgres://localhost/db", "--fast", "redis://localhost", "--nodes", "7", "--players", "6"},
		"--out: not with --only fleet":        {"--store", "postgres://localhost/db", "--fast", "redis://localhost", "--only", "fleet", "--out", "part.md"},
		"the server itself is measured":       {"--store", "postgres://localhost/db?pooler=transaction", "--fast", "redis://localhost"},
		"refused":                             {"--store", "postgres://u:secret@localhost:1/db", "--fast", "redis://:secret@localhost:1"},
	} {
		a := benchOf(t, "engines", args...)
		if a.code == 0 || !strings.Contains(a.err, want) || strings.Contains(a.err, "secret") {
			t.Errorf("%v: exit %d\n%s", args, a.code, a.err)
		}
	}
}
