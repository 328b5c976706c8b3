package shoal

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shoalworks/shoal/doc"
)

// overlapProblems reports seasons of one set that keep their blocks in one place, or one inside
// of the other: each would take the other's counters and titles for its own.
func (o *Options) overlapProblems() []error {
	var errs []error
	names := slices.Sorted(maps.Keys(o.Seasons))
	for i, name := range names {
		for _, before := range names[:i] {
			a, okA := o.Seasons[before].block(before)
			b, okB := o.Seasons[name].block(name)
			if o.Seasons[before].Set == o.Seasons[name].Set && okA && okB && (a.HasPrefix(b) || b.HasPrefix(a)) {
				errs = append(errs, fmt.Errorf("shoal: options: Seasons[%s].Rules.Path: a place apart from that of %s (%s) expected, got %s", name, before, a, b))
			}
		}
	}
	return errs
}

// block is where a season's block is; what is no path is reported by package season.
func (s Season) block(name string) (doc.Path, bool) {
	if s.Rules.Path == "" {
		return doc.P("seasons", name), true
	}
	path, err := doc.ParsePath(s.Rules.Path)
	return path, err == nil
}
