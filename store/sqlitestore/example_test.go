package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "shoal")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()

	engine, err := sqlitestore.Open(ctx, folder, nil)
	if err != nil {
		log.Fatal(err)
	}
	s, err := engine.Store()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = s.Close(ctx) }()

	errs := s.Durable().Commit(ctx, store.Tx{{
		Key: "profile/players/u_42", Op: store.Put, Value: []byte(`{"coins":7}`),
		If: store.Absent(), Version: store.VersionFrom(4711),
	}})
	if errs[0] != nil {
		log.Fatal(errs[0])
	}
	got, err := s.Durable().Get(ctx, "profile/players/u_42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", got[0].Value)
	// Output: {"coins":7}
}
