package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// tenths is the migration of the tests: coins are counted in tenths from version 2 on. Done
// twice, or not at all, it makes another fortune; and the older form keeps what it has no
// place for.
func tenths() profile.Migration {
	return profile.Migration{
		To: 2, Note: "coins in tenths",
		Up: func(v doc.Value) (doc.Value, error) {
			rest, _, _ := v.Lookup("/rest")
			n, _ := rest.AsInt()
			return doc.Apply(v, doc.Set("/coins", doc.Int(coins(v)*10+n)), doc.Set("/rest", doc.Null()), doc.Unset("/rest"))
		},
		Down: func(v doc.Value) (doc.Value, error) {
			ops := []doc.Op{doc.Set("/coins", doc.Int(coins(v)/10))}
			if rest := coins(v) % 10; rest != 0 {
				ops = append(ops, doc.Set("/rest", doc.Int(rest)))
			}
			return doc.Apply(v, ops...)
		},
	}
}

// inTenths are the options of the newer release, which stores data in version writes.
func inTenths(writes int) *profile.Options {
	return &profile.Options{
		Migrations: []profile.Migration{tenths()}, WriteVersion: writes, JournalEvery: time.Second,
		Template: doc.Must(map[string]any{"coins": 0}),
	}
}

// whole are the options of the older release.
func whole() *profile.Options {
	return &profile.Options{JournalEvery: time.Second, Template: doc.Must(map[string]any{"coins": 0})}
}

const older = `{"format":1,"data":{"coins":41,"zeta":1.0},"epoch":4,"revision":9,"schema":1,"session":null}`

// plantOlder stores a free profile u of version 1 with 41 coins.
func plantOlder(f *fleet) { f.plant(f.raw.Durable(), profileKey("u"), older) }

func TestMigrationIsOneCommit(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		opts := inTenths(0)
		opts.Template = doc.Must(map[string]any{"coins": 0, "gems": 3})
		a := f.start("a", opts)
		s := a.load("u", nil)
		want := doc.Must(map[string]any{"coins": 410, "gems": 3, "zeta": doc.MustFloat(1)})
		if !s.Data().Equal(want) || s.Revision() != 10 {
			t.Errorf("revision %d: %v", s.Revision(), s.Data())
		}
		if r := f.stored("u"); r.Schema != 1 || r.Revision != 9 || string(r.Data) != `{"coins":41,"zeta":1.0}` {
			t.Errorf("the claim has changed what is stored: %+v", r)
		}
		if v, rev := s.Stored(); rev != 9 || coins(v) != 410 {
			t.Errorf("stored: %d %v, want the live form of what is stored", rev, v)
		}
		time.Sleep(2 * time.Minute) // an autosave
		if r := f.stored("u"); r.Schema != 2 || r.Revision != 10 || string(r.Data) != `{"coins":410,"gems":3,"zeta":1.0}` {
			t.Errorf("%+v", r)
		}
		release(t, s)
		if again := a.load("u", nil); coins(again.Data()) != 410 || again.Revision() != 10 {
			t.Errorf("migrated again: %d %v", again.Revision(), again.Data())
		}
		if st := a.Stats(); st.Migrated != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// New players begin in the newest form: no migration ever sees them.
func TestNewPlayersAreNotMigrated(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{
			Template: doc.Must(map[string]any{"coins": 7}),
			Migrations: []profile.Migration{{To: 2, Up: func(doc.Value) (doc.Value, error) { return doc.Value{}, errors.New("called") }}},
		})
		s := a.load("u", nil)
		if coins(s.Data()) != 7 || s.Revision() != 0 {
			t.Errorf("revision %d: %v", s.Revision(), s.Data())
		}
		release(t, s)
		a.load("u", nil)
		if r := f.stored("u"); r.Schema != 2 {
			t.Errorf("%+v", r)
		}
	})
}

// Profiles that nobody loads are nobody's business.
func TestMigrationIsLazy(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		before := f.durable(profileKey("u"))
		a := f.start("a", inTenths(0))
		if v, err := a.Read(t.Context(), "u"); err != nil || v.Schema != 1 || coins(v.Data) != 41 {
			t.Errorf("%+v %v", v, err)
		}
		time.Sleep(time.Hour)
		if f.durable(profileKey("u")).Version != before.Version {
			t.Error("it was rewritten")
		}
	})
}

func TestMigrationsInOrder(t *testing.T) {
	step := func(to int) profile.Migration {
		return profile.Migration{To: to, Up: func(v doc.Value) (doc.Value, error) {
			return doc.Apply(v, doc.AppendTo("/steps", doc.Int(int64(to))))
		}}
	}
	opts := &profile.Options{Migrations: []profile.Migration{step(3), {To: 4}, step(5)}}
	for from, want := range map[int]string{2: `{"steps":[3,5]}`, 3: `{"steps":[5]}`, 4: `{"steps":[5]}`, 5: `{"steps":[]}`} {
		got, err := profile.Migrate(doc.Must(map[string]any{"steps": []any{}}), from, opts)
		if err != nil || got.String() != want {
			t.Errorf("from %d: %v %v", from, got, err)
		}
	}
	for from, want := range map[int]error{1: profile.ErrMigration, 0: profile.ErrMigration, 6: profile.ErrNewerSchema} {
		if got, err := profile.Migrate(doc.Must(map[string]any{}), from, opts); !errors.Is(err, want) {
			t.Errorf("from %d: %v %v", from, got, err)
		}
	}
}

