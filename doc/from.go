package doc

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// From makes a value of a Go value. It takes values, nil, booleans, all integers
// and floats, strings, []any, []Value, map[string]any, map[string]Value, and
// anything else that JSON can hold by the rules of encoding/json/v2: structs with
// their json tags, slices, maps, pointers, and types that marshal themselves. A nil
// slice is an empty list and a nil map an empty object.
//
// A Go integer becomes an Int and a Go float a Float, always. What JSON cannot hold
// is refused with a [*ValueError] that names its path: NaN and infinities, unsigned
// integers beyond int64, invalid UTF-8, channels and functions, and maps whose
// names are not strings, because their keys would silently become strings. What
// nests deeper than [DefaultMaxDepth] is refused too.
func From(v any) (Value, error) {
	val, err := from(v, 0)
	if err == nil && val.Depth() > DefaultMaxDepth {
		err = ErrTooDeep // Some of it came in ready-made.
	}
	if err == nil {
		return val, nil
	}
	var at *ValueError
	if !errors.As(err, &at) {
		err = &ValueError{Err: err}
	}
	return Value{}, err
}

// Must is [From] for constants, templates and tests; it panics where From fails.
func Must(v any) Value { return must(From(v)) }

// from makes a value of v, which lies inside depth lists and objects.
func from(v any, depth int) (Value, error) {
	switch v := v.(type) {
	case nil:
		return Value{}, nil
	case Value:
		return v, nil
	case bool:
		return Bool(v), nil
	case string:
		return String(v)
	case int:
		return Int(int64(v)), nil
	case int64:
		return Int(v), nil
	case float64:
		return Float(v)
	case []Value:
		return List(v...), nil
	case map[string]Value:
		return Object(v)
	case []any:
		return fromSlice(v, depth)
	case map[string]any:
		return fromMap(v, depth)
	default:
		return fromOther(v)
	}
}

func fromSlice(items []any, depth int) (Value, error) {
	if depth >= DefaultMaxDepth { // Also the end of what contains itself.
		return Value{}, ErrTooDeep
	}
	vals := make([]Value, len(items))
	for i, item := range items {
		v, err := from(item, depth+1)
		if err != nil {
			return Value{}, below(Path{}.AppendIndex(i), err)
		}
		vals[i] = v
	}
	return listOf(vals), nil
}

func fromMap(members map[string]any, depth int) (Value, error) {
	if depth >= DefaultMaxDepth {
		return Value{}, ErrTooDeep
	}
	b := Builder{members: make([]member, 0, len(members))}
	for name, m := range members {
		v, err := from(m, depth+1)
		if err != nil {
			return Value{}, below(P(name), err)
		}
		b.Add(name, v)
	}
	return b.Object()
}

// below is err, met inside the part of a value at the path p.
func below(p Path, err error) error {
	var at *ValueError
	if errors.As(err, &at) {
		return &ValueError{Path: p.Join(at.Path), Err: at.Err}
	}
	return &ValueError{Path: p, Err: err}
}

// exactly are the rules by which other Go values become text and come of it:
// floats stay floats, integers stay integers also where a field is of type any,
// and maps whose names are not strings are refused.
//
//nolint:gochecknoglobals // immutable, and it caches what it learns of each type
var exactly = json.JoinOptions(
	json.WithMarshalers(json.MarshalToFunc(marshalExactly)),
	json.WithUnmarshalers(json.UnmarshalFromFunc(unmarshalExactly)),
	json.Deterministic(true),
)

// fromOther goes by way of JSON text.
func fromOther(v any) (Value, error) {
	text, err := json.Marshal(v, exactly)
	if err != nil {
		return Value{}, unmarshalable(err)
	}
	val, err := Parse(text, &Limits{MaxBytes: -1})
	var at *SyntaxError
	if errors.As(err, &at) {
		return Value{}, &ValueError{Path: at.Path, Err: at.Err}
	}
	return val, err
}

// marshalExactly gets the address of each part of a Go value in turn.
func marshalExactly(enc *jsontext.Encoder, part any) error {
	r := reflect.ValueOf(part).Elem()
	if r.Kind() == reflect.Map && r.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("%w: a map with names of type %s", ErrUnsupported, r.Type().Key())
	}
	quoted, _ := json.GetOption(enc.Options(), json.StringifyNumbers)
	if r.CanFloat() && !quoted && !marshalsItself(part) {
		return writeFloat(enc, r)
	}
	return errors.ErrUnsupported // To the package json: go on as usual.
}

// unmarshalExactly fills what is of type any.
func unmarshalExactly(dec *jsontext.Decoder, out *any) error {
	if *out != nil { // It holds something that wants to be filled itself.
		return errors.ErrUnsupported
	}
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	v, err := Parse(text, &Limits{MaxDepth: -1, MaxBytes: -1})
	*out = v.Any()
	return err
}

func marshalsItself(v any) bool {
	switch v.(type) {
	case json.Marshaler, json.MarshalerTo, encoding.TextMarshaler, encoding.TextAppender:
		return true
	default:
		return false
	}
}

// writeFloat writes a float so that it is read as one. A float32 becomes the
// float64 that looks the same, so that 0.1 stays 0.1.
func writeFloat(enc *jsontext.Encoder, r reflect.Value) error {
	f := r.Float()
	if r.Kind() == reflect.Float32 {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 32), 64)
	}
	v, err := Float(f)
	if err != nil {
		return err
	}
	return enc.WriteValue(v.Encode())
}

// unmarshalable takes path and reason out of an error of the package json.
func unmarshalable(err error) error {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		reason := semantic.Err
		if reason == nil {
			reason = ErrUnsupported
		}
		if semantic.GoType != nil && !isOurs(reason) {
			reason = fmt.Errorf("%w: %s: %w", ErrUnsupported, semantic.GoType, reason)
		}
		return &ValueError{Path: pathOf(semantic.JSONPointer), Err: reason}
	case errors.As(err, &syntactic):
		return &ValueError{Path: pathOf(syntactic.JSONPointer), Err: textual(syntactic.Err)}
	default:
		return &ValueError{Err: err}
	}
}

func isOurs(err error) bool {
	return errors.Is(err, ErrNotFinite) || errors.Is(err, ErrUnsupported)
}

// Into decodes the value into the Go variable that out points to, by the rules of
// encoding/json/v2: into structs with their json tags, maps, slices and so on.
// Members for which a struct has no field are ignored. What is of type any gets
// what [Value.Any] returns, so that integers stay integers.
func (v Value) Into(out any) error {
	if err := json.Unmarshal(v.Encode(), out, exactly); err != nil {
		return fmt.Errorf("doc: into %T: %w", out, err)
	}
	return nil
}

// Any returns the value as plain Go: nil, bool, int64, float64, string, []any or
// map[string]any, all fresh.
func (v Value) Any() any {
	switch v.kind {
	case KindBool:
		return v.bits == 1
	case KindInt:
		return int64(v.bits)
	case KindFloat:
		return math.Float64frombits(v.bits)
	case KindString:
		return v.str()
	case KindList:
		items := make([]any, 0, v.Len())
		for _, item := range v.Items() {
			items = append(items, item.Any())
		}
		return items
	case KindObject:
		members := make(map[string]any, v.Len())
		for name, m := range v.Members() {
			members[name] = m.Any()
		}
		return members
	case KindNull:
	}
	return nil
}
