package doc_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
)

// The model: documents as nil, bool, int64, float64, string, []any and
// map[string]any, changed by code that copies everything and knows no trees.

func clone(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, m := range v {
			out[name] = clone(m)
		}
		return out
	default:
		return v
	}
}

func modelDepth(v any) int {
	deepest := -1
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			deepest = max(deepest, modelDepth(item))
		}
	case map[string]any:
		for _, m := range v {
			deepest = max(deepest, modelDepth(m))
		}
	default:
		return 0
	}
	return max(deepest, 0) + 1
}

// index is the position a segment means, -1 for none, -2 for "-".
func index(seg string) int {
	if seg == "-" {
		return -2
	}
	n := 0
	for i := range len(seg) {
		if seg[i] < '0' || seg[i] > '9' || n > math.MaxInt32 {
			return -1
		}
		n = n*10 + int(seg[i]-'0')
	}
	if seg == "" || len(seg) > 1 && seg[0] == '0' {
		return -1
	}
	return n
}

func modelGet(v any, segs []string) (any, bool) {
	for _, seg := range segs {
		switch at := v.(type) {
		case map[string]any:
			m, ok := at[seg]
			if !ok {
				return nil, false
			}
			v = m
		case []any:
			i := index(seg)
			if i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// modelEdit puts what do returns at the end of segs; v may be changed.
func modelEdit(v any, segs []string, create bool, do func(any, bool) (any, error)) (any, error) {
	if len(segs) == 0 {
		return do(v, true)
	}
	switch at := v.(type) {
	case map[string]any:
		m, ok := at[segs[0]]
		var err error
		switch {
		case ok:
			m, err = modelEdit(m, segs[1:], create, do)
		case len(segs) == 1:
			m, err = do(nil, false)
		case !create, segs[1] == "-":
			return nil, doc.ErrNoPath
		default:
			m, err = modelEdit(map[string]any{}, segs[1:], create, do)
		}
		if err != nil {
			return nil, err
		}
		at[segs[0]] = m
		return at, nil
	case []any:
		i := index(segs[0])
		if i == -2 && len(segs) == 1 && create {
			item, err := do(nil, false)
			return append(at, item), err
		}
		if i < 0 || i >= len(at) {
			return nil, doc.ErrIndex
		}
		item, err := modelEdit(at[i], segs[1:], create, do)
		if err != nil {
			return nil, err
		}
		at[i] = item
		return at, nil
	default:
		return nil, doc.ErrWrongType
	}
}

func modelUnset(v any, segs []string) (any, error) {
	if len(segs) == 0 {
		return nil, doc.ErrBadPath
	}
	parent, ok := modelGet(v, segs[:len(segs)-1])
	if !ok {
		return v, nil
	}
	switch at := parent.(type) {
	case map[string]any:
		delete(at, segs[len(segs)-1])
	case []any:
		return nil, doc.ErrWrongType
	}
	return v, nil
}

func modelMerge(now, over map[string]any) map[string]any {
	for name, val := range over {
		a, isA := now[name].(map[string]any)
		b, isB := val.(map[string]any)
		if isA && isB {
			now[name] = modelMerge(a, b)
		} else {
			now[name] = val
		}
	}
	return now
}

// modelApply applies one operation to a copy of v.
func modelApply(v any, op doc.Op) (any, error) { return modelDo(clone(v), op) }

// modelDo applies one operation to v itself; if it fails v is good for nothing.
func modelDo(v any, op doc.Op) (any, error) {
	segs, val := op.Path.Segments(), op.Value.Any()
	depth := len(segs) + modelDepth(val)
	if op.Kind == doc.OpInsert {
		depth++
	}
	puts := op.Kind != doc.OpUnset && op.Kind != doc.OpRemove && op.Kind != doc.OpCompareAndUnset
	if puts && depth > max(doc.DefaultMaxDepth, modelDepth(v)) {
		return nil, doc.ErrTooDeep
	}
	switch op.Kind {
	case doc.OpSet:
		return modelEdit(v, segs, true, func(any, bool) (any, error) { return val, nil })
	case doc.OpUnset:
		return modelUnset(v, segs)
	case doc.OpMerge:
		return modelEdit(v, segs, true, func(now any, found bool) (any, error) {
			at, isObject := now.(map[string]any)
			switch {
			case !found:
				return val, nil
			case !isObject:
				return nil, doc.ErrWrongType
			}
			return modelMerge(at, val.(map[string]any)), nil
		})
	case doc.OpCompareAndSet, doc.OpCompareAndUnset:
		return modelCompare(v, segs, op)
	case doc.OpIncrement:
		return modelEdit(v, segs, false, func(now any, found bool) (any, error) { return modelSum(now, found, op) })
	case doc.OpAppend, doc.OpInsert, doc.OpRemove:
		return modelEdit(v, segs, false, func(now any, found bool) (any, error) { return modelList(now, found, op) })
	}
	return nil, doc.ErrBadOp
}

func modelCompare(v any, segs []string, op doc.Op) (any, error) {
	expect := func(now any, found bool) error {
		if found == op.Absent || found && !doc.Must(now).Equal(op.Old) {
			return doc.ErrMismatch
		}
		return nil
	}
	if op.Kind == doc.OpCompareAndSet {
		return modelEdit(v, segs, true, func(now any, found bool) (any, error) {
			return op.Value.Any(), expect(now, found)
		})
	}
	if err := expect(modelGet(v, segs)); err != nil {
		return nil, err
	}
	return modelUnset(v, segs)
}

// modelSum adds integers as big as they get, and floats as floats.
func modelSum(now any, found bool, op doc.Op) (any, error) {
	by := op.Value.Any()
	if !found {
		now = int64(0)
		if _, isFloat := by.(float64); isFloat {
			now = 0.0
		}
	}
	switch now := now.(type) {
	case int64:
		by, ok := by.(int64)
		if !ok {
			return nil, doc.ErrWrongType
		}
		sum := new(big.Int).Add(big.NewInt(now), big.NewInt(by))
		if bound := modelBound(new(big.Float).SetInt(sum), op); !bound.IsNull() {
			return bound.Any(), modelClamped(op)
		}
		if !sum.IsInt64() {
			return nil, doc.ErrOverflow
		}
		return sum.Int64(), nil
	case float64:
		step, _ := op.Value.AsFloat()
		sum := now + step
		if bound := modelBound(big.NewFloat(sum), op); !bound.IsNull() {
			f, _ := bound.AsFloat()
			return f, modelClamped(op)
		}
		if math.IsInf(sum, 0) {
			return nil, doc.ErrOverflow
		}
		return sum, nil
	default:
		return nil, doc.ErrWrongType
	}
}

// modelBound is the bound that a sum passes, or null.
func modelBound(sum *big.Float, op doc.Op) doc.Value {
	if least, ok := op.Min.AsInt(); ok && sum.Cmp(new(big.Float).SetInt64(least)) < 0 {
		return op.Min
	}
	if most, ok := op.Max.AsInt(); ok && sum.Cmp(new(big.Float).SetInt64(most)) > 0 {
		return op.Max
	}
	return doc.Null()
}

func modelClamped(op doc.Op) error {
	if op.Clamp {
		return nil
	}
	return doc.ErrBounds
}

func modelList(now any, found bool, op doc.Op) (any, error) {
	if !found {
		if op.Kind == doc.OpRemove {
			return nil, doc.ErrNoPath
		}
		now = []any{}
	}
	list, ok := now.([]any)
	if !ok {
		return nil, doc.ErrWrongType
	}
	if op.Kind == doc.OpAppend {
		return append(list, op.Value.Any().([]any)...), nil
	}
	if op.Kind == doc.OpInsert && op.Index <= len(list) {
		return slices.Insert(list, op.Index, op.Value.Any()), nil
	}
	if op.Kind == doc.OpRemove && op.Index < len(list) {
		return slices.Delete(list, op.Index, op.Index+1), nil
	}
	return nil, doc.ErrIndex
}

// Generators. Names and values come from small sets, so that paths hit.

func genName() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "", "0", "1", "2", "-", "~/", "é", "\n\""})
}

