package doc_test

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

func Example() {
	profile := doc.Must(map[string]any{
		"coins": 50,
		"fish":  []any{"trout", "cod"},
	})

	// All or nothing; the old value stays as it is.
	next, err := doc.Apply(profile,
		doc.Increment("/coins", -20).AtLeast(doc.Int(0)),
		doc.AppendTo("/fish", doc.MustString("pike")),
		doc.Set("/stats/caught", doc.Int(3)),
	)
	fmt.Println(next, err)

	_, err = doc.Apply(next, doc.Increment("/coins", -200).AtLeast(doc.Int(0)))
	fmt.Println(errors.Is(err, doc.ErrBounds))

	for _, edit := range doc.Diff(profile, next) {
		fmt.Println(edit)
	}

	// Output:
	// {"coins":30,"fish":["trout","cod","pike"],"stats":{"caught":3}} <nil>
	// true
	// {"edit":"set","path":"/coins","value":30}
	// {"edit":"splice","index":2,"insert":["pike"],"path":"/fish","remove":0}
	// {"edit":"set","path":"/stats","value":{"caught":3}}
}

// A journal stores what a history made of the places it touched. The effects may
// be applied to any checkpoint of that history.
func ExampleTrail() {
	checkpoint := doc.Must(map[string]any{"coins": 1, "name": "Ada"})
	middle, _ := doc.Apply(checkpoint, doc.Increment("/coins", 5))
	now, _ := doc.Apply(middle, doc.Increment("/coins", 5), doc.Set("/level", doc.Int(2)))

	var trail doc.Trail
	trail.Add(checkpoint, middle)
	trail.Add(middle, now)
	effects := trail.Effects(now)
	fmt.Println(effects)

	for _, state := range []doc.Value{checkpoint, middle, now} {
		got, err := effects.Apply(state)
		fmt.Println(got, err)
	}

	// Output:
	// {"set":{"/coins":11,"/level":2}}
	// {"coins":11,"level":2,"name":"Ada"} <nil>
	// {"coins":11,"level":2,"name":"Ada"} <nil>
	// {"coins":11,"level":2,"name":"Ada"} <nil>
}

func ExampleValue_Lookup() {
	v, err := doc.Parse([]byte(`{"bag":[{"kind":"rod","wear":0.5}]}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	wear, ok, _ := v.Lookup("/bag/0/wear")
	f, _ := wear.AsFloat()
	fmt.Println(f, ok)

	// Output:
	// 0.5 true
}
