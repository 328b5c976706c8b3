package profile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// journaling are options with a journal.
func journaling() *profile.Options {
	return &profile.Options{JournalEvery: time.Second, Template: doc.Must(map[string]any{"bag": []any{}, "coins": 0})}
}

func syncNow(t *testing.T, sess *profile.Session) {
	t.Helper()
	if err := sess.Sync(t.Context()); err != nil {
		t.Fatalf("sync: %v", err)
	}
}

// journaled is a fleet with a node a that holds u with 5 coins, acknowledged by Sync, and a
// node b that may judge.
func journaled(t *testing.T, f *fleet) (a, b *server, s *profile.Session) {
	t.Helper()
	a, b = f.start("a", journaling()), f.start("b", journaling())
	s = a.load("u", nil)
	add(t, s, 5)
	syncNow(t, s)
	return a, b, s
}

// recovered takes u over on b after a's death, and expects so many coins.
func recovered(t *testing.T, a, b *server, want int64) *profile.Session {
	t.Helper()
	time.Sleep(5500 * time.Millisecond)
	a.kill()
	next := b.load("u", nil)
	if coins(next.Data()) != want {
		t.Errorf("%d coins, %d expected (%+v)", coins(next.Data()), want, next.Loaded())
	}
	return next
}

// bothStores runs a test with the journal apart from the records, and beside them.
func bothStores(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	for _, apart := range []bool{true, false} {
		t.Run(map[bool]string{true: "two", false: "one"}[apart], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := memstore.New(&memstore.Options{Apart: apart})
				raw, err := e.Store()
				if err != nil {
					t.Fatal(err)
				}
				f := &fleet{t: t, engine: e, raw: raw}
				t.Cleanup(func() { _ = raw.Close(context.Background()) })
				test(t, f)
			})
		})
	}
}

func TestWhatSyncAcknowledgedIsInTheNextLoad(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		add(t, s, 1)
		syncNow(t, s)
		if _, err := s.Transact(profile.Source{ID: "gift"}, doc.AppendTo("/bag", doc.MustString("cod"))); err != nil {
			t.Fatal(err)
		}
		syncNow(t, s)
		_, rev := s.Stored()
		if safe, synced := s.Synced(); rev != 1 || synced != 3 || !safe.Equal(s.Data()) {
			t.Errorf("revision %d is stored and %d synced (%v); the opening save stores the first, the journal holds three", rev, synced, safe)
		}
		next := recovered(t, a, b, 6)
		if l := next.Loaded(); l.How != profile.Recovered || l.Evidence != node.EvidenceAge || next.Revision() != 3 {
			t.Errorf("%+v, revision %d", l, next.Revision())
		}
		if c, err := next.Transact(profile.Source{ID: "gift"}, doc.AppendTo("/bag", doc.MustString("cod"))); err != nil || !c.Repeated {
			t.Errorf("the commit's id did not survive: %+v %v", c, err)
		}
		if st := b.Stats(); st.Recovered != 1 {
			t.Errorf("%+v", st)
		}
		release(t, next)
		time.Sleep(time.Second)
		if left := f.leftovers(); len(left) > 0 && !slices.Equal(left, []string{"note/" + a.node.ID() + "/players/u"}) {
			t.Errorf("left: %v", left)
		}
	})
}

// What nobody asked for is journaled too, within JournalEvery.
func TestCommitsAreJournaledByThemselves(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", journaling()), f.start("b", journaling())
		s := a.load("u", nil)
		time.Sleep(5500 * time.Millisecond)
		for range 30 {
			add(t, s, 1)
			time.Sleep(400 * time.Millisecond)
		}
		if st := a.Stats(); st.Appends < 8 || st.Appends > 14 || st.Saves > 2 {
			t.Errorf("twelve seconds of play: %d appends, %d saves", st.Appends, st.Saves)
		}
		add(t, s, 1)
		add(t, s, 1)
		a.kill()
		next := b.load("u", nil)
		if got := coins(next.Data()); got < 28 || got > 31 {
			t.Errorf("%d coins of 32 after a crash", got)
		}
	})
}