func genScalar() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Just(any(nil)),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64Range(-3, 3), func(i int64) any { return i }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Float64Range(-1e300, 1e300), func(f float64) any { return f }),
		rapid.Map(rapid.SampledFrom([]float64{0, 1, -1.5, 1e21, 1e-7, math.MaxFloat64}), func(f float64) any { return f }),
		rapid.Map(genName(), func(s string) any { return s }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	)
}

func genTree(depth int) *rapid.Generator[any] {
	if depth == 0 {
		return genScalar()
	}
	return rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 3).Draw(t, "shape") {
		case 0:
			return genScalar().Draw(t, "scalar")
		case 1:
			return rapid.SliceOfN(genTree(depth-1), 0, 6).Draw(t, "list")
		default:
			return rapid.MapOfN(genName(), genTree(depth-1), 0, 6).Draw(t, "object")
		}
	})
}

func genPath() *rapid.Generator[doc.Path] {
	return rapid.Map(rapid.SliceOfN(genName(), 0, 4), func(segs []string) doc.Path { return doc.P(segs...) })
}

func genValue() *rapid.Generator[doc.Value] {
	return rapid.Map(genTree(2), func(v any) doc.Value { return doc.Must(v) })
}

// genOp makes an operation that fits the document often enough to matter.
func genOp(now any) *rapid.Generator[doc.Op] {
	return rapid.Custom(func(t *rapid.T) doc.Op {
		p := genPath().Draw(t, "path")
		if places := containers(now, nil, nil); len(places) > 0 && rapid.IntRange(0, 3).Draw(t, "hit") > 0 {
			p = rapid.SampledFrom(places).Draw(t, "place")
		}
		v := genValue().Draw(t, "value")
		switch doc.OpKind(rapid.IntRange(1, 9).Draw(t, "kind")) {
		case doc.OpSet:
			return doc.Set(p, v)
		case doc.OpUnset:
			return doc.Unset(p)
		case doc.OpIncrement:
			return genIncrement(p).Draw(t, "increment")
		case doc.OpAppend:
			return doc.AppendTo(p, rapid.SliceOfN(genValue(), 0, 3).Draw(t, "items")...)
		case doc.OpInsert:
			return doc.InsertAt(p, rapid.IntRange(0, 4).Draw(t, "index"), v)
		case doc.OpRemove:
			return doc.RemoveAt(p, rapid.IntRange(0, 4).Draw(t, "index"))
		case doc.OpMerge:
			members := rapid.MapOfN(genName(), genTree(1), 0, 4).Draw(t, "members")
			return doc.Merge(p, doc.Must(members))
		case doc.OpCompareAndSet:
			if rapid.Bool().Draw(t, "absent") {
				return doc.SetIfAbsent(p, v)
			}
			return doc.CompareAndSet(p, genOld(now, p).Draw(t, "old"), v)
		case doc.OpCompareAndUnset:
			return doc.CompareAndUnset(p, genOld(now, p).Draw(t, "old"))
		}
		panic("no such kind")
	})
}

