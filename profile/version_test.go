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

// quickly keeps versions every minute, so that tests need no virtual days.
func quickly() *profile.Options { return &profile.Options{VersionEvery: time.Minute} }

// kept are the revisions of the versions of u.
func kept(t *testing.T, set *profile.Set) string {
	t.Helper()
	list, err := set.Versions(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v.Revision))
	}
	return strings.Join(out, " ")
}

func TestAVersionIsKeptNowAndThen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", quickly()), f.start("b", quickly())
		s := a.load("u", nil)
		commits := a.count("profile/")
		for range 20 { // revisions 1 to 20, one each 10 s
			add(t, s, 1)
			save(t, s)
			time.Sleep(10 * time.Second)
		}
		if got := kept(t, b.Set); got != "6 12 18" { // what stood there when each minute was over
			t.Errorf("kept: %s", got)
		}
		if n := commits.take(); n != 20 {
			t.Errorf("%d calls for 20 saves", n)
		}
		release(t, s)
		s = b.load("u", nil)
		add(t, s, 1)
		release(t, s)
		if got := kept(t, b.Set); got != "6 12 18" {
			t.Errorf("kept: %s; a new session counts on", got)
		}
		v, err := b.Version(t.Context(), "u", 12)
		if err != nil || coins(v.Data) != 12 || v.Revision != 12 || v.Schema != 1 || v.At.IsZero() || v.Bytes == 0 {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := b.Version(t.Context(), "u", 13); !errors.Is(err, profile.ErrNoVersion) {
			t.Errorf("%v", err)
		}
		if n := a.Stats().Versions; n != 3 {
			t.Errorf("%d counted", n)
		}
	})
}

// count counts the commits of a server to keys with a prefix.
func (s *server) count(prefix string) *count {
	c := &count{match: on("commit", prefix)}
	s.faults.SetRule(c.rule)
	return c
}

func TestNoVersionOfWhatNobodyChanged(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", quickly())
		s := a.load("u", nil)
		time.Sleep(time.Hour)
		add(t, s, 1)
		save(t, s)
		none := f.start("b", &profile.Options{VersionEvery: -1}).load("v", nil)
		for range 3 {
			add(t, none, 1)
			save(t, none)
			time.Sleep(2 * time.Hour)
		}
		for rec, err := range f.raw.Durable().Scan(t.Context(), store.Prefix("version/")) {
			t.Errorf("%s, %v", rec.Key, err)
		}
	})
}

func TestOldVersionsAreRemoved(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		o := quickly()
		o.VersionKeep = 3
		a := f.start("a", o)
		s := a.load("u", nil)
		for range 18 {
			add(t, s, 1)
			save(t, s)
			time.Sleep(time.Minute)
		}
		if got := kept(t, a.Set); got != "15 16 17" {
			t.Errorf("%s", got)
		}
		if n := a.Stats().Trimmed; n != 14 {
			t.Errorf("%d removed", n)
		}
	})
}

// Every write of a save that keeps a version goes wrong once, in every way: the version is
// there exactly if the record says so.
func TestEveryWriteOfASaveWithAVersionGoesWrongOnce(t *testing.T) {
	for _, fault := range everyFault() {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(fault, dies), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					a, b := f.start("a", quickly()), f.start("b", quickly())
					s := a.load("u", nil)
					add(t, s, 1)
					save(t, s)
					time.Sleep(2 * time.Minute)
					a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), fault))
					add(t, s, 1)
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					_ = s.Save(ctx)
					cancel()
					if dies {
						a.kill()
						a.faults.Land()
						b.load("u", nil)
					} else {
						time.Sleep(time.Minute)
						a.faults.Land()
						release(t, s)
					}
					want := ""
					if strings.Contains(string(f.durable(profileKey("u")).Value), `"kept":`) {
						want = "1"
					}
					if got := kept(t, b.Set); got != want || want == "" && !dies {
						t.Errorf("kept %q, the record: %s", got, f.durable(profileKey("u")).Value)
					}
				})
			})
		}
	}
}

