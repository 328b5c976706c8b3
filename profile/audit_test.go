package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// ann is an operator.
var ann = profile.Source{Kind: profile.SourceOperator, Actor: "ann", Note: "lost in a bug"}

func award(t *testing.T, s *profile.Session, src profile.Source, coins int64) {
	t.Helper()
	if _, err := s.Transact(src, doc.Increment("/coins", coins)); err != nil {
		t.Fatal(err)
	}
}

// audited are the revisions in the audit log, as "1 2-4".
func audited(t *testing.T, set *profile.Set, q *profile.AuditQuery) string {
	t.Helper()
	entries, err := set.Audit(t.Context(), "u", q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.Through != e.Revision {
			out = append(out, fmt.Sprintf("%d-%d", e.Revision, e.Through))
		} else {
			out = append(out, fmt.Sprint(e.Revision))
		}
	}
	return strings.Join(out, " ")
}

func TestTheAuditLogOutlivesTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		s := a.load("u", nil)
		add(t, s, 1)
		award(t, s, ann, 5)
		if err := grant(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		award(t, s, profile.Source{Kind: profile.SourceSeason}, 1)
		time.Sleep(time.Second)
		c, err := s.Transact(profile.Source{Kind: "support", Actor: "bob", ID: "once"}, doc.Set("/name", doc.MustString("x")), doc.Unset("/coins"))
		if err != nil {
			t.Fatal(err)
		}
		release(t, s)
		entries, err := b.Audit(t.Context(), "u", nil)
		if err != nil || len(entries) != 3 {
			t.Fatalf("%+v, %v", entries, err)
		}
		if e := entries[0]; e.Revision != 2 || e.Through != 2 || e.Commits != 1 || e.Source != ann || e.ID != "1-2" || len(e.Edits) != 1 || e.Edits[0].String() != doc.Diff(doc.Must(map[string]any{"coins": 1}), doc.Must(map[string]any{"coins": 6}))[0].String() || e.Time.IsZero() || e.Claim != "" {
			t.Errorf("%+v", e)
		}
		if e := entries[1]; e.Revision != 3 || e.Claim != rowKey {
			t.Errorf("%+v", e)
		}
		if e := entries[2]; e.Revision != 5 || e.ID != "once" || len(e.Edits) != 2 || !e.Time.Equal(c.Time) || e.Source.Actor != "bob" {
			t.Errorf("%+v", e)
		}
		if st := a.Stats(); st.Audited != 3 {
			t.Errorf("%d", st.Audited)
		}
	})
}

func TestWhichCommitsAreAudited(t *testing.T) {
	for policy, want := range map[profile.AuditPolicy]string{profile.AuditOthers: "2", profile.AuditAll: "1 2 3", profile.AuditNone: ""} {
		t.Run(policy.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", &profile.Options{Audit: policy})
				s := a.load("u", nil)
				add(t, s, 1)
				award(t, s, ann, 1)
				add(t, s, 1)
				save(t, s)
				if got := audited(t, a.Set, nil); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

func TestAuditQueries(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		for range 4 { // rows of 3
			for range 3 {
				award(t, s, ann, 1)
			}
			save(t, s)
		}
		for _, c := range []struct {
			q    profile.AuditQuery
			want string
		}{
			{profile.AuditQuery{Limit: 2}, "1 2"},
			{profile.AuditQuery{From: 5, Limit: 3}, "5 6 7"},
			{profile.AuditQuery{From: 11}, "11 12"},
			{profile.AuditQuery{Reverse: true, Limit: 4}, "12 11 10 9"},
			{profile.AuditQuery{Reverse: true, From: 8, Limit: 2}, "8 7"},
			{profile.AuditQuery{From: 99}, ""},
		} {
			if got := audited(t, a.Set, &c.q); got != c.want {
				t.Errorf("%+v: %s, want %s", c.q, got, c.want)
			}
		}
		if _, err := a.Audit(t.Context(), "u", &profile.AuditQuery{Limit: 1001}); !errors.Is(err, store.ErrInvalid) {
			t.Error(err)
		}
		if _, err := a.Audit(t.Context(), "a/b", nil); err == nil {
			t.Error("a key with a slash")
		}
		f.plant(f.raw.Durable(), "audit/players/u/00000000000000000002~x", `{"format":9}`)
		if got := audited(t, a.Set, &profile.AuditQuery{Limit: 3}); got != "1 2 3" || !strings.Contains(a.log.String(), "not a row") {
			t.Errorf("beside a row of a later release: %s", got)
		}
	})
}

// Every write of a save with an audit row goes wrong once, in every way, and the holder dies
// or lives on: a commit is in the audit log exactly if it is in the record.
func TestEveryWriteOfAnAuditedSaveGoesWrongOnce(t *testing.T) {
	for _, fault := range everyFault() {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(fault, dies), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					a, b := f.start("a", nil), f.start("b", nil)
					s := a.load("u", nil)
					time.Sleep(5 * time.Second)
					a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), fault))
					for range 3 {
						award(t, s, ann, 1)
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
						_ = s.Save(ctx)
						cancel()
					}
					if dies {
						a.kill()
						a.faults.Land()
						if s := b.load("u", nil); s.Revision() != uint64(coins(s.Data())) {
							t.Errorf("%v at %d", s.Data(), s.Revision())
						}
					} else {
						time.Sleep(time.Minute)
						a.faults.Land()
						release(t, s)
					}
					want := strings.TrimSpace("1 2 3"[:min(5, 2*f.stored("u").Revision)])
					if got := audited(t, b.Set, nil); got != want {
						t.Errorf("in the audit log: %q; the record is at revision %d", got, f.stored("u").Revision)
					}
				})
			})
		}
	}
}