func genOld(now any, p doc.Path) *rapid.Generator[doc.Value] {
	there, _ := modelGet(now, p.Segments())
	return rapid.OneOf(rapid.Just(doc.Must(there)), genValue())
}

func genIncrement(p doc.Path) *rapid.Generator[doc.Op] {
	return rapid.Custom(func(t *rapid.T) doc.Op {
		if rapid.Bool().Draw(t, "float") {
			return doc.Increment(p, rapid.Float64Range(-1e308, 1e308).Draw(t, "by"))
		}
		op := doc.Increment(p, rapid.OneOf(rapid.Int64Range(-2, 2), rapid.Int64Range(-1<<53, 1<<53)).Draw(t, "by"))
		op.Clamp = rapid.Bool().Draw(t, "clamp")
		if rapid.Bool().Draw(t, "min") {
			op = op.AtLeast(doc.Int(rapid.Int64Range(-4, 0).Draw(t, "least")))
		}
		if rapid.Bool().Draw(t, "max") {
			op = op.AtMost(doc.Int(rapid.Int64Range(0, 4).Draw(t, "most")))
		}
		return op
	})
}

// containers lists the paths of everything in a document.
func containers(v any, at []string, out []doc.Path) []doc.Path {
	out = append(out, doc.P(at...))
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			out = containers(item, append(at, string(rune('0'+i%10))), out)
		}
	case map[string]any:
		for _, name := range sortedNames(v) {
			out = containers(v[name], append(at, name), out)
		}
	}
	return out
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func parse(tb testing.TB, text string) doc.Value {
	tb.Helper()
	v, err := doc.Parse([]byte(text), nil)
	if err != nil {
		tb.Fatalf("parse %s: %v", text, err)
	}
	return v
}

func check(tb testing.TB, v doc.Value) {
	tb.Helper()
	if err := doc.Check(v); err != nil {
		tb.Fatalf("%s: %v", v, err)
	}
}
