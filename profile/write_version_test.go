package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/pipeline"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// case P27: what a newer release stores in the older form, the older one reads, and the newer
// one again; what it stores in the newer form, the older one leaves alone.
func TestReleaseRolledBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		old, newer := f.start("old", whole()), f.start("newer", inTenths(1))
		s := newer.load("u", nil)
		add(t, s, 3)
		save(t, s)
		if r := f.stored("u"); r.Schema != 1 || r.Revision != 10 || string(r.Data) != `{"coins":41,"rest":3,"zeta":1.0}` {
			t.Errorf("%+v", r)
		}
		back := old.load("u", nil) // handed over, live
		if coins(back.Data()) != 41 || back.Loaded().How != profile.Granted {
			t.Errorf("%+v, %v", back.Loaded(), back.Data())
		}
		add(t, back, 1)
		again := newer.load("u", nil)
		if coins(again.Data()) != 423 || again.Revision() != 11 {
			t.Errorf("%d %v", again.Revision(), again.Data())
		}
		release(t, again)

		final := f.start("final", inTenths(2))
		s = final.load("u", nil)
		if coins(s.Data()) != 423 || s.Revision() != 12 {
			t.Errorf("%d %v", s.Revision(), s.Data())
		}
		release(t, s)
		before := f.durable(profileKey("u"))
		old.fails("u", nil, profile.ErrNewerSchema)
		if after := f.durable(profileKey("u")); after.Version != before.Version {
			t.Errorf("the record was changed: %s", after.Value)
		}
		s = newer.load("u", nil) // and brings it back to the older form
		if coins(s.Data()) != 423 || s.Revision() != 13 {
			t.Errorf("%d %v", s.Revision(), s.Data())
		}
		release(t, s)
		if got := old.load("u", nil); coins(got.Data()) != 42 {
			t.Errorf("%v", got.Data())
		}
	})
}

// Loading and releasing what has not changed makes no commit, in whatever form it is stored.
func TestUnchangedDataIsNoCommitInTheOlderForm(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		a := f.start("a", inTenths(1))
		for range 3 {
			s := a.load("u", nil)
			writes := &count{match: on("commit", profileKey("u"))}
			a.faults.SetRule(writes.rule)
			time.Sleep(3 * time.Minute)
			if n := writes.take(); n != 0 {
				t.Errorf("%d autosaves", n)
			}
			if coins(s.Data()) != 410 || s.Revision() != 9 {
				t.Errorf("%d %v", s.Revision(), s.Data())
			}
			release(t, s)
		}
		if r := f.stored("u"); r.Schema != 1 || r.Revision != 9 || string(r.Data) != `{"coins":41,"zeta":1.0}` {
			t.Errorf("%+v", r)
		}
	})
}

// J4: nothing is journaled while what is stored has another form than what is played with.
func TestSyncIsSaveWithAnOlderWriteVersion(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, old := f.start("a", inTenths(1)), f.start("old", whole())
		s := a.load("u", nil)
		add(t, s, 25)
		syncNow(t, s)
		if v, rev := s.Synced(); coins(v) != 25 || rev != 1 {
			t.Errorf("synced: %d %v", rev, v)
		}
		if v, rev := s.Stored(); coins(v) != 25 || rev != 1 {
			t.Errorf("stored: %d %v", rev, v)
		}
		add(t, s, 4)
		time.Sleep(5 * time.Second)
		if v, rev := s.Synced(); coins(v) != 25 || rev != 1 {
			t.Errorf("synced by itself: %d %v", rev, v)
		}
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("journaled: %v", left)
		}
		a.kill()
		next := old.load("u", nil)
		if l := next.Loaded(); l.How != profile.TakenOver || coins(next.Data()) != 2 {
			t.Errorf("%+v %v", l, next.Data())
		}
	})
}

