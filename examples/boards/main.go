// Command boards shows what leaderboards do: scores that are submitted, a board that mirrors
// profiles, ranks, names, a walk, moderation.
package main

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

func main() {
	ctx := context.Background()
	st := must(shoal.Open(ctx, "memory:"))
	longest := int64(3600_000)
	node := must(shoal.Start(ctx, st, &shoal.Options{
		Sets:  map[string]*profile.Options{"players": nil},
		Names: &shoal.Names{Display: "/name"},
		Boards: map[string]board.Config{
			"BestTime": {Order: store.Ascending, Decimals: 3, Max: &longest}, // smaller ranks first, at most an hour
			"Level":    {Rule: store.Last, From: &board.Source{Set: "players", Path: "/level"}},
		},
	}))
	boards := node.Boards()

	// A board that mirrors profiles has what their last save stored, and takes no submits.
	for i, name := range []string{"Ann", "Bob", "Cid", "Dot"} {
		player := must(node.Set("players").Load(ctx, fmt.Sprintf("u_%d", i), nil))
		must(player.Transact(profile.Source{}, doc.Set("/name", doc.Must(name)), doc.Set("/level", doc.Must([]int{7, 9, 7, 3}[i]))))
		must(0, player.Save(ctx))
	}

	// Others are submitted to: into memory, and to the store within a second.
	must(0, boards.SubmitDecimal("BestTime", "u_0", "61.25"))
	fmt.Println(boards.SubmitDecimal("BestTime", "u_0", "61.2504"))                                                      // never rounded
	must(0, boards.SubmitDurable(ctx, "BestTime", store.Submission{Key: "u_1", Score: 59_004, Meta: []byte("on foot")})) // in the store
	must(0, boards.FlushNow(ctx))

	// Rows with names, equals sharing ranks: 1, 2, 2, 4.
	for _, row := range must(boards.Named(ctx, must(boards.By(store.Competition).Top(ctx, "Level", 10)))) {
		fmt.Println("level", row.Rank, row.Display, row.Score)
	}
	s, _, err := boards.Standing(ctx, "BestTime", "u_0")
	fmt.Println("time", must(s.Rank, err), must(boards.FormatScore("BestTime", s.Score)))
	p, _, err := boards.Percentile(ctx, "Level", "u_0")
	fmt.Println("in the best", must(p.Top, err), "percent of", p.Total)

	// Moderation is written down.
	eve := board.Moderator{Actor: "eve", Reason: "ticket 9"}
	must(boards.Hide(ctx, eve, "Level", "u_1"))
	must(0, boards.Ban(ctx, eve, "u_0"))
	fmt.Println(boards.SubmitDecimal("BestTime", "u_0", "1.000"))

	// The whole board, as it is when the walk begins.
	for row, err := range boards.All(ctx, "Level") {
		fmt.Println("walk", must(row.Rank, err), row.Key)
	}
	must(node.Close(ctx)) // players are released first, boards written last
	must(0, st.Close(ctx))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
