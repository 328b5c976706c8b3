package shoal_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/shared"
)

// started is a node on a memory of its own.
func started(t *testing.T, o *shoal.Options) *shoal.Node {
	t.Helper()
	st, err := shoal.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	o.Node.Logger = slog.New(slog.DiscardHandler)
	n, err := shoal.Start(t.Context(), st, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = st.Close(context.Background())
	})
	return n
}

// case B18: a person's entries on boards go with their profile, and nobody else's do.
func TestErasedPlayersLeaveTheBoards(t *testing.T) {
	n := started(t, &shoal.Options{
		Sets:   map[string]*profile.Options{"players": nil, "guilds": nil},
		Boards: map[string]board.Config{"Kills": {}}, Ranked: "players",
	})
	for _, set := range []string{"players", "guilds"} {
		for _, key := range []string{"ann", "bob"} {
			s, err := n.Set(set).Load(t.Context(), key, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, key := range []string{"ann", "bob"} {
		if err := n.Boards().Submit("Kills", key, 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Boards().FlushNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := func() int {
		page, err := n.Boards().Top(t.Context(), "Kills", 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Entries)
	}
	operator := profile.Source{Kind: profile.SourceOperator}
	if out, err := n.Set("guilds").Erase(t.Context(), "ann", operator, nil); err != nil || !out.Done || left() != 2 {
		t.Errorf("a guild is erased: %+v, %v; %d entries, 2 expected", out, err, left())
	}
	if out, err := n.Set("players").Erase(t.Context(), "ann", operator, nil); err != nil || !out.Done || left() != 1 {
		t.Errorf("a player is erased: %+v, %v; %d entries, 1 expected", out, err, left())
	}
}

func TestRankedMustBeASet(t *testing.T) {
	st, err := shoal.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close(context.Background()) }()
	if _, err := shoal.Start(t.Context(), st, &shoal.Options{Ranked: "players"}); err == nil || !strings.Contains(err.Error(), "Ranked") {
		t.Errorf("%v", err)
	}
}

// Every node has the same shared documents.
func TestDocumentsAreShared(t *testing.T) {
	n := started(t, &shoal.Options{Documents: map[string]*shared.Options{"guilds": {Template: doc.Must(map[string]any{"gold": 0})}}})
	d, err := n.Documents("guilds").Transact(t.Context(), "otters", shared.Source{}, doc.Increment("/gold", 5))
	if err != nil || !d.Data.Equal(doc.Must(map[string]any{"gold": 5})) {
		t.Errorf("%v, %v", d.Data, err)
	}
	if n.Documents("nothing") != nil {
		t.Error("a set that nobody has declared")
	}
}

// case S18: who is erased leaves the results of seasons, and the sealed boards that they are of;
// the place stays.
func TestErasedPlayersLeaveTheSeasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := season.Reef()
		rules.Epoch, rules.Length = time.Now().UTC(), time.Hour
		n := started(t, &shoal.Options{
			Sets:    map[string]*profile.Options{"players": nil},
			Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: rules}},
		})
		reef := n.Season("reef")
		for _, key := range []string{"ann", "bob"} {
			s, err := n.Set("players").Load(t.Context(), key, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := reef.Record(s, season.Event{Name: "catch"}); err != nil {
				t.Fatal(err)
			}
			if err := s.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour + 10*time.Minute) // closed by the loop
		if out, err := n.Set("players").Erase(t.Context(), "ann", profile.Source{Kind: profile.SourceOperator}, nil); err != nil || !out.Done {
			t.Fatalf("%+v, %v", out, err)
		}
		res, err := reef.Result(t.Context(), "C1S1")
		if err != nil {
			t.Fatal(err)
		}
		top := res.Boards[0].Top
		if len(top) != 2 || !strings.HasPrefix(top[0].Key, "erased-") || top[0].Score != 1 || top[1].Key != "bob" {
			t.Errorf("the places are %+v", top)
		}
		found, err := n.Store().Boards().Scores(t.Context(), season.BoardKey("reef", "Fish", "C1S1"), "ann", "bob")
		if _, still := found["ann"]; err != nil || still || len(found) != 1 {
			t.Errorf("the sealed board has %+v, %v", found, err)
		}
	})
}
