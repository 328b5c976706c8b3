package board_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// A board's limits, and its bans, hold on every way in.
func TestLimitsAndBansHoldOnEveryWayIn(t *testing.T) {
	ways := map[string]func(ctx context.Context, m *seat, key string, score int64) error{
		"Submit": func(_ context.Context, m *seat, key string, score int64) error {
			return m.Submit("Limited", key, score)
		},
		"SubmitLast": func(_ context.Context, m *seat, key string, score int64) error {
			return m.SubmitLast("Limited", key, score, store.Stamp{Epoch: 1, Revision: 1})
		},
		"SubmitDecimal": func(_ context.Context, m *seat, key string, score int64) error {
			text, err := m.FormatScore("Limited", score)
			if err != nil {
				return err
			}
			return m.SubmitDecimal("Limited", key, text)
		},
		"SubmitFloat": func(_ context.Context, m *seat, key string, score int64) error {
			return m.SubmitFloat("Limited", key, float64(score)/10)
		},
		"SubmitEntry": func(_ context.Context, m *seat, key string, score int64) error {
			return m.SubmitEntry("Limited", store.Submission{Key: key, Score: score})
		},
		"SubmitDurable": func(ctx context.Context, m *seat, key string, score int64) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel() // what is not refused would wait
			err := m.SubmitDurable(ctx, "Limited", store.Submission{Key: key, Score: score})
			var bad *board.RefusedError
			if errors.As(err, &bad) {
				return err
			}
			return nil
		},
		"Merge": func(ctx context.Context, m *seat, key string, score int64) error {
			_, err := m.Merge(ctx, "Limited", store.Batch{Rule: store.Last, Entries: []store.Submission{{Key: "fine", Score: 15}, {Key: key, Score: score}}})
			return err
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				o := three()
				o.Boards = boards{"Limited": {Rule: store.Last, Decimals: 1, Min: ptr(10), Max: ptr(20)}}
				a := f.join(o)
				if _, err := a.Create(t.Context(), "Limited", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
					t.Fatal(err)
				}
				for _, score := range []int64{-11, 9, 21, 1 << 40} {
					wantRefused(t, way(t.Context(), a, "ann", score), "score", board.ErrLimit)
				}
				want(t, "written", f.shown("Limited"), []string{})
				for _, score := range []int64{10, 20} {
					if err := way(t.Context(), a, "ann", score); err != nil {
						t.Errorf("%d: %v", score, err)
					}
				}
				if err := a.Ban(t.Context(), mod, "bob"); err != nil {
					t.Fatal(err)
				}
				if err := way(t.Context(), a, "bob", 15); name != "Merge" {
					wantRefused(t, err, "key", board.ErrBanned)
				}
				a.flush()
				if got := f.shown("Limited"); len(got) == 0 || slices.Contains(got, "bob") {
					t.Errorf("shown: %v", got)
				}
			})
		})
	}
}