// An idle session, and one whose changes are stored, call no store.
func TestAnIdleSessionJournalsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", journaling())
		s := a.load("u", nil)
		add(t, s, 5)
		save(t, s)
		time.Sleep(10 * time.Second)
		calls := &count{match: func(c faultstore.Call) bool {
			return c.Op != "now" && len(c.Keys) > 0 && (strings.HasPrefix(c.Keys[0], "journal/") || strings.HasPrefix(c.Keys[0], "profile/"))
		}}
		a.faults.SetRule(calls.rule)
		time.Sleep(10 * time.Minute)
		if n := calls.take(); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// Sync is one call for all who call it at the same time, and costs no save once the journal
// is open.
func TestSyncIsGrouped(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", journaling())
		var sessions []*profile.Session
		for i := range 100 {
			s := a.load(fmt.Sprintf("u%d", i), nil)
			add(t, s, 1)
			sessions = append(sessions, s)
		}
		all := func() {
			var wg sync.WaitGroup
			for _, s := range sessions {
				wg.Go(func() { syncNow(t, s) })
			}
			wg.Wait()
		}
		all() // opens
		saves := a.Stats().Saves
		calls := &callCount{prefix: "journal/"}
		a.faults.SetRule(calls.rule)
		for range 10 {
			for _, s := range sessions {
				add(t, s, 1)
			}
			all()
		}
		if got := a.Stats(); got.Saves != saves || got.Appends < 1100 {
			t.Errorf("saves %d, then %d; appends %d", saves, got.Saves, got.Appends)
		}
		if n := calls.seen(); n > 1000 {
			t.Errorf("%d appends for 1,000 syncs of 100 sessions", n)
		}
	})
}

// callCount counts the transactions on keys with a prefix.
type callCount struct {
	prefix string
	mu     sync.Mutex
	n      int
}

func (c *callCount) rule(call faultstore.Call) faultstore.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Op == "commit" && len(call.Keys) > 0 && strings.HasPrefix(call.Keys[0], c.prefix) {
		c.n++
	}
	return faultstore.Fault{}
}

func (c *callCount) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Every write of the journal, and of the save that opens it, goes wrong once in every way.
func TestEveryWriteOfASyncGoesWrongOnce(t *testing.T) {
	for _, prefix := range []string{"profile/", "journal/", "journaled/"} {
		for n := 1; n <= 2; n++ {
			for _, fault := range []faultstore.Fault{
				{Kind: faultstore.FailBefore},
				{Kind: faultstore.FailAfter},
				{Kind: faultstore.Late},
				{Kind: faultstore.Late, After: time.Second},
				{Kind: faultstore.Hang},
				{Kind: faultstore.HangApplied},
			} {
				t.Run(fmt.Sprint(prefix, n, fault), func(t *testing.T) {
					bubble(t, func(t *testing.T, f *fleet) {
						a, b := f.start("a", journaling()), f.start("b", journaling())
						s := a.load("u", nil)
						a.faults.SetRule(faultstore.Nth(n, on("commit", prefix), fault))
						for i := range 4 {
							add(t, s, 1)
							syncOrSave(t, s)
							if i == 2 {
								a.faults.Land()
							}
						}
						next := recovered(t, a, b, 4)
						add(t, next, 1)
						syncNow(t, next)
						release(t, next)
						f.free("u")
					})
				})
			}
		}
	}
}

// syncOrSave syncs until it is acknowledged.
func syncOrSave(t *testing.T, s *profile.Session) {
	t.Helper()
	for range 5 {
		if s.Sync(t.Context()) == nil {
			return
		}
	}
	t.Fatal("never acknowledged")
}

