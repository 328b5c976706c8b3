package board_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// Callers who go away while others join the same value: nothing is ever written, and nobody is
// told that it was.
func TestWhoGoesAwayIsNotToldThatItIsStored(t *testing.T) {
	r := startOn(t, newScript(), nil, &board.Options{FlushEvery: -1, CloseTimeout: -1, Boards: boards{"K": {}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5_000 {
				if err := r.SubmitDurable(ctx, "K", sub("u1", 1)); !errors.Is(err, store.ErrUnknown) {
					t.Errorf("answer %v, and nothing was written", err)
					return
				}
			}
		})
	}
	wg.Wait()
}