// case P24: a restore takes the coins back that a receipt had paid for; the receipt stays, is
// named, and cannot be granted again.
func TestRestoreDoesNotReopenReceipts(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", quickly())
		s := a.load("u", nil)
		add(t, s, 1)
		save(t, s)
		time.Sleep(2 * time.Minute)
		add(t, s, 1)
		save(t, s) // keeps revision 1
		if err := grant(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		add(t, s, 100)
		out, err := s.Restore(t.Context(), ann, 1)
		if err != nil {
			t.Fatal(err)
		}
		if coins(s.Data()) != 1 || s.Revision() != 5 || out.Commit.Revision != 5 || out.From.Revision != 1 || out.Kept != 4 || !out.Complete {
			t.Errorf("%v, %+v", s.Data(), out)
		}
		if len(out.Claimed) != 1 || out.Claimed[0].Claim != rowKey || out.Claimed[0].Revision != 3 {
			t.Errorf("%+v", out.Claimed)
		}
		if got := kept(t, a.Set); got != "1 4" {
			t.Errorf("%s", got)
		}
		_, err = s.Claim(t.Context(), []store.Write{{Key: rowKey, Op: store.Put, Value: []byte(`{}`), If: store.Absent(), Version: 4712}}, doc.Increment("/coins", 10))
		if err == nil || f.durable(rowKey).Version != 4711 {
			t.Errorf("the receipt was granted again: %v", err)
		}
		<-s.Done() // the store has refused it
		again := a.load("u", nil)
		if coins(again.Data()) != 1 {
			t.Errorf("%v", again.Data())
		}
		if _, err := again.Restore(t.Context(), ann, 4); err != nil || coins(again.Data()) != 112 {
			t.Errorf("and back: %v, %v", again.Data(), err)
		}
		entries, err := a.Audit(t.Context(), "u", &profile.AuditQuery{Reverse: true, Limit: 1})
		if err != nil || entries[0].Source.Actor != "ann" || entries[0].Claim != "" || entries[0].Revision != again.Revision() {
			t.Errorf("%+v, %v", entries, err)
		}
	})
}

func TestRestoreIsGuarded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{VersionEvery: time.Minute, Validate: func(v doc.Value) error {
			if coins(v) == 66 {
				return errors.New("66 is no number")
			}
			return nil
		}})
		s := a.load("u", nil)
		add(t, s, 1)
		if _, err := s.Restore(t.Context(), ann, 7); !errors.Is(err, profile.ErrNoVersion) {
			t.Errorf("%v", err)
		}
		version := func(revision int, rest string) {
			f.plant(f.raw.Durable(), fmt.Sprintf("version/players/u/%020d", revision), fmt.Sprintf(`{"at":"2000-01-01T00:00:00.000Z","format":1,"revision":%d,%s}`, revision, rest))
		}
		version(2, `"schema":1,"data":{"coins":66}`)
		version(3, `"schema":2,"data":{"coins":6}`)
		f.plant(f.raw.Durable(), "version/players/u/00000000000000000004", `{"format":2}`)
		f.plant(f.raw.Durable(), "version/players/u/00000000000000000005", `nonsense`)
		for revision, want := range map[uint64]error{2: profile.ErrSchema, 3: profile.ErrNewerSchema, 4: profile.ErrNewerSchema, 5: profile.ErrNoVersion} {
			if _, err := s.Restore(t.Context(), ann, revision); !errors.Is(err, want) {
				t.Errorf("%d: %v", revision, err)
			}
		}
		if got := kept(t, a.Set); coins(s.Data()) != 1 || got != "2 3" {
			t.Errorf("%v; kept %s", s.Data(), got)
		}
	})
}

// A version of an older form comes through the migrations.
func TestRestoreMigrates(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		plantOlder(f)
		o := inTenths(0)
		o.VersionEvery = time.Minute
		a := f.start("a", o)
		s := a.load("u", nil)
		save(t, s) // keeps what stood there before it was brought to version 2
		if v, err := a.Version(t.Context(), "u", 9); err != nil || v.Schema != 1 || coins(v.Data) != 41 {
			t.Fatalf("%+v, %v", v, err)
		}
		add(t, s, 1000)
		if _, err := s.Restore(t.Context(), ann, 9); err != nil || coins(s.Data()) != 410 {
			t.Errorf("%v, %v", s.Data(), err)
		}
	})
}