// The fast store is down: Sync is Save, and the session saves by itself.
func TestSyncIsSaveWhileTheJournalIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		a.faults.SetRule(always(on("commit", "journal"), faultstore.Fault{Kind: faultstore.FailBefore}))
		add(t, s, 1)
		syncNow(t, s)
		if v, rev := s.Stored(); rev != 2 || coins(v) != 6 {
			t.Errorf("stored %d: %v", rev, v)
		}
		add(t, s, 1)
		time.Sleep(5 * time.Second)
		if _, rev := s.Stored(); rev != 3 {
			t.Error("after two appends that failed the session has not saved")
		}
		add(t, s, 1)
		time.Sleep(31 * time.Second)
		if _, rev := s.Stored(); rev != 4 {
			t.Error("while the journal is down, nothing is saved within FallbackSave")
		}
		if !f.stored("u").Session.Beating {
			t.Error("the beats land, and the record does not say so")
		}
		a.faults.SetRule(nil)
		add(t, s, 1)
		time.Sleep(10 * time.Second)
		_, synced := s.Synced()
		if j := string(f.fast("journal/players/u").Value); synced != 5 || !strings.Contains(j, `"rev":5`) {
			t.Errorf("the journal works again: %d synced, %s", synced, j)
		}
		recovered(t, a, b, 9)
	})
}

func TestSyncFailsAsSaveDoes(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		a.faults.Outage(faultstore.All, true)
		add(t, s, 1)
		if err := s.Sync(t.Context()); !errors.Is(err, store.ErrUnavailable) || store.OutcomeOf(err) != store.NotDone {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		a.faults.Outage(faultstore.All, false)
		a.faults.SetRule(always(faultstore.Writes, faultstore.Fault{Kind: faultstore.Hang}))
		if err := s.Sync(ctx); store.OutcomeOf(err) != store.Unknown {
			t.Errorf("%v", err)
		}
		a.faults.SetRule(nil)
	})
}

// The fast store forgets everything; the holder finds out at its next append, and saves.
func TestTheFastStoreForgets(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		add(t, s, 1)
		syncNow(t, s)
		f.engine.Forget(memstore.Fast)
		add(t, s, 1)
		syncNow(t, s)
		if v, rev := s.Stored(); rev != 3 || coins(v) != 7 {
			t.Errorf("an opening append was acknowledged without a save: %d %v", rev, v)
		}
		add(t, s, 1)
		syncNow(t, s)
		recovered(t, a, b, 8)
	})
}

// A load seals the journal and dies, or finds the record changed: the seal is an ask of the
// highest kind. The holder lets go, and nothing is lost.
func TestASealedHolderLetsGo(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		add(t, s, 1)
		syncNow(t, s)
		j := f.fast("journal/players/u")
		sealed := strings.TrimSuffix(string(j.Value), "}") + `,"zz":1}`
		sealed = strings.Replace(sealed, `"schema":`, `"sealedBy":"someone","schema":`, 1)
		sealed = strings.Replace(sealed, `,"zz":1`, ``, 1)
		f.plant(f.raw.Fast(), "journal/players/u", sealed)
		add(t, s, 1)
		<-s.Done()
		if s.Reason() != profile.HandedOver {
			t.Errorf("%v", s.Reason())
		}
		f.free("u")
		if got := string(f.stored("u").Data); got != `{"bag":[],"coins":7}` {
			t.Errorf("stored %s", got)
		}
		if a.Stats().Sealed != 1 {
			t.Errorf("%+v", a.Stats())
		}
		next := b.load("u", nil)
		if coins(next.Data()) != 7 || next.Loaded().How != profile.Free {
			t.Errorf("%v %+v", next.Data(), next.Loaded())
		}
	})
}

