package wirejson

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// readMessage reads an object into m.
func readMessage(dec *jsontext.Decoder, m protoreflect.Message, p *plan) error {
	if err := open(dec, '{', "an object"); err != nil {
		return err
	}
	seen := make([]bool, len(p.fields))
	for {
		name, err := dec.ReadToken()
		if err != nil {
			return syntax(err)
		}
		if name.Kind() == '}' {
			return nil
		}
		i, ok := p.byName[name.String()]
		if !ok {
			return refuse(dec, "is no field of %s; %s", p.name, p.names())
		}
		if seen[i] {
			return refuse(dec, "is given twice, once as %s and once as %s", p.fields[i].fd.JSONName(), p.fields[i].fd.Name())
		}
		seen[i] = true
		if err := readField(dec, m, &p.fields[i]); err != nil {
			return err
		}
	}
}

// open reads the begin of an object or a list.
func open(dec *jsontext.Decoder, kind jsontext.Kind, expected string) error {
	if dec.PeekKind() != kind {
		return refuseValue(dec, expected)
	}
	_, err := dec.ReadToken()
	return syntax(err)
}

// refuseValue reads the value that comes next and refuses it.
func refuseValue(dec *jsontext.Decoder, expected string) error {
	v, err := dec.ReadValue()
	if err != nil {
		return syntax(err)
	}
	return refuse(dec, "%s is expected, got %s", expected, describe(v))
}

func readField(dec *jsontext.Decoder, m protoreflect.Message, f *field) error {
	if dec.PeekKind() == 'n' && f.form != formRaw {
		return syntax(dec.SkipValue())
	}
	switch {
	case f.fd.IsList():
		return readList(dec, m.Mutable(f.fd).List(), f)
	case f.fd.IsMap():
		return readMap(dec, m.Mutable(f.fd).Map(), f)
	}
	v, err := readValue(dec, f, func() protoreflect.Value { return m.NewField(f.fd) })
	if err != nil {
		return err
	}
	m.Set(f.fd, v)
	return nil
}

func readList(dec *jsontext.Decoder, list protoreflect.List, f *field) error {
	if err := open(dec, '[', "a list"); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		v, err := readValue(dec, f, list.NewElement)
		if err != nil {
			return err
		}
		list.Append(v)
	}
	_, err := dec.ReadToken()
	return syntax(err)
}

func readMap(dec *jsontext.Decoder, values protoreflect.Map, f *field) error {
	if err := open(dec, '{', "an object"); err != nil {
		return err
	}
	for {
		name, err := dec.ReadToken()
		if err != nil {
			return syntax(err)
		}
		if name.Kind() == '}' {
			return nil
		}
		key := protoreflect.ValueOfString(name.String()).MapKey()
		v, err := readValue(dec, f, values.NewValue)
		if err != nil {
			return err
		}
		values.Set(key, v)
	}
}

// readValue reads one value; fresh makes an empty one when it is a message.
func readValue(dec *jsontext.Decoder, f *field, fresh func() protoreflect.Value) (protoreflect.Value, error) {
	if f.form == formMessage {
		v := fresh()
		return v, readMessage(dec, v.Message(), f.message)
	}
	text, err := dec.ReadValue()
	if err != nil {
		return protoreflect.Value{}, syntax(err)
	}
	switch f.form {
	case formRaw:
		return protoreflect.ValueOfString(string(text)), nil
	case formString:
		return readString(dec, text)
	case formBool:
		return readBool(dec, text)
	case formInt:
		return readInt(dec, text, f.bits)
	case formUint:
		return readUint(dec, text, f.bits)
	case formFloat:
		return readFloat(dec, text)
	case formBytes:
		return readBytes(dec, text)
	case formTime:
		return readKnown(dec, text, fresh(), `a time such as "2026-08-11T00:00:00Z"`)
	case formDuration:
		return readKnown(dec, text, fresh(), `a duration in seconds such as "1.5s"`)
	case formMessage:
	}
	return protoreflect.Value{}, refuse(dec, "has no JSON form")
}

