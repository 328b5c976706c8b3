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

// Two players on this node: one sells a sword, the other pays for it. Both profiles are stored
// in one write, or neither.
func ExampleTrade() {
	ctx := context.Background()
	st, _ := memstore.New(nil).Store()
	n, _ := node.Start(ctx, st, &node.Options{Name: "reef", Logger: slog.New(slog.DiscardHandler)})
	defer func() { _, _ = n.Close(ctx); _ = st.Close(ctx) }()
	players, _ := profile.New(n, "players", &profile.Options{Template: doc.Must(map[string]any{"coins": 100, "items": map[string]any{}})})
	seller, _ := players.Load(ctx, "u_1", nil)
	buyer, _ := players.Load(ctx, "u_2", nil)
	_, _ = seller.Transact(profile.Source{Note: "found it"}, doc.Set("/items/sword", doc.Int(1)))

	out, err := profile.Trade(ctx, profile.Source{ID: "trade-7", Note: "sword for coins"},
		profile.Party{Session: seller, Ops: []doc.Op{
			doc.CompareAndUnset("/items/sword", doc.Int(1)), doc.Increment("/coins", 60),
		}},
		profile.Party{Session: buyer, Ops: []doc.Op{
			doc.SetIfAbsent("/items/sword", doc.Int(1)), doc.Increment("/coins", -60).AtLeast(doc.Int(0)),
		}})
	fmt.Println(out.ID, err)
	fmt.Println(seller.Data(), buyer.Data())
	// Output:
	// trade-7 <nil>
	// {"coins":160,"items":{}} {"coins":40,"items":{"sword":1}}
}
