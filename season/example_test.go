package season_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store/memstore"
)

// Which season it is follows from the clock alone.
func ExampleCalendar() {
	c := season.Reef().Calendar
	info := c.Info(time.Date(2026, time.October, 2, 0, 0, 0, 0, time.UTC))
	fmt.Println(info.ID, "is", info.Name, "and ends on", info.End.Format(time.DateOnly))
	_, ok := c.Parse("2026-08")
	fmt.Println("2026-08 is a season:", ok)
	// Output:
	// C1S2 is Cycle 1 Season 2 and ends on 2026-11-09
	// 2026-08 is a season: false
}

// Events count into the season that it is, and the boards follow every 30 s, or when the
// player leaves.
func Example() {
	ctx := context.Background()
	st, err := memstore.New(nil).Store()
	if err != nil {
		panic(err)
	}
	n, err := node.Start(ctx, st, &node.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	defer func() { _, _ = n.Close(ctx) }()

	seasons, err := season.New(n, "reef", season.Reef(), season.Deps{})
	if err != nil {
		panic(err)
	}
	ada := newProfiles().load("ada") // a session of package profile, in a game
	if _, err := seasons.Joined(ctx, ada); err != nil {
		panic(err)
	}
	for range 3 {
		if err := seasons.Record(ada, season.Event{Name: "catch"}, season.Event{Name: "coins", Amount: 20}); err != nil {
			panic(err)
		}
	}
	seasons.Left(ctx, ada)

	page, err := seasons.Top(ctx, "Coins", 10)
	if err != nil {
		panic(err)
	}
	for _, e := range page.Entries {
		fmt.Println(e.Rank, e.Key, e.Score)
	}
	// Output: 1 ada 60
}
