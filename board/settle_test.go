package board_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func TestFate(t *testing.T) {
	for _, c := range []struct {
		what    string
		n       int
		unknown bool
		err     error
		sent    bool
		splits  int
		want    string
	}{
		{"done", 3, false, nil, true, 9, "written"},
		{"done after an unknown one", 3, true, nil, true, 9, "written"},
		{"sealed", 3, false, store.ErrSealed, true, 9, "refused"},
		{"sealed, found by create", 3, false, fmt.Errorf("create: %w", store.ErrSealed), false, 9, "refused"},
		{"unavailable", 3, false, store.ErrUnavailable, true, 9, "failed"},
		{"unavailable, but an earlier call may still land", 3, true, store.ErrUnavailable, true, 9, "unsure"},
		{"not sent, but an earlier call may still land", 3, true, store.ErrUnavailable, false, 9, "unsure"},
		{"unknown", 3, false, store.ErrUnknown, true, 9, "unsure"},
		{"a bare context error", 3, false, context.DeadlineExceeded, true, 9, "unsure"},
		{"unknown, before the batch was sent", 3, false, store.ErrUnknown, false, 9, "failed"},
		{"create unknown, but an earlier call may still land", 3, true, store.ErrUnknown, false, 9, "unsure"},
		{"malformed", 3, false, store.ErrInvalid, true, 9, "split"},
		{"too large", 2, false, store.ErrTooLarge, true, 2, "split"},
		{"malformed, one value", 1, false, store.ErrInvalid, true, 9, "failed"},
		{"malformed, no calls left", 3, false, store.ErrInvalid, true, 0, "failed"},
		{"malformed, but an earlier call may still land", 3, true, store.ErrInvalid, true, 9, "unsure"},
		{"the other order", 3, false, fmt.Errorf("%w: %w", board.ErrOrder, store.ErrInvalid), false, 9, "failed"},
	} {
		if got := board.Fate(c.n, c.unknown, c.err, c.sent, c.splits); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
