package codec_test

import (
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
)

// player is a plausible profile.
type player struct {
	Coins int              `json:"coins"`
	Name  string           `json:"name"`
	Items map[string]stack `json:"items"`
	Log   []entry          `json:"log"`
}

type stack struct {
	Count int    `json:"count"`
	Name  string `json:"name"`
	Rare  bool   `json:"rare"`
}

type entry struct {
	Day  int    `json:"day"`
	What string `json:"what"`
}

// twoKB is a document of about 2 KB.
func twoKB() doc.Value {
	items := map[string]any{}
	for i := range 22 {
		items[fmt.Sprintf("item-%06d", i)] = map[string]any{"count": i, "name": "Bronze Sword", "rare": i%7 == 0}
	}
	var log []any
	for i := range 14 {
		log = append(log, map[string]any{"day": i, "what": "caught a cod"})
	}
	return doc.Must(map[string]any{"coins": 0, "name": "Ann", "items": items, "log": log})
}

func BenchmarkDecodeGraftDiff(b *testing.B) {
	v := twoKB()
	b.Logf("%d bytes", v.Size())
	c := must(codec.For[player]())(b)
	b.ReportAllocs()
	for i := range b.N {
		p, err := c.Decode(v)
		if err != nil {
			b.Fatal(err)
		}
		p.Coins += i + 1
		after, err := c.Graft(v, p)
		if err != nil {
			b.Fatal(err)
		}
		if edits := doc.Diff(v, after); len(edits) != 1 {
			b.Fatal(edits)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	v := twoKB()
	c := must(codec.For[player]())(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Decode(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGraft(b *testing.B) {
	v := twoKB()
	c := must(codec.For[player]())(b)
	p, err := c.Decode(v)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Graft(v, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkClone(b *testing.B) {
	c := must(codec.For[player]())(b)
	p, err := c.Decode(twoKB())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = c.Clone(p)
	}
}

// must hands out what was made, or ends the benchmark.
func must[T any](x T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return x
	}
}
