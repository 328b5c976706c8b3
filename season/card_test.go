package season_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// card is a session's card, as "Board:live/rank of total" for each board.
func (h *host) card(s *session) (season.Card, string) {
	h.w.t.Helper()
	c, err := h.Card(h.w.t.Context(), s)
	if err != nil {
		h.w.t.Fatalf("card of %s: %v", s.key, err)
	}
	return c, cardText(c)
}

func cardText(c season.Card) (text string) {
	for _, b := range c.Boards {
		live, rank := "-", "-"
		if b.Counted {
			live = fmt.Sprint(b.Live)
		}
		if b.OK {
			rank = fmt.Sprint(b.Standing.Rank)
		}
		text += fmt.Sprintf("%s:%s/%s of %d ", b.Board, live, rank, b.Total)
	}
	return text
}

// The counters are live, and the standing is what the board shows: for a player on the page
// the page's, for anybody else behind it.
func TestTheCardShowsCountersBesideStandings(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		h := w.host("a", hostOptions{})
		eve := h.join("eve")
		c, text := h.card(eve)
		if text != "Fish:-/- of 0 Coins:-/- of 0 " || c.Block.Season != "C1S1" || c.Info.ID != "C1S1" || c.Info.Remaining != time.Hour {
			t.Fatalf("before anybody played: %s, %+v", text, c)
		}
		h.play(eve, "catch")
		if _, text = h.card(eve); text != "Fish:1/- of 0 Coins:-/- of 0 " {
			t.Fatalf("before the window: %s", text)
		}
		crowd(h, 5)
		time.Sleep(30 * time.Second)
		want := map[string]string{
			"u0":  "Fish:5/1 of 6 Coins:10/1 of 5 ",
			"u2":  "Fish:3/3 of 6 Coins:10/3 of 5 ",
			"u4":  "Fish:1/6 of 6 Coins:10/5 of 5 ", // eve has her fish for longer
			"eve": "Fish:1/5 of 6 Coins:-/- of 5 ",
		}
		for key, text := range want {
			c, got := h.card(h.players(key))
			if got != text || c.Boards[0].Title != "SEA KING" || c.Boards[0].Stat != "fish" {
				t.Errorf("%s has %s, want %s", key, got, text)
			}
		}
		h.play(h.players("u4"), slices.Repeat([]string{"catch"}, 20)...)
		h.window()
		for key, text := range map[string]string{"u0": want["u0"], "u4": "Fish:21/6 of 6 Coins:10/5 of 5 "} {
			if _, got := h.card(h.players(key)); got != text {
				t.Errorf("while the page is kept %s has %s, want %s", key, got, text)
			}
		}
		time.Sleep(30 * time.Second)
		for key, text := range map[string]string{"u0": "Fish:5/2 of 6 Coins:10/1 of 5 ", "u4": "Fish:21/1 of 6 Coins:10/5 of 5 "} {
			if _, got := h.card(h.players(key)); got != text {
				t.Errorf("on the next page %s has %s, want %s", key, got, text)
			}
		}
	})
}

// A player who has overtaken the page since it was read stands behind it all the same.
//
// case S20 of the protocol.
func TestTheCardNeverContradictsThePage(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		h := w.host("a", hostOptions{})
		crowd(h, 5)
		h.top("Fish")
		h.play(h.players("u4"), slices.Repeat([]string{"catch"}, 20)...)
		newcomer := h.join("new")
		h.play(newcomer, slices.Repeat([]string{"catch"}, 30)...)
		h.window()
		for key, want := range map[string]int64{"u1": 2, "u3": 6, "u4": 4, "new": 4} {
			c, _ := h.card(h.players(key))
			if on := c.Boards[0]; !on.OK || on.Standing.Rank != want || on.Total < on.Standing.Rank {
				t.Errorf("%s stands at %+v, want rank %d", key, on, want)
			}
		}
	})
}

