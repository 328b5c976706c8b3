// Command market shows what happens around a profile: a typed player, a receipt that is
// delivered twice, a gift to a player who is offline, a trade, support, an undo, a guild.
package main

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/shared"
)

// Player is what the game keeps of a player.
type Player struct {
	Coins int            `json:"coins" shoal:"min=0"`
	Bag   map[string]int `json:"bag"`
}

func main() {
	ctx := context.Background()
	st := must(shoal.Open(ctx, "memory:"))
	node := must(shoal.Start(ctx, st, &shoal.Options{
		Sets:      map[string]*profile.Options{"players": must(profile.OptionsFor[Player](nil))},
		Documents: map[string]*shared.Options{"guilds": {Template: doc.Must(map[string]any{"gold": 0})}},
	}))
	players := must(profile.As[Player](node.Set("players")))
	ann, bob := must(players.Load(ctx, "ann", nil)), must(players.Load(ctx, "bob", nil))

	// A payment platform delivers until it hears that the receipt was granted.
	for range 2 {
		g := must(ann.Grant(ctx, "receipt-1", profile.Source{}, doc.Increment("/coins", 100)))
		fmt.Println("granted, repeated:", g.Repeated, "coins:", ann.Value().Coins)
	}

	// What the type does not allow is refused as a whole.
	_, err := ann.Update(profile.Source{}, func(p *Player) error { p.Coins -= 500; return nil })
	fmt.Println(err)

	// A trade is in both profiles, or in none.
	must(bob.Update(profile.Source{}, func(p *Player) error { p.Bag["cod"] = 3; return nil }))
	must(profile.Trade(ctx, profile.Source{Note: "a cod"},
		profile.Party{Session: ann.Session, Ops: []doc.Op{doc.Increment("/coins", -10).AtLeast(doc.Int(0)), doc.Set("/bag/cod", doc.Int(1))}},
		profile.Party{Session: bob.Session, Ops: []doc.Op{doc.Increment("/coins", 10), doc.Increment("/bag/cod", -1)}},
	))
	fmt.Println("ann:", ann.Data(), "bob:", bob.Data())

	// A gift leaves one profile and reaches the other, who may be offline, exactly once.
	must(0, bob.Release(ctx))
	must(ann.SendMail(ctx, profile.Source{Note: "birthday"}, "bob",
		profile.Mail{From: "ann", Ops: []doc.Op{doc.Increment("/coins", 5)}}, doc.Increment("/coins", -5)))

	// Support changes a profile wherever it is, and takes something back.
	edit := must(node.Set("players").Edit(ctx, "ann", profile.Source{Kind: profile.SourceOperator, Actor: "eve", ID: "ticket-9"}, doc.Increment("/coins", 1)))
	fmt.Println("edited", edit.Where)
	must(ann.Undo(profile.Source{Kind: profile.SourceOperator, Actor: "eve"}, profile.Which{ID: "ticket-9"}, &profile.UndoOptions{Force: true}))

	// What belongs to nobody alone.
	guild := must(node.Documents("guilds").Transact(ctx, "otters", shared.Source{}, doc.Increment("/gold", 7)))
	fmt.Println("guild:", guild.Data)

	must(0, ann.Save(ctx))
	for _, e := range must(node.Set("players").Audit(ctx, "ann", nil)) {
		fmt.Println("revision", e.Revision, e.Source.Kind, e.Source.Actor, e.Source.Note, len(e.Edits), "changes")
	}
	must(node.Close(ctx))
	must(0, st.Close(ctx))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
