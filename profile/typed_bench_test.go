package profile_test

import (
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// benchPlayer is the document of the benchmarks as a type.
type benchPlayer struct {
	Coins int                  `json:"coins" shoal:"min=0"`
	Name  string               `json:"name" shoal:"maxlen=20"`
	Items map[string]benchItem `json:"items"`
}

type benchItem struct {
	Count int    `json:"count"`
	Name  string `json:"name"`
	Rare  bool   `json:"rare"`
}

// benchTyped is a session whose data is a document of about so many bytes.
func benchTyped(b *testing.B, v doc.Value) *profile.TypedSession[benchPlayer] {
	b.Helper()
	opts, err := profile.OptionsFor[benchPlayer](&profile.Options{Template: v})
	if err != nil {
		b.Fatal(err)
	}
	typed, err := profile.As[benchPlayer](benchSet(b, opts))
	if err != nil {
		b.Fatal(err)
	}
	s, err := typed.Load(b.Context(), "u", nil)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkTypedUpdate changes one number by way of the type.
func BenchmarkTypedUpdate(b *testing.B) {
	sized(b, func(b *testing.B, v doc.Value) {
		s := benchTyped(b, v)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := s.Update(game, func(p *benchPlayer) error { p.Coins++; return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTypedField changes one number by way of its field, in a set with the type's form.
func BenchmarkTypedField(b *testing.B) {
	sized(b, func(b *testing.B, v doc.Value) {
		s, count := benchTyped(b, v), profile.Int(fmt.Sprintf("/items/item-%06d/count", 7))
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := count.Add(s, game, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTypedValue reads the whole as a value, which has not changed since.
func BenchmarkTypedValue(b *testing.B) {
	s := benchTyped(b, document(2<<10))
	b.ReportAllocs()
	for b.Loop() {
		if s.Value().Name != "Ann" {
			b.Fatal("another value")
		}
	}
}
