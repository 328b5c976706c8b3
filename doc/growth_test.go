package doc_test

import (
	"testing"

	"github.com/shoalworks/shoal/doc"
)

// case P18: a document over its budget is refused with the path that grew.
func TestGrowthNamesThePlace(t *testing.T) {
	for _, tc := range []struct {
		before, after, path string
		bytes               int
	}{
		{`{"a":1}`, `{"a":1}`, "", 0},
		{`{"a":"xxxx"}`, `{"a":1}`, "", -5},
		{`{"a":{"b":"","c":1},"d":""}`, `{"a":{"b":"xxxxxxxxxx","c":1},"d":"x"}`, "/a/b", 10},
		{`{"a":{},"d":1}`, `{"a":{"new":[1,2,3]},"d":1}`, "/a/new", 7},
		{`{"a":"","b":""}`, `{"a":"xxx","b":"xxx"}`, "", 6},
		{`{"l":[1]}`, `{"l":[1,{"x":"yyyy"}]}`, "/l", 13},
		{`{"a":{"b":"xxxxxxxx"}}`, `{"a":{"c":"xxxxxxxxxxxxxxxxxxxx"}}`, "/a/c", 22},
		{`{"a":1,"b":1,"c":1}`, `{"b":11111,"c":11111}`, "/b", 4},
		{`1`, `[1,2,3]`, "", 6},
	} {
		path, bytes := doc.Growth(parse(t, tc.before), parse(t, tc.after))
		if path.String() != tc.path || bytes != tc.bytes {
			t.Errorf("%s to %s: %d at %q, want %d at %q", tc.before, tc.after, bytes, path, tc.bytes, tc.path)
		}
	}
}
