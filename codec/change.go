package codec

import (
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/shoalworks/shoal/doc"
)

// CheckChange reports what Decode of after would report of the places that edits have touched,
// given that it had nothing to report before them: edits are what led to after, as [doc.Diff]
// finds them. It costs what they touch; where a splice has moved items, their whole list.
func (c *Codec[T]) CheckChange(after doc.Value, edits []doc.Edit) error {
	d := decoder{}
	moved := slices.ContainsFunc(edits, func(e doc.Edit) bool { return e.Kind == doc.EditSplice })
	for i := range edits {
		e := &edits[i]
		p, v, ok := c.plan.touched(&d, after, e.Path.Segments(), moved && len(edits) > 1)
		switch {
		case !ok:
		case e.Kind == doc.EditSplice && len(edits) == 1 && p.typ.Kind() == reflect.Slice && v.Kind() == doc.KindList:
			p.inserted(&d, v, e)
		default:
			p.try(&d, v)
		}
		d.steps = d.steps[:0]
	}
	return errors.Join(d.errs...)
}

// touched goes down to the place of an edit, or to the first list on the way if items may have
// moved; ok is false where nothing is that the type knows.
func (p *plan) touched(d *decoder, v doc.Value, way []string, moved bool) (*plan, doc.Value, bool) {
	for _, name := range way {
		next, inside := p.below(name)
		if !inside || moved && v.Kind() == doc.KindList {
			break
		}
		if next == nil {
			return nil, v, false
		}
		at, ok := v.Member(name)
		if i, err := strconv.Atoi(name); err == nil && v.Kind() == doc.KindList && i >= 0 && i < v.Len() {
			at, ok = v.Index(i), true
		}
		if !ok {
			return nil, v, false
		}
		d.enter(name)
		p, v = next, at
	}
	return p, v, true
}

// inserted tries the items that a splice has put into a list.
func (p *plan) inserted(d *decoder, list doc.Value, e *doc.Edit) {
	elem, inside := p.below("")
	if !inside {
		p.try(d, list)
		return
	}
	for i := e.Index; i < min(e.Index+e.Value.Len(), list.Len()); i++ {
		d.enterItem(i)
		elem.try(d, list.Index(i))
		d.leave()
	}
}

// try decodes v for its errors alone.
func (p *plan) try(d *decoder, v doc.Value) { p.decode(d, v, reflect.New(p.typ).Elem()) }