// What came from the journal is in the audit log as one entry without an author, if something
// audited was among it.
func TestAuditedCommitsThatOnlyTheJournalHad(t *testing.T) {
	for name, c := range map[string]struct {
		src  profile.Source
		want string
	}{"the game's": {game, ""}, "an operator's": {ann, "2-4"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				add(t, s, 1)
				award(t, s, c.src, 1)
				add(t, s, 1)
				syncNow(t, s)
				recovered(t, a, b, 8)
				if got := audited(t, b.Set, nil); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
				entries, _ := b.Audit(t.Context(), "u", nil)
				for _, e := range entries {
					if e.Source.Kind != profile.SourceSystem || e.Commits != 3 || len(e.Edits) != 1 || !strings.Contains(e.Source.Note, "journal") {
						t.Errorf("%+v", e)
					}
				}
			})
		})
	}
}

// The reaper says so too.
func TestAuditedCommitsThatTheReaperSaved(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		award(t, s, ann, 1)
		syncNow(t, s)
		a.kill()
		time.Sleep(2 * time.Minute)
		if got := audited(t, b.Set, nil); got != "2" || b.Stats().Reaped != 1 {
			t.Errorf("%q, reaped %d", got, b.Stats().Reaped)
		}
	})
}

// A claim that the store refuses takes its commit back: it is not in the audit log, what was
// before it is.
func TestARefusedClaimIsNotAudited(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		award(t, s, ann, 1)
		f.plant(f.raw.Durable(), rowKey, `{"by":"another"}`)
		_ = grant(t.Context(), s)
		<-s.Done()
		if got := audited(t, a.Set, nil); got != "2" {
			t.Errorf("%q", got)
		}
	})
}

func TestLargeChangesKeepTheirPaths(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		src := ann
		src.Actor, src.Note = strings.Repeat("é", 5000), ""
		if _, err := s.Transact(src, doc.Set("/text", doc.MustString(strings.Repeat("x", 20_000)))); err != nil {
			t.Fatal(err)
		}
		var many []doc.Op
		for i := range 5000 {
			many = append(many, doc.Set(fmt.Sprintf("/m/%05d", i), doc.Int(1)))
		}
		if _, err := s.Transact(ann, many...); err != nil {
			t.Fatal(err)
		}
		transact(t, s, doc.Unset("/m"))
		if _, err := s.Transact(ann, many...); err != nil { // one edit, of a large object
			t.Fatal(err)
		}
		save(t, s)
		entries, err := a.Audit(t.Context(), "u", nil)
		if err != nil || len(entries) != 3 {
			t.Fatalf("%+v, %v", entries, err)
		}
		if e := entries[0]; len(e.Edits) != 0 || len(e.Paths) != 1 || e.Paths[0].String() != "/text" || e.More != 0 || len(e.Source.Actor) != 1024 {
			t.Errorf("%+v", e)
		}
		if size := len(f.durable("audit/players/u/00000000000000000001").Value); size > 40_000 {
			t.Errorf("%d bytes", size)
		}
	})
}