// refusals are migrations that cannot be, and options under which data cannot be opened.
func refusals() map[string]struct {
	change func(*profile.Options)
	want   error
	says   string
} {
	up := func(fn func(doc.Value) (doc.Value, error)) func(*profile.Options) {
		return func(o *profile.Options) { o.Migrations = []profile.Migration{{To: 2, Note: "pets", Up: fn}} }
	}
	deep := doc.Must(map[string]any{})
	for range doc.DefaultMaxDepth {
		deep = doc.List(deep)
	}
	return map[string]struct {
		change func(*profile.Options)
		want   error
		says   string
	}{
		"error":    {up(func(v doc.Value) (doc.Value, error) { return v, errors.New("no pets") }), profile.ErrMigration, "up of 2 (pets): no pets"},
		"panic":    {up(func(doc.Value) (doc.Value, error) { panic("boom") }), profile.ErrMigration, "panicked: boom"},
		"too deep": {up(func(doc.Value) (doc.Value, error) { return doc.Object(map[string]doc.Value{"a": deep}) }), profile.ErrMigration, "64 levels"},
		"no object": {up(func(doc.Value) (doc.Value, error) { return doc.Int(1), nil }), profile.ErrMigration, "an object expected"},
		"nothing":   {up(func(doc.Value) (doc.Value, error) { return doc.Value{}, nil }), profile.ErrMigration, "an object expected, got null"},
		"no migration": {func(o *profile.Options) { o.Migrations, o.Schema = nil, 2 }, profile.ErrMigration, "no migration from 1"},
		"not valid": {func(o *profile.Options) {
			o.Validate = func(doc.Value) error { return errors.New("too poor") }
		}, profile.ErrSchema, "too poor"},
		"validator panics": {func(o *profile.Options) {
			o.Validate = func(doc.Value) error { panic("boom") }
		}, profile.ErrSchema, "panicked: boom"},
	}
}

// case P5: after a failure behind the claim the key is free, and what is stored the same.
func TestFailedMigrationGivesTheKeyBack(t *testing.T) {
	for name, c := range refusals() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				plantOlder(f)
				opts := inTenths(0)
				c.change(opts)
				a := f.start("a", opts)
				if err := a.fails("u", nil, c.want); !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v does not say %q", err, c.says)
				}
				f.free("u")
				if r := f.stored("u"); r.Schema != 1 || r.Revision != 9 || r.Epoch != 5 || string(r.Data) != `{"coins":41,"zeta":1.0}` {
					t.Errorf("%+v", r)
				}
				var panics uint64
				if strings.Contains(c.says, "panicked") {
					panics = 1
				}
				if st := a.Stats(); st.Panics != panics || st.LoadErrors != 1 || st.Sessions != 0 || st.Migrated != 0 {
					t.Errorf("%+v", st)
				}
				b := f.start("b", whole())
				if next := b.load("u", nil); coins(next.Data()) != 41 || next.Revision() != 9 {
					t.Errorf("%d %v", next.Revision(), next.Data())
				}
			})
		})
	}
}

// S8: unchanged means as taken over, with what the dead holder had journaled.
func TestFailedMigrationKeepsWhatWasReplayed(t *testing.T) {
	for name, c := range refusals() {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", whole())
				s := a.load("u", nil)
				add(t, s, 5)
				syncNow(t, s)
				add(t, s, 2)
				syncNow(t, s)
				opts := inTenths(0)
				c.change(opts)
				b := f.start("b", opts)
				time.Sleep(5500 * time.Millisecond)
				a.kill()
				b.fails("u", nil, c.want)
				f.free("u")
				if r := f.stored("u"); r.Schema != 1 || r.Revision != 2 || string(r.Data) != `{"coins":7}` || r.TookFrom == nil {
					t.Errorf("%+v", r)
				}
				d := f.start("d", whole())
				if next := d.load("u", nil); coins(next.Data()) != 7 || next.Loaded().How != profile.Free {
					t.Errorf("%v, %+v", next.Data(), next.Loaded())
				}
			})
		})
	}
}

// The same with each write of the load and of the giving back going wrong once.
func TestFailedMigrationGivesTheKeyBackAmongFaults(t *testing.T) {
	for n := 1; n <= 2; n++ {
		for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter, faultstore.Late, faultstore.Hang, faultstore.HangApplied} {
			t.Run(fmt.Sprint(n, kind), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					plantOlder(f)
					opts := inTenths(0)
					opts.Migrations[0].Up = func(doc.Value) (doc.Value, error) { panic("boom") }
					a := f.start("a", opts)
					a.faults.SetRule(nth(n, on("commit", "profile/"), kind))
					a.fails("u", nil, profile.ErrMigration)
					a.faults.Land()
					time.Sleep(5 * time.Minute)
					f.free("u")
					if next := f.start("b", whole()).load("u", nil); coins(next.Data()) != 41 || next.Revision() != 9 {
						t.Errorf("%d %v", next.Revision(), next.Data())
					}
				})
			})
		}
	}
}

