// Command quickstart loads a player, changes them, and ranks them. Run it twice.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

func main() {
	ctx := context.Background()
	st, err := shoal.Open(ctx, "./game") // a folder that all processes of this machine share
	check(err)
	node, err := shoal.Start(ctx, st, &shoal.Options{
		Sets:   map[string]*profile.Options{"players": {Template: doc.Must(map[string]any{"coins": 0})}},
		Boards: map[string]board.Config{"Kills": {}},
	})
	check(err)

	player, err := node.Set("players").Load(ctx, "u_42", nil) // ours alone, until another node asks
	check(err)
	_, err = player.Transact(profile.Source{Note: "quest"}, doc.Increment("/coins", 10))
	check(err)
	check(player.Save(ctx)) // from here on in every later load, on whatever node

	check(node.Boards().Submit("Kills", player.Key(), 7))
	check(node.Boards().FlushNow(ctx))
	standing, _, err := node.Boards().Standing(ctx, "Kills", player.Key())
	check(err)
	fmt.Printf("%s: %v, rank %d with %d kills\n", player.Key(), player.Data(), standing.Rank, standing.Score)

	_, err = node.Close(ctx) // releases players, drains boards
	check(err)
	check(st.Close(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
