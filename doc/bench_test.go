package doc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/doc"
)

// megabyte is a profile of one megabyte: thousands of members, each with nested
// objects and lists.
func megabyte(tb testing.TB) doc.Value {
	tb.Helper()
	var items doc.Builder
	for i := range 5600 {
		items.Add(memberOf(i), doc.Must(map[string]any{
			"count":  i,
			"weight": float64(i) / 3,
			"name":   "a trout with \"spots\" and scales",
			"tags":   []any{"fresh", "river", i, true, nil},
			"stats":  map[string]any{"speed": i % 17, "luck": i % 5, "caught": []any{i, i + 1, i + 2, i + 3}},
		}))
	}
	bag, err := items.Object()
	if err != nil {
		tb.Fatal(err)
	}
	return doc.MustObject(map[string]doc.Value{
		"coins": doc.Int(100), "inventory": bag, "name": doc.MustString("reef"),
	})
}

func memberOf(i int) string { return fmt.Sprintf("item-%05d", i) }

func BenchmarkIncrement(b *testing.B) {
	v := megabyte(b)
	deep := doc.MustPath("/inventory/item-02600/stats/caught/2")
	for _, bc := range []struct {
		name string
		op   func() doc.Op
	}{
		{"shallow", func() doc.Op { return doc.Increment("/coins", 1) }},
		{"deep/parsed", func() doc.Op { return doc.Increment(deep, 1) }},
		{"deep/text", func() doc.Op { return doc.Increment("/inventory/item-02600/stats/caught/2", 1) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(v.Size()), "bytes/doc")
			now := v
			for b.Loop() {
				var err error
				if now, err = doc.Apply(now, bc.op()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDraft stages a transaction of ten operations.
func BenchmarkDraft(b *testing.B) {
	v := megabyte(b)
	var ops []doc.Op
	for i := range 10 {
		ops = append(ops, doc.Increment(doc.P("inventory", memberOf(100+i), "count"), 1))
	}
	b.ReportAllocs()
	for b.Loop() {
		d := doc.NewDraft(v)
		if err := d.Apply(ops...); err != nil {
			b.Fatal(err)
		}
		if d.Value().Size() == 0 {
			b.Fatal("no document")
		}
	}
}

func BenchmarkGet(b *testing.B) {
	v := megabyte(b)
	p := doc.MustPath("/inventory/item-02600/stats/caught/2")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := v.Get(p); !ok {
			b.Fatal("nothing there")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := megabyte(b).Encode()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := doc.Parse(text, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	v := megabyte(b)
	b.SetBytes(int64(v.Size()))
	b.ReportAllocs()
	for b.Loop() {
		v.Encode()
	}
}

func BenchmarkDigest(b *testing.B) {
	v := megabyte(b)
	b.SetBytes(int64(v.Size()))
	for b.Loop() {
		v.Digest()
	}
}

// BenchmarkDiff compares two megabytes that differ in one number.
func BenchmarkDiff(b *testing.B) {
	v := megabyte(b)
	w, err := doc.Apply(v, doc.Increment("/inventory/item-02600/stats/caught/2", 1))
	if err != nil {
		b.Fatal(err)
	}
	stranger, err := doc.Parse(w.Encode(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, other := range map[string]doc.Value{"shared": w, "strangers": stranger} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(doc.Diff(v, other)) != 1 {
					b.Fatal("not one edit")
				}
			}
		})
	}
}

// BenchmarkTrail is what one commit costs the journal.
func BenchmarkTrail(b *testing.B) {
	v := megabyte(b)
	w, err := doc.Apply(v, doc.Increment("/inventory/item-02600/stats/caught/2", 1))
	if err != nil {
		b.Fatal(err)
	}
	var trail doc.Trail
	b.ReportAllocs()
	for b.Loop() {
		trail.Add(v, w)
	}
}

// BenchmarkSnapshot is what a save takes from a running session: a copy of the
// value and its size.
func BenchmarkSnapshot(b *testing.B) {
	v := megabyte(b)
	var snapshot doc.Value
	b.ReportAllocs()
	for b.Loop() {
		snapshot = v
		if snapshot.Size() < 1<<20 {
			b.Fatal("too small")
		}
	}
}

func BenchmarkString(b *testing.B) {
	s := strings.Repeat("the quick brown fish ", 10)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		doc.MustString(s)
	}
}