// What the older release journaled is replayed in the form in which it was stored, and then
// migrated, once.
func TestAnOlderJournalIsReplayedBeforeTheMigration(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", whole()), f.start("b", inTenths(0))
		s := a.load("u", nil)
		for range 3 {
			add(t, s, 5)
			syncNow(t, s)
		}
		time.Sleep(5500 * time.Millisecond)
		a.kill()
		next := b.load("u", nil)
		if l := next.Loaded(); l.How != profile.Recovered || l.Evidence != node.EvidenceAge || coins(next.Data()) != 150 || next.Revision() != 4 {
			t.Errorf("%+v, revision %d, %v", l, next.Revision(), next.Data())
		}
		if r := f.stored("u"); r.Schema != 1 || r.Revision != 3 || string(r.Data) != `{"coins":15}` {
			t.Errorf("the claim stores what was replayed: %+v", r)
		}
		release(t, next)
		if r := f.stored("u"); r.Schema != 2 || string(r.Data) != `{"coins":150}` {
			t.Errorf("%+v", r)
		}
	})
}

// M9: the migration is in the journal, as a commit like any other. Whoever replays it does not
// migrate again, and an older release leaves it alone.
func TestTheJournalHoldsTheMigration(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		a, b := f.start("a", inTenths(0)), f.start("b", inTenths(0))
		s := a.load("u", nil)
		add(t, s, 1)
		a.faults.SetRule(always(on("commit", profileKey("u")), faultstore.Fault{Kind: faultstore.FailBefore})) // so the journal alone has it
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		_ = s.Sync(ctx)
		time.Sleep(5500 * time.Millisecond)
		a.kill()
		old := f.start("old", whole())
		time.Sleep(5 * time.Second)
		old.fails("u", nil, profile.ErrNewerSchema)
		if r := f.stored("u"); r.Schema != 1 || r.Epoch != 5 || string(r.Data) != `{"coins":41,"zeta":1.0}` {
			t.Errorf("%+v", r)
		}
		next := b.load("u", nil)
		if l := next.Loaded(); l.How != profile.Recovered || coins(next.Data()) != 411 || next.Revision() != 11 {
			t.Errorf("%+v, revision %d, %v", l, next.Revision(), next.Data())
		}
		if r := f.stored("u"); r.Schema != 2 || r.Revision != 11 {
			t.Errorf("%+v", r)
		}
	})
}

// S25: data that a migration has brought over the budget is played with, and what is stored
// is kept.
func TestMigrationOverTheBudgetKeepsWhatIsStored(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		opts := inTenths(0)
		opts.HardBytes = 100
		opts.Migrations[0].Up = func(v doc.Value) (doc.Value, error) {
			return doc.Apply(v, doc.Set("/story", doc.MustString(strings.Repeat("x", 200))))
		}
		a := f.start("a", opts)
		s := a.load("u", nil)
		if err := s.Save(t.Context()); !errors.Is(err, profile.ErrTooLarge) {
			t.Errorf("save: %v", err)
		}
		if r := f.stored("u"); r.Schema != 1 || r.Revision != 9 || string(r.Data) != `{"coins":41,"zeta":1.0}` {
			t.Errorf("%+v", r)
		}
		if _, err := s.Transact(game, doc.Unset("/story")); err != nil {
			t.Fatal(err)
		}
		save(t, s)
		release(t, s)
		if r := f.stored("u"); r.Schema != 2 || r.Revision != 11 {
			t.Errorf("%+v", r)
		}
	})
}

// What the migration made survives every lost answer and every crash, and is never made twice.
func TestMigrationAmongFaultsIsDoneOnce(t *testing.T) {
	for _, writes := range []int{1, 2} {
		for n := 1; n <= 4; n++ {
			for kind := faultstore.FailBefore; kind <= faultstore.CrashAfter; kind++ {
				t.Run(fmt.Sprint(writes, n, kind), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) {
						plantOlder(f)
						a, b := f.start("a", inTenths(writes)), f.start("b", inTenths(writes))
						a.faults.SetRule(nth(n, on("commit", "profile/"), kind))
						at := int64(410)
						ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
						defer stop()
						if s, err := a.Load(ctx, "u", nil); err == nil {
							for i := range int64(3) {
								add(t, s, 1)
								if s.Save(ctx) == nil {
									at = 411 + i
								}
							}
							_ = s.Release(ctx)
						}
						a.faults.Land()
						synctest.Wait()
						next := b.load("u", &profile.LoadOptions{Wait: 10 * time.Minute})
						if got := coins(next.Data()); got < at || got > 413 {
							t.Errorf("%d coins, %d acknowledged", got, at)
						}
						release(t, next)
						r := f.stored("u")
						if r.Schema != writes {
							t.Errorf("%+v", r)
						}
					})
				})
			}
		}
	}
}
