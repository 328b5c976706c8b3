package field

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Field is a field of a struct, or of one embedded in it, that is a member of the JSON object.
type Field struct {
	Name      string // Name is the member's name.
	Go        string // Go is the field's name, with those of the structs it is embedded in.
	Index     []int  // Index leads to the field, for reflect.Value.FieldByIndex.
	Type      reflect.Type
	Tag       reflect.StructTag
	OmitZero  bool // OmitZero leaves the member out when the field is zero, as its IsZero says.
	OmitEmpty bool // OmitEmpty leaves the member out when it would be null, "", [] or {}.
	named     bool // the tag gives the name
}

// Of returns the members of the struct type t in the order of its fields. All that is wrong
// with its tags, or cannot be supported, is reported at once.
func Of(t reflect.Type) ([]Field, error) {
	w := walker{seen: map[reflect.Type]bool{t: true}}
	w.queue = append(w.queue, embedded{typ: t, children: true})
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.structure(next)
	}
	if err := errors.Join(w.faults...); err != nil {
		return nil, err
	}
	return dominant(w.found), nil
}

// walker goes through a struct and those embedded in it, level by level.
type walker struct {
	queue  []embedded
	seen   map[reflect.Type]bool
	found  []Field
	faults []error
}

// embedded is a struct to be looked through.
type embedded struct {
	typ      reflect.Type
	index    []int
	goName   string
	children bool // it is met for the first time, so the structs in it matter
}

func (w *walker) fault(name, format string, args ...any) {
	w.faults = append(w.faults, fmt.Errorf("field %s: %w", name, fmt.Errorf(format, args...)))
}

func (w *walker) structure(s embedded) {
	names := make(map[string]string)
	tagged, members := false, false
	for i := range s.typ.NumField() {
		sf := s.typ.Field(i)
		tag, has := sf.Tag.Lookup("json")
		tagged = tagged || has
		goName := strings.TrimPrefix(s.goName+"."+sf.Name, ".")
		if tag == "-" {
			continue
		}
		if !sf.IsExported() && !sf.Anonymous {
			if has {
				w.fault(goName, "it has a json tag but is not exported")
			}
			continue
		}
		members = true
		f := Field{Name: sf.Name, Go: goName, Index: append(slices.Clone(s.index), i), Type: sf.Type, Tag: sf.Tag}
		if err := f.read(tag); err != nil {
			w.fault(goName, "%w", err)
			continue
		}
		if sf.Anonymous && !f.named {
			w.embed(s, sf, f)
			continue
		}
		if !sf.IsExported() {
			w.fault(goName, "it has a json name but is not exported")
			continue
		}
		if other, taken := names[f.Name]; taken {
			w.fault(goName, "the member %q is %s already", f.Name, other)
		}
		names[f.Name] = goName
		w.found = append(w.found, f)
	}
	if s.typ.NumField() > 0 && !tagged && !members {
		w.fault(cmp.Or(s.goName, s.typ.String()), "the struct has no exported fields")
	}
}

// embed queues the struct that an anonymous field holds.
func (w *walker) embed(s embedded, sf reflect.StructField, f Field) {
	t := sf.Type
	pointer := t.Kind() == reflect.Pointer && t.Name() == ""
	if pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() != reflect.Struct:
		w.fault(f.Go, "an embedded field that is no struct needs a json name")
	case f.OmitZero || f.OmitEmpty:
		w.fault(f.Go, "an embedded field takes no options")
	case Custom(t).any():
		w.fault(f.Go, "an embedded type with methods for JSON of its own needs a json name")
	case pointer && !sf.IsExported():
		w.fault(f.Go, "an embedded pointer to a type that is not exported cannot be set")
	default:
		if s.children {
			w.queue = append(w.queue, embedded{typ: t, index: f.Index, goName: f.Go, children: !w.seen[t]})
		}
		w.seen[t] = true
	}
}

// read takes name and options from a json tag.
func (f *Field) read(tag string) error {
	name, options, more := strings.Cut(tag, ",")
	if strings.HasPrefix(name, "'") {
		return fmt.Errorf("json tag %q: quoted names are not supported", tag)
	}
	if strings.ContainsAny(name, "\\\"`'") || !utf8.ValidString(name) {
		return fmt.Errorf("json tag %q: bad name", tag)
	}
	if name != "" {
		f.Name, f.named = name, true
	}
	if !more {
		return nil
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitzero":
			f.OmitZero = true
		case "omitempty":
			f.OmitEmpty = true
		case "case:strict":
		default:
			return fmt.Errorf("json tag %q: the option %q is not supported", tag, option)
		}
	}
	return nil
}

// dominant keeps, of the fields with one name, the one that is least deep, or the only one of
// those that has its name from a tag.
func dominant(all []Field) []Field {
	byName := make(map[string][]Field)
	for _, f := range all {
		byName[f.Name] = append(byName[f.Name], f)
	}
	var out []Field
	for _, f := range all {
		best := byName[f.Name]
		slices.SortStableFunc(best, func(a, b Field) int {
			return cmp.Or(cmp.Compare(len(a.Index), len(b.Index)), rank(a)-rank(b))
		})
		tie := len(best) > 1 && len(best[0].Index) == len(best[1].Index) && best[0].named == best[1].named
		if !tie && slices.Equal(best[0].Index, f.Index) {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Field) int { return slices.Compare(a.Index, b.Index) })
	return out
}

func rank(f Field) int {
	if f.named {
		return 0
	}
	return 1
}
