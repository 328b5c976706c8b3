package board_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// Whatever happens to a read, it answers an error or what is stored, in time, and the next
// one is right.
func TestEachReadWithEachFault(t *testing.T) {
	reads := map[string]func(context.Context, *board.Service) (string, error){
		"top": func(ctx context.Context, s *board.Service) (string, error) {
			p, err := s.By(store.Dense).Top(ctx, "Kills", 3)
			return fmt.Sprint(rows(p), ranksIn(p)), err
		},
		"deep top": func(ctx context.Context, s *board.Service) (string, error) {
			p, err := s.Top(ctx, "Kills", 20)
			return fmt.Sprint(rows(p), ranksIn(p)), err
		},
		"page": func(ctx context.Context, s *board.Service) (string, error) {
			p, err := s.Page(ctx, "Kills", 7, 3)
			return fmt.Sprint(rows(p), ranksIn(p)), err
		},
		"standing": func(ctx context.Context, s *board.Service) (string, error) {
			st, ok, err := s.Standing(ctx, "Kills", "u7")
			return fmt.Sprint(st, ok), err
		},
		"around": func(ctx context.Context, s *board.Service) (string, error) {
			p, err := s.By(store.Competition).Around(ctx, "Kills", "u7", 2)
			return fmt.Sprint(rows(p), ranksIn(p)), err
		},
		"scores": func(ctx context.Context, s *board.Service) (string, error) {
			got, err := s.Scores(ctx, "Kills", "u7", "nobody")
			return fmt.Sprint(got), err
		},
		"percentile": func(ctx context.Context, s *board.Service) (string, error) {
			p, ok, err := s.Percentile(ctx, "Kills", "u7")
			return fmt.Sprint(p, ok), err
		},
		"card": func(ctx context.Context, s *board.Service) (string, error) {
			c, err := s.Card(ctx, "Kills", "u7", 2)
			return fmt.Sprint(rows(c.Page), c.Standing, c.OK, c.Total), err
		},
		"walk": func(ctx context.Context, s *board.Service) (string, error) {
			p, next, err := s.Walk(ctx, "Kills", "", 4)
			return fmt.Sprint(rows(p), next != ""), err
		},
	}
	kinds := []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Hang, faultstore.HangApplied, faultstore.Late}
	for what, read := range reads {
		t.Run(what, func(t *testing.T) {
			for _, kind := range kinds {
				for n := 1; n <= 2; n++ {
					synctest.Test(t, func(t *testing.T) { readThrough(t, read, n, kind) })
				}
			}
		})
	}
}

// readThrough makes a read whose n-th call meets a fault, and then another.
func readThrough(t *testing.T, read func(context.Context, *board.Service) (string, error), n int, kind faultstore.Kind) {
	t.Helper()
	faults := faultstore.New(nil)
	s, err := board.NewOn(board.Host{ID: "n-1", Boards: faults.Boards(memstore.New(nil).Boards()), Now: time.Now, Logger: discard()},
		&board.Options{CacheFor: -1, Boards: boards{"Kills": {MaxEntries: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := s.Submit("Kills", fmt.Sprintf("u%d", i), int64(40-i/2)); err != nil {
			t.Fatal(err)
		}
		if err := s.FlushNow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	right, err := read(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	faults.SetRule(faultstore.Nth(n, nil, faultstore.Fault{Kind: kind}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // Page and Walk are bounded by their callers
	defer cancel()
	began := time.Now()
	got, err := read(ctx, s)
	if took := time.Since(began); took > time.Minute {
		t.Fatalf("%v of call %d: it took %v", kind, n, took)
	}
	var bad *board.RefusedError
	if err == nil && got != right || errors.As(err, &bad) {
		t.Fatalf("%v of call %d: %s, %v; want %s or an error of the store", kind, n, got, err, right)
	}
	faults.SetRule(nil)
	if got, err = read(t.Context(), s); err != nil || got != right {
		t.Fatalf("after %v of call %d: %s, %v; want %s", kind, n, got, err, right)
	}
	if _, err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
