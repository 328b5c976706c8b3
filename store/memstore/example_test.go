package memstore_test

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// Two processes of a fleet share one engine, until it loses its memory.
func Example() {
	ctx := context.Background()
	engine := memstore.New(nil)
	a, err := engine.Store()
	if err != nil {
		panic(err)
	}
	defer func() { _ = a.Close(ctx) }()
	b, err := engine.Store()
	if err != nil {
		panic(err)
	}
	defer func() { _ = b.Close(ctx) }()

	create := store.Tx{{Key: "profile/players/u_42", Op: store.Put, Value: []byte(`{"coins":3}`), If: store.Absent(), Version: 7}}
	fmt.Println(a.Durable().Commit(ctx, create)[0])
	fmt.Println(b.Durable().Commit(ctx, create)[0])
	found, _ := b.Durable().Get(ctx, "profile/players/u_42")
	fmt.Printf("%s at %s\n", found[0].Value, found[0].Version)
	engine.Forget(memstore.All)
	fmt.Println(b.Durable().Commit(ctx, create)[0])
	// Output:
	// <nil>
	// store: conflict at profile/players/u_42
	// {"coins":3} at 7
	// <nil>
}
