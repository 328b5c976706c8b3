package shoal_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
)

// Seasons of one set keep their blocks apart; those of two sets never meet.
func TestSeasonsKeepTheirBlocksApart(t *testing.T) {
	for _, c := range []struct {
		set, path string
		refused   bool
	}{
		{"players", "", false},
		{"players", "/reef2", false},
		{"players", "/seasons/reef2", false},
		{"players", "/seasons/reef", true},
		{"players", "/seasons/reef/stats", true},
		{"players", "/seasons", true},
		{"guilds", "/seasons/reef", false},
	} {
		rules := season.Reef()
		rules.Epoch = time.Now()
		other := rules
		other.Path = c.path
		st, err := shoal.Open(t.Context(), "memory:")
		if err != nil {
			t.Fatal(err)
		}
		n, err := shoal.Start(t.Context(), st, &shoal.Options{
			Node: node.Options{Logger: slog.New(slog.DiscardHandler)},
			Sets: map[string]*profile.Options{"players": nil, "guilds": nil}, Ranked: "-",
			Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: rules}, "race": {Set: c.set, Rules: other}},
		})
		if refused := err != nil && strings.Contains(err.Error(), "Rules.Path"); refused != c.refused || err != nil && !c.refused {
			t.Errorf("%+v: %v", c, err)
		}
		if n != nil {
			if _, err := n.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
