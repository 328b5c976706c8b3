package doc

import (
	"iter"
	"maps"
	"slices"
	"unicode/utf8"
)

// Object returns an object with these members. A name that is not valid UTF-8
// is refused with a [*ValueError].
func Object(members map[string]Value) (Value, error) {
	names := slices.Sorted(maps.Keys(members))
	vals := make([]Value, len(names))
	for i, name := range names {
		if err := checkName(name); err != nil {
			return Value{}, &ValueError{Path: P(name), Err: err}
		}
		vals[i] = members[name]
	}
	return objectOf(names, vals), nil
}

// MustObject is [Object] for constants; it panics where Object fails.
func MustObject(members map[string]Value) Value { return must(Object(members)) }

// objectOf builds an object from sorted names that differ; the caller gives the
// slices away.
func objectOf(names []string, vals []Value) Value {
	return Value{kind: KindObject}.holding(plant(names, vals))
}

func checkName(name string) error {
	if !utf8.ValidString(name) {
		return ErrUTF8
	}
	if len(name) > maxString {
		return ErrTooLarge
	}
	return nil
}

// Builder collects the members of an object that is too large, or comes too
// piecemeal, for a map. The zero Builder is empty and ready to use.
type Builder struct {
	members []member
}

type member struct {
	name string
	val  Value
	at   int64 // where the name stood in a text
}

// Add adds a member. Names may come in any order.
func (b *Builder) Add(name string, v Value) {
	b.members = append(b.members, member{name: name, val: v})
}

// Len returns how many members were added.
func (b *Builder) Len() int { return len(b.members) }

// Object returns the object of all members added so far. Two members of one name
// ([ErrDuplicate]) and a name that is not valid UTF-8 ([ErrUTF8]) are refused
// with a [*ValueError]. The builder stays as it is and may go on.
func (b *Builder) Object() (Value, error) {
	for _, m := range b.members {
		if err := checkName(m.name); err != nil {
			return Value{}, &ValueError{Path: P(m.name), Err: err}
		}
	}
	v, twice := assemble(slices.Clone(b.members))
	if twice != nil {
		return Value{}, &ValueError{Path: P(twice.name), Err: ErrDuplicate}
	}
	return v, nil
}

// assemble sorts members and builds the object, or names a member that is there twice.
func assemble(members []member) (v Value, twice *member) {
	byName := func(a, b member) int { return compareNames(a.name, b.name) }
	if !slices.IsSortedFunc(members, byName) {
		slices.SortStableFunc(members, byName)
	}
	names := make([]string, len(members))
	vals := make([]Value, len(members))
	for i, m := range members {
		if i > 0 && m.name == names[i-1] {
			return Value{}, &members[i]
		}
		names[i], vals[i] = m.name, m.val
	}
	return objectOf(names, vals), nil
}

func compareNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// Member returns the member of an object with this name; ok is false if there is
// none, or if v is no object.
func (v Value) Member(name string) (member Value, ok bool) {
	if v.kind != KindObject {
		return Value{}, false
	}
	return v.root().find(name)
}

// Members yields name and value of each member of an object in byte order of the
// names, and nothing for any other kind.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.kind == KindObject {
			v.root().each(0, func(_ int, name string, val Value) bool { return yield(name, val) })
		}
	}
}

// putMember sets a member of the object v; the name is valid, and was is the
// extent of what has that name now, if anything has.
func (o *owner) putMember(v Value, name string, val Value, was extent) Value {
	root := v.root()
	if root == nil {
		return v.holding(o.sprout([]string{name}, val))
	}
	var p place
	if root.seekKey(name, &p) {
		return v.holding(o.replace(root, p.at[:], val, was))
	}
	return v.holding(o.grown(o.insert(root, p.at[:], name, val)))
}

// dropMember takes a member out of the object v, which has it.
func (o *owner) dropMember(v Value, name string) Value {
	var p place
	v.root().seekKey(name, &p)
	return v.holding(shrunk(o.remove(v.root(), p.at[:])))
}
