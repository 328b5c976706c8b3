package codec_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/schema"
)

// open has a field of everything whose form a schema tells in full.
type open struct {
	*Ext
	Flag  bool
	Text  kind
	Pair  [2]item
	List  []item
	Lists [][]int
	Map   map[string]*item
	Ptr   *int
	Any   any
	Val   doc.Value
	Num   numbers `json:"num"`
}

// What a schema derived from a type allows can be decoded, and what is encoded it allows.
func TestTheSchemaOfATypeTellsWhatCanBeDecoded(t *testing.T) {
	c := codecOf[open](t)
	if c.Opaque() {
		t.Error("nothing in it is opaque")
	}
	s, err := schema.For[open]()
	if err != nil {
		t.Fatal(err)
	}
	allowed := 0
	rapid.Check(t, func(t *rapid.T) {
		v, err := c.Encode(rapid.MakeCustom[open](config()).Draw(t, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if found := s.Check(v); found != nil {
			t.Fatalf("%s: %v", v, found)
		}
		for range 5 {
			v := corrupted(t, v)
			if len(s.Check(v)) > 0 {
				continue
			}
			allowed++
			if _, err := c.Decode(v); err != nil {
				t.Fatalf("%s: %v", v, err)
			}
		}
	})
	if allowed == 0 {
		t.Error("nothing corrupted was ever allowed")
	}
}
