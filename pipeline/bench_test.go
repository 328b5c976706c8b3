package pipeline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
)

// document is a plausible profile of about so many bytes.
func document(bytes int) doc.Value {
	items := map[string]any{}
	for i := 0; len(items)*64 < bytes; i++ {
		items[fmt.Sprintf("item-%06d", i)] = map[string]any{"count": i, "name": "Bronze Sword", "rare": i%7 == 0}
	}
	return doc.Must(map[string]any{"coins": 0, "level": 1, "xp": 0, "name": "Ann", "items": items})
}

// BenchmarkRun is an increment: bare, with a guard and a policy, and with two derived fields
// and two reactions that are touched or not.
func BenchmarkRun(b *testing.B) {
	guarded := pipeline.Config{
		Guards: []pipeline.Guard{{Name: "size", Check: func(c pipeline.Change) []pipeline.Violation {
			if c.After.Size() > 8<<20 {
				return []pipeline.Violation{{Problem: "too large"}}
			}
			return nil
		}}},
		Policies: []pipeline.SourcePolicy{{Path: doc.MustPath("/premium"), Allow: []pipeline.SourceKind{receipt}, Raise: true}},
	}
	full := levels()
	full.Guards, full.Policies = guarded.Guards, guarded.Policies
	full.Derived = append(full.Derived, total("/rank", "/score", "/level"))
	for _, bc := range []struct {
		name string
		c    pipeline.Config
		op   doc.Op
	}{
		{"bare", pipeline.Config{}, doc.Increment("/coins", 1)},
		{"guarded", guarded, doc.Increment("/coins", 1)},
		{"full/idle", full, doc.Increment("/items/item-000007/count", 1)},
		{"full/derived", full, doc.Increment("/coins", 1)},
		{"full/reacting", full, doc.Increment("/xp", 100)},
	} {
		for _, size := range []int{2 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%dKB", bc.name, size>>10), func(b *testing.B) { benchmarkRun(b, bc.c, size, bc.op) })
		}
	}
}

func benchmarkRun(b *testing.B, c pipeline.Config, size int, op doc.Op) {
	p := build(b, c)
	now, err := p.Derive(document(size))
	if err != nil {
		b.Fatal(err)
	}
	in := pipeline.Proposal{Source: pipeline.Source{Kind: game}, Ops: []doc.Op{op}}
	each := make([]time.Duration, 0, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		in.Before = now
		res, err := p.Run(in)
		if err != nil {
			b.Fatal(err)
		}
		now = res.After
		each = append(each, time.Since(start))
	}
	b.StopTimer()
	slices.Sort(each)
	b.ReportMetric(float64(each[len(each)*99/100].Nanoseconds()), "p99-ns/op")
}

// BenchmarkApplyAndDiff is what the bare pipeline is made of.
func BenchmarkApplyAndDiff(b *testing.B) {
	for _, size := range []int{2 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			now, ops := document(size), []doc.Op{doc.Increment("/coins", 1)}
			b.ReportAllocs()
			for b.Loop() {
				after, err := doc.Apply(now, ops...)
				if err != nil || len(doc.Diff(now, after)) != 1 {
					b.Fatal(err)
				}
				now = after
			}
		})
	}
}