// A holder that is paused through its own takeover learns it from its journal, and what it
// committed since is not acknowledged.
func TestASleepingHolderIsNotAcknowledged(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		time.Sleep(5500 * time.Millisecond)
		a.faults.Outage(faultstore.All, true)
		time.Sleep(10 * time.Second)
		next := b.load("u", &profile.LoadOptions{Policy: profile.Wait})
		add(t, next, 10)
		syncNow(t, next)
		add(t, s, 1)
		a.faults.SetRule(always(func(c faultstore.Call) bool { return c.Op == "get" && strings.HasPrefix(c.Keys[0], "note/") }, faultstore.Fault{Kind: faultstore.FailBefore}))
		a.faults.Outage(faultstore.All, false)
		if err := s.Sync(t.Context()); !errors.Is(err, profile.ErrLost) {
			t.Errorf("sync of a session that was taken: %v", err)
		}
		if s.Reason() != profile.Lost || coins(next.Data()) != 15 {
			t.Errorf("%v, %v", s.Reason(), next.Data())
		}
		add(t, next, 1)
		syncNow(t, next)
		if err := next.Release(t.Context()); err != nil || string(f.stored("u").Data) != `{"bag":[],"coins":16}` {
			t.Errorf("%v, %s", err, f.stored("u").Data)
		}
	})
}

