// Command quickstart loads a player, changes them, and ranks them. Run it twice.
package main

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

func main() {
	ctx := context.Background()
	st := must(shoal.Open(ctx, "./game")) // a folder that all processes of this machine share
	node := must(shoal.Start(ctx, st, &shoal.Options{
		Sets:   map[string]*profile.Options{"players": {Template: doc.Must(map[string]any{"coins": 0})}},
		Boards: map[string]board.Config{"Kills": {}},
	}))

	player := must(node.Set("players").Load(ctx, "u_42", nil)) // ours alone, until another node asks
	must(player.Transact(profile.Source{Note: "quest"}, doc.Increment("/coins", 10)))
	must(0, player.Save(ctx)) // from here on in every later load, on whatever node

	must(0, node.Boards().Submit("Kills", player.Key(), 7))
	must(0, node.Boards().FlushNow(ctx)) // or wait a second
	top := must(node.Boards().Top(ctx, "Kills", 10))
	fmt.Println(player.Key(), player.Data(), "best:", top.Entries[0].Key, top.Entries[0].Score)

	must(node.Close(ctx)) // releases players, drains boards
	must(0, st.Close(ctx))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
