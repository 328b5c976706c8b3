package schema

import (
	"slices"
	"strconv"

	"github.com/shoalworks/shoal/doc"
)

// old is what was at a place before a change, if that is known: below a list whose items
// have moved it is not.
type old struct {
	value doc.Value
	known bool
}

// member is what was under a name of an object; there tells whether anything was.
func (o old) member(name string) (was old, there bool) {
	m, ok := o.value.Member(name)
	return old{m, ok}, ok
}

// change checks what is touched of v.
func (c *checker) change(r *rule, v doc.Value, was old, t *touch) {
	if r == nil || c.done() {
		return
	}
	if t.whole || r.whole || v.Kind() < doc.KindList {
		c.value(r, v)
		return
	}
	// It was a list or an object before, and still is: what the rule says of its type is as
	// true as it was.
	c.enumerated(r, v)
	for _, also := range r.all {
		c.change(also, v, was, t)
	}
	if o := r.object; o != nil && v.Kind() == doc.KindObject {
		c.changedObject(o, v, was, t)
	}
	if l := r.list; l != nil && v.Kind() == doc.KindList {
		c.changedList(l, v, was, t)
	}
	if r.choices != nil {
		c.choose(r.choices, v)
	}
}

func (c *checker) changedObject(o *objectRule, v doc.Value, was old, t *touch) {
	if !was.known || was.value.Len() != v.Len() {
		c.members(o, v)
	}
	c.changedDependents(o, v, t)
	for i := range t.kids {
		k := &t.kids[i]
		m, ok := v.Member(k.name)
		if !ok {
			if slices.Contains(o.required, k.name) {
				c.missing(k.name)
			}
			continue
		}
		before, there := was.member(k.name)
		c.enter(k.name)
		if !there {
			c.memberName(o, k.name)
		}
		o.member(k.name, func(r *rule) { c.change(r, m, before, &k.touch) })
		c.leave()
	}
}

// changedDependents checks what the presence of members demands: of the members that are
// touched, and of the whole object.
func (c *checker) changedDependents(o *objectRule, v doc.Value, t *touch) {
	for _, d := range o.needs {
		if _, ok := v.Member(d.name); !ok {
			continue
		}
		given := t.find(d.name) >= 0
		for _, name := range d.needs {
			if given || t.find(name) >= 0 {
				c.needed(d.name, name, v)
			}
		}
	}
	c.dependentRules(o, v)
}

func (c *checker) changedList(l *listRule, v doc.Value, was old, t *touch) {
	if t.shifts {
		c.items(l, v)
	}
	c.together(l, v)
	if t.shifts && len(l.prefix) > 0 {
		c.allItems(l, v) // Items that moved may stand under another rule now.
		return
	}
	if len(l.prefix) == 0 && l.items == nil {
		return
	}
	for i := range t.kids {
		k := &t.kids[i]
		pos, err := strconv.Atoi(k.name)
		if err != nil || pos < 0 || pos >= v.Len() {
			continue
		}
		var before old
		if !t.shifts && was.known && pos < was.value.Len() {
			before = old{was.value.Index(pos), true}
		}
		c.enterItem(pos)
		c.change(l.at(pos), v.Index(pos), before, &k.touch)
		c.leave()
	}
}
