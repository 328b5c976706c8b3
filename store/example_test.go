package store_test

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// A compare-and-set: read, change, and write only if nobody else has.
func Example() {
	ctx := context.Background()
	s, err := memstore.New(nil).Store()
	if err != nil {
		panic(err)
	}
	defer func() { _ = s.Close(ctx) }()

	add := func(n int, version store.Version) error {
		found, err := s.Durable().Get(ctx, "counter")
		if err != nil {
			return err
		}
		count := 0
		if !found[0].Missing() {
			if _, err := fmt.Sscan(string(found[0].Value), &count); err != nil {
				return err
			}
		}
		return s.Durable().Commit(ctx, store.Tx{{
			Key: "counter", Op: store.Put, Value: fmt.Append(nil, count+n),
			If: store.Is(found[0].Version), Version: version, // 63 random bits in earnest
		}})[0]
	}
	fmt.Println(store.OutcomeOf(add(2, 101)), store.OutcomeOf(add(3, 102)))
	for rec, err := range s.Durable().Scan(ctx, store.Prefix("count")) {
		fmt.Println(rec.Key, string(rec.Value), err)
	}
	// Output:
	// done done
	// counter 5 <nil>
}