// What stands in the journal's place is another's: it is left alone, and the session saves.
func TestAForeignJournalIsLeftAlone(t *testing.T) {
	for name, value := range map[string]string{
		"no journal":     `hello`,
		"a later format": `{"format":99}`,
		"a higher epoch": `{"format":1,"epoch":9,"token":"x","base":0,"baseDigest":"","schema":1,"rev":4,"effects":{}}`,
		"a twin's":       `{"format":1,"epoch":1,"token":"x","base":0,"baseDigest":"","schema":1,"rev":4,"effects":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", journaling())
				s := a.load("u", nil)
				v := f.plant(f.raw.Fast(), "journal/players/u", value)
				for i := range 3 {
					add(t, s, 1)
					syncNow(t, s)
					if got, _ := s.Stored(); coins(got) != int64(i+1) {
						t.Errorf("stored %v", got)
					}
				}
				if s.Reason() != 0 || f.fast("journal/players/u").Version != v {
					t.Errorf("%v; the journal is now %s", s.Reason(), f.fast("journal/players/u").Value)
				}
				add(t, s, 1)
				time.Sleep(3 * time.Second)
				if got, _ := s.Stored(); coins(got) != 4 {
					t.Errorf("without a journal the session does not save by itself soon: %v", got)
				}
				release(t, s)
			})
		})
	}
}

// A leftover of an older session is overwritten.
func TestAnOlderJournalIsOverwritten(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", journaling()), f.start("b", journaling())
		release(t, a.load("u", nil))
		f.plant(f.raw.Fast(), "journal/players/u", `{"format":1,"epoch":1,"token":"x","base":0,"baseDigest":"","schema":1,"rev":4,"effects":{"set":{"/coins":99}}}`)
		s := a.load("u", nil)
		add(t, s, 1)
		syncNow(t, s)
		add(t, s, 1)
		syncNow(t, s)
		recovered(t, a, b, 2)
	})
}

// Changes over JournalBytes: the session saves instead, and journals again afterwards.
func TestALargeJournalIsASave(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		o := journaling()
		o.JournalBytes = 2000
		a, b := f.start("a", o), f.start("b", journaling())
		s := a.load("u", nil)
		add(t, s, 1)
		syncNow(t, s)
		if _, err := s.Transact(game, doc.Set("/note", doc.MustString(strings.Repeat("x", 3000)))); err != nil {
			t.Fatal(err)
		}
		syncNow(t, s)
		if _, rev := s.Stored(); rev != 2 || a.Stats().JournalOver == 0 {
			t.Errorf("stored %d, %+v", rev, a.Stats())
		}
		if _, err := s.Transact(game, doc.Set("/note", doc.MustString(strings.Repeat("y", 3000)))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if _, rev := s.Stored(); rev != 3 {
			t.Errorf("stored %d: nobody asked, and nothing was saved", rev)
		}
		add(t, s, 1)
		syncNow(t, s)
		if _, rev := s.Stored(); rev != 3 {
			t.Errorf("stored %d: a small change was saved, not journaled", rev)
		}
		recovered(t, a, b, 2)
	})
}

// A save in flight does not move the base before it is acknowledged, and commits after its
// snapshot stay in the journal.
func TestAppendsBesideASaveInFlight(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.Hang, faultstore.HangApplied} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, b, s := journaled(t, f)
				add(t, s, 1)
				a.faults.SetRule(nth(1, on("commit", "profile/"), kind))
				saved := make(chan error, 1)
				go func() { saved <- s.Save(context.Background()) }()
				time.Sleep(time.Millisecond)
				add(t, s, 1)
				syncNow(t, s)
				if j := string(f.fast("journal/players/u").Value); !strings.Contains(j, `"base":1`) || !strings.Contains(j, `"rev":3`) {
					t.Errorf("the journal beside a save of unknown outcome: %s", j)
				}
				a.kill()
				if err := <-saved; err == nil {
					t.Error("a save was acknowledged after the end of its node")
				}
				next := b.load("u", nil)
				if coins(next.Data()) != 7 || next.Revision() != 3 {
					t.Errorf("%v at revision %d", next.Data(), next.Revision())
				}
			})
		})
	}
}

// Close keeps what the durable store does not take in the journal, and says so.
func TestCloseLeavesALastJournal(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		time.Sleep(4 * time.Second)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.Hang}))
		add(t, s, 1)
		report, err := a.node.Close(t.Context())
		if err != nil || report.Complete() {
			t.Fatalf("%+v, %v", report, err)
		}
		r, _ := a.Close(t.Context())
		if len(r.Left) != 1 || r.Left[0].Stored || !r.Left[0].Journaled {
			t.Errorf("%+v", r.Left)
		}
		next := b.load("u", nil)
		if coins(next.Data()) != 6 || next.Loaded().Evidence != node.EvidenceClosed {
			t.Errorf("%v %+v", next.Data(), next.Loaded())
		}
	})
}

// Stats tell how many sessions have commits that a crash would lose, and for how long.
func TestExposedSessionsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		if st := a.Stats(); st.Exposed != 0 {
			t.Errorf("%+v", st)
		}
		a.faults.Outage(faultstore.All, true)
		add(t, s, 1)
		time.Sleep(20 * time.Second)
		if st := a.Stats(); st.Exposed != 1 || st.ExposedFor < 19*time.Second || st.ExposedFor > 21*time.Second {
			t.Errorf("%d for %v", st.Exposed, st.ExposedFor)
		}
		a.faults.Outage(faultstore.All, false)
		time.Sleep(10 * time.Second)
		if st := a.Stats(); st.Exposed != 0 || st.ExposedFor != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// The opening save stands for the first autosave: the next comes one and a half to two and a
// half periods later.
func TestTheOpeningSaveStandsForAnAutosave(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		saves := a.Stats().Saves
		for range 119 {
			time.Sleep(time.Second)
			add(t, s, 1)
		}
		if n := a.Stats().Saves - saves; n != 0 {
			t.Errorf("%d saves in two minutes", n)
		}
		for range 31 {
			time.Sleep(time.Second)
			add(t, s, 1)
		}
		if n := a.Stats().Saves - saves; n != 1 {
			t.Errorf("%d saves in two and a half minutes", n)
		}
	})
}

// A large profile is not saved more often than WriteBytesPerMinute allows, unless asked.
func TestWriteBytesPerMinute(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{Autosave: time.Second, WriteBytesPerMinute: 60_000})
		s := a.load("u", nil)
		if _, err := s.Transact(game, doc.Set("/note", doc.MustString(strings.Repeat("x", 10_000)))); err != nil {
			t.Fatal(err)
		}
		save(t, s)
		saves := a.Stats().Saves
		for range 100 {
			add(t, s, 1)
			time.Sleep(time.Second)
		}
		if n := a.Stats().Saves - saves; n < 8 || n > 11 {
			t.Errorf("%d saves of 10 kB in 100 s", n)
		}
		add(t, s, 1)
		save(t, s)
		if _, rev := s.Stored(); rev != s.Revision() {
			t.Error("an explicit save was held up")
		}
	})
}

// An opening append lands while a save is under way that was sent before it: it needs a save
// of its own, and gets one.
func TestAnOpeningAppendBesideASaveGetsASaveOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", journaling()), f.start("b", journaling())
		s := a.load("u", nil)
		add(t, s, 1)
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: 3 * time.Second}))
		saved := make(chan error, 1)
		go func() { saved <- s.Save(context.Background()) }()
		time.Sleep(time.Millisecond)
		add(t, s, 1)
		if d := took(func() { syncNow(t, s) }); d > 4*time.Second {
			t.Errorf("sync took %v", d)
		}
		if err := <-saved; err != nil {
			t.Error(err)
		}
		add(t, s, 1)
		syncNow(t, s)
		recovered(t, a, b, 3)
	})
}

// What a session leaves behind is removed, also when the fast store is down just then.
func TestNoJournalOrMarkerIsLeftBehind(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b, s := journaled(t, f)
		add(t, s, 1)
		syncNow(t, s)
		a.faults.Outage(faultstore.Fast, true)
		release(t, s)
		time.Sleep(5 * time.Second)
		if left := f.keysUnder("journal"); len(left) != 2 {
			t.Fatalf("%v", left)
		}
		a.faults.Outage(faultstore.Fast, false)
		time.Sleep(30 * time.Second)
		if left := f.keysUnder("journal"); len(left) > 0 {
			t.Errorf("after an outage: %v", left)
		}
		s, other := a.load("v", nil), a.load("w", nil)
		for _, s := range []*profile.Session{s, other} {
			add(t, s, 1)
			syncNow(t, s)
		}
		next := b.load("v", nil) // handed over, while the other keeps changing
		add(t, other, 1)
		release(t, next)
		if _, err := a.node.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if left := f.keysUnder("journal"); len(left) > 0 {
			t.Errorf("after a close: %v", left)
		}
	})
}

// case P16, for Sync.
func TestTenThousandSyncsWhileOneIsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		writes := &callCount{prefix: "journal/"}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			writes.rule(c)
			return always(on("commit", "journal/"), faultstore.Fault{Delay: time.Second})(c)
		})
		add(t, s, 1)
		go func() { _ = s.Sync(context.Background()) }()
		time.Sleep(time.Millisecond) // what comes at the same moment goes with the first
		add(t, s, 1)
		var wg sync.WaitGroup
		for range 10_000 {
			wg.Go(func() { syncNow(t, s) })
		}
		wg.Wait()
		if n := writes.seen(); n != 2 {
			t.Errorf("%d appends", n)
		}
	})
}

// The fast store forgets, and the player does nothing more: what was synced is saved within a
// beat or so all the same, since the node's own beat is gone too.
func TestAnIdleSessionIsSavedWhenTheFastStoreForgets(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _, s := journaled(t, f)
		add(t, s, 1)
		syncNow(t, s)
		time.Sleep(4300 * time.Millisecond)
		if _, rev := s.Stored(); rev != 1 {
			t.Fatalf("revision %d is stored, the journal holds 2", rev)
		}
		f.engine.Forget(memstore.Fast)
		time.Sleep(2 * time.Second)
		if v, rev := s.Stored(); rev != 2 || coins(v) != 6 {
			t.Errorf("stored %d: %v", rev, v)
		}
		if !a.node.Beating() {
			t.Error("the node does not beat")
		}
	})
}
