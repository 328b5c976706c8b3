package wirejson

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxExact is the largest integer that JavaScript's numbers hold exactly together with all
// smaller ones (Number.MAX_SAFE_INTEGER).
const maxExact = 1<<53 - 1

func appendMessage(dst []byte, m protoreflect.Message, p *plan) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		if !f.required && !m.Has(f.fd) {
			continue
		}
		if f.form == formRaw && !f.fd.IsList() && m.Get(f.fd).String() == "" {
			continue // no JSON value is empty: nothing was set
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.quoted...)
		var err error
		if dst, err = appendField(dst, m, f); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendField(dst []byte, m protoreflect.Message, f *field) ([]byte, error) {
	switch {
	case f.fd.IsList():
		return appendList(dst, m.Get(f.fd).List(), f)
	case f.fd.IsMap():
		return appendMap(dst, m.Get(f.fd).Map(), f)
	}
	return appendValue(dst, m.Get(f.fd), f)
}

func appendList(dst []byte, list protoreflect.List, f *field) ([]byte, error) {
	dst = append(dst, '[')
	for i := range list.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, list.Get(i), f); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, values protoreflect.Map, f *field) ([]byte, error) {
	keys := make([]string, 0, values.Len())
	for k := range values.Range {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendString(dst, key, f); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, err = appendValue(dst, values.Get(protoreflect.ValueOfString(key).MapKey()), f); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, v protoreflect.Value, f *field) ([]byte, error) {
	switch f.form {
	case formRaw:
		return append(dst, v.String()...), nil
	case formString:
		return appendString(dst, v.String(), f)
	case formBool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case formInt:
		n := v.Int()
		if n > maxExact || n < -maxExact {
			return append(strconv.AppendInt(append(dst, '"'), n, 10), '"'), nil
		}
		return strconv.AppendInt(dst, n, 10), nil
	case formUint:
		n := v.Uint()
		if n > maxExact {
			return append(strconv.AppendUint(append(dst, '"'), n, 10), '"'), nil
		}
		return strconv.AppendUint(dst, n, 10), nil
	case formFloat:
		return appendFloat(dst, v.Float(), f)
	case formBytes:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v.Bytes())
		return append(dst, '"'), nil
	case formTime:
		return appendTime(dst, v.Message(), f)
	case formDuration:
		text, err := protojson.Marshal(v.Message().Interface())
		if err != nil {
			return dst, fmt.Errorf("wirejson: %s: %w", f.fd.FullName(), err)
		}
		return append(dst, text...), nil
	case formMessage:
		return appendMessage(dst, v.Message(), f.message)
	}
	return dst, fmt.Errorf("wirejson: %s: no form", f.fd.FullName())
}

func appendString(dst []byte, s string, f *field) ([]byte, error) {
	dst, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return dst, fmt.Errorf("wirejson: %s: %w", f.fd.FullName(), err)
	}
	return dst, nil
}

// appendFloat writes the shortest number that reads back as x. JSON has none for those that are
// not finite.
func appendFloat(dst []byte, x float64, f *field) ([]byte, error) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return dst, fmt.Errorf("wirejson: %s: %v has no JSON form", f.fd.FullName(), x)
	}
	format := byte('f')
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, x, format, -1, 64), nil
}

func appendTime(dst []byte, m protoreflect.Message, f *field) ([]byte, error) {
	ts, ok := m.Interface().(*timestamppb.Timestamp)
	if !ok {
		return dst, fmt.Errorf("wirejson: %s: %T is no timestamp", f.fd.FullName(), m.Interface())
	}
	if err := ts.CheckValid(); err != nil {
		return dst, fmt.Errorf("wirejson: %s: %w", f.fd.FullName(), err)
	}
	dst = append(dst, '"')
	dst = ts.AsTime().AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"'), nil
}
