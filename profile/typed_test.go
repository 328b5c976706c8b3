package profile_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/codec"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/schema"
)

// pilot is the type of the typed tests.
type pilot struct {
	Coins int            `json:"coins" shoal:"min=0,max=1000"`
	Name  string         `json:"name" shoal:"maxlen=8"`
	Bag   map[string]int `json:"bag"`
	Log   []trip         `json:"log"`
	Seen  time.Time      `json:"seen,omitzero"`
}

type trip struct {
	To   string `json:"to" shoal:"required"`
	Days int    `json:"days"`
}

// typedOptions are those of a set of pilots.
func typedOptions(t *testing.T, o *profile.Options) *profile.Options {
	t.Helper()
	opts, err := profile.OptionsFor[pilot](o)
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

// pilots is the set of a server, seen as one of pilots.
func pilots(t *testing.T, s *server) *profile.Typed[pilot] {
	t.Helper()
	typed, err := profile.As[pilot](s.Set)
	if err != nil {
		t.Fatal(err)
	}
	return typed
}

// fly loads a pilot.
func fly(t *testing.T, f *fleet) (*server, *profile.TypedSession[pilot]) {
	t.Helper()
	s := f.start("a", typedOptions(t, nil))
	ts, err := pilots(t, s).Load(t.Context(), "u", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, ts
}

func TestTypedTemplateIsTheZeroValue(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		if got, want := ts.Data().String(), `{"bag":{},"coins":0,"log":[],"name":""}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if diff := cmp.Diff(pilot{Bag: map[string]int{}, Log: []trip{}}, ts.Value()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUpdateCommitsTheDifference(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		if _, err := ts.Transact(game, doc.Set("/guild", doc.MustString("reef")), doc.Set("/bag/cod", doc.Int(2))); err != nil {
			t.Fatal(err)
		}
		c, err := ts.Update(profile.Source{Actor: "ann", Note: "trip"}, func(p *pilot) error {
			p.Coins += 5
			p.Bag["eel"] = p.Bag["cod"] + 1
			p.Log = append(p.Log, trip{To: "reef"})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, e := range c.Edits {
			paths = append(paths, e.Path.String())
		}
		if diff := cmp.Diff([]string{"/bag/eel", "/coins", "/log"}, paths); diff != "" || c.Revision != 2 || c.Source.Actor != "ann" {
			t.Errorf("%+v\n%s", c, diff)
		}
		want := `{"bag":{"cod":2,"eel":3},"coins":5,"guild":"reef","log":[{"days":0,"to":"reef"}],"name":""}`
		if got := ts.Data().String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if p := ts.Value(); p.Coins != 5 || p.Bag["eel"] != 3 || len(p.Log) != 1 {
			t.Errorf("%+v", p)
		}
	})
}

func TestUpdateWithoutChangeMakesNoCommit(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		c, err := ts.Update(game, func(p *pilot) error { p.Coins++; p.Coins--; return nil })
		if err != nil || c.Revision != 0 || len(c.Edits) != 0 || ts.Revision() != 0 {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// case P11.
func TestAValueBelongsToItsReader(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		var leaked *pilot
		if _, err := ts.Update(game, func(p *pilot) error {
			p.Coins, p.Bag["cod"], p.Log = 1, 1, []trip{{To: "reef"}}
			leaked = p
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := ts.Data()
		for _, p := range []*pilot{leaked, new(ts.Value())} {
			p.Coins, p.Bag["cod"], p.Log[0].To = 99, 99, "elsewhere"
			delete(p.Bag, "cod")
		}
		if p := ts.Value(); !ts.Data().Equal(want) || p.Coins != 1 || p.Bag["cod"] != 1 || p.Log[0].To != "reef" {
			t.Errorf("%s, %+v", ts.Data(), p)
		}
		errNo := errors.New("no")
		if _, err := ts.Update(game, func(p *pilot) error { p.Bag["cod"], p.Log[0].To = 7, "nowhere"; return errNo }); !errors.Is(err, errNo) {
			t.Errorf("%v", err)
		}
		if p := ts.Value(); !ts.Data().Equal(want) || p.Bag["cod"] != 1 || p.Log[0].To != "reef" {
			t.Errorf("%s, %+v", ts.Data(), p)
		}
	})
}

func TestUpdateIsRefusedWithEveryPlace(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		before := ts.Data()
		_, err := ts.Update(game, func(p *pilot) error {
			p.Coins, p.Name = -1, "much too long"
			return nil
		})
		var refused *profile.RefusedError
		if !errors.Is(err, profile.ErrSchema) || !errors.As(err, &refused) {
			t.Fatalf("%v", err)
		}
		var got []string
		for _, v := range refused.Violations {
			got = append(got, v.String())
		}
		want := []string{
			`"/coins": schema: want at least 0, got -1 (minimum)`,
			`"/name": schema: want at most 8 characters, got 13 (maxLength)`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !ts.Data().Equal(before) || ts.Value().Coins != 0 {
			t.Errorf("%s", ts.Data())
		}
	})
}

func TestNothingUntypedMakesDataThatIsNoT(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		for _, op := range []doc.Op{
			doc.Set("/coins", doc.MustString("many")), doc.Set("/bag/cod", doc.Null()), doc.AppendTo("/log", doc.MustObject(nil)),
			doc.Set("/seen", doc.MustString("noon")), doc.Set("", doc.MustObject(map[string]doc.Value{"log": doc.Int(1)})),
		} {
			var refused *profile.RefusedError
			if _, err := ts.Transact(game, op); !errors.Is(err, profile.ErrSchema) || !errors.As(err, &refused) || len(refused.Violations) != 1 {
				t.Errorf("%s: %v", op, err)
			}
		}
		if _, err := ts.Transact(game, doc.Set("/seen", doc.MustString("2026-01-02T03:04:05Z"))); err != nil || ts.Value().Seen.IsZero() {
			t.Errorf("%v", err)
		}
	})
}

// anything is a schema that has nothing to say.
func anything(t *testing.T) *schema.Schema {
	t.Helper()
	s, err := schema.Parse([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoredDataThatIsNoTGivesTheKeyBack(t *testing.T) {
	for name, opts := range map[string]*profile.Options{
		"the form says so":         nil,
		"only the decoder says so": {JSONSchema: anything(t)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"coins":"many","bag":{"cod":1.5}},"epoch":4,"revision":9,"schema":1,"session":null}`)
				s := f.start("a", typedOptions(t, opts))
				_, err := pilots(t, s).Load(t.Context(), "u", nil)
				if !errors.Is(err, profile.ErrSchema) || !strings.Contains(err.Error(), "/coins") || !strings.Contains(err.Error(), "/bag/cod") {
					t.Errorf("%v", err)
				}
				if v, err := s.Read(t.Context(), "u"); err != nil || v.Holder != nil {
					t.Errorf("%+v, %v", v, err)
				}
			})
		})
	}
}

