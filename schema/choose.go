package schema

import "github.com/shoalworks/shoal/doc"

// choose checks what needs a yes or no about the whole value.
func (c *checker) choose(o *choices, v doc.Value) {
	if o.hasNot && fits(o.not, v) {
		c.fail("not", "it is what is ruled out here")
	}
	if len(o.any) > 0 {
		c.anyOf(o.any, v)
	}
	if len(o.one) > 0 {
		c.onlyOne(o.one, v)
	}
	if !o.hasTest {
		return
	}
	if fits(o.test, v) {
		c.value(o.yes, v)
	} else {
		c.value(o.no, v)
	}
}

func (c *checker) anyOf(some []*rule, v doc.Value) {
	for _, r := range some {
		if fits(r, v) {
			return
		}
	}
	c.none("anyOf", some, v)
}

func (c *checker) onlyOne(one []*rule, v doc.Value) {
	fit := 0
	for _, r := range one {
		if fits(r, v) {
			fit++
		}
		if fit > 1 {
			c.fail("oneOf", "it fits more than one of the %d alternatives", len(one))
			return
		}
	}
	if fit == 0 {
		c.none("oneOf", one, v)
	}
}

// none reports that v fits no alternative. If only one of them is for values of v's type, what
// that one says is what the author of the value wants to hear.
func (c *checker) none(keyword string, alternatives []*rule, v doc.Value) {
	var meant *rule
	for _, r := range alternatives {
		if r == nil || r.never || !r.types.allows(v) {
			continue
		}
		if meant != nil {
			c.fail(keyword, "it fits none of the %d alternatives", len(alternatives))
			return
		}
		meant = r
	}
	if meant == nil {
		c.fail(keyword, "it fits none of the %d alternatives", len(alternatives))
		return
	}
	c.value(meant, v)
}
