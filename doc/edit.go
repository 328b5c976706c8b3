package doc

import "fmt"

// EditKind says what an [Edit] does.
type EditKind uint8

// The kinds of edits; the zero EditKind is none of them.
const (
	EditSet    EditKind = iota + 1 // EditSet puts a value where a member, an item or the document is, or a new member.
	EditUnset                      // EditUnset takes a member away.
	EditSplice                     // EditSplice replaces a run of items of a list by others.
)

// String returns the name that the JSON form uses.
func (k EditKind) String() string {
	switch k {
	case EditSet:
		return "set"
	case EditUnset:
		return "unset"
	case EditSplice:
		return "splice"
	default:
		return "unknown"
	}
}

// Edit is one part of the difference between two values, as [Diff] finds it. The
// edits of a difference are meant to be applied in order: each one's path and
// index are right in what the ones before it have made.
type Edit struct {
	Kind  EditKind
	Path  Path
	Value Value // Value is what a set puts, or the list of items that a splice inserts.
	// Index is where a splice begins, and Remove how many items it takes out there.
	Index, Remove int
}

// ApplyEdits returns what the edits, in order, make of v. Applied to the value
// that [Diff] was given first they make the one given second. An edit that does
// not fit what it finds is refused with an [*EditError], and v itself comes back.
func ApplyEdits(v Value, edits []Edit) (Value, error) {
	o := new(owner)
	now := v
	for i := range edits {
		next, err := o.applyEdit(now, &edits[i])
		if err != nil {
			return v, &EditError{Index: i, Path: edits[i].Path, Err: err}
		}
		now = next
	}
	return now, nil
}

func (o *owner) applyEdit(v Value, e *Edit) (Value, error) {
	if err := checkDepth(v, e.Path.Len()+e.Value.Depth()); err != nil {
		return Value{}, err
	}
	switch e.Kind {
	case EditSet:
		return o.edit(v, e.Path.segs, needParents, func(Value, bool) (Value, error) { return e.Value, nil })
	case EditUnset:
		if _, found := v.Get(e.Path); !found {
			return Value{}, ErrNoPath
		}
		return o.unset(v, e.Path.segs)
	case EditSplice:
		return o.edit(v, e.Path.segs, needParents, func(now Value, _ bool) (Value, error) {
			return o.splice(now, e.Index, e.Remove, e.Value)
		})
	default:
		return Value{}, fmt.Errorf("%w: kind %d", ErrBadOp, e.Kind)
	}
}

// splice replaces items of now, which should be a list that has them.
func (o *owner) splice(now Value, index, remove int, items Value) (Value, error) {
	if now.kind != KindList || items.kind != KindList {
		return Value{}, fmt.Errorf("%w: %s", ErrWrongType, now.kind)
	}
	if index < 0 || remove < 0 || remove > now.Len()-index {
		return Value{}, fmt.Errorf("%w: %d and %d more of a list of %d", ErrIndex, index, remove, now.Len())
	}
	return o.spliceIndex(now, index, remove, appendItems(nil, items, 0, items.Len())), nil
}

// MarshalJSON returns the wire form: {"edit":"set","path":…,"value":…},
// {"edit":"unset","path":…}, or {"edit":"splice","path":…,"index":…,"remove":…,
// "insert":[…]}.
func (e Edit) MarshalJSON() ([]byte, error) {
	var b Builder
	b.Add("edit", text(e.Kind.String()))
	b.Add("path", text(e.Path.String()))
	switch e.Kind {
	case EditSet:
		b.Add("value", e.Value)
	case EditUnset:
	case EditSplice:
		b.Add("index", Int(int64(e.Index)))
		b.Add("remove", Int(int64(e.Remove)))
		b.Add("insert", e.Value)
	default:
		return nil, fmt.Errorf("doc: edit: %w: kind %d", ErrBadOp, e.Kind)
	}
	v, err := b.Object()
	return v.Encode(), err
}

// UnmarshalJSON reads the wire form as strictly as that of an operation is read.
func (e *Edit) UnmarshalJSON(data []byte) error {
	f, err := parseForm("an edit", data)
	if err != nil {
		return err
	}
	kind := f.text("edit")
	read := Edit{Path: f.path()}
	f.what = "the edit " + kind
	switch kind {
	case "set":
		read.Kind, read.Value = EditSet, f.value("value")
	case "unset":
		read.Kind = EditUnset
	case "splice":
		read.Kind, read.Value = EditSplice, f.list("insert")
		read.Index, read.Remove = f.count("index"), f.count("remove")
	default:
		f.fail("there is no edit %q", kind)
	}
	if err := f.end(); err != nil {
		return err
	}
	*e = read
	return nil
}