func TestValueIsTheLastOneThatCouldBeDecoded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", &profile.Options{Template: doc.Must(pilot{Coins: 3})}) // no form
		ts, err := pilots(t, s).Load(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ts.Transact(game, doc.Set("/coins", doc.MustString("many"))); err != nil {
			t.Fatal(err)
		}
		var at *codec.Error
		if v, err := ts.Read(); v.Coins != 3 || !errors.Is(err, profile.ErrSchema) || !errors.As(err, &at) || at.Path.String() != "/coins" {
			t.Errorf("%+v, %v", v, err)
		}
		if v := ts.Value(); v.Coins != 3 {
			t.Errorf("%+v", v)
		}
		called := false
		if _, err := ts.Update(game, func(*pilot) error { called = true; return nil }); !errors.Is(err, profile.ErrSchema) || called {
			t.Errorf("%v, called %v", err, called)
		}
	})
}

func TestOptionsForRefuseWhatCannotBe(t *testing.T) {
	type unfit struct {
		Ch chan int
	}
	type needy struct {
		Name string `json:"name" shoal:"minlen=1"`
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a type without a form":         {second(profile.OptionsFor[unfit](nil)), "field Ch"},
		"no object":                     {second(profile.OptionsFor[[]int](nil)), "must be an object"},
		"a zero value against the tags": {second(profile.OptionsFor[needy](nil)), `Template: at "/name": want at least 1 characters`},
		"a template of another type":    {second(profile.OptionsFor[pilot](&profile.Options{Template: doc.Must(map[string]any{"coins": "x"})})), `Template: at "/coins"`},
		"a template of another type, with a form": {second(profile.OptionsFor[pilot](&profile.Options{
			Template: doc.Must(map[string]any{"coins": "x"}), JSONSchema: anything(t),
		})), `at "/coins"`},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v lacks %q", name, c.err, c.want)
		}
	}
	if o, err := profile.OptionsFor[needy](&profile.Options{Template: doc.Must(needy{Name: "x"})}); err != nil || o.JSONSchema == nil {
		t.Errorf("%v", err)
	}
	if o, err := profile.OptionsFor[needy](&profile.Options{AsStored: true}); err != nil || o.JSONSchema != nil || !o.Template.IsNull() {
		t.Errorf("%+v, %v", o, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestAGivenJSONSchemaIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s, err := schema.Parse([]byte(`{"properties":{"coins":{"maximum":5}}}`))
		if err != nil {
			t.Fatal(err)
		}
		srv := f.start("a", typedOptions(t, &profile.Options{JSONSchema: s}))
		ts, err := pilots(t, srv).Load(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ts.Update(game, func(p *pilot) error { p.Coins, p.Name = 5, "longer than T says"; return nil }); err != nil {
			t.Error(err)
		}
		if _, err := ts.Update(game, func(p *pilot) error { p.Coins = 6; return nil }); !errors.Is(err, profile.ErrSchema) {
			t.Errorf("%v", err)
		}
	})
}

