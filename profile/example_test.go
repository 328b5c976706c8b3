package profile_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/memstore"
)

// A player joins one server, earns something, and moves to another one.
func Example() {
	ctx, memory := context.Background(), memstore.New(nil)
	server := func(name string) (*node.Node, *profile.Set) {
		st, err := memory.Store()
		check(err)
		n, err := node.Start(ctx, st, &node.Options{Name: name, Logger: slog.New(slog.DiscardHandler)})
		check(err)
		players, err := profile.New(n, "players", &profile.Options{
			Template: doc.Must(map[string]any{"coins": 0}),
		})
		check(err)
		return n, players
	}
	east, eastPlayers := server("east")
	west, westPlayers := server("west")

	session, err := eastPlayers.Load(ctx, "u_42", nil)
	check(err)
	_, err = session.Transact(profile.Source{Note: "sold a cod"}, doc.Increment("/coins", 12))
	check(err)

	moved, err := westPlayers.Load(ctx, "u_42", nil) // asks east, which hands over
	check(err)
	fmt.Println(moved.Data(), moved.Loaded().How, "in epoch", moved.Epoch())
	fmt.Println(session.Reason())

	for _, n := range []*node.Node{west, east} {
		_, err := n.Close(ctx) // saves and releases
		check(err)
	}
	// Output:
	// {"coins":12} granted in epoch 2
	// handed over
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
