package profile_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// A tool that does not know the game's form of data opens, changes and stores it as it is,
// whatever its version, and makes no profile.
func TestAToolTakesDataAsItIsStored(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		game := f.start("game", &profile.Options{Template: doc.Must(map[string]any{"coins": 0, "level": 1}), Schema: 7})
		s := game.load("u", nil)
		add(t, s, 5)
		release(t, s)

		tool := f.start("tool", &profile.Options{AsStored: true})
		s = tool.load("u", &profile.LoadOptions{Quiet: true})
		if _, err := s.Transact(profile.Source{Kind: profile.SourceOperator}, doc.Unset("/level"), doc.Increment("/coins", 2)); err != nil {
			t.Fatal(err)
		}
		release(t, s)
		v, err := tool.Read(t.Context(), "u")
		if want := doc.Must(map[string]any{"coins": 7}); err != nil || v.Schema != 7 || !v.Data.Equal(want) {
			t.Errorf("stored as schema %d, %v (%v); want 7, %v", v.Schema, v.Data, err, want)
		}
		tool.fails("nobody", nil, profile.ErrNoProfile)
		if _, err := tool.Read(t.Context(), "nobody"); !errors.Is(err, profile.ErrNoProfile) {
			t.Errorf("afterwards: %v", err)
		}
		if s = game.load("u", nil); !s.Data().Equal(doc.Must(map[string]any{"coins": 7, "level": 1})) {
			t.Errorf("the game sees %v", s.Data())
		}
	})
}

func TestAsStoredRefusesWhatSaysHowDataLooks(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		n := f.start("a", nil)
		_, err := profile.New(n.node, "tool", &profile.Options{AsStored: true, Schema: 2, Validate: func(doc.Value) error { return nil }})
		if err == nil || !strings.Contains(err.Error(), "Schema, Validate must be unset") {
			t.Errorf("got %v", err)
		}
	})
}

// A tool cannot bring a version up to the form that the profile has by now: it does not try.
func TestAToolRestoresNoOlderForm(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		old := f.start("old", &profile.Options{VersionEvery: time.Second})
		s := old.load("u", nil)
		for range 2 {
			add(t, s, 5)
			save(t, s)
			time.Sleep(2 * time.Second)
		}
		add(t, s, 5)
		release(t, s)
		v, err := old.Versions(t.Context(), "u")
		if err != nil || len(v) == 0 {
			t.Fatalf("%v, %v", v, err)
		}
		game := f.start("game", &profile.Options{Migrations: []profile.Migration{{To: 2, Up: profile.AsItIs}}})
		release(t, game.load("u", nil))
		before := f.durable(profileKey("u")).Value

		tool := f.start("tool", &profile.Options{AsStored: true})
		if _, err := tool.Restore(t.Context(), "u", profile.Source{}, v[0].Revision); !errors.Is(err, profile.ErrMigration) {
			t.Errorf("%v", err)
		}
		if got := f.stored("u"); got.Schema != 2 || got.Session != nil {
			t.Errorf("stored %+v, was %s", got, before)
		}
		if out, err := game.Restore(t.Context(), "u", profile.Source{}, v[0].Revision); err != nil || out.Commit.Revision == 0 {
			t.Errorf("the game's own release: %+v, %v", out, err)
		}
	})
}