func TestUpdatesOfManyAreNotLost(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				if _, err := ts.Update(game, func(p *pilot) error {
					p.Coins++
					p.Bag[fmt.Sprint(i%5)]++
					return nil
				}); err != nil {
					t.Error(err)
				}
				_ = ts.Value()
			})
		}
		wg.Wait()
		if p := ts.Value(); p.Coins != 50 || p.Bag["3"] != 10 {
			t.Errorf("%+v", p)
		}
	})
}

func TestAnUpdateWithAKnownIDIsNotRunAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, ts := fly(t, f)
		calls := 0
		for range 2 {
			c, err := ts.Update(profile.Source{ID: "x"}, func(p *pilot) error { calls++; p.Coins++; return nil })
			if err != nil || c.Revision != 1 {
				t.Errorf("%+v, %v", c, err)
			}
		}
		if calls != 1 || ts.Value().Coins != 1 {
			t.Errorf("%d calls, %+v", calls, ts.Value())
		}
	})
}

// Whatever updates do, the value is what a plain variable would be, after a move too.
func TestUpdatesEqualAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 12).Draw(rt, "steps")
		bubble(t, func(t *testing.T, f *fleet) {
			s, ts := fly(t, f)
			other := f.start("b", typedOptions(t, nil))
			model := pilot{Bag: map[string]int{}, Log: []trip{}}
			for i, step := range steps {
				change := func(p *pilot) error {
					switch step {
					case 0:
						p.Coins += i
					case 1:
						p.Bag[fmt.Sprint(i%3)] = i
					case 2:
						delete(p.Bag, fmt.Sprint(i%3))
					case 3:
						p.Log = append(p.Log, trip{To: fmt.Sprint(i), Days: i})
					case 4:
						if len(p.Log) > 0 {
							p.Log = append(p.Log[:i%len(p.Log)], p.Log[i%len(p.Log)+1:]...)
						}
					case 5:
						p.Name = strings.Repeat("x", i%8)
					}
					return nil
				}
				if step == 6 { // move to the other node
					next, err := pilots(t, other).Load(t.Context(), "u", nil)
					if err != nil {
						t.Fatal(err)
					}
					ts, s, other = next, other, s
				}
				if _, err := ts.Update(game, change); err != nil {
					t.Fatal(err)
				}
				_ = change(&model)
				if diff := cmp.Diff(model, ts.Value()); diff != "" {
					t.Fatalf("step %d: %s", i, diff)
				}
			}
		})
	})
}

func TestAMoveKeepsWhatTDoesNotKnow(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"),
			`{"format":1,"data":{"coins":1,"later":{"x":1},"log":[{"to":"a","mood":"good"}],"bag":{}},"epoch":4,"revision":9,"schema":1,"session":null}`)
		_, ts := fly(t, f)
		if _, err := ts.Update(game, func(p *pilot) error { p.Log[0].Days = 3; return nil }); err != nil {
			t.Fatal(err)
		}
		save(t, ts.Session)
		stored, _ := ts.Stored()
		if want := `{"bag":{},"coins":1,"later":{"x":1},"log":[{"days":3,"mood":"good","to":"a"}],"name":""}`; stored.String() != want {
			t.Errorf("%s, want %s", stored, want)
		}
	})
}
