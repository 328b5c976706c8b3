// Command seasons shows a whole season of 45 days in a second: events, a card, an end that no one
// has to organize, titles and rewards, a disqualification.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/memstore"
)

func main() {
	ctx := context.Background()
	engine := memstore.New(nil) // a store in memory, whose clock can be put forward, as in tests of a game
	st := must(engine.Store())
	closed := make(chan *season.Result, 1)
	node := must(shoal.Start(ctx, st, &shoal.Options{
		Sets: map[string]*profile.Options{"players": {Template: doc.Must(map[string]any{"coins": 0})}},
		Seasons: map[string]shoal.Season{"reef": {Set: "players", Rules: rules(), Deps: season.Deps{
			OnClosed: func(_ season.Closed, r *season.Result) { closed <- r },
			OnTitle: func(_ context.Context, s season.Session, titles []season.Title) {
				for _, t := range titles {
					fmt.Println(s.Key(), "is", t.Text)
				}
			},
			OnCorrected: func(_ context.Context, s season.Session, changes []season.TitleChange) {
				fmt.Printf("%s was %q, is %q\n", s.Key(), changes[0].Before.Text, changes[0].After.Text)
			},
		}}},
	}))
	players, reef := node.Set("players"), node.Season("reef")

	// Events are counted in the profile, in the season that it is, and reach the boards later.
	for i, name := range []string{"ann", "bob"} {
		player := must(players.Load(ctx, name, nil))
		must(player.Transact(profile.Source{}, doc.Set("/name", doc.Must(name))))
		for range 5 - i {
			must(0, reef.Record(player, season.Event{Name: "catch", Amount: int64(900 - 100*i)}))
		}
		must(0, reef.Record(player, season.Event{Name: "lose"}))
		must(0, player.Release(ctx)) // the last values go to the boards
	}
	for _, row := range must(reef.Leaders(ctx, "Heaviest", 10)).Rows {
		fmt.Println(reef.Current().Name, row.Rank, row.Name, row.Score)
	}

	// A card has the live counters, and beside them what everybody sees on the board.
	ann := must(players.Load(ctx, "ann", nil))
	must(0, reef.Record(ann, season.Event{Name: "catch", Amount: 950}))
	on := must(reef.Card(ctx, ann)).Boards[0]
	fmt.Println("ann has", on.Live, "and on the board", on.Standing.Score, "rank", on.Standing.Rank, "of", on.Total)
	must(0, ann.Release(ctx))

	// 46 days later. Nobody has to be there when a season ends, and any node closes it.
	engine.StepClock(memstore.Durable, 46*24*time.Hour)
	for reef.Current().ID == "C1S1" { // a node looks at the store's clock once a second
		time.Sleep(10 * time.Millisecond)
	}
	result := <-closed
	for _, b := range result.Boards {
		fmt.Println(result.Season, b.Title, b.Top[0].Name, b.Top[0].Score)
	}
	must(0, must(players.Load(ctx, "ann", nil)).Release(ctx)) // titles come with the next load

	// The result stays, the standings change, titles follow.
	ruling := season.Ruling{Key: "ann", By: "eve", Reason: "ticket 9: a net"}
	fmt.Println("first is now", must(reef.Disqualify(ctx, result.Season, ruling)).Boards[0].Top[0].Name)
	must(0, must(players.Load(ctx, "ann", nil)).Release(ctx))
	bob := must(players.Load(ctx, "bob", nil))
	fmt.Println(bob.Key(), bob.Data())
	must(node.Close(ctx))
	must(0, st.Close(ctx))
}

// rules are a calendar, what is counted, and what is played for.
func rules() season.Config {
	return season.Config{
		Calendar: season.Calendar{Epoch: time.Now(), Length: 45 * 24 * time.Hour},
		Stats: []season.Stat{
			{Name: "heaviest", Kind: season.Max, On: []string{"catch"}},
			{Name: "streak", Kind: season.Run, On: []string{"catch"}, ResetOn: []string{"lose"}},
			{Name: "bestStreak", Kind: season.BestOfRun, Of: "streak"},
		},
		Boards: []season.Board{
			{Name: "Heaviest", Stat: "heaviest", Title: "SEA KING"},
			{Name: "Streak", Stat: "bestStreak", Title: "RELENTLESS KING", Rewards: []season.Reward{
				{To: 1, Ops: []doc.Op{doc.Increment("/coins", 500)}}, // the first
				{To: 3, Ops: []doc.Op{doc.Increment("/coins", 100)}}, // the second and the third
			}},
		},
		Name: "/name", // where a profile has the name that boards show
		Top:  3,
		// Look for seasons to close all the time, for those who watch. Else every 300 s will do.
		FirstClose: time.Second, CloseEvery: time.Second,
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
