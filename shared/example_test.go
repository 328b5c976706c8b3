package shared_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/shared"
	"github.com/shoalworks/shoal/store/memstore"
)

func Example() {
	ctx := context.Background()
	st, err := memstore.New(nil).Store()
	if err != nil {
		log.Fatal(err)
	}
	n, err := node.Start(ctx, st, nil)
	if err != nil {
		log.Fatal(err)
	}
	guilds, err := shared.New(n, "guilds", nil)
	if err != nil {
		log.Fatal(err)
	}

	// From any node, at any time; the id makes it safe to send it again.
	guild, err := guilds.Transact(ctx, "reef", shared.Source{ID: "donation-17"}, doc.Increment("/gold", 50))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(guild.Revision, guild.Data)

	if _, err := n.Close(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(st.Close(ctx))
	// Output:
	// 1 {"gold":50}
	// <nil>
}
