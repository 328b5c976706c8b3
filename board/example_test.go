package board_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

func Example() {
	ctx := context.Background()
	st, err := memstore.New(nil).Store()
	if err != nil {
		log.Fatal(err)
	}
	n, err := node.Start(ctx, st, &node.Options{Name: "game", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	boards, err := board.New(n, &board.Options{Boards: map[string]board.Config{
		"Kills":    {},
		"BestTime": {Order: store.Ascending, Decimals: 3},
	}})
	if err != nil {
		log.Fatal(err)
	}

	// Submits never wait for the store; a window writes them, here at once.
	_ = boards.Submit("Kills", "u_42", 17)
	_ = boards.SubmitDecimal("BestTime", "u_42", "61.25")
	_ = boards.SubmitDecimal("BestTime", "u_7", "59.998")
	if err := boards.FlushNow(ctx); err != nil {
		log.Fatal(err)
	}

	page, err := boards.Top(ctx, "BestTime", 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range page.Entries {
		seconds, _ := boards.FormatScore("BestTime", e.Score)
		fmt.Println(e.Rank, e.Key, seconds)
	}
	if _, err := n.Close(ctx); err != nil { // drains what is left
		log.Fatal(err)
	}
	// Output:
	// 1 u_7 59.998
	// 2 u_42 61.250
}

func ExampleService_Card() {
	ctx := context.Background()
	st, err := memstore.New(nil).Store()
	if err != nil {
		log.Fatal(err)
	}
	n, err := node.Start(ctx, st, &node.Options{Name: "game", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	names := map[string]board.Name{"u_1": {Display: "Ada"}, "u_2": {Display: "Bo"}}
	boards, err := board.New(n, &board.Options{
		Boards: map[string]board.Config{"Kills": {}},
		Names: &board.NameOptions{Resolve: func(context.Context, []string) (map[string]board.Name, error) {
			return names, nil // one call for all that are not known yet
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for key, score := range map[string]int64{"u_1": 50, "u_2": 40, "u_3": 30, "u_4": 30} {
		_ = boards.Submit("Kills", key, score)
	}
	if err := boards.FlushNow(ctx); err != nil {
		log.Fatal(err)
	}

	// The best two, and the player's own place beside them; equal scores share a rank.
	card, err := boards.By(store.Competition).Card(ctx, "Kills", "u_4", 2)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := boards.Named(ctx, card.Page)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range rows {
		fmt.Println(row.Rank, row.Display, row.Score)
	}
	fmt.Println("you:", card.Standing.Rank, "of", card.Total)
	if _, err := n.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 Ada 50
	// 2 Bo 40
	// you: 3 of 4
}
