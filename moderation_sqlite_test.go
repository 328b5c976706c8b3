package shoal_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
)

// What is banned and hidden outlives the process.
func TestModerationOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	by := board.Moderator{Actor: "mod"}
	run := func(act func(boards *board.Service)) {
		t.Helper()
		st, err := shoal.Open(t.Context(), "sqlite:"+dir)
		if err != nil {
			t.Fatal(err)
		}
		o := &shoal.Options{Boards: map[string]board.Config{"Kills": {}}}
		o.Node.Logger = slog.New(slog.DiscardHandler)
		n, err := shoal.Start(t.Context(), st, o)
		if err != nil {
			t.Fatal(err)
		}
		act(n.Boards())
		_, closeErr := n.Close(context.WithoutCancel(t.Context()))
		if err := errors.Join(closeErr, st.Close(context.WithoutCancel(t.Context()))); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(boards *board.Service, expected int) {
		t.Helper()
		if page, err := boards.Top(t.Context(), "Kills", 10); err != nil || len(page.Entries) != expected {
			t.Errorf("%+v, %v; %d entries expected", page.Entries, err, expected)
		}
	}
	run(func(boards *board.Service) {
		for _, key := range []string{"ann", "bob", "eve"} {
			if err := boards.Submit("Kills", key, 5); err != nil {
				t.Fatal(err)
			}
		}
		_, err := boards.Hide(t.Context(), by, "Kills", "zoe")
		if err := errors.Join(boards.FlushNow(t.Context()), boards.Ban(t.Context(), by, "ann")); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			t.Error("a board that is not there yet has hidden somebody")
		}
		if _, err := boards.Hide(t.Context(), by, "Kills", "bob"); err != nil {
			t.Fatal(err)
		}
		shown(boards, 1)
	})
	run(func(boards *board.Service) {
		shown(boards, 1)
		if err := boards.Submit("Kills", "eve", 6); err != nil {
			t.Fatal(err)
		}
		if err := boards.FlushNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := boards.Submit("Kills", "ann", 6); !errors.Is(err, board.ErrBanned) {
			t.Errorf("after a restart: %v", err)
		}
		if err := boards.Unban(t.Context(), by, "ann"); err != nil {
			t.Fatal(err)
		}
		shown(boards, 2)
		if page, _, err := boards.Audit(t.Context(), "", 0); err != nil || len(page) != 3 || page[0].Action != board.ActionUnban {
			t.Errorf("Audit: %+v, %v", page, err)
		}
	})
}