// What waits for a save is bounded, and has one come early; while saves do not land, details
// go first, then commits are put together. None is forgotten.
func TestWhatWaitsForTheAuditLogIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{Autosave: time.Hour, Audit: profile.AuditAll})
		s := a.load("u", nil)
		text := doc.MustString(strings.Repeat("x", 8000))
		for range 10 {
			transact(t, s, doc.Set("/text", text), doc.Increment("/coins", 1))
			transact(t, s, doc.Unset("/text"))
		}
		time.Sleep(time.Second)
		if _, rev := s.Stored(); rev < 15 {
			t.Errorf("no early save: revision %d is stored", rev)
		}
		a.faults.Outage(faultstore.Durable, true)
		for range 20_000 {
			transact(t, s, doc.Set("/text", text), doc.Increment("/coins", 1))
			transact(t, s, doc.Unset("/text"))
		}
		a.faults.Outage(faultstore.Durable, false)
		release(t, s)
		total, last, size := 0, uint64(0), 0
		for from := uint64(0); ; {
			entries, err := a.Audit(t.Context(), "u", &profile.AuditQuery{From: from, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Revision != last+1 || e.Through-e.Revision+1 != uint64(e.Commits) {
					t.Fatalf("%+v after %d", e, last)
				}
				total, last = total+e.Commits, e.Through
			}
			if from = last + 1; len(entries) < 1000 {
				break
			}
		}
		for rec, err := range f.raw.Durable().Scan(t.Context(), store.Prefix("audit/")) {
			if err != nil {
				t.Fatal(err)
			}
			size = max(size, len(rec.Value))
		}
		if total != 40_020 || size > 2<<20 {
			t.Errorf("%d commits, the largest row has %d bytes", total, size)
		}
	})
}

// narrow is a store that takes less than it might.
type narrow struct {
	store.Records
	single bool // says that it takes one record a Tx
	most   int  // and refuses more
}

func (n narrow) Abilities() store.Abilities {
	a := n.Records.Abilities()
	a.MultiKey = a.MultiKey && !n.single
	return a
}

func (n narrow) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	for i, tx := range txs {
		if errs[i] = store.ErrTooLarge; len(tx) <= n.most {
			errs[i] = n.Records.Commit(ctx, tx)[0]
		}
	}
	return errs
}

// A store that takes one record a Tx, or refuses the rows, is no reason not to save, to trade
// or to take over.
func TestSavesDoWithoutRowsWhereTheStoreRefusesThem(t *testing.T) {
	for name, n := range map[string]narrow{"it says so": {single: true, most: 1}, "it does not": {most: 1}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				f.wrap = func(p store.Parts) store.Parts {
					n.Records = p.Durable
					p.Durable = n
					return p
				}
				a := f.start("a", nil)
				s := a.load("u", nil)
				award(t, s, ann, 1)
				save(t, s)
				award(t, s, ann, 1)
				release(t, s)
				if got := coins(f.storedData("u")); got != 2 || audited(t, a.Set, nil) != "" {
					t.Errorf("%d coins", got)
				}
				if off := a.Stats().BesideOff; off != 0 == n.single {
					t.Errorf("%d sessions did without", off)
				}
				s = a.load("u", nil)
				_, err := s.Restore(t.Context(), ann, 1)
				if n.single && !errors.Is(err, store.ErrUnsupported) || err == nil {
					t.Errorf("restore: %v", err)
				}
			})
		})
	}
}

