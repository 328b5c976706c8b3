package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/chaos/wrongclock"
)

func TestAStepGoesBackToWhereTheDaemonBegan(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dial")
	c := &timepiece{dial: wrongclock.Dial(path)}
	off := func(want time.Duration) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(text)) != want.String() {
			t.Errorf("the dial says %q, %v; want %v", text, err, want)
		}
	}
	if err := c.start(time.Minute); err != nil {
		t.Fatal(err)
	}
	off(time.Minute)
	back, err := c.step(-time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	off(time.Minute - time.Hour)
	if err := c.start(2 * time.Hour); err != nil { // it was killed meanwhile
		t.Fatal(err)
	}
	off(2 * time.Hour)
	if err := back(); err != nil {
		t.Fatal(err)
	}
	off(2 * time.Hour)
}