// At the boundary everything on the card is of one season: the block's.
func TestTheCardIsOfOneSeason(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		h := w.host("a", hostOptions{})
		crowd(h, 5)
		w.until(time.Hour - time.Second)
		s := h.players("u0")
		if c, text := h.card(s); text != "Fish:5/1 of 5 Coins:10/1 of 5 " || c.Info.K != 0 || c.Info.Remaining != time.Second {
			t.Fatalf("a second before: %s", text)
		}
		data, created := s.Data(), s.created
		w.until(time.Hour)
		seen := s.commits()
		c, err := h.CardOf(t.Context(), "u0", data, created)
		if text := cardText(c); err != nil || text != "Fish:-/- of 0 Coins:-/- of 0 " || c.Block.Season != "C1S2" || c.Info.ID != "C1S2" || c.Block.Owed["C1S1"]["fish"] != 5 || s.commits() != seen {
			t.Fatalf("of a profile that is not open here: %s, %+v, %v", text, c.Block, err)
		}
		c, text := h.card(s)
		if text != "Fish:-/- of 0 Coins:-/- of 0 " || c.Block.Season != "C1S2" || c.Info.ID != "C1S2" || s.commits() != seen+1 {
			t.Fatalf("on the boundary: %s, %+v", text, c.Block)
		}
		// A block that another node has brought to the next season is shown as of that season.
		ahead := w.profiles.load("ahead")
		set(t, ahead, "/seasons/reef/stats/fish", 7)
		if err := ahead.Change("test", func(doc.Value) ([]doc.Op, error) {
			return []doc.Op{doc.Set("/seasons/reef/season", doc.MustString("C1S3"))}, nil
		}); err != nil {
			t.Fatal(err)
		}
		h.play(s, "catch")
		h.window()
		time.Sleep(30 * time.Second)
		if c, text := h.card(ahead); text != "Fish:7/- of 0 Coins:-/- of 0 " || c.Info.ID != "C1S3" || c.Block.K != 2 {
			t.Fatalf("ahead: %s, %+v", text, c)
		}
		h.play(ahead, "catch")
		h.window()
		time.Sleep(30 * time.Second)
		if _, text := h.card(ahead); text != "Fish:8/1 of 1 Coins:-/- of 0 " {
			t.Fatalf("ahead: %s", text)
		}
		if _, text := h.card(s); text != "Fish:1/1 of 1 Coins:-/- of 0 " {
			t.Fatalf("beside one that is ahead: %s", text)
		}
	})
}

// A board that cannot be read takes neither the counters nor the other boards with it.
func TestACardWithABoardThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		boards := newCountedBoards(w)
		h := w.host("a", hostOptions{deps: season.Deps{Boards: boards}})
		crowd(h, 5)
		h.top("Coins")
		boards.set(store.ErrUnavailable, nil)
		c, text := h.card(h.players("u0"))
		if text != "Fish:5/- of 0 Coins:10/1 of 5 " || !errors.Is(c.Boards[0].Err, store.ErrUnavailable) || c.Boards[1].Err != nil {
			t.Fatalf("%s, %+v", text, c.Boards)
		}
		c, text = h.card(h.players("u4"))
		if text != "Fish:1/- of 0 Coins:10/- of 5 " || !errors.Is(c.Boards[1].Err, store.ErrUnavailable) {
			t.Fatalf("behind the page: %s, %+v", text, c.Boards)
		}
		boards.set(nil, nil)
		time.Sleep(time.Second)
		if _, text = h.card(h.players("u4")); text != "Fish:1/5 of 5 Coins:10/5 of 5 " {
			t.Fatalf("again: %s", text)
		}
		if err := w.engine.Boards().Drop(t.Context(), season.BoardKey("reef", "Fish", "C1S1")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if c, text = h.card(h.players("u4")); text != "Fish:1/- of 0 Coins:10/5 of 5 " || !errors.Is(c.Boards[0].Err, season.ErrMemory) {
			t.Fatalf("without its memory: %s, %+v", text, c.Boards)
		}
	})
}

func TestCardsThatCannotBeShown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		s := h.join("ada")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Card(ctx, s); !errors.Is(err, context.Canceled) {
			t.Errorf("for nobody: %v", err)
		}
		if _, err := h.CardOf(t.Context(), "ada", doc.MustObject(map[string]doc.Value{"seasons": doc.MustObject(map[string]doc.Value{"reef": doc.Int(1)})}), time.Now()); !errors.Is(err, season.ErrBlock) {
			t.Errorf("without a block: %v", err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Card(t.Context(), s); !errors.Is(err, season.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}