// So it is with the claim of a takeover, the reaper's save, an operator's release and a
// tombstone.
func TestTakeoversDoWithoutRowsWhereTheStoreRefusesThem(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, b *server){
		"load":    func(_ *testing.T, b *server) { b.load("u", nil) },
		"reaper":  func(_ *testing.T, _ *server) { time.Sleep(2 * time.Minute) },
		"release": func(t *testing.T, b *server) { _, _ = b.ReleaseHeld(t.Context(), "u", ann) },
		"erase":   func(t *testing.T, b *server) { _, _ = b.Erase(t.Context(), "u", ann, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				f.wrap = func(p store.Parts) store.Parts {
					p.Durable = narrow{Records: p.Durable, most: 1}
					return p
				}
				a, b, s := journaled(t, f)
				award(t, s, ann, 1)
				syncNow(t, s)
				a.kill()
				do(t, b)
				if name == "erase" {
					if _, err := b.Read(t.Context(), "u"); !errors.Is(err, profile.ErrNoProfile) {
						t.Errorf("%v", err)
					}
				} else if got := f.stored("u"); coins(f.storedData("u")) != 6 || got.Session != nil && got.Session.Node == a.node.ID() {
					t.Errorf("%v, %+v", f.storedData("u"), got.Session)
				}
			})
		})
	}
}

func TestATradeDoesWithoutRowsWhereTheStoreRefusesThem(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.wrap = func(p store.Parts) store.Parts {
			p.Durable = narrow{Records: p.Durable, most: 2}
			return p
		}
		a, u, v := market(t, f)
		if _, err := swap(t.Context(), "t1", u, v); err != nil {
			t.Fatal(err)
		}
		swapped(t, f.storedData("u"), f.storedData("v"))
		if off := a.Stats().BesideOff; off != 2 {
			t.Errorf("%d sessions did without", off)
		}
	})
}

func TestOldAuditRowsAreRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		opts profile.Options
		want string
	}{
		"by count": {profile.Options{AuditKeep: 3}, "3 4 5"}, // the first of a session looks
		"by age":   {profile.Options{AuditFor: 90 * time.Second}, "4 5"},
		"never":    {profile.Options{AuditFor: -1, AuditKeep: -1}, "1 2 3 4 5"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", &c.opts)
				for range 5 {
					s := a.load("u", nil)
					award(t, s, ann, 1)
					save(t, s)
					time.Sleep(time.Second)
					release(t, s)
					time.Sleep(time.Minute)
				}
				if got := audited(t, a.Set, nil); got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

// Removing old rows is best effort: a store that fails holds nothing up, and the set closes.
func TestAFailingTrimHoldsNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{AuditKeep: 1})
		a.faults.SetRule(always(on("scan", "audit/"), faultstore.Fault{Kind: faultstore.Hang}))
		for range 3 {
			s := a.load("u", nil)
			award(t, s, ann, 1)
			release(t, s)
		}
		if d := took(func() {
			if r, err := a.Close(t.Context()); err != nil || !r.Complete() {
				t.Errorf("%+v, %v", r, err)
			}
		}); d > time.Second {
			t.Errorf("the close took %v", d)
		}
	})
}

// A trade is in the audit log of all parties, with the commits before it.
func TestTradesAreAudited(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		award(t, u, ann, 0)
		if _, err := swap(t.Context(), "t1", u, v); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"u", "v"} {
			entries, err := a.Audit(t.Context(), key, &profile.AuditQuery{Reverse: true})
			if err != nil || len(entries) == 0 || entries[0].Claim != "trade/t1" || entries[0].Revision != f.stored(key).Revision {
				t.Errorf("%s: %+v, %v", key, entries, err)
			}
		}
		w, err := u.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Next(t.Context())
		if _, err := u.Undo(game, profile.Which{ID: "t1"}, nil); !errors.Is(err, profile.ErrClaimed) {
			t.Errorf("undo of a trade: %v", err)
		}
	})
}

// A migration, and what the template adds, are the library's.
func TestMigrationsAreAudited(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		a := f.start("a", inTenths(0))
		release(t, a.load("u", nil))
		entries, err := a.Audit(t.Context(), "u", nil)
		if err != nil || len(entries) != 1 || entries[0].Source.Kind != profile.SourceSystem || entries[0].Revision != 10 || !strings.Contains(entries[0].Source.Note, "schema 1 brought to 2") {
			t.Errorf("%+v, %v", entries, err)
		}
	})
}