// New players, and those who begin anew after an erasure, are stored in the form of
// WriteVersion from the first write on.
func TestNewPlayersInTheOlderForm(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("erased"), `{"format":1,"data":null,"epoch":4,"revision":9,"schema":1,"session":null,"erased":"2031-05-17T12:00:00.000Z"}`)
		opts := inTenths(1)
		opts.Template = doc.Must(map[string]any{"coins": 25})
		a := f.start("a", opts)
		for key, revision := range map[string]uint64{"u": 0, "erased": 10} {
			s := a.load(key, nil)
			if coins(s.Data()) != 25 || s.Revision() != revision {
				t.Errorf("%s: %d %v", key, s.Revision(), s.Data())
			}
			if r := f.stored(key); r.Schema != 1 || string(r.Data) != `{"coins":2,"rest":5}` {
				t.Errorf("%s: %+v", key, r)
			}
		}
	})
}

// Derived fields come back at the load, so the older form need not have them; and what the
// store has is shown as a load makes it.
func TestDerivedFieldsInTheOlderForm(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		opts := inTenths(1)
		opts.Template = doc.Must(map[string]any{"coins": 0, "hat": "red"})
		opts.Derived = []pipeline.Derived{{Path: doc.MustPath("/shown"), Inputs: []doc.Path{doc.MustPath("/coins"), doc.MustPath("/hat")}, Compute: func(in []doc.Value) (doc.Value, error) {
			return doc.List(in...), nil
		}}}
		down := opts.Migrations[0].Down
		opts.Migrations[0].Down = func(v doc.Value) (doc.Value, error) {
			return down(must(doc.Apply(v, doc.Set("/shown", doc.Null()), doc.Unset("/shown"))))
		}
		a := f.start("a", opts)
		s := a.load("u", nil)
		if _, err := s.Transact(game, doc.Increment("/coins", 15), doc.Unset("/hat")); err != nil {
			t.Fatal(err)
		}
		save(t, s)
		if r := f.stored("u"); r.Schema != 1 || string(r.Data) != `{"coins":1,"rest":5}` {
			t.Errorf("%+v %+v", r, a.Stats())
		}
		if v, _ := s.Stored(); v.String() != `{"coins":15,"hat":"red","shown":[15,"red"]}` {
			t.Errorf("stored: %v", v)
		}
	})
}

// A template member that the game has taken away is no reason to store in the newest form.
func TestWhatTheGameTookFromTheTemplateSurvives(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		opts := inTenths(1)
		opts.Template = doc.Must(map[string]any{"coins": 0, "hat": "red"})
		a := f.start("a", opts)
		s := a.load("u", nil)
		if _, err := s.Transact(game, doc.Unset("/hat")); err != nil {
			t.Fatal(err)
		}
		save(t, s)
		if r := f.stored("u"); r.Schema != 1 || string(r.Data) != `{"coins":0}` || a.Stats().Unlowered != 0 {
			t.Errorf("%+v %+v", r, a.Stats())
		}
	})
}