// The state before a restore is never lost: with every write going wrong once, in every way,
// and the holder dying or not, either nothing is restored or the state before is a version.
func TestEveryWriteOfARestoreGoesWrongOnce(t *testing.T) {
	for _, fault := range everyFault() {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprint(fault, dies), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					o := journaling()
					o.VersionEvery = time.Minute
					a, b := f.start("a", o), f.start("b", o)
					s := a.load("u", nil)
					add(t, s, 1)
					save(t, s)
					time.Sleep(2 * time.Minute)
					add(t, s, 1)
					save(t, s)
					add(t, s, 1) // not saved yet
					syncNow(t, s)
					a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), fault))
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					defer cancel()
					_, _ = s.Restore(ctx, ann, 1)
					var got doc.Value
					if dies {
						a.kill()
						a.faults.Land()
						got = b.load("u", nil).Data()
					} else {
						time.Sleep(time.Minute)
						a.faults.Land()
						if got = s.Data(); coins(got) != 1 {
							t.Errorf("not restored: %v", got)
						}
						release(t, s)
					}
					switch n := coins(got); {
					case n == 3: // not restored, and nothing lost
					case n == 1 && kept(t, b.Set) == "1 3":
						v, err := b.Version(t.Context(), "u", 3)
						if err != nil || coins(v.Data) != 3 {
							t.Errorf("%+v, %v", v, err)
						}
					default:
						t.Errorf("%v; kept %s", got, kept(t, b.Set))
					}
				})
			})
		}
	}
}

// Set.Restore works here, or nowhere, and disturbs nobody elsewhere.
func TestRestoreOfAProfileThatIsNotOpen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", quickly()), f.start("b", quickly())
		s := a.load("u", nil)
		add(t, s, 1)
		save(t, s)
		time.Sleep(2 * time.Minute)
		add(t, s, 1)
		save(t, s)
		if _, err := b.Restore(t.Context(), "u", ann, 1); !errors.Is(err, profile.ErrInUse) || s.Reason() != 0 {
			t.Errorf("%v, %v", err, s.Reason())
		}
		if _, err := a.Restore(t.Context(), "u", ann, 1); err != nil || coins(s.Data()) != 1 || s.Reason() != 0 {
			t.Errorf("%v, %v", s.Data(), err)
		}
		release(t, s)
		if _, err := b.Restore(t.Context(), "u", ann, 2); err != nil || coins(f.storedData("u")) != 2 {
			t.Errorf("%v, %v", f.storedData("u"), err)
		}
		f.free("u")
	})
}

// Whether the audit log reaches back to the version is said honestly.
func TestRestoreSaysWhenTheAuditLogDoesNotReachBack(t *testing.T) {
	for name, c := range map[string]struct {
		opts     profile.Options
		audited  int // commits since
		complete bool
	}{
		"nothing since":    {profile.Options{}, 0, true},
		"few since":        {profile.Options{AuditKeep: 3}, 2, true},
		"more than it has": {profile.Options{AuditKeep: 3}, 5, false},
		"kept too short":   {profile.Options{AuditFor: time.Second}, 1, false},
		"no log":           {profile.Options{Audit: profile.AuditNone}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				c.opts.VersionEvery = time.Minute
				a := f.start("a", &c.opts)
				s := a.load("u", nil)
				add(t, s, 1)
				save(t, s)
				time.Sleep(2 * time.Minute)
				add(t, s, 1)
				save(t, s)
				for range c.audited {
					award(t, s, ann, 1)
					release(t, s)
					s = a.load("u", nil)
				}
				out, err := s.Restore(t.Context(), ann, 1)
				if err != nil || out.Complete != c.complete {
					t.Errorf("%+v, %v", out, err)
				}
			})
		})
	}
}

// A set in memory keeps its audit log and its versions there, and touches nobody else's.
func TestACopyKeepsItsPastToItself(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		live := f.start("a", quickly())
		s := live.load("u", nil)
		award(t, s, ann, 1)
		save(t, s)
		o := quickly()
		o.Mode, o.AuditKeep, o.VersionKeep = profile.Copy, 1, 1
		b := f.start("b", o)
		own := b.load("u", nil)
		for range 3 {
			award(t, own, ann, 1)
			save(t, own)
			time.Sleep(2 * time.Minute)
			release(t, own)
			own = b.load("u", nil)
		}
		if _, err := own.Restore(t.Context(), ann, 3); err != nil || coins(own.Data()) != 3 {
			t.Errorf("%v, %v", own.Data(), err)
		}
		if out, err := b.Erase(t.Context(), "u", ann, nil); err != nil || !out.Done {
			t.Errorf("%+v, %v", out, err)
		}
		if got := audited(t, live.Set, nil); got != "1" || kept(t, live.Set) != "" || coins(f.storedData("u")) != 1 || s.Reason() != 0 {
			t.Errorf("%q, %q, %v, %v", got, kept(t, live.Set), f.storedData("u"), s.Reason())
		}
	})
}
