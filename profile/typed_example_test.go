package profile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/memstore"
)

// A game keeps its players in a type of its own.
func ExampleOpen() {
	type Player struct {
		Coins int            `json:"coins" shoal:"min=0"`
		Class string         `json:"class" shoal:"enum=angler|diver|"`
		Items map[string]int `json:"items"`
	}
	ctx := context.Background()
	st, err := memstore.New(nil).Store()
	check(err)
	n, err := node.Start(ctx, st, &node.Options{Logger: slog.New(slog.DiscardHandler)})
	check(err)
	players, err := profile.Open[Player](n, "players", nil)
	check(err)

	ann, err := players.Load(ctx, "u_42", nil)
	check(err)
	_, err = ann.Update(profile.Source{Note: "a good day"}, func(p *Player) error {
		p.Class = "angler"
		p.Items["cod"] += 3
		p.Coins += 10
		return nil
	})
	check(err)

	// One place alone, at the cost of one place.
	coins := profile.Int("/coins")
	_, err = coins.Add(ann, profile.Source{Note: "sold a cod"}, 4)
	check(err)

	// What the type does not allow is refused as a whole, with every place that is wrong.
	_, err = ann.Update(profile.Source{}, func(p *Player) error {
		p.Coins -= 100
		p.Class = "pirate"
		return nil
	})
	var refused *profile.RefusedError
	if errors.As(err, &refused) {
		for _, v := range refused.Violations {
			fmt.Println(v)
		}
	}
	fmt.Printf("%+v\n", ann.Value())

	_, err = n.Close(ctx) // saves and releases
	check(err)
	check(st.Close(ctx))
	// Output:
	// "/class": schema: want one of "angler", "diver", "", got "pirate" (enum)
	// "/coins": schema: want at least 0, got -86 (minimum)
	// {Coins:14 Class:angler Items:map[cod:3]}
}