// What would not come up again as it was is stored in the newest form: an older release
// refuses it, and nothing of it is lost.
func TestDataThatDoesNotSurviveIsStoredInTheNewestForm(t *testing.T) {
	for name, down := range map[string]func(doc.Value) (doc.Value, error){
		"lossy":     func(v doc.Value) (doc.Value, error) { return doc.Apply(v, doc.Set("/coins", doc.Int(coins(v)/10))) },
		"error":     func(v doc.Value) (doc.Value, error) { return v, errors.New("no") },
		"panic":     func(doc.Value) (doc.Value, error) { panic("boom") },
		"no object": func(doc.Value) (doc.Value, error) { return doc.List(), nil },
		"too large": func(v doc.Value) (doc.Value, error) {
			return doc.Apply(v, doc.Set("/coins", doc.Int(coins(v)/10)), doc.Set("/rest", doc.Int(coins(v)%10)), doc.Set("/pad", doc.MustString(strings.Repeat("x", 300))))
		},
		"does not come up": func(v doc.Value) (doc.Value, error) { return doc.Apply(v, doc.Set("/coins", doc.MustString("many"))) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				opts := inTenths(1)
				opts.HardBytes = 200
				up, mild := opts.Migrations[0].Up, opts.Migrations[0].Down
				opts.Migrations[0].Up = func(v doc.Value) (doc.Value, error) {
					return up(must(doc.Apply(v, doc.Set("/pad", doc.Null()), doc.Unset("/pad"))))
				}
				opts.Migrations[0].Down = func(v doc.Value) (doc.Value, error) {
					if coins(v) == 0 { // the template
						return mild(v)
					}
					return down(v)
				}
				a, old := f.start("a", opts), f.start("old", whole())
				s := a.load("u", nil)
				add(t, s, 25)
				save(t, s)
				if r := f.stored("u"); r.Schema != 2 || string(r.Data) != `{"coins":25}` || a.Stats().Unlowered != 1 {
					t.Errorf("%+v %+v", r, a.Stats())
				}
				if panics := a.Stats().Panics; (name == "panic") != (panics > 0) {
					t.Errorf("%d panics", panics)
				}
				if !strings.Contains(a.log.String(), "stored in the newest form") {
					t.Error("nobody is told")
				}
				release(t, s)
				old.fails("u", nil, profile.ErrNewerSchema)
				if s = a.load("u", nil); coins(s.Data()) != 25 {
					t.Errorf("%v", s.Data())
				}
			})
		})
	}
}

func must(v doc.Value, err error) doc.Value {
	if err != nil {
		panic(err)
	}
	return v
}

// A claim is stored with its commit in the older form too, whatever becomes of the answer.
func TestClaimsInTheOlderForm(t *testing.T) {
	for kind := faultstore.Pass; kind <= faultstore.HangApplied; kind++ {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				plantOlder(f)
				a := f.start("a", inTenths(1))
				s := a.load("u", nil)
				a.faults.SetRule(nth(1, on("commit", "profile/"), kind))
				row := store.Write{Key: "receipt/r", Op: store.Put, Value: []byte("{}"), If: store.Absent(), Version: 77}
				_, _ = s.Claim(t.Context(), []store.Write{row}, doc.Increment("/coins", 5))
				a.faults.Land()
				time.Sleep(time.Minute)
				save(t, s)
				if r := f.stored("u"); r.Schema != 1 || string(r.Data) != `{"coins":41,"rest":5,"zeta":1.0}` || f.durable("receipt/r").Version != 77 {
					t.Errorf("%+v, receipt %v", r, f.durable("receipt/r").Version)
				}
			})
		})
	}
}

// duet is two releases beside each other that play one profile in turn.
type duet struct {
	f         *fleet
	nodes     [2]*server
	by        int              // whose session it is
	s         *profile.Session // nil: nobody's
	low, high int64            // in tenths: acknowledged, and committed
}

func (d *duet) start(i int) {
	d.nodes[i] = d.f.start(fmt.Sprint("n", i), []*profile.Options{whole(), inTenths(1)}[i])
}

// value is the profile's fortune in tenths.
func (d *duet) value() int64 {
	rest, _, _ := d.s.Data().Lookup("/rest")
	n, _ := rest.AsInt()
	return coins(d.s.Data())*[]int64{10, 1}[d.by] + n
}

func (d *duet) load(t *testing.T, i int) {
	t.Helper()
	if d.s != nil && i == d.by {
		return
	}
	d.by, d.s = i, d.nodes[i].load("u", nil)
	if got := d.value(); got < d.low || got > d.high {
		t.Fatalf("%s loaded %d tenths, want %d to %d", d.nodes[i].node.ID(), got, d.low, d.high)
	}
	d.low, d.high = d.value(), d.value()
}

