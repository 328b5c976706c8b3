package faultstore_test

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// A write whose answer is lost: the caller cannot know, and the engine has it.
func Example() {
	ctx := context.Background()
	engine := memstore.New(nil)
	faults := faultstore.New(&faultstore.Options{
		Rule: faultstore.Nth(1, faultstore.Writes, faultstore.Fault{Kind: faultstore.FailAfter}),
	})
	s, err := store.New(faults.Wrap(engine.Parts()))
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()

	err = s.Durable().Commit(ctx, store.Tx{{Key: "profile/players/u_42", Op: store.Put, Value: []byte("{}"), Version: 7}})[0]
	fmt.Println("the write is", store.OutcomeOf(err))
	found, _ := s.Durable().Get(ctx, "profile/players/u_42")
	fmt.Println("the record has version", found[0].Version)
	fmt.Println(faults)
	// Output:
	// the write is unknown
	// the record has version 7
	// #1 durable commit profile/players/u_42: fail after: done, answer lost: failed after
	// #2 durable get profile/players/u_42: pass: done
}
