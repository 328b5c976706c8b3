package schema

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

// Schema is a compiled JSON Schema. It never changes, and is safe for any number of
// goroutines.
type Schema struct {
	text []byte
	root *rule
}

// MaxViolations is how many violations one check reports at most; it stops looking after
// that many.
const MaxViolations = 100

// Violation is one way in which a value is not as the schema wants it.
type Violation struct {
	// Path is the place in the value. What is missing is named by the place where it should be.
	Path doc.Path
	// Rule is the keyword of the schema that is not kept, such as "minimum"; it is "false"
	// where the schema allows nothing at all.
	Rule string
	// Problem says what is wrong, for people.
	Problem string
}

// String is the path, what is wrong there, and the keyword.
func (v Violation) String() string {
	return fmt.Sprintf("%q: %s (%s)", v.Path, v.Problem, v.Rule)
}

// Text returns the schema as JSON Schema, in fresh bytes.
func (s *Schema) Text() []byte { return append([]byte(nil), s.text...) }

// Check reports everything in v that is not as the schema wants it, members in order of their
// names, at most [MaxViolations]. Nil is a valid value.
func (s *Schema) Check(v doc.Value) []Violation {
	c := checker{limit: MaxViolations}
	c.value(s.root, v)
	return c.found
}

// CheckChange reports what a change has made wrong: edits are what turned before into after,
// as [doc.Diff] finds them. It looks only at what the edits put there, and at the rules of
// the lists and objects on the way to it; so its cost follows the change, not the document.
//
// What was wrong before, in places that the edits do not touch, is not reported: neither by
// itself nor through the lists and objects around it. If before has no violation, then
// CheckChange reports something exactly when Check of after does. Rules that look at a whole
// subtree (anyOf, oneOf, not, if, contains, uniqueItems, dependentSchemas, unevaluated…) are
// evaluated for the whole subtree when anything in it is touched.
func (s *Schema) CheckChange(before, after doc.Value, edits []doc.Edit) []Violation {
	if len(edits) == 0 {
		return nil
	}
	c := checker{limit: MaxViolations}
	t := touched(edits)
	c.change(s.root, after, old{before, true}, &t)
	return c.found
}
