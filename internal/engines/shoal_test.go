package engines_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines"
)

// script is a program that stands for a daemon.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shoal")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestShoalThatEndsAtOnceSaysWhy(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	s, err := engines.NewShoal(t.Context(), engines.ShoalOptions{
		Binary: script(t, `echo "called with $*" >&2; exit 4`), Store: "memory:", Fast: "redis://x", Name: "n", Config: "sets: {}", Flags: []string{"--always"}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Start(t.Context(), "--more")
	if err == nil {
		t.Fatal("a daemon that has ended is ready")
	}
	for _, want := range []string{"called with serve --store memory: --listen 127.0.0.1:", "--fast redis://x --name n --config ", " --always --more"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if s.Running() {
		t.Error("it runs")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "called with") {
		t.Errorf("log: %s, %v", text, err)
	}
}
