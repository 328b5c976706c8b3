package sqlitestore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// byHand is a clock whose time is set.
type byHand struct {
	clock.Clock
	now atomic.Int64
}

func (c *byHand) Now() time.Time { return time.Unix(0, c.now.Load()) }

// A disk that stays full is complained of once a second, however often it is tried.
func TestComplaintsAreFew(t *testing.T) {
	var log bytes.Buffer // written by the writer alone, between its answers
	c := &byHand{Clock: clock.System()}
	c.now.Store(time.Now().UnixNano())
	e := open(t, t.TempDir(), &sqlitestore.Options{Clock: c, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	cause := full(t)
	const second = int64(time.Second)
	for i, step := range []int64{0, second / 10, second / 10, second, second / 10, -5 * second, second / 10} {
		c.now.Add(step)
		if err := e.CommitFails(t.Context(), cause); err == nil {
			t.Fatalf("try %d is done", i)
		}
	}
	for _, want := range []string{"untold_before=0", "untold_before=2", "untold_before=1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is missing", want)
		}
	}
	if n := strings.Count(log.String(), "writing failed"); n != 3 {
		t.Errorf("complained %d times, want 3:\n%s", n, log.String())
	}
}
