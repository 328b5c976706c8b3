package shoal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// readCounts counts what is read of the seasons' boards in the store.
type readCounts struct {
	store.Boards
	mu struct {
		sync.Mutex
		pages, standings map[string]int
	}
}

func (c *readCounts) count(of *map[string]int, board string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *of == nil {
		*of = make(map[string]int)
	}
	(*of)[board]++
}

func (c *readCounts) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	c.count(&c.mu.pages, board)
	return c.Boards.Page(ctx, board, offset, limit, mode)
}

func (c *readCounts) Standing(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
	c.count(&c.mu.standings, board)
	return c.Boards.Standing(ctx, board, key, mode)
}

// of are how often the board's page and standings on it were read.
func (c *readCounts) of(board string) (pages, standings int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.pages[board], c.mu.standings[board]
}

// reefNode is a node with the fishing game: seasons of an hour from now on, titles for three.
func reefNode(t *testing.T) (*shoal.Node, *readCounts) {
	t.Helper()
	e := memstore.New(nil)
	counts := &readCounts{Boards: e.Boards()}
	st, err := store.New(store.Parts{Durable: e.Records(), Boards: counts, Bus: e.Bus()})
	must(t, err)
	rules := season.Reef()
	rules.Epoch, rules.Length, rules.Top, rules.Name = time.Now(), time.Hour, 3, "/name"
	rules.Boards[0].Rewards = []season.Reward{{To: 1, Ops: []doc.Op{doc.Increment("/coins", 100)}}}
	o := &shoal.Options{
		Sets:    map[string]*profile.Options{"players": nil},
		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: rules}},
	}
	o.Node.Logger = slog.New(slog.DiscardHandler)
	n, err := shoal.Start(t.Context(), st, o)
	must(t, err)
	t.Cleanup(func() {
		_, err := n.Close(context.WithoutCancel(t.Context()))
		must(t, err)
		must(t, st.Close(context.WithoutCancel(t.Context())))
	})
	return n, counts
}

// angler loads a player and gives them a name and a purse.
func angler(t *testing.T, n *shoal.Node, key string) *profile.Session {
	t.Helper()
	s, err := n.Set("players").Load(t.Context(), key, nil)
	must(t, err)
	_, err = s.Transact(profile.Source{}, doc.Set("/name", doc.MustString(strings.ToUpper(key))), doc.Set("/coins", doc.Int(1)))
	must(t, err)
	return s
}

// A thousand readers on one node are one read of a board in 30 s, through the boards' own cache
// too, while the node writes to the board and players leave.
func TestSeasonReadersOnANodeShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, counts := reefNode(t)
		reef := n.Season("reef")
		var players []*profile.Session
		for i := range 6 {
			players = append(players, angler(t, n, fmt.Sprint("u", i)))
		}
		const windows = 20
		for range windows {
			var all sync.WaitGroup
			for i := range 1000 {
				all.Go(func() {
					time.Sleep(time.Duration(i) * 30 * time.Millisecond)
					s := players[i%6]
					_, err := reef.Leaders(t.Context(), "Fish", 50)
					card, err2 := reef.Card(t.Context(), s)
					_, _, err3 := reef.Standing(t.Context(), "Streak", s.Key())
					if err := errors.Join(err, err2, err3); err != nil {
						t.Error(err)
					}
					for _, b := range card.Boards {
						if b.Err != nil {
							t.Error(b.Err)
						}
					}
				})
			}
			for i, s := range players {
				must(t, reef.Record(s, season.Event{Name: "catch"}, season.Event{Name: "coins", Amount: int64(i + 1)}, season.Event{Name: "experience", Amount: 1}))
			}
			time.Sleep(11 * time.Second)
			guest := angler(t, n, "guest") // the best, whose last write comes between the windows
			for range 5 {
				must(t, reef.Record(guest, season.Event{Name: "catch"}, season.Event{Name: "coins", Amount: 100}, season.Event{Name: "experience", Amount: 9}))
			}
			must(t, guest.Release(t.Context()))
			all.Wait()
		}
		elapsed := int(time.Since(reef.Config().Epoch)/(30*time.Second)) + 1
		for _, board := range []string{"Fish", "Coins", "Experience", "Streak"} {
			pages, standings := counts.of(season.BoardKey("reef", board, "C1S1"))
			if pages > elapsed || pages < windows-2 || standings > 4*elapsed {
				t.Errorf("%s: %d pages and %d standings were read in %d windows", board, pages, standings, elapsed)
			}
		}
		l, err := reef.Leaders(t.Context(), "Fish", 1)
		if err != nil || len(l.Rows) != 1 || l.Rows[0].Name != strings.ToUpper(l.Rows[0].Key) {
			t.Errorf("%+v, %v", l, err)
		}
		for _, s := range players {
			must(t, s.Release(t.Context()))
		}
	})
}

// A watch sees what anybody does to the block, on profiles as they are.
func TestSeasonWatchSeesEveryCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := reefNode(t)
		reef := n.Season("reef")
		s := angler(t, n, "ada")
		must(t, s.Save(t.Context()))
		clean := s.Revision()
		watch, err := reef.Watch(s)
		must(t, err)
		defer watch.Close()
		var mu sync.Mutex
		var seen []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				b, err := watch.Next(t.Context())
				mu.Lock()
				switch {
				case err != nil:
					seen = append(seen, err.Error())
				default:
					seen = append(seen, fmt.Sprintf("%s fish=%d titles=%d", b.Season, b.Stats["fish"], len(b.Titles)))
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		}()
		expect := func(what, want string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(seen, "; "); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
			seen = nil
		}
		expect("at first", "C1S1 fish=0 titles=0")
		must(t, reef.Record(s, season.Event{Name: "catch"}))
		expect("an event", "C1S1 fish=1 titles=0")
		_, err = s.Rollback(profile.Source{Kind: profile.SourceOperator}, clean)
		must(t, err)
		expect("a rollback", "C1S1 fish=0 titles=0")
		_, err = n.Set("players").Edit(t.Context(), "ada", profile.Source{Kind: profile.SourceOperator}, doc.Set("/seasons/reef/season", doc.MustString("C1S1")), doc.Set("/seasons/reef/stats/fish", doc.Int(9)))
		must(t, err)
		expect("an operator's edit", "C1S1 fish=9 titles=0")
		must(t, reef.Record(s, season.Event{Name: "catch"}))
		expect("an event", "C1S1 fish=10 titles=0")
		time.Sleep(time.Until(reef.Config().Epoch.Add(time.Hour)))
		expect("the boundary", "C1S2 fish=0 titles=0")
		time.Sleep(15 * time.Minute)
		expect("the titles, for fish and streak", "C1S2 fish=0 titles=2")
		if coins, _, _ := s.Data().Lookup("/coins"); !coins.Equal(doc.Int(101)) {
			t.Errorf("coins %v", coins)
		}
		res, err := reef.Result(t.Context(), "C1S1")
		if err != nil || res.Boards[0].Top[0].Name != "ADA" {
			t.Errorf("%+v, %v", res, err)
		}
		must(t, s.Release(t.Context()))
		<-done
		expect("the end", season.ErrEnded.Error()+": ada")
	})
}
