package shoal_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
)

// What the game changes and what the season counts is one transaction of the game's source.
func TestPlayIsOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := reefNode(t)
		reef := n.Season("reef")
		s := angler(t, n, "ada")
		expect := func(what string, coins, earned int64) {
			t.Helper()
			b, err := reef.View(s)
			if purse, _, _ := s.Data().Lookup("/coins"); err != nil || !purse.Equal(doc.Int(coins)) || b.Stats["coins"] != earned {
				t.Errorf("%s: %v coins, %d earned, %v, want %d and %d", what, purse, b.Stats["coins"], err, coins, earned)
			}
		}
		src := profile.Source{Kind: profile.SourceGame, Note: "sold a fish", ID: "sale-1"}
		sell := func(src profile.Source, by int64) (profile.Commit, error) {
			return reef.Play(s, src, []doc.Op{doc.Increment("/coins", by).AtLeast(doc.Int(0))}, season.Event{Name: "coins", Amount: by})
		}
		commit, err := sell(src, 20)
		must(t, err)
		if commit.Source.Note != src.Note || len(commit.Edits) < 2 {
			t.Errorf("the commit is %+v", commit)
		}
		expect("a sale", 21, 20)
		again, err := sell(src, 20)
		must(t, err)
		if !again.Repeated || again.Revision != commit.Revision {
			t.Errorf("again: %+v", again)
		}
		expect("the same sale again", 21, 20)
		if _, err := sell(profile.Source{}, -50); !errors.Is(err, doc.ErrBounds) {
			t.Errorf("more than there is: %v", err)
		}
		expect("what the profile refuses", 21, 20)
		if _, err := reef.Play(s, profile.Source{}, []doc.Op{doc.Set("/coins", doc.Int(7))}, season.Event{Name: "coins", Amount: math.MaxInt64}); !errors.Is(err, season.ErrOverflow) {
			t.Errorf("more than a counter takes: %v", err)
		}
		if _, err := reef.Play(s, profile.Source{}, []doc.Op{doc.Set("/coins", doc.Int(7))}, season.Event{Name: "dance"}); !errors.Is(err, season.ErrUnknownEvent) {
			t.Errorf("an event that nobody counts: %v", err)
		}
		expect("what the season refuses", 21, 20)
		_, err = reef.Play(s, profile.Source{}, []doc.Op{doc.Set("/coins", doc.Int(30))})
		must(t, err)
		expect("without an event", 30, 20)

		time.Sleep(time.Until(reef.Config().Epoch.Add(time.Hour)))
		_, err = sell(profile.Source{}, 5)
		must(t, err)
		expect("in the next season", 35, 5)
		if b, err := reef.View(s); err != nil || b.Season != "C1S2" || b.Owed["C1S1"]["coins"] != 20 {
			t.Errorf("%+v, %v", b, err)
		}
		time.Sleep(2 * time.Minute) // the windows of both seasons
		l, err := reef.Leaders(t.Context(), "Coins", 0)
		if err != nil || !slices.Equal(l.Rows, []season.Row{{Rank: 1, Key: "ada", Score: 5, Name: "ADA"}}) {
			t.Errorf("%+v, %v", l, err)
		}
		must(t, s.Release(t.Context()))
		if _, err := sell(profile.Source{}, 1); !errors.Is(err, profile.ErrEnded) {
			t.Errorf("after the session: %v", err)
		}
	})
}
