package schema

import (
	"math"
	"math/big"

	"github.com/shoalworks/shoal/doc"
)

// same is equality as JSON Schema means it: 1 and 1.0 are the same number.
func same(a, b doc.Value) bool {
	if isNumber(a) && isNumber(b) {
		return sameNumber(a, b)
	}
	if a.Kind() != b.Kind() || a.Len() != b.Len() {
		return false
	}
	switch a.Kind() {
	case doc.KindList:
		for i, item := range a.Items() {
			if !same(item, b.Index(i)) {
				return false
			}
		}
		return true
	case doc.KindObject:
		for name, m := range a.Members() {
			n, ok := b.Member(name)
			if !ok || !same(m, n) {
				return false
			}
		}
		return true
	case doc.KindNull, doc.KindBool, doc.KindInt, doc.KindFloat, doc.KindString:
	}
	return a.Equal(b)
}

// twice finds two items of a list that are the same.
func twice(list doc.Value) (first, second int, found bool) {
	seen := make(map[string]int, list.Len())
	var buf []byte
	for i, item := range list.Items() {
		buf = appendKey(buf[:0], item)
		if j, ok := seen[string(buf)]; ok {
			return j, i, true
		}
		seen[string(buf)] = i
	}
	return 0, 0, false
}

// appendKey appends a text that two values have in common exactly when they are the same.
func appendKey(dst []byte, v doc.Value) []byte {
	switch v.Kind() {
	case doc.KindFloat:
		return appendFloatKey(dst, v)
	case doc.KindList:
		dst = append(dst, '[')
		for _, item := range v.Items() {
			dst = append(appendKey(dst, item), ',')
		}
		return append(dst, ']')
	case doc.KindObject:
		dst = append(dst, '{')
		for name, m := range v.Members() {
			dst = doc.MustString(name).AppendJSON(dst)
			dst = append(dst, ':')
			dst = append(appendKey(dst, m), ',')
		}
		return append(dst, '}')
	case doc.KindNull, doc.KindBool, doc.KindInt, doc.KindString:
	}
	return v.AppendJSON(dst)
}

// appendFloatKey writes a float that an integer could equal as that integer.
func appendFloatKey(dst []byte, v doc.Value) []byte {
	f, _ := v.AsFloat()
	if f != math.Trunc(f) || math.Abs(f) > math.MaxInt64 {
		return v.AppendJSON(dst)
	}
	if math.Abs(f) < exactInFloat {
		return doc.Int(int64(f)).AppendJSON(dst)
	}
	r := ratOf(v)
	if r.IsInt() && r.Num().IsInt64() {
		return doc.Int(new(big.Int).Set(r.Num()).Int64()).AppendJSON(dst)
	}
	return v.AppendJSON(dst)
}
