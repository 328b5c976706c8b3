package pipeline_test

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

// A level that follows from points, a reward for each level, and premium currency that only
// a receipt may give.
func Example() {
	p, err := pipeline.New(pipeline.Config{
		Derived: []pipeline.Derived{{
			Path: doc.MustPath("/level"), Inputs: []doc.Path{doc.MustPath("/xp")},
			Compute: func(in []doc.Value) (doc.Value, error) {
				xp, _ := in[0].AsInt()
				return doc.Int(1 + xp/100), nil
			},
		}},
		Reactions: []pipeline.Reaction{{
			Name: "level reward", On: []doc.Path{doc.MustPath("/level")},
			React: func(pipeline.Change) ([]doc.Op, error) { return []doc.Op{doc.Increment("/coins", 50)}, nil },
		}},
		Policies: []pipeline.SourcePolicy{{Path: doc.MustPath("/gems"), Allow: []pipeline.SourceKind{"receipt"}, Raise: true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	before := doc.Must(map[string]any{"coins": 0, "gems": 3, "level": 1, "xp": 90})
	game := pipeline.Source{Kind: "game"}

	res, err := p.Run(pipeline.Proposal{Before: before, Source: game, Ops: []doc.Op{doc.Increment("/xp", 20)}})
	fmt.Println(res.After, err)
	_, err = p.Run(pipeline.Proposal{Before: before, Source: game, Ops: []doc.Op{doc.Increment("/gems", 1)}})
	fmt.Println(err)
	_, err = p.Run(pipeline.Proposal{Before: before, Source: game, Ops: []doc.Op{doc.Set("/level", doc.Int(9)), doc.Increment("/bag/fish", 1)}})
	fmt.Println(err)
	// Output:
	// {"coins":50,"gems":3,"level":2,"xp":110} <nil>
	// refused: "/gems": policy: a source of kind "game" may not raise it; allowed: receipt
	// refused: 2 complaints: "/level": op 0, set: a derived field cannot be written: "/level"; "/bag/fish": op 1, increment: nothing at this path: "bag" is missing
}
