package laws_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
)

// reef are seasons of fifteen seconds, from begin on.
func reef(begin time.Time) season.Config {
	rules := season.Reef()
	rules.Epoch, rules.Length = begin, 15*time.Second
	rules.Boards = rules.Boards[:2]
	rules.Top, rules.Keep = 3, 6
	rules.Grace, rules.FlushEvery = 4*time.Second, 500*time.Millisecond
	rules.FirstClose, rules.CloseEvery = time.Second, time.Second
	return rules
}

// Three nodes play a season, one of them dies, and any of the others closes it: there is one
// result, every node reads the same, and every winner has each title once, with its reward.
func TestSeasonClosesOnce(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		begin := time.Now().Truncate(time.Millisecond)
		var nodes []*server
		for range 3 {
			nodes = append(nodes, s.start(t, func(o *shoal.Options) {
				o.Seasons = map[string]shoal.Season{"reef": {Set: "players", Rules: reef(begin)}}
			}))
		}
		players := playSeason(t, nodes)
		nodes[2].faults.Crash()
		result := closedSeason(t, nodes[0])
		for _, board := range result.Boards {
			if n := len(board.Top) + len(board.Reserve); board.Total < players || n != int(min(6, board.Total)) {
				t.Errorf("%s ranks %d of %d, of at least %d players", board.Board, n, board.Total, players)
			}
		}
		again := closedSeason(t, nodes[1])
		if diff := cmp.Diff(result, again, cmpopts.IgnoreUnexported(season.BoardResult{})); diff != "" {
			t.Errorf("two nodes read two results:\n%s", diff)
		}
		for i := range 9 {
			titlesOnce(t, nodes, result, fmt.Sprint("u", i))
		}
	})
}

// playSeason has nine players catch fish, and answers how many did so in the first season: on a
// slow machine it may be over before.
func playSeason(t *testing.T, nodes []*server) int64 {
	t.Helper()
	var first atomic.Int64
	var wg sync.WaitGroup
	for i := range 9 {
		wg.Go(func() {
			n := nodes[i%2] // those of the third node would not be written
			session := n.load(t, fmt.Sprint("u", i))
			for range i + 1 {
				if err := n.Season("reef").Record(session, season.Event{Name: "catch"}, season.Event{Name: "coins", Amount: 10}); err != nil {
					t.Error(err)
				}
			}
			if block, err := n.Season("reef").View(session); err == nil && block.Season == "C1S1" {
				first.Add(1)
			}
			if err := session.Release(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if first.Load() == 0 {
		t.Error("nobody played in the first season: the law was not tried")
	}
	return first.Load()
}

// closedSeason waits for the result of the first season.
func closedSeason(t *testing.T, n *server) *season.Result {
	t.Helper()
	ctx := within(t)
	for {
		r, err := n.Season("reef").Result(ctx, "C1S1")
		if err == nil && r != nil {
			return r
		}
		if ctx.Err() != nil {
			t.Fatalf("the season was not closed: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// titlesOnce loads a player on two nodes in turn: the titles are those of the result, once.
func titlesOnce(t *testing.T, nodes []*server, result *season.Result, key string) {
	t.Helper()
	for _, n := range nodes[:2] {
		session := n.load(t, key)
		block, err := n.Season("reef").View(session)
		must(t, err)
		got, want := map[string]int{}, map[string]int{}
		for _, title := range block.Titles {
			if title.Season == "C1S1" {
				got[title.Board] += title.Rank
			}
		}
		for _, board := range result.Boards {
			if p, ok := result.Find(board.Board, key); ok && p.Rank <= 3 {
				want[board.Board] = p.Rank
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("titles of %s on %s (-want +got):\n%s", key, n.ID(), diff)
		}
		_, err = session.Transact(profile.Source{})
		must(t, err)
		must(t, session.Release(within(t)))
	}
}
