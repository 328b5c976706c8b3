package profile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// files are fixtures by their names.
func files(texts map[string]string) fstest.MapFS {
	out := make(fstest.MapFS, len(texts))
	for name, text := range texts {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestFixturesThatPass(t *testing.T) {
	err := profile.CheckMigrations(inTenths(0), files(map[string]string{
		"v1/rich.json":      `{"coins":41,"rest":3}`,
		"v1/rich.want.json": `{"coins":413}`,
		"v1/poor.json":      `{}`,
		"v2/new.json":       `{"coins":7}`,
		"README":            `no fixture`,
	}))
	if err != nil {
		t.Errorf("%v", err)
	}
}

func TestFixturesReportEverythingThatIsWrong(t *testing.T) {
	calls := int64(0)
	opts := &profile.Options{
		Schema: 3,
		Migrations: []profile.Migration{
			{To: 2, Up: func(v doc.Value) (doc.Value, error) {
				if _, ok := v.Member("cursed"); ok {
					return v, errors.New("cursed")
				}
				if _, ok := v.Member("dice"); ok {
					calls++
					return doc.Apply(v, doc.Set("/dice", doc.Int(calls)))
				}
				return v, nil
			}, Down: func(v doc.Value) (doc.Value, error) {
				return doc.Apply(v, doc.Set("/hat", doc.Null()), doc.Unset("/hat"))
			}},
			{To: 3, Down: profile.AsItIs},
		},
		Validate: func(v doc.Value) error {
			if coins(v) < 0 {
				return errors.New("in debt")
			}
			return nil
		},
	}
	err := profile.CheckMigrations(opts, files(map[string]string{
		"v1/cursed.json":      `{"cursed":true}`,
		"v1/dice.json":        `{"dice":0}`,
		"v1/debt.json":        `{"coins":-1}`,
		"v1/broken.json":      `{"coins":`,
		"v1/want.json":        `{"a":[1,2,3],"b":1,"c":2}`,
		"v1/want.want.json":   `{"a":[1,3],"b":2,"d":2}`,
		"v1/lonely.want.json": `{}`,
		"v3/hat.json":         `{"hat":{"color":"red"}}`,
		"v4/later.json":       `{}`,
		"v02/odd.json":        `{}`,
		"stray.json":          `{}`,
	}))
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{
		"v1/cursed.json: migration failed: up of 2: cursed",
		`v1/dice.json: "/dice": 1 expected, another time 2`,
		`v1/dice.json: migration failed: down to 1 and up again changes "/dice"`,
		"v1/debt.json: data is not valid: refused: validate: in debt",
		"v1/broken.json: ",
		`v1/want.want.json: "/a": [1,3] expected, it became [1,2,3]`,
		`v1/want.want.json: "/b": 2 expected, it became 1`,
		`v1/want.want.json: "/c": nothing expected, it became 2`,
		`v1/want.want.json: "/d": 2 expected, it became nothing`,
		"v1/lonely.want.json: no fixture beside it",
		"v2: no fixture of this version",
		`v3/hat.json: migration failed: down to 1 and up again changes "/hat"`,
		"v4/later.json: written by a newer release",
		"v02/odd.json: a file in v1, v2, … expected",
		"stray.json: a file in v1, v2, … expected",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 15 {
		t.Errorf("%d problems:\n%v", len(lines), err)
	}
}

func TestCheckMigrationsReportsBadOptions(t *testing.T) {
	if err := profile.CheckMigrations(&profile.Options{Migrations: []profile.Migration{{To: 7}}, Schema: 2}, fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "Migrations") {
		t.Errorf("%v", err)
	}
}

// petsUp and petsDown are the migration of docs/migrations.md.
func petsUp(v doc.Value) (doc.Value, error) {
	pet, has := v.Member("pet")
	pets, _ := v.Member("pets") // as petsDown keeps them
	switch {
	case has && pets.Len() > 0: // the older release may have changed it
		return doc.Apply(v, doc.Unset("/pet"), doc.Set("/pets/0", pet))
	case has:
		return doc.Apply(v, doc.Unset("/pet"), doc.Set("/pets", doc.List(pet)))
	case pets.Len() > 0: // or taken it away
		return doc.Apply(v, doc.RemoveAt("/pets", 0))
	}
	return v, nil // the template adds the empty list
}

// petsDown keeps all pets, which the older release does not know, and shows it the first.
func petsDown(v doc.Value) (doc.Value, error) {
	pets, _ := v.Member("pets")
	if pets.Len() == 0 {
		return v, nil
	}
	return doc.Apply(v, doc.Set("/pet", pets.Index(0)))
}

// In a game's own test the fixtures are files: os.DirFS("testdata/players").
func ExampleCheckMigrations() {
	opts := &profile.Options{
		Template:   doc.Must(map[string]any{"pets": []any{}}),
		Migrations: []profile.Migration{{To: 2, Note: "pet became a list, pets", Up: petsUp, Down: petsDown}},
	}
	err := profile.CheckMigrations(opts, fstest.MapFS{
		"v1/cat.json":       {Data: []byte(`{"pet":"cat"}`)},
		"v1/cat.want.json":  {Data: []byte(`{"pets":["cat"]}`)},
		"v1/none.json":      {Data: []byte(`{}`)},
		"v1/none.want.json": {Data: []byte(`{"pets":null}`)},
		"v1/back.json":      {Data: []byte(`{"pet":"dog","pets":["cat","cod"]}`)},
		"v1/back.want.json": {Data: []byte(`{"pets":["dog","cod"]}`)},
		"v1/gone.json":      {Data: []byte(`{"pets":["cat","cod"]}`)},
		"v1/gone.want.json": {Data: []byte(`{"pets":["cod"]}`)},
		"v2/two.json":       {Data: []byte(`{"pets":["dog","cod"]}`)},
	})
	fmt.Println(err)
	// Output: v1/none.want.json: "/pets": null expected, it became []
}

func ExampleMigrate() {
	opts := &profile.Options{
		Template:   doc.Must(map[string]any{"coins": 0, "gems": 5}),
		Migrations: []profile.Migration{{To: 2, Note: "gems"}},
	}
	fmt.Println(profile.Migrate(doc.Must(map[string]any{"coins": 12}), 1, opts))
	// Output: {"coins":12,"gems":5} <nil>
}
