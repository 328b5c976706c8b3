package profile_test

import (
	"testing"

	"github.com/shoalworks/shoal/profile"
)

// An import that replaces a profile which has seen more does not take its revision back: the
// next commits would go by the numbers of others, and write over their rows of the audit log.
func TestAnImportDoesNotTakeARevisionBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		backup := exportOf(t, [2]string{"u", freeRecord(1, 1, 1)})
		mustImport(t, a, backup, nil)
		s := a.load("u", nil)
		award(t, s, ann, 1) // revision 2
		award(t, s, ann, 1)
		release(t, s)
		over := &profile.ImportOptions{Overwrite: profile.Replace}
		if r := mustImport(t, a, backup, over); r.Replaced != 1 || f.stored("u").Revision != 4 || coins(f.storedData("u")) != 1 {
			t.Errorf("%+v, %+v", r, f.stored("u"))
		}
		if r := mustImport(t, a, backup, over); r.Same != 1 {
			t.Errorf("again: %+v", r)
		}
		s = a.load("u", nil)
		award(t, s, ann, 7)
		release(t, s)
		log, err := a.Audit(t.Context(), "u", nil)
		if err != nil || len(log) != 3 {
			t.Errorf("the log of what was done: %+v, %v", log, err)
		}
	})
}
