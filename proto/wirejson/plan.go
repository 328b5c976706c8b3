package wirejson

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
)

// form is how a single value of a field stands in JSON.
type form uint8

const (
	formRaw form = iota + 1
	formString
	formBool
	formInt
	formUint
	formFloat
	formBytes
	formTime
	formDuration
	formMessage
)

// field is the plan of one field.
type field struct {
	fd       protoreflect.FieldDescriptor
	quoted   string // the name with quotes and colon
	form     form   // of the value, of a list's items or of a map's values
	bits     int    // of integers
	message  *plan  // of formMessage
	required bool   // written even when zero
}

// plan is how the messages of one type are read and written.
type plan struct {
	name   string
	fields []field
	byName map[string]int
}

const (
	timestampName protoreflect.FullName = "google.protobuf.Timestamp"
	durationName  protoreflect.FullName = "google.protobuf.Duration"
)

// newPlan makes the plan of a message type. It fails for fields that have no form here: the
// services are to be built from strings, bytes, booleans, integers, doubles, times, durations
// and messages. Messages that contain themselves are not among them.
func newPlan(md protoreflect.MessageDescriptor) (*plan, error) {
	p := &plan{name: string(md.Name()), byName: make(map[string]int)}
	fds := md.Fields()
	for i := range fds.Len() {
		f, err := newField(fds.Get(i))
		if err != nil {
			return nil, fmt.Errorf("wirejson: %s: %w", fds.Get(i).FullName(), err)
		}
		p.fields = append(p.fields, f)
	}
	slices.SortFunc(p.fields, func(a, b field) int { return int(a.fd.Number()) - int(b.fd.Number()) })
	for i, f := range p.fields {
		p.byName[f.fd.JSONName()] = i
		p.byName[string(f.fd.Name())] = i
	}
	return p, nil
}

func newField(fd protoreflect.FieldDescriptor) (field, error) {
	f := field{fd: fd, quoted: `"` + fd.JSONName() + `":`, required: !fd.HasPresence()}
	value := fd
	if fd.IsMap() {
		if fd.MapKey().Kind() != protoreflect.StringKind {
			return f, fmt.Errorf("a map with keys of kind %v has no JSON form", fd.MapKey().Kind())
		}
		value = fd.MapValue()
	}
	if proto.GetExtension(fd.Options(), shoalv1.E_RawJson).(bool) {
		if value.Kind() != protoreflect.StringKind {
			return f, fmt.Errorf("raw_json on a field of kind %v", value.Kind())
		}
		f.form = formRaw
		return f, nil
	}
	return f, f.setForm(value)
}

func (f *field) setForm(fd protoreflect.FieldDescriptor) (err error) {
	switch kind := fd.Kind(); {
	case kind == protoreflect.StringKind:
		f.form = formString
	case kind == protoreflect.BoolKind:
		f.form = formBool
	case kind == protoreflect.Int32Kind:
		f.form, f.bits = formInt, 32
	case kind == protoreflect.Int64Kind:
		f.form, f.bits = formInt, 64
	case kind == protoreflect.Uint32Kind:
		f.form, f.bits = formUint, 32
	case kind == protoreflect.Uint64Kind:
		f.form, f.bits = formUint, 64
	case kind == protoreflect.DoubleKind:
		f.form = formFloat
	case kind == protoreflect.BytesKind:
		f.form = formBytes
	case kind == protoreflect.MessageKind:
		switch fd.Message().FullName() {
		case timestampName:
			f.form = formTime
		case durationName:
			f.form = formDuration
		default:
			f.form = formMessage
			f.message, err = newPlan(fd.Message())
		}
	default:
		err = fmt.Errorf("fields of kind %v have no JSON form", fd.Kind())
	}
	return err
}

// names lists the fields of the message for an error.
func (p *plan) names() string {
	if len(p.fields) == 0 {
		return "it has no fields"
	}
	out := make([]string, len(p.fields))
	for i, f := range p.fields {
		out[i] = f.fd.JSONName()
	}
	return "it has " + strings.Join(out, ", ")
}
