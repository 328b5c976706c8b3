package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// Exports of boards on engines that may go back in time are resumed as those of a folder are.
func TestExportOnEnginesIsResumed(t *testing.T) {
	var csv strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&csv, "p%d,%d\n", i, i%97)
	}
	scores := put(t, "scores.csv", csv.String())
	for name, fast := range map[string][]string{
		"PostgreSQL": nil,
		"Redis":      {"--fast", enginetest.OwnRedis(t, nil).URL("shoal")},
	} {
		t.Run(name, func(t *testing.T) {
			x := tool{t: t, store: enginetest.OwnPostgres(t, nil).URL("shoal")}
			does := func(want string, args ...string) { x.does(want, append(args, fast...)...) }
			does("2500 created", "board", "import", "Kills", scores, "--format", "csv")
			whole := filepath.Join(t.TempDir(), "whole.jsonl")
			does("2500 entries exported", "board", "export", "Kills", whole)
			does("rank 1", "board", "submit", "Kills", "p9", "1000") // the board goes on meanwhile
			text := contents(t, whole)
			part := filepath.Join(t.TempDir(), "part.jsonl")
			if err := os.WriteFile(part, []byte(text[:strings.Index(text, `{"rank":1001,`)]), 0o600); err != nil {
				t.Fatal(err)
			}
			does("2500 entries exported", "board", "export", "Kills", part, "--resume")
			if got := contents(t, part); got != text {
				t.Errorf("another file: %d bytes, %d expected", len(got), len(text))
			}
		})
	}
}
