package shoal_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/memstore"
)

// competing is a node with a season of an hour that has just begun, and a short budget.
func competing(t *testing.T) *shoal.Node {
	t.Helper()
	st, err := memstore.New(nil).Store()
	if err != nil {
		t.Fatal(err)
	}
	rules := season.Reef()
	rules.Epoch, rules.Length = time.Now(), time.Hour
	rules.FirstClose, rules.CloseEvery = 100*time.Hour, 100*time.Hour // the test closes
	minute := node.Rate{Base: 120}
	o := shoal.Options{
		Sets:    map[string]*profile.Options{"players": nil},
		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: rules}},
	}
	o.Node.Logger = slog.New(slog.DiscardHandler)
	o.Node.Limits.Node = node.Rates{Read: minute, Write: minute, OrderedRead: minute, OrderedWrite: minute, List: minute}
	n, err := shoal.Start(t.Context(), st, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := n.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return n
}

// What the node's boards do for the closing of a season waits as background work, not in the
// line of boards; what they do for the season's last values is boards' work, and whoever is
// banned is not in the result.
func TestSeasonsUseTheBoardsInTheirOwnClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := competing(t)
		reef := n.Season("reef")
		if err := n.Boards().Ban(t.Context(), board.Moderator{Actor: "mod"}, "eve"); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"ann", "eve"} {
			s, err := n.Set("players").Load(t.Context(), key, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := reef.Record(s, season.Event{Name: "catch"}, season.Event{Name: "coins", Amount: 3}); err != nil {
				t.Fatal(err)
			}
		}
		before := n.Gate()
		time.Sleep(time.Minute)
		written := n.Gate()
		if d := written[node.ClassBoard].Passed - before[node.ClassBoard].Passed; d < 8 { // four creates, two boards, their register
			t.Errorf("%d calls of boards for a window", d)
		}
		time.Sleep(time.Until(reef.Current().End.Add(10 * time.Minute)))
		before = n.Gate()
		if _, err := reef.CloseDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := n.Gate()
		if d := after[node.ClassBackground].Passed - before[node.ClassBackground].Passed; d < 12 {
			t.Errorf("%d calls of background work for a close", d)
		}
		if d := after[node.ClassBoard].Passed - before[node.ClassBoard].Passed; d > 1 {
			t.Errorf("%d calls of boards for a close", d)
		}
		res, err := reef.Result(t.Context(), "C1S1")
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range res.Boards[:2] {
			if len(b.Top) != 1 || b.Top[0].Key != "ann" {
				t.Errorf("%s: %+v", b.Board, b.Top)
			}
		}
	})
}
