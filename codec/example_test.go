package codec_test

import (
	"fmt"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
)

// A game reads what it knows of a document, changes it, and leaves the rest alone.
func Example() {
	type player struct {
		Coins int            `json:"coins"`
		Items map[string]int `json:"items"`
	}
	players, err := codec.For[player]()
	if err != nil {
		panic(err)
	}
	stored := doc.Must(map[string]any{"coins": 10, "items": map[string]any{"cod": 3}, "guild": "reef"})

	p, err := players.Decode(stored)
	if err != nil {
		panic(err)
	}
	p.Coins += p.Items["cod"] * 4
	delete(p.Items, "cod")

	after, err := players.Graft(stored, p)
	if err != nil {
		panic(err)
	}
	fmt.Println(after)
	// Output: {"coins":22,"guild":"reef","items":{}}
}