func readString(dec *jsontext.Decoder, text jsontext.Value) (protoreflect.Value, error) {
	if text.Kind() != '"' {
		return protoreflect.Value{}, refuse(dec, "a string is expected, got %s", describe(text))
	}
	s, err := unquote(text)
	if err != nil {
		return protoreflect.Value{}, refuse(dec, "%s", err)
	}
	return protoreflect.ValueOfString(s), nil
}

func unquote(text jsontext.Value) (string, error) {
	s, err := jsontext.AppendUnquote(nil, text)
	return string(s), err
}

func readBool(dec *jsontext.Decoder, text jsontext.Value) (protoreflect.Value, error) {
	if kind := text.Kind(); kind == 't' || kind == 'f' {
		return protoreflect.ValueOfBool(kind == 't'), nil
	}
	return protoreflect.Value{}, refuse(dec, "true or false is expected, got %s", describe(text))
}

func readInt(dec *jsontext.Decoder, text jsontext.Value, bits int) (protoreflect.Value, error) {
	n, err := strconv.ParseInt(digits(text), 10, bits)
	if err != nil {
		return protoreflect.Value{}, refuseNumber(dec, text, err, bits, "int")
	}
	if bits == 32 {
		return protoreflect.ValueOfInt32(int32(n)), nil
	}
	return protoreflect.ValueOfInt64(n), nil
}

func readUint(dec *jsontext.Decoder, text jsontext.Value, bits int) (protoreflect.Value, error) {
	n, err := strconv.ParseUint(digits(text), 10, bits)
	if err != nil {
		return protoreflect.Value{}, refuseNumber(dec, text, err, bits, "uint")
	}
	if bits == 32 {
		return protoreflect.ValueOfUint32(uint32(n)), nil
	}
	return protoreflect.ValueOfUint64(n), nil
}

// digits is the text of an integer that stands as a number or as a string that could be one;
// empty for anything else.
func digits(text jsontext.Value) string {
	switch kind := text.Kind(); {
	case kind == '0':
		return string(text)
	case kind == '"':
		inner := text[1 : len(text)-1]
		if inner.Kind() == '0' && inner.IsValid() {
			return string(inner)
		}
	}
	return ""
}

// readFloat reads a number. One that no double holds is refused, never infinite.
func readFloat(dec *jsontext.Decoder, text jsontext.Value) (protoreflect.Value, error) {
	if text.Kind() != '0' {
		return protoreflect.Value{}, refuse(dec, "a number is expected, got %s", describe(text))
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return protoreflect.Value{}, refuse(dec, "%s is outside the range of a double", shorten(text))
	}
	return protoreflect.ValueOfFloat64(x), nil
}

// readBytes reads base64 in its standard form, with padding, as it is written.
func readBytes(dec *jsontext.Decoder, text jsontext.Value) (protoreflect.Value, error) {
	if text.Kind() == '"' {
		s, err := unquote(text)
		if err != nil {
			return protoreflect.Value{}, refuse(dec, "%s", err)
		}
		if b, err := base64.StdEncoding.Strict().DecodeString(s); err == nil && !strings.ContainsAny(s, "\r\n") {
			return protoreflect.ValueOfBytes(b), nil
		}
	}
	return protoreflect.Value{}, refuse(dec, "bytes in base64 are expected, got %s", describe(text))
}

func refuseNumber(dec *jsontext.Decoder, text jsontext.Value, err error, bits int, kind string) error {
	if errors.Is(err, strconv.ErrRange) {
		return refuse(dec, "%s is outside the range of %s%d", shorten(text), kind, bits)
	}
	return refuse(dec, "a whole number is expected, got %s", describe(text))
}

// readKnown reads a time or a duration, which protojson knows how to.
func readKnown(dec *jsontext.Decoder, text jsontext.Value, v protoreflect.Value, expected string) (protoreflect.Value, error) {
	if err := protojson.Unmarshal(text, v.Message().Interface()); err != nil {
		return v, refuse(dec, "%s is expected, got %s", expected, describe(text))
	}
	return v, nil
}
