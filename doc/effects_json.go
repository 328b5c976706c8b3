package doc

import (
	"slices"
	"strconv"
)

// MarshalJSON returns the journal's form, an object of up to three members that
// are left out when empty: "set" maps paths to values, "unset" lists paths, and
// "tail" maps paths of lists to {"from": position, "items": [what is there]}.
func (e Effects) MarshalJSON() ([]byte, error) {
	return e.AppendJSON(make([]byte, 0, e.Size())), nil
}

// AppendJSON appends the journal's form, as MarshalJSON returns it, to dst: canonical, like
// that of a [Value].
func (e Effects) AppendJSON(dst []byte) []byte {
	w := effectsWriter{out: append(dst, '{')}
	w.section("set", EffectSet, e)
	w.section("tail", EffectTail, e)
	w.unsets(e)
	return append(w.out, '}')
}

// Size returns the length of the JSON form in bytes.
func (e Effects) Size() int {
	const braces = len(`{}`)
	size, sections := braces, 0
	for _, s := range [...]struct {
		kind  EffectKind
		frame int
	}{{EffectSet, len(`"set":{}`)}, {EffectTail, len(`"tail":{}`)}, {EffectUnset, len(`"unset":[]`)}} {
		members := 0
		for i := range e.list {
			if x := &e.list[i]; x.Kind == s.kind {
				members++
				size += x.size() + len(`,`)
			}
		}
		if members > 0 {
			size += s.frame - len(`,`)
			sections++
		}
	}
	return size + max(0, sections-1)
}

// size is the length of one effect in its section.
func (x *Effect) size() int {
	n := x.Path.pointerSize()
	switch x.Kind {
	case EffectSet:
		n += len(`:`) + x.Value.Size()
	case EffectTail:
		n += len(`:{"from":,"items":}`) + digits(int64(x.From)) + x.Value.Size()
	case EffectUnset:
	}
	return n
}

// effectsWriter appends the sections of the form.
type effectsWriter struct {
	out   []byte
	begun bool // there is a section already
}

func (w *effectsWriter) begin(name string, bracket byte) {
	if w.begun {
		w.out = append(w.out, ',')
	}
	w.begun = true
	w.out = append(append(append(w.out, '"'), name...), '"', ':', bracket)
}

// section appends the effects of one kind, as an object with members in order of their names.
func (w *effectsWriter) section(name string, kind EffectKind, e Effects) {
	list, sorted := e.list, true
	var last *Effect
	for i := range list {
		if list[i].Kind != kind {
			continue
		}
		if last != nil && comparePointers(last.Path, list[i].Path) > 0 {
			sorted = false
			break
		}
		last = &list[i]
	}
	switch {
	case last == nil:
		return
	case !sorted:
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b Effect) int { return comparePointers(a.Path, b.Path) })
	}
	w.begin(name, '{')
	first := true
	for i := range list {
		if list[i].Kind != kind {
			continue
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.member(&list[i])
	}
	w.out = append(w.out, '}')
}

func (w *effectsWriter) member(x *Effect) {
	w.out = append(x.Path.appendPointer(w.out), ':')
	if x.Kind != EffectTail {
		w.out = x.Value.appendTo(w.out)
		return
	}
	w.out = strconv.AppendInt(append(w.out, `{"from":`...), int64(x.From), 10)
	w.out = append(x.Value.appendTo(append(w.out, `,"items":`...)), '}')
}

// unsets appends the places that are not there, in the order of the effects.
func (w *effectsWriter) unsets(e Effects) {
	first := true
	for i := range e.list {
		if e.list[i].Kind != EffectUnset {
			continue
		}
		if first {
			w.begin("unset", '[')
		} else {
			w.out = append(w.out, ',')
		}
		first = false
		w.out = e.list[i].Path.appendPointer(w.out)
	}
	if !first {
		w.out = append(w.out, ']')
	}
}
