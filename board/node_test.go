package board_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// startNode makes a node on a script's engine, and a service on it.
func startNode(t *testing.T, s *script, o *board.Options) (*node.Node, *board.Service) {
	t.Helper()
	st, err := store.New(store.Parts{Durable: s.engine.Records(), Boards: s, Bus: s.engine.Bus()})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.Start(t.Context(), st, &node.Options{Name: "game", Logger: discard()})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := board.New(n, o)
	if err != nil {
		t.Fatal(err)
	}
	return n, svc
}

func TestNodeClosesTheBoardsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		n, svc := startNode(t, s, &board.Options{FlushEvery: time.Minute, Boards: boards{"Kills": {}, "Coins": {Rule: store.Sum}}})
		// Sessions and seasons still submit while they end.
		n.OnClose(node.StageSessions, "sessions", func(context.Context) (int, error) {
			return 0, errors.Join(svc.Submit("Kills", "u1", 5), svc.Submit("Coins", "u1", 5))
		})
		n.OnClose(node.StageSeasons, "seasons", func(context.Context) (int, error) {
			return 0, svc.Submit("Coins", "u1", 3)
		})
		report, err := n.Close(t.Context())
		if err != nil || !report.Complete() {
			t.Fatalf("node.Close: %+v, %v", report, err)
		}
		want(t, "what is stored", []int64{score(t, s, "Kills", "u1"), score(t, s, "Coins", "u1")}, []int64{5, 8})
		for _, c := range s.did("merge") {
			if c.Batch.Rule == store.Sum && !strings.HasPrefix(c.Batch.Source, n.ID()+"/") {
				t.Fatalf("the sums of %s come from %q", n.ID(), c.Batch.Source)
			}
		}
		wantRefused(t, svc.Submit("Kills", "u1", 9), "service", board.ErrClosed)
	})
}

func score(t *testing.T, s *script, name, key string) int64 {
	t.Helper()
	got, err := s.Boards.Scores(t.Context(), name, key)
	if err != nil {
		t.Fatal(err)
	}
	return got[key].Score
}

func TestNodeReportsWhatTheBoardsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		n, svc := startNode(t, s, &board.Options{CloseTimeout: time.Hour, Boards: boards{"Kills": {}}})
		s.failAll("merge", notDone)
		if err := svc.Submit("Kills", "u1", 5); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		report, err := n.Close(t.Context())
		if err != nil || len(report.Unfinished) != 1 {
			t.Fatalf("node.Close: %+v, %v", report, err)
		}
		left := report.Unfinished[0]
		if left.Stage != node.StageBoards || left.Left != 1 || !errors.Is(left.Err, board.ErrDeadline) {
			t.Fatalf("unfinished: %+v", left)
		}
		if took := time.Since(began); took > 25*time.Second {
			t.Fatalf("node.Close took %v", took)
		}
		synctest.Wait()
		calls := len(s.did("merge"))
		later(time.Minute)
		want(t, "writes after the node has closed", len(s.did("merge")), calls)
	})
}

func TestTwoServicesOfANodeCountTheirSumsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		o := &board.Options{Boards: boards{"Coins": {Rule: store.Sum}}}
		n, first := startNode(t, s, o)
		second, err := board.New(n, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, svc := range []*board.Service{first, second, first} {
			if err := errors.Join(svc.Submit("Coins", "u1", 1), svc.FlushNow(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "what is stored", score(t, s, "Coins", "u1"), 3)
		if _, err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNewReportsWrongOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := startNode(t, newScript(), nil)
		if _, err := board.New(n, &board.Options{MaxQueued: -1}); err == nil {
			t.Fatal("New took a negative MaxQueued")
		}
		if _, err := n.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
