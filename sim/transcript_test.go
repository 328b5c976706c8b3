package sim_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/sim"
)

var update = flag.Bool("update", false, "write the transcripts in testdata anew")

// The files in testdata are scripts with what happened after each line. What happened is
// indented; the rest is the script.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var script strings.Builder
			for line := range strings.Lines(string(want)) {
				if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "!") {
					script.WriteString(line)
				}
			}
			var got string
			synctest.Test(t, func(*testing.T) { got = sim.Perform(script.String(), synctest.Wait) })
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run go test ./sim -run TestTranscripts -update if this is how it should be:\n%s", diff)
			}
			if strings.Contains(got, "\n!") {
				t.Errorf("a violation or a broken script:\n%s", got)
			}
		})
	}
}
