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

// A game lets players in when their profile is open, and drops those whom another server got.
func ExamplePlayers() {
	ctx, memory := context.Background(), memstore.New(nil)
	events := make(chan string)
	server := func(name string) (*node.Node, *profile.Players) {
		st, err := memory.Store()
		check(err)
		n, err := node.Start(ctx, st, &node.Options{Name: name, Logger: slog.New(slog.DiscardHandler)})
		check(err)
		set, err := profile.New(n, "players", &profile.Options{Template: doc.Must(map[string]any{"coins": 0})})
		check(err)
		players, err := profile.NewPlayers(set, &profile.PlayersOptions{
			Joined: func(_ context.Context, p *profile.Player) {
				events <- fmt.Sprintf("%s: %s is in with %v", name, p.Key(), p.Session().Data())
			},
			Failed: func(_ context.Context, p *profile.Player, err error) {
				events <- fmt.Sprintf("%s: %s stays out: %v", name, p.Key(), err)
			},
			Left: func(_ context.Context, p *profile.Player, _ error) {
				events <- fmt.Sprintf("%s: %s has left", name, p.Key())
			},
			Kicked: func(_ context.Context, p *profile.Player, why profile.Reason) {
				events <- fmt.Sprintf("%s: drop %s: %v", name, p.Key(), why)
			},
		})
		check(err)
		return n, players
	}
	east, eastPlayers := server("east")
	west, westPlayers := server("west")

	player, err := eastPlayers.Join("u_42") // connects
	check(err)
	fmt.Println(<-events)
	_, err = player.Session().Transact(profile.Source{Note: "sold a cod"}, doc.Increment("/coins", 12))
	check(err)

	moved, err := westPlayers.Join("u_42") // connects to another server
	check(err)
	// Which server hears first is open; here the game sorts it out.
	first, second := <-events, <-events
	fmt.Println(min(first, second))
	fmt.Println(max(first, second))

	moved.Leave() // disconnects
	fmt.Println(<-events)

	for _, n := range []*node.Node{west, east} {
		_, err := n.Close(ctx)
		check(err)
	}
	// Output:
	// east: u_42 is in with {"coins":0}
	// east: drop u_42: handed over
	// west: u_42 is in with {"coins":12}
	// west: u_42 has left
}
