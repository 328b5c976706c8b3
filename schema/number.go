package schema

import (
	"cmp"
	"math"
	"math/big"

	"github.com/shoalworks/shoal/doc"
)

// exactInFloat is how far integers are exact as float64.
const exactInFloat = 1 << 53

// bound is a number of the schema, prepared for comparisons without allocation. A number
// means what its shortest decimal text says: that is what everybody else reads.
type bound struct {
	rat   *big.Rat
	isInt bool
	i     int64
	near  float64 // the float64 nearest to it
	exact bool    // near's own text says the same number
}

func boundOf(r *big.Rat) *bound {
	if r == nil {
		return nil
	}
	b := &bound{rat: r}
	if r.IsInt() && r.Num().IsInt64() {
		b.isInt, b.i = true, r.Num().Int64()
	}
	b.near, _ = r.Float64()
	if !math.IsInf(b.near, 0) {
		b.exact = ratOfFloat(b.near).Cmp(r) == 0
	}
	return b
}

// compare is how the number v stands to the bound.
func (b *bound) compare(v doc.Value) int {
	if i, ok := v.AsInt(); ok {
		if b.isInt {
			return cmp.Compare(i, b.i)
		}
		return new(big.Rat).SetInt64(i).Cmp(b.rat)
	}
	f, _ := v.AsFloat()
	// Rounding keeps order: where the nearest floats differ, so do the decimals.
	if c := cmp.Compare(f, b.near); c != 0 || b.exact {
		return c
	}
	return ratOfFloat(f).Cmp(b.rat)
}

// ratOfFloat is the number that the shortest text of f says.
func ratOfFloat(f float64) *big.Rat { return ratOf(doc.MustFloat(f)) }

// ratOf is the number that v's text says.
func ratOf(v doc.Value) *big.Rat {
	if i, ok := v.AsInt(); ok {
		return new(big.Rat).SetInt64(i)
	}
	r, _ := new(big.Rat).SetString(v.String())
	return r
}

func isNumber(v doc.Value) bool { return v.Kind() == doc.KindInt || v.Kind() == doc.KindFloat }

// isIntegral reports whether a float has no fraction.
func isIntegral(v doc.Value) bool {
	f, _ := v.AsFloat()
	return v.Kind() == doc.KindFloat && f == math.Trunc(f)
}

// sameNumber compares two numbers, of whatever kind.
func sameNumber(a, b doc.Value) bool {
	if a.Kind() == b.Kind() {
		if a.Kind() == doc.KindInt {
			return a.Equal(b)
		}
		f, _ := a.AsFloat()
		g, _ := b.AsFloat()
		return f == g
	}
	if a.Kind() == doc.KindFloat {
		a, b = b, a
	}
	i, _ := a.AsInt()
	f, _ := b.AsFloat()
	if math.Abs(f) < exactInFloat {
		return i > -exactInFloat && i < exactInFloat && float64(i) == f
	}
	return ratOf(a).Cmp(ratOf(b)) == 0
}

// multipleOf reports whether v divided by m is an integer.
func multipleOf(v doc.Value, m *big.Rat) bool {
	if i, ok := v.AsInt(); ok && m.IsInt() && m.Num().IsInt64() {
		return i%m.Num().Int64() == 0
	}
	return new(big.Rat).Quo(ratOf(v), m).IsInt()
}
