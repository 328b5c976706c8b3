package schema_test

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

// A schema is derived from a type, and checks what a change has touched.
func Example() {
	type player struct {
		Name  string `json:"name" shoal:"required,maxlen=20"`
		Coins int    `json:"coins" shoal:"min=0"`
	}
	players, err := schema.For[player]()
	if err != nil {
		panic(err)
	}
	before := doc.Must(map[string]any{"name": "Ann", "coins": 3, "guild": "reef"})
	fmt.Println(len(players.Check(before)), "violations before")

	after, err := doc.Apply(before, doc.Increment("/coins", -5), doc.Unset("/name"))
	if err != nil {
		panic(err)
	}
	for _, v := range players.CheckChange(before, after, doc.Diff(before, after)) {
		fmt.Println(v)
	}
	// Output:
	// 0 violations before
	// "/coins": want at least 0, got -2 (minimum)
	// "/name": missing (required)
}
