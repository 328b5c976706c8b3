package doc

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
)

// EffectKind says what an [Effect] does.
type EffectKind uint8

// The kinds of effects; the zero EffectKind is none of them.
const (
	EffectSet   EffectKind = iota + 1 // EffectSet says what is at a place.
	EffectUnset                       // EffectUnset says that a member is not there.
	EffectTail                        // EffectTail says what a list holds from a position on, and where it ends.
)

// String returns the name of the kind.
func (k EffectKind) String() string {
	switch k {
	case EffectSet:
		return "set"
	case EffectUnset:
		return "unset"
	case EffectTail:
		return "tail"
	default:
		return "unknown"
	}
}

// Effect is one absolute statement about a document.
type Effect struct {
	Kind  EffectKind
	Path  Path
	From  int   // From is the position from which a tail says what the list holds.
	Value Value // Value is what a set puts, or the list of items of a tail.
}

// Effects are absolute statements about a document, in no need of an order: none
// of their places lies inside another. They are what a journal stores. The zero
// Effects is empty.
//
// What holds, for effects made from a history of states s0, s1, … sn:
//
//   - Made by a [Trail] that saw every step, they turn each of s0 … sn into sn. So
//     they may be applied to a checkpoint without knowing which of the states it
//     is, and applying them twice is applying them once.
//   - Made by [EffectsBetween] of s0 and sn alone, they turn s0 and sn into sn, and
//     any state between them that differs from sn only in places where s0 does.
//     A place that was changed and changed back is not among them; a trail has it.
//   - Applied to a state of another history they may be refused, or make something
//     that never was. The journal's base and digest are there to prevent that.
type Effects struct {
	list []Effect
	segs []segment // of the paths that a trail made
	way  []segment // where it stood
}

// EffectsBetween returns the effects of one step from base to now.
func EffectsBetween(base, now Value) Effects {
	var t Trail
	t.Add(base, now)
	return t.Effects(now)
}

// Len returns the number of effects.
func (e Effects) Len() int { return len(e.list) }

// All yields the effects; a parent's members come in order of their names.
func (e Effects) All() iter.Seq[Effect] { return slices.Values(e.list) }

// Equal reports whether both say the same.
func (e Effects) Equal(f Effects) bool { return bytes.Equal(e.AppendJSON(nil), f.AppendJSON(nil)) }

// Apply returns v with everything as the effects say. It is all or nothing: a
// place whose parent is missing or of another kind, or a list that is shorter than
// where an item or a tail belongs, is refused with an [*EditError], and v itself
// comes back. Such a v is no state of the history the effects were made of.
func (e Effects) Apply(v Value) (Value, error) {
	o := new(owner)
	now := v
	for i := range e.list {
		next, err := o.applyEffect(now, &e.list[i])
		if err != nil {
			return v, &EditError{Index: i, Path: e.list[i].Path, Err: err}
		}
		now = next
	}
	return now, nil
}

func (o *owner) applyEffect(v Value, e *Effect) (Value, error) {
	if err := checkDepth(v, e.Path.Len()+e.Value.Depth()); err != nil {
		return Value{}, err
	}
	switch e.Kind {
	case EffectSet:
		return o.edit(v, e.Path.segs, needParents, func(Value, bool) (Value, error) { return e.Value, nil })
	case EffectUnset:
		if _, found := v.Get(e.Path.Parent()); !found {
			return Value{}, fmt.Errorf("%w: %q is missing", ErrNoPath, e.Path.Parent())
		}
		return o.unset(v, e.Path.segs)
	case EffectTail:
		return o.edit(v, e.Path.segs, needParents, func(now Value, found bool) (Value, error) {
			if !found {
				return Value{}, ErrNoPath
			}
			return o.splice(now, e.From, max(0, now.Len()-e.From), e.Value)
		})
	default:
		return Value{}, ErrBadOp
	}
}

// UnmarshalJSON reads the journal's form. Unknown fields, texts that are no
// paths, and places inside other places are refused with [ErrBadOp].
func (e *Effects) UnmarshalJSON(data []byte) error {
	f, err := parseForm("effects", data)
	if err != nil {
		return err
	}
	r := effectsReader{form: f}
	r.sets()
	r.unsets()
	r.tails()
	if err := f.end(); err != nil {
		return err
	}
	*e = Effects{list: r.list}
	return nil
}

// effectsReader reads the sections and sees to it that no place is in another.
type effectsReader struct {
	form *form
	list []Effect
	seen claims
}

// section returns a member of the given kind, or an empty value of none.
func (r *effectsReader) section(name string, kind Kind) Value {
	v, ok := r.form.optional(name)
	if ok && v.kind != kind {
		r.form.fail("%q of effects must be of kind %s, not %s", name, kind, v.kind)
	}
	return v
}

func (r *effectsReader) add(at string, x Effect) {
	p, err := parsePath(at)
	if err != nil {
		r.form.fail("%v", err)
		return
	}
	x.Path = p
	if !r.seen.claim(x) {
		r.form.fail("the place %q is inside another, or another is inside it", at)
	}
	r.list = append(r.list, x)
}

func (r *effectsReader) sets() {
	for at, v := range r.section("set", KindObject).Members() {
		r.add(at, Effect{Kind: EffectSet, Value: v})
	}
}

func (r *effectsReader) unsets() {
	for _, v := range r.section("unset", KindList).Items() {
		at, ok := v.AsString()
		if !ok || at == "" {
			r.form.fail("what is unset must be a path, and not the whole document")
		}
		r.add(at, Effect{Kind: EffectUnset})
	}
}

func (r *effectsReader) tails() {
	for at, v := range r.section("tail", KindObject).Members() {
		f := formOf("a tail", v)
		x := Effect{Kind: EffectTail, From: f.count("from"), Value: f.list("items")}
		if err := f.end(); err != nil && r.form.err == nil {
			r.form.err = err
		}
		r.add(at, x)
	}
}

// claims are the places of effects that were read.
type claims struct {
	whole bool
	names map[string]*claims
	cut   bool // from tail on
	tail  int
}

// claim notes the place of an effect, and reports whether it was free.
func (m *claims) claim(x Effect) bool {
	for _, s := range x.Path.segs {
		if m.whole || m.cut && s.pos >= m.tail {
			return false
		}
		if m.names == nil {
			m.names = make(map[string]*claims)
		}
		kid := m.names[s.name]
		if kid == nil {
			kid = new(claims)
			m.names[s.name] = kid
		}
		m = kid
	}
	if x.Kind != EffectTail {
		free := !m.whole && !m.cut && len(m.names) == 0
		m.whole = true
		return free
	}
	if m.whole || m.cut {
		return false
	}
	for name := range m.names {
		if segmentOf(name).pos >= x.From {
			return false
		}
	}
	m.cut, m.tail = true, x.From
	return true
}
