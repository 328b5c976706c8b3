package profile

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

// ListField is a field that holds a list of V.
type ListField[V any] struct {
	Field[[]V]
	item Field[V] // what is wrong with V is wrong with the list too
}

// ListOf is the list at a JSON Pointer.
func ListOf[V any](pointer string) ListField[V] {
	return ListField[V]{FieldOf[[]V](pointer), FieldOf[V](pointer)}
}

// Len is how many items the list has, 0 where none is.
func (f ListField[V]) Len(h Writable) int {
	v, _ := h.Data().Get(f.path)
	if v.Kind() != doc.KindList {
		return 0
	}
	return v.Len()
}

// at is item i of the list.
func (f ListField[V]) at(i int) Field[V] {
	it := f.item
	it.path = f.path.AppendIndex(i)
	return it
}

// At reads item i; there is false if the list has no such item.
func (f ListField[V]) At(h Writable, i int) (v V, there bool, err error) {
	if i < 0 {
		return v, false, f.err
	}
	it, data := f.at(i), h.Data()
	_, there = data.Get(it.path)
	v, err = it.In(data)
	return v, there, err
}

// SetAt puts v in the place of item i, which must be there (doc.ErrIndex).
func (f ListField[V]) SetAt(h Writable, src Source, i int, v V) (Commit, error) {
	if i < 0 {
		return Commit{}, fmt.Errorf("profile: field %q: %w: %d", f.path, doc.ErrIndex, i)
	}
	return f.at(i).Set(h, src, v)
}

// Append adds items behind the list; a missing one is created if its parent is there.
func (f ListField[V]) Append(h Writable, src Source, items ...V) (Commit, error) {
	all := make([]doc.Value, 0, len(items))
	for _, v := range items {
		x, err := f.item.encode(v)
		if err != nil {
			return Commit{}, err
		}
		all = append(all, x)
	}
	if f.err != nil {
		return Commit{}, f.err
	}
	return h.Transact(src, doc.AppendTo(f.path, all...))
}

// Insert puts v into the list so that it is item i, 0 to the list's length (doc.ErrIndex).
func (f ListField[V]) Insert(h Writable, src Source, i int, v V) (Commit, error) {
	x, err := f.item.encode(v)
	if err != nil {
		return Commit{}, err
	}
	return h.Transact(src, doc.InsertAt(f.path, i, x))
}

// Remove takes item i out of the list, which must have it (doc.ErrIndex).
func (f ListField[V]) Remove(h Writable, src Source, i int) (Commit, error) {
	if f.err != nil {
		return Commit{}, f.err
	}
	return h.Transact(src, doc.RemoveAt(f.path, i))
}

// MapField is a field that holds an object whose members are all V.
type MapField[V any] struct {
	Field[map[string]V]
	member Field[V]
}

// MapOf is the object at a JSON Pointer.
func MapOf[V any](pointer string) MapField[V] {
	return MapField[V]{FieldOf[map[string]V](pointer), FieldOf[V](pointer)}
}

// Member is the field under a name, which may hold any characters.
func (f MapField[V]) Member(name string) Field[V] {
	m := f.member
	m.path = f.path.Append(name)
	return m
}

// Len is how many members there are, 0 where no object is.
func (f MapField[V]) Len(h Writable) int {
	v, _ := h.Data().Get(f.path)
	if v.Kind() != doc.KindObject {
		return 0
	}
	return v.Len()
}

// At reads a member; there is false if there is none of this name.
func (f MapField[V]) At(h Writable, name string) (v V, there bool, err error) {
	m, data := f.Member(name), h.Data()
	_, there = data.Get(m.path)
	v, err = m.In(data)
	return v, there, err
}

// Put sets a member, whatever is there now.
func (f MapField[V]) Put(h Writable, src Source, name string, v V) (Commit, error) {
	return f.Member(name).Set(h, src, v)
}

// Delete takes a member away; if it is not there nothing happens.
func (f MapField[V]) Delete(h Writable, src Source, name string) (Commit, error) {
	return f.Member(name).Unset(h, src)
}
