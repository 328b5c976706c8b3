package demo_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/demo"
)

// TestRunSeesEverythingAndKeepsEveryPromise plays a real fleet in real time: hand-overs, a
// crash and its takeovers, seasons that close, titles. It plays until its screen shows all of
// that, which takes a busy machine longer.
func TestRunSeesEverythingAndKeepsEveryPromise(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := &screen{shown: cancel}
	sum, err := demo.Run(ctx, demo.Options{
		Players: 60, SeasonLength: 6 * time.Second, CrashEvery: 5 * time.Second,
		Folder: filepath.Join(t.TempDir(), "store"), Plain: true, Out: out,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if sum.Handovers == 0 || sum.Takeovers == 0 || sum.Closes == 0 || sum.Titles == 0 || sum.Saves == 0 || sum.Syncs == 0 {
		t.Errorf("unseen: %+v", sum)
	}
	if sum.Violations != 0 {
		t.Errorf("violations: %v", sum.FirstViolations)
	}
	for _, want := range []string{"hand-overs", "ended in order", "violations 0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}

// screen takes a run's output, and calls shown when a line has everything that there is to see.
type screen struct {
	bytes.Buffer
	shown func()
}

func (s *screen) Write(line []byte) (int, error) {
	for _, what := range []string{`hand-overs`, `takeovers`, `closed`, `titles`} {
		if !regexp.MustCompile(what + ` [1-9]`).Match(line) {
			return s.Buffer.Write(line)
		}
	}
	s.shown()
	return s.Buffer.Write(line)
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := demo.Run(t.Context(), demo.Options{Nodes: 1, Players: -1, SeasonLength: time.Second})
	for _, want := range []string{"nodes", "players", "season length", "folder"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if errors.Is(err, demo.ErrBroken) {
		t.Error("wrong options are no broken promise")
	}
}
