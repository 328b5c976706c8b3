package board_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// crowd has n readers read as often as they can, until end.
func crowd(t *testing.T, n int, read func(ctx context.Context, i int)) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for i := range n {
		readers.Go(func() {
			for ctx.Err() == nil {
				read(ctx, i)
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		readers.Wait()
	}
}

func standings(s *board.Service) func(ctx context.Context, i int) {
	return func(ctx context.Context, i int) { _, _, _ = s.Standing(ctx, "A", fmt.Sprint("u", i)) }
}

// Readers who want more than the whole budget do not keep scores from being written.
func TestReadsLeaveBudgetToWindows(t *testing.T) {
	for what, read := range map[string]func(ctx context.Context, s *board.Service, i int){
		"a page that is watched": func(ctx context.Context, s *board.Service, _ int) { _, _ = s.Top(ctx, "A", 0) },
		"standings":              func(ctx context.Context, s *board.Service, i int) { standings(s)(ctx, i) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, svc, s := startMetered(t, small(), 0, &board.Options{Boards: boards{"A": {}}})
				end := crowd(t, 20, func(ctx context.Context, i int) { read(ctx, svc, i) })
				later(time.Minute)
				submitMany(t, svc, 200, "A")
				before := len(s.did("page")) + len(s.did("standing"))
				later(5 * time.Minute)
				end()
				reads := len(s.did("page")) + len(s.did("standing")) - before
				written := svc.Stats().Total.Written
				if written < 45 || reads < 45 {
					t.Errorf("in five minutes, with 30 requests a minute: %d written, %d reads", written, reads)
				}
			})
		})
	}
}

// A batch of sums with an unknown outcome is counted among readers, too, however long their
// line is.
func TestUnknownSumAmongReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, svc, s := startMetered(t, small(), 0, &board.Options{Boards: boards{"A": {}, "Coins": {Rule: store.Sum}}})
		later(time.Minute)
		s.failNext("merge", lost)
		submitMany(t, svc, 15, "Coins")
		later(time.Second)
		s.setRule(nil)
		end := crowd(t, 200, standings(svc))
		later(10 * time.Minute)
		end()
		want(t, "counted", score(t, s, "Coins", "u7"), 7)
		want(t, "written", svc.Stats().Boards["Coins"].Written, 15)
	})
}

// A window that stands in line behind readers does not hold up the end.
func TestCloseWhileAWindowStandsInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, svc, _ := startMetered(t, small(), 0, &board.Options{Boards: boards{"A": {}}})
		end := crowd(t, 20, standings(svc))
		defer end()
		later(2 * time.Minute)
		submitMany(t, svc, 3, "A")
		later(5 * time.Second)
		began := time.Now()
		got, err := svc.Close(t.Context())
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("Close took %v", took)
		}
		wantReport(t, got, err, board.Report{Complete: true, Failed: got.Failed}, nil)
	})
}
