package board_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

func (r *rig) card(mode store.RankMode, name, key string, count int) board.Card {
	r.t.Helper()
	c, err := r.By(mode).Card(r.t.Context(), name, key, count)
	if err != nil {
		r.t.Fatalf("Card of %s: %v", key, err)
	}
	return c
}

func TestCardUsesThePage(t *testing.T) {
	// case B5, S20
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {MaxEntries: 3}}})
		r.submitScores("Kills", 50, 40, 30, 20, 10)
		c := r.card(store.Ordinal, "Kills", "u1", 2)
		want(t, "the page", rows(c.Page), []string{"u0=50", "u1=40"})
		want(t, "the card", c.Standing, c.Page.Entries[1])
		want(t, "a card of who is on the cached page, and not on the shown one", r.card(store.Ordinal, "Kills", "u2", 2).Standing.Rank, 3)
		want(t, "reads of standings", len(r.store.did("standing")), 0)
		c = r.card(store.Ordinal, "Kills", "u4", 2)
		want(t, "a card of who is not", []int64{c.Standing.Rank, c.Standing.Score, c.Total}, []int64{5, 10, 5})
		// u4 gets to the top. The page is a window behind, and so is the card.
		r.submit("Kills", "u4", 100)
		r.flush()
		st, _, err := r.Standing(t.Context(), "Kills", "u4")
		want(t, "the standing", st.Rank, 1)
		want(t, "the card", r.card(store.Ordinal, "Kills", "u4", 0).Standing.Rank, 4)
		// u1 is no longer second, and is shown as the page shows them.
		want(t, "the card", r.card(store.Ordinal, "Kills", "u1", 0).Standing.Rank, 2)
		later(time.Minute)
		want(t, "the card, a window later", r.card(store.Ordinal, "Kills", "u4", 0).Standing.Rank, 1)
		want(t, "the card, a window later", r.card(store.Ordinal, "Kills", "u1", 0).Standing.Rank, 3)
		if c := r.card(store.Ordinal, "Kills", "nobody", 0); c.OK || c.Total != 5 || err != nil {
			t.Fatalf("the card of nobody: %+v, %v", c, err)
		}
	})
}

func TestCardOfANewcomerOnASmallBoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {}}})
		if c := r.card(store.Ordinal, "Kills", "u1", 0); c.OK || c.Total != 0 {
			t.Fatalf("the card on an empty board: %+v", c)
		}
		later(time.Minute)
		r.submitScores("Kills", 50, 40)
		r.card(store.Ordinal, "Kills", "u0", 0)
		r.submit("Kills", "u9", 60)
		r.flush()
		c := r.card(store.Ordinal, "Kills", "u9", 0)
		want(t, "the card", []int64{c.Standing.Rank, c.Total, int64(len(c.Page.Entries))}, []int64{3, 3, 2})
	})
}

func TestCardRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {MaxEntries: 1}}})
		r.submitScores("Kills", 2, 1)
		_, err := r.Card(t.Context(), "Nope", "u1", 0)
		wantRefused(t, err, "board", board.ErrUnknownBoard)
		_, err = r.Card(t.Context(), "Kills", "", 0)
		wantRefused(t, err, "key", board.ErrName)
		_, err = r.Card(t.Context(), "Kills", "u1", 2)
		wantRefused(t, err, "count", board.ErrCount)
		r.store.failAll("page", notDone)
		if _, err := r.Card(t.Context(), "Kills", "u0", 0); err == nil {
			t.Fatal("a card without a page")
		}
		r.store.failAll("standing", notDone)
		if c := r.card(store.Ordinal, "Kills", "u0", 0); !c.OK {
			t.Fatal("no card from the page while standings fail")
		}
		if _, err := r.Card(t.Context(), "Kills", "u1", 0); err == nil {
			t.Fatal("a card without a standing")
		}
		// A closed service has the cards of its page.
		r.store.setRule(nil)
		if _, err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, "the card", r.card(store.Ordinal, "Kills", "u0", 0).Standing.Rank, 1)
		_, err = r.Card(t.Context(), "Kills", "u1", 0)
		wantRefused(t, err, "service", board.ErrClosed)
	})
}

// However the board changes below a cached page, a card never contradicts the page beside it.
func TestCardsNeverContradictThePage(t *testing.T) {
	// case B5
	rapid.Check(t, func(rt *rapid.T) {
		moves := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int64 {
			return [2]int64{rapid.Int64Range(0, 7).Draw(t, "key"), rapid.Int64Range(0, 4).Draw(t, "score")}
		}), 1, 30).Draw(rt, "moves")
		var err error
		synctest.Test(t, func(t *testing.T) {
			r := start(t, &board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {Rule: store.Sum, MaxEntries: 3}}})
			for i, m := range moves {
				r.submit("Kills", fmt.Sprintf("u%d", m[0]), m[1])
				r.flush()
				if i%7 == 6 {
					later(time.Minute)
				}
				for key := range 8 {
					for _, mode := range rankModes() {
						if e := contradiction(mode, r.card(mode, "Kills", fmt.Sprintf("u%d", key), 0)); e != nil && err == nil {
							err = fmt.Errorf("after %d moves, u%d: %w", i+1, key, e)
						}
					}
				}
			}
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// contradiction compares a card with the page beside it.
func contradiction(mode store.RankMode, c board.Card) error {
	if !c.OK {
		return nil
	}
	if c.Total < c.Standing.Rank {
		return fmt.Errorf("%v: rank %d of %d", mode, c.Standing.Rank, c.Total)
	}
	for _, e := range c.Page.Entries {
		same := e.Key == c.Standing.Key
		tied := mode != store.Ordinal && e.Score == c.Standing.Score
		switch {
		case same && (e.Rank != c.Standing.Rank || e.Score != c.Standing.Score):
			return fmt.Errorf("%v: the card says %+v, the page %+v", mode, c.Standing, e)
		case same:
			return nil
		case e.Rank == c.Standing.Rank && !tied && !onPage(c):
			return fmt.Errorf("%v: the card has the rank of %+v: %+v", mode, e, c.Standing)
		case e.Rank > c.Standing.Rank && !onPage(c):
			return fmt.Errorf("%v: the card is above %+v: %+v", mode, e, c.Standing)
		}
	}
	return nil
}

func onPage(c board.Card) bool {
	for _, e := range c.Page.Entries {
		if e.Key == c.Standing.Key {
			return true
		}
	}
	return false
}
