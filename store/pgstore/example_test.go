package pgstore_test

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

func Example() {
	ctx := context.Background()
	engine, err := pgstore.Open(ctx, "postgres://shoal@db1,db2/game?schema=shoal", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close(ctx) }()
	w := store.Write{Key: "greeting", Op: store.Put, Value: []byte("hello"), If: store.Absent(), Version: 42}
	for _, err := range engine.Durable().Commit(ctx, store.Tx{w}) {
		fmt.Println(err)
	}
}
