package board

import (
	"errors"
	"maps"
	"slices"
)

// Check reports everything that is wrong with the options and their boards, as [New] would:
// a [RefusedError] for what is a board's, joined with the others. It does no I/O.
func (o *Options) Check() error {
	e, err := o.withDefaults()
	errs := []error{err}
	for _, name := range slices.Sorted(maps.Keys(e.Boards)) {
		_, err := e.Boards[name].withDefaults(name, &e)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
