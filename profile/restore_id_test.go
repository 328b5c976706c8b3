package profile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/shoalworks/shoal/profile"
)

// An id belongs to one request: a restore under that of an edit is no restore, and says so; the
// same restore again is made once.
func TestARestoreUnderAKnownIDIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", quickly())
		s := a.load("u", nil)
		add(t, s, 1)
		save(t, s)
		time.Sleep(2 * time.Minute)
		add(t, s, 1)
		save(t, s) // keeps revision 1
		if _, err := a.edit("u", "e1"); err != nil {
			t.Fatal(err)
		}
		if out, err := s.Restore(t.Context(), operator("e1"), 1); !errors.Is(err, profile.ErrRepeated) || coins(s.Data()) != 12 {
			t.Errorf("under the edit's id: %+v, %v, %v", out, err, s.Data())
		}
		if _, err := s.Restore(t.Context(), operator("r1"), 1); err != nil || coins(s.Data()) != 1 {
			t.Fatal(err, s.Data())
		}
		add(t, s, 5)
		if out, err := s.Restore(t.Context(), operator("r1"), 1); err != nil || !out.Commit.Repeated || coins(s.Data()) != 6 {
			t.Errorf("again: %+v, %v, %v", out, err, s.Data())
		}
		if _, err := a.edit("u", "r1"); !errors.Is(err, profile.ErrRepeated) {
			t.Errorf("an edit under the restore's id: %v", err)
		}
	})
}
