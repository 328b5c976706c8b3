package schema

import (
	"cmp"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/shoalworks/shoal/doc"
)

// checker walks a value along a rule, and collects what is wrong.
type checker struct {
	path  []step
	found []Violation
	limit int

	silent bool // only whether anything is wrong is asked for
	failed bool
}

// step is one segment of a path: a name, or a position if the name is empty and pos is not negative.
type step struct {
	name string
	pos  int
}

// fits reports whether v is as the rule wants it.
func fits(r *rule, v doc.Value) bool {
	c := checker{silent: true}
	c.value(r, v)
	return !c.failed
}

// done tells that nothing more needs to be found.
func (c *checker) done() bool {
	if c.silent {
		return c.failed
	}
	return len(c.found) >= c.limit
}

// fail notes that a keyword is not kept at the present place, or at a name below it.
func (c *checker) fail(keyword, format string, args ...any) {
	if c.silent {
		c.failed = true
		return
	}
	if !c.done() {
		c.found = append(c.found, Violation{Path: c.place(), Rule: keyword, Problem: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) place() doc.Path {
	names := make([]string, len(c.path))
	for i, s := range c.path {
		if names[i] = s.name; s.pos >= 0 {
			names[i] = strconv.Itoa(s.pos)
		}
	}
	return doc.P(names...)
}

func (c *checker) enter(name string) { c.path = append(c.path, step{name, -1}) }
func (c *checker) enterItem(i int)   { c.path = append(c.path, step{"", i}) }
func (c *checker) leave()            { c.path = c.path[:len(c.path)-1] }

// value checks all of v.
func (c *checker) value(r *rule, v doc.Value) {
	if r == nil || c.done() {
		return
	}
	if r.whole {
		c.byLibrary(r, v)
		return
	}
	if !c.itself(r, v) {
		return
	}
	for _, also := range r.all {
		c.value(also, v)
	}
	switch v.Kind() {
	case doc.KindObject:
		if r.object != nil {
			c.object(r.object, v)
		}
	case doc.KindList:
		if r.list != nil {
			c.list(r.list, v)
		}
	case doc.KindNull, doc.KindBool, doc.KindInt, doc.KindFloat, doc.KindString:
	}
	if r.choices != nil {
		c.choose(r.choices, v)
	}
}

// itself checks what can be said of v without looking into it, and reports whether it makes
// sense to go on.
func (c *checker) itself(r *rule, v doc.Value) bool {
	if r.never {
		c.fail(cmp.Or(r.keyword, "false"), "nothing is allowed here")
		return false
	}
	if !r.types.allows(v) {
		c.fail("type", "want %s, got %s", r.types.names, typeName(v))
		return false
	}
	c.enumerated(r, v)
	if r.numbers != nil && isNumber(v) {
		c.number(r.numbers, v)
	}
	if r.text != nil && v.Kind() == doc.KindString {
		c.text(r.text, v)
	}
	return true
}

// enumerated checks that v is one of the values listed, if there is a list.
func (c *checker) enumerated(r *rule, v doc.Value) {
	if r.oneOf == nil {
		return
	}
	for _, w := range r.oneOf {
		if same(v, w) {
			return
		}
	}
	c.fail(r.listed, "want %s, got %s", oneOfText(r.oneOf), shown(v))
}

func (c *checker) number(n *numberRule, v doc.Value) {
	if n.min != nil && n.min.compare(v) < 0 {
		c.fail("minimum", "want at least %s, got %s", n.min, v)
	}
	if n.max != nil && n.max.compare(v) > 0 {
		c.fail("maximum", "want at most %s, got %s", n.max, v)
	}
	if n.above != nil && n.above.compare(v) <= 0 {
		c.fail("exclusiveMinimum", "want more than %s, got %s", n.above, v)
	}
	if n.below != nil && n.below.compare(v) >= 0 {
		c.fail("exclusiveMaximum", "want less than %s, got %s", n.below, v)
	}
	if n.multipleOf != nil && !multipleOf(v, n.multipleOf) {
		c.fail("multipleOf", "want a multiple of %s, got %s", ratText(n.multipleOf), v)
	}
}

func (c *checker) text(t *textRule, v doc.Value) {
	s, _ := v.AsString()
	if t.minLen >= 0 || t.maxLen >= 0 {
		n := utf8.RuneCountInString(s)
		if n < t.minLen {
			c.fail("minLength", "want at least %d characters, got %d", t.minLen, n)
		}
		if t.maxLen >= 0 && n > t.maxLen {
			c.fail("maxLength", "want at most %d characters, got %d", t.maxLen, n)
		}
	}
	if t.pattern != nil && !t.pattern.MatchString(s) {
		c.fail("pattern", "want a match of %s, got %s", t.pattern, shown(v))
	}
}

func (c *checker) object(o *objectRule, v doc.Value) {
	c.members(o, v)
	for _, name := range o.required {
		if _, ok := v.Member(name); !ok {
			c.missing(name)
		}
	}
	c.dependents(o, v)
	if o.names == nil && len(o.patterns) == 0 && o.others == nil && len(o.named) < v.Len() {
		c.named(o, v)
		return
	}
	for name, m := range v.Members() {
		if c.done() {
			return
		}
		c.enter(name)
		c.memberName(o, name)
		o.member(name, func(r *rule) { c.value(r, m) })
		c.leave()
	}
}

// named checks an object of which only some members are of interest.
func (c *checker) named(o *objectRule, v doc.Value) {
	for _, name := range o.order {
		if m, ok := v.Member(name); ok {
			c.enter(name)
			c.value(o.named[name], m)
			c.leave()
		}
	}
}

// members checks how many there are.
func (c *checker) members(o *objectRule, v doc.Value) {
	if v.Len() < o.min {
		c.fail("minProperties", "want at least %d members, got %d", o.min, v.Len())
	}
	if o.max >= 0 && v.Len() > o.max {
		c.fail("maxProperties", "want at most %d members, got %d", o.max, v.Len())
	}
}

func (c *checker) missing(name string) {
	c.enter(name)
	c.fail("required", "missing")
	c.leave()
}

// memberName checks a name; the checker stands at the member.
func (c *checker) memberName(o *objectRule, name string) {
	if o.names == nil {
		return
	}
	if !fits(o.names, doc.MustString(name)) {
		c.fail("propertyNames", "no name for a member here")
	}
}

// dependents checks what the presence of members demands of the object.
func (c *checker) dependents(o *objectRule, v doc.Value) {
	for _, d := range o.needs {
		if _, ok := v.Member(d.name); !ok {
			continue
		}
		for _, name := range d.needs {
			c.needed(d.name, name, v)
		}
	}
	c.dependentRules(o, v)
}

// needed checks that a member is there, since another one is.
func (c *checker) needed(given, name string, v doc.Value) {
	if _, ok := v.Member(name); ok {
		return
	}
	c.enter(name)
	c.fail("dependentRequired", "missing, although %q is there", given)
	c.leave()
}

func (c *checker) dependentRules(o *objectRule, v doc.Value) {
	for _, d := range o.then {
		if _, ok := v.Member(d.name); ok {
			c.value(d.rule, v)
		}
	}
}

func (c *checker) list(l *listRule, v doc.Value) {
	c.items(l, v)
	c.together(l, v)
	c.allItems(l, v)
}

func (c *checker) allItems(l *listRule, v doc.Value) {
	if len(l.prefix) == 0 && l.items == nil {
		return
	}
	for i, item := range v.Items() {
		if c.done() {
			return
		}
		c.enterItem(i)
		c.value(l.at(i), item)
		c.leave()
	}
}

// items checks how many there are.
func (c *checker) items(l *listRule, v doc.Value) {
	if v.Len() < l.min {
		c.fail("minItems", "want at least %d items, got %d", l.min, v.Len())
	}
	if l.max >= 0 && v.Len() > l.max {
		c.fail("maxItems", "want at most %d items, got %d", l.max, v.Len())
	}
}

// together checks the rules that look at all items.
func (c *checker) together(l *listRule, v doc.Value) {
	if l.unique {
		if i, j, found := twice(v); found {
			c.fail("uniqueItems", "items %d and %d are the same", i, j)
		}
	}
	if l.contains == nil || c.done() {
		return
	}
	n := 0
	for _, item := range v.Items() {
		if fits(l.contains.rule, item) {
			n++
		}
	}
	if least := l.contains.min; n < least {
		c.fail("contains", "want at least %d items of the kind asked for, got %d", least, n)
	}
	if most := l.contains.max; most >= 0 && n > most {
		c.fail("maxContains", "want at most %d items of the kind asked for, got %d", most, n)
	}
}
