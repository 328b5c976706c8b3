package schema

import (
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/shoalworks/shoal/doc"
)

// rule is one compiled subschema. A rule without any demand is nil.
type rule struct {
	source *jsonschema.Schema

	never   bool   // nothing is allowed here
	keyword string // which one forbids it; empty: it is the schema false
	whole   bool   // only the library can tell, and only of a whole subtree

	types   kinds
	oneOf   []doc.Value // enum or const
	listed  string      // which of the two; empty: neither
	numbers *numberRule
	text    *textRule
	object  *objectRule
	list    *listRule

	all     []*rule // $ref and allOf
	choices *choices
}

// kinds are the types that a rule allows.
type kinds struct {
	set      bool // there is a "type" at all
	allowed  [doc.KindObject + 1]bool
	integral bool // floats only without a fraction
	names    string
}

type numberRule struct {
	min, max, above, below *bound
	multipleOf             *big.Rat
}

// textRule is about strings; a negative length is none.
type textRule struct {
	minLen, maxLen int
	pattern        jsonschema.Regexp
}

// objectRule is about objects; a negative number is none.
type objectRule struct {
	min, max int
	required []string
	names    *rule // for each name
	named    map[string]*rule
	order    []string // the names in named, sorted
	patterns []patternRule
	others   *rule // for members that no other rule is about

	needs []dependentNames // dependentRequired
	then  []dependentRule  // dependentSchemas
}

// dependentNames are the members that have to be there if one is.
type dependentNames struct {
	name  string
	needs []string
}

// dependentRule is what the object has to be if a member is there.
type dependentRule struct {
	name string
	rule *rule
}

// patternRule is about the members whose names match.
type patternRule struct {
	pattern jsonschema.Regexp
	rule    *rule
}

// listRule is about lists; a negative number is none.
type listRule struct {
	min, max int
	prefix   []*rule
	items    *rule
	unique   bool
	contains *containsRule
}

type containsRule struct {
	rule     *rule
	min, max int
}

// choices are the rules that need a yes or no about a whole value.
type choices struct {
	any, one []*rule

	not     *rule
	hasNot  bool
	test    *rule // if
	hasTest bool
	yes, no *rule // then and else
}

// member returns the rules for a member with this name; calling it for each is up to the caller.
func (o *objectRule) member(name string, each func(*rule)) {
	covered := false
	if r, ok := o.named[name]; ok {
		covered = true
		each(r)
	}
	for _, p := range o.patterns {
		if p.pattern.MatchString(name) {
			covered = true
			each(p.rule)
		}
	}
	if !covered {
		each(o.others)
	}
}

// at is the rule for the item at a position.
func (l *listRule) at(i int) *rule {
	if i < len(l.prefix) {
		return l.prefix[i]
	}
	return l.items
}

// allows reports whether a type admits v.
func (k *kinds) allows(v doc.Value) bool {
	if !k.set {
		return true
	}
	kind := v.Kind()
	if !k.allowed[kind] {
		return false
	}
	return kind != doc.KindFloat || !k.integral || isIntegral(v)
}
