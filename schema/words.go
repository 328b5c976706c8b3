package schema

import (
	"math/big"
	"strings"

	"github.com/shoalworks/shoal/doc"
)

// shownBytes is how much of a value a message shows.
const shownBytes = 60

// shown is the beginning of a value's text.
func shown(v doc.Value) string {
	if v.Size() > 1<<16 { // Do not write out a document to show its first bytes.
		return typeName(v)
	}
	s := v.String()
	if len(s) <= shownBytes {
		return s
	}
	return strings.ToValidUTF8(s[:shownBytes], "") + "…"
}

// oneOfText lists the values that are allowed.
func oneOfText(values []doc.Value) string {
	if len(values) == 1 {
		return shown(values[0])
	}
	var texts []string
	for i, v := range values {
		if i == 10 {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, shown(v))
	}
	return "one of " + strings.Join(texts, ", ")
}

// typeName is what JSON Schema calls the type of a value.
func typeName(v doc.Value) string {
	switch v.Kind() {
	case doc.KindNull:
		return "null"
	case doc.KindBool:
		return "boolean"
	case doc.KindInt:
		return "integer"
	case doc.KindFloat:
		return "number"
	case doc.KindString:
		return "string"
	case doc.KindList:
		return "array"
	case doc.KindObject:
		return "object"
	default:
		return "unknown"
	}
}

// String is the bound as a number.
func (b *bound) String() string { return ratText(b.rat) }

func ratText(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return big.NewFloat(f).Text('g', -1)
}
