package profile_test

import (
	"errors"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

func plantData(f *fleet, data string) {
	f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":`+data+`,"epoch":1,"revision":7,"schema":1,"session":null}`)
}

// What is stored is opened with derived fields that are right, whoever has written it; and
// what would be refused as a change is no reason not to open it.
func TestALoadComputesDerivedFields(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantData(f, `{"coins":777,"gems":5,"level":99,"list":[],"name":"x","xp":1300}`)
		a := f.start("a", strict(t))
		s := a.load("u", nil)
		if want := `{"coins":777,"gems":5,"level":13,"list":[],"name":"x","xp":1300}`; s.Data().String() != want || s.Revision() != 8 {
			t.Errorf("%v, revision %d, want %s", s.Data(), s.Revision(), want)
		}
		release(t, s)
		s = a.load("u", nil) // and there is nothing to compute now
		if s.Revision() != 8 {
			t.Errorf("revision %d", s.Revision())
		}
	})
}

func TestALoadRefusesWhatHasNotItsForm(t *testing.T) {
	for name, data := range map[string]string{
		"schema":   `{"coins":1,"name":5,"xp":0}`,
		"validity": `{"coins":-1,"name":"x","xp":0}`,
		"derived":  `{"coins":1,"name":"x","xp":"many"}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				plantData(f, data)
				a := f.start("a", strict(t))
				err := a.fails("u", nil, profile.ErrSchema)
				var r *profile.RefusedError
				if !errors.As(err, &r) || len(r.Violations) != 1 {
					t.Error(err)
				}
				f.free("u")
				if after := f.stored("u"); string(after.Data) != data || after.Revision != 7 {
					t.Errorf("%s became %s, revision %d", data, after.Data, after.Revision)
				}
			})
		})
	}
}

func TestAPanicOfADerivedFieldRefusesTheLoad(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		seed(t, f, "u", 5)
		a := f.start("a", &profile.Options{Derived: []profile.Derived{{Path: doc.MustPath("/d"), Compute: func([]doc.Value) (doc.Value, error) { panic("boom") }}}})
		var p *profile.PanicError
		if err := a.fails("u", nil, profile.ErrSchema); !errors.As(err, &p) || p.Value != "boom" {
			t.Error(err)
		}
		f.free("u")
		if n := a.Stats().Panics; n != 1 {
			t.Errorf("%d panics", n)
		}
	})
}

// A panic is one panic, wherever it comes from.
func TestPanicsOfRulesAreCountedOnce(t *testing.T) {
	boom := func(v doc.Value) {
		if coins(v) == 1 {
			panic("boom")
		}
	}
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{
			Validate: func(v doc.Value) error { boom(v); return nil },
			Guards:   []profile.Guard{{Name: "soft", Mode: profile.ReportOnly, Check: func(c profile.Change) []profile.Violation { boom(c.After); return nil }}},
		})
		_, err := a.load("u", nil).Transact(game, doc.Set("/coins", doc.Int(1)))
		var r *profile.RefusedError
		if !errors.As(err, &r) || len(r.Violations) != 2 || a.Stats().Panics != 2 {
			t.Errorf("%v, %d panics counted", err, a.Stats().Panics)
		}
	})
}

func TestDryRunChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", strict(t))
		s := a.load("u", nil)
		heard := 0
		s.OnCommit(func(profile.Commit) { heard++ })
		before, revision, stats := s.Data(), s.Revision(), a.Stats()
		dry, err := s.DryRun(game, doc.Increment("/xp", 100))
		if err != nil || len(dry.Violations) > 0 || dry.Data.String() != `{"coins":10,"level":1,"list":[1],"name":"x","xp":100}` {
			t.Errorf("%+v, %v", dry, err)
		}
		if made, err := doc.ApplyEdits(before, dry.Edits); err != nil || !made.Equal(dry.Data) || len(dry.Edits) != 3 {
			t.Errorf("the edits make %v, %v", made, err)
		}
		dry, err = s.DryRun(game, doc.Increment("/xp", 100), doc.Set("/gems", doc.Int(1)), doc.Set("/coins", doc.Int(-11)))
		if err != nil || len(dry.Violations) != 2 || len(dry.Edits) > 0 || !dry.Data.Equal(before) {
			t.Errorf("%+v, %v", dry, err)
		}
		if !s.Data().Equal(before) || s.Revision() != revision || heard != 0 || a.Stats() != stats {
			t.Errorf("%v, revision %d, heard %d, %+v", s.Data(), s.Revision(), heard, a.Stats())
		}
		release(t, s)
		if _, err := s.DryRun(game, doc.Increment("/xp", 100)); !errors.Is(err, profile.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A dry run on what a view shows goes on from what a load would make of it.
func TestDryRunOfDataThatIsNotOpen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", strict(t))
		dry, err := a.DryRun(doc.Must(map[string]any{"coins": 1, "xp": 300, "level": 9}), game, doc.Increment("/coins", 1))
		if err != nil || dry.Data.String() != `{"coins":2,"level":3,"list":[1],"name":"x","xp":300}` || len(dry.Edits) != 1 {
			t.Errorf("%+v, %v", dry, err)
		}
		if dry, err = a.DryRun(dry.Data, game, doc.Set("/level", doc.Int(1))); err != nil || len(dry.Violations) != 1 || dry.Data.IsNull() {
			t.Errorf("%+v, %v", dry, err)
		}
		if _, err := a.DryRun(doc.Must(map[string]any{"name": 1}), game); !errors.Is(err, profile.ErrSchema) {
			t.Errorf("what no load would open: %v", err)
		}
	})
}