func (d *duet) step(t *testing.T, rng *rand.Rand) {
	t.Helper()
	switch at := rng.IntN(6); {
	case at < 2:
		d.load(t, rng.IntN(2))
	case at == 2:
		time.Sleep(time.Duration(rng.IntN(9000)) * time.Millisecond)
	case d.s == nil:
	case at == 3:
		add(t, d.s, 1+rng.Int64N(30))
		d.high = d.value()
	case at == 4:
		if err := []func(context.Context) error{d.s.Save, d.s.Sync}[rng.IntN(2)](t.Context()); err != nil {
			t.Fatal(err)
		}
		d.low = d.value()
	case rng.IntN(3) == 0:
		d.nodes[d.by].kill()
		d.start(d.by)
		d.s = nil
		time.Sleep(2 * time.Second)
	}
}

// Two releases hand a profile over, sync it and die: what was acknowledged is there, in
// whatever form, and nothing is counted twice.
func TestTwoReleasesBesideEachOther(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bothStores(t, func(t *testing.T, f *fleet) {
				d := &duet{f: f}
				d.start(0)
				d.start(1)
				rng := rand.New(rand.NewPCG(seed, 4))
				time.Sleep(5 * time.Second)
				for range 100 {
					d.step(t, rng)
				}
				d.load(t, 0)
				d.load(t, 1)
				synctest.Wait()
			})
		})
	}
}

func TestVersionOptions(t *testing.T) {
	up := func(to ...int) (out []profile.Migration) {
		for _, v := range to {
			out = append(out, profile.Migration{To: v, Down: profile.AsItIs})
		}
		return out
	}
	half := []profile.Migration{{To: 2}, {To: 3, Down: profile.AsItIs}}
	for name, c := range map[string]struct {
		opts profile.Options
		says string // empty: fine
	}{
		"none":                  {profile.Options{}, ""},
		"schema of the last":    {profile.Options{Migrations: up(2, 3)}, ""},
		"the first are gone":    {profile.Options{Migrations: up(4, 5), Schema: 5}, ""},
		"to 1":                  {profile.Options{Migrations: up(1, 2)}, "Migrations: to 2 and up"},
		"a gap":                 {profile.Options{Migrations: up(2, 4)}, "Migrations: "},
		"out of order":          {profile.Options{Migrations: up(3, 2)}, "Migrations: "},
		"twice":                 {profile.Options{Migrations: up(2, 2)}, "Migrations: "},
		"another schema":        {profile.Options{Migrations: up(2, 3), Schema: 4}, "up to Schema (4)"},
		"written as it was":     {profile.Options{Migrations: up(2, 3), WriteVersion: 1}, ""},
		"written in the future": {profile.Options{Migrations: up(2), WriteVersion: 3}, "WriteVersion: 1 to Schema (2) expected, got 3"},
		"written in none":       {profile.Options{Migrations: up(2), WriteVersion: -1}, "WriteVersion: 1 to"},
		"no way down":           {profile.Options{Migrations: half, WriteVersion: 1}, "WriteVersion: 1 expects a Down of each later migration, that to 2 has none"},
		"no way down needed":    {profile.Options{Migrations: half, WriteVersion: 2}, ""},
		"below the first":       {profile.Options{Migrations: up(3), WriteVersion: 1}, "that to 2 has none"},
		"a template that does not survive": {profile.Options{
			Template: doc.Must(map[string]any{"coins": 7}), WriteVersion: 1,
			Migrations: []profile.Migration{{To: 2, Up: func(v doc.Value) (doc.Value, error) { return doc.Apply(v, doc.Increment("/coins", 1)) }, Down: profile.AsItIs}},
		}, `WriteVersion: the template does not survive 1: migration failed: down to 1 and up again changes "/coins"`},
	} {
		t.Run(name, func(t *testing.T) {
			schema := max(1, c.opts.Schema)
			if n := len(c.opts.Migrations); n > 0 {
				schema = c.opts.Migrations[n-1].To
			}
			_, err := profile.Migrate(doc.Must(map[string]any{"coins": 1}), schema, &c.opts)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
}
