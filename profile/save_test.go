package profile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// case P14.
func TestSaveNeverChangesWhoHoldsTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		before := f.stored("u")
		for range 5 {
			add(t, s, 1)
			save(t, s)
		}
		after := f.stored("u")
		if s.Reason() != 0 || s.Epoch() != 1 || after.Epoch != before.Epoch || after.Session.Token != before.Session.Token {
			t.Errorf("%v, was %+v, is %+v", s.Reason(), before, after)
		}
		if v, rev := s.Stored(); rev != 5 || coins(v) != 5 {
			t.Errorf("stored %d %v", rev, v)
		}
	})
}

// case P16.
func TestTenThousandSavesWhileOneIsInFlight(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		writes := &count{match: on("commit", "profile/")}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			writes.rule(c)
			return always(writes.match, faultstore.Fault{Delay: time.Second})(c)
		})
		add(t, s, 1)
		go func() { _ = s.Save(context.Background()) }()
		synctest.Wait()
		add(t, s, 1)
		var wg sync.WaitGroup
		for range 10_000 {
			wg.Go(func() {
				if err := s.Save(context.Background()); err != nil {
					t.Errorf("save: %v", err)
				}
			})
		}
		wg.Wait()
		if n := writes.take(); n != 2 {
			t.Errorf("%d writes", n)
		}
		if v, _ := s.Stored(); coins(v) != 2 {
			t.Errorf("stored %v", v)
		}
	})
}

func TestUnchangedIsNotWritten(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		calls := &count{match: func(c faultstore.Call) bool { return on("commit", "profile/")(c) || on("get", "profile/")(c) }}
		a.faults.SetRule(calls.rule)
		save(t, s)
		if _, err := s.Transact(game, doc.Unset("/nothing")); err != nil {
			t.Fatal(err)
		}
		save(t, s)
		time.Sleep(time.Hour)
		if n := calls.take(); n != 0 || s.Revision() != 0 {
			t.Errorf("an idle session cost %d calls, revision %d", n, s.Revision())
		}
	})
}

func TestAutosaveIsSpreadAndPeriodic(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		writes := &count{match: on("commit", "profile/")}
		var all []*profile.Session
		for i := range 60 {
			all = append(all, a.load(fmt.Sprint("u", i), nil))
		}
		a.faults.SetRule(writes.rule)
		busiest, total := 0, 0
		for range 600 {
			for _, s := range all {
				add(t, s, 1)
			}
			time.Sleep(time.Second)
			n := writes.take()
			busiest, total = max(busiest, n), total+n
		}
		if total != 540 { // 60 sessions, once a minute, for ten minutes but the first
			t.Errorf("%d autosaves", total)
		}
		if busiest > 10 {
			t.Errorf("%d autosaves in one second", busiest)
		}
	})
}

func TestAutosaveOfOneChange(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		time.Sleep(time.Hour)
		add(t, s, 1)
		var d time.Duration
		for d = 0; s.Revision() != f.stored("u").Revision; d += time.Second {
			time.Sleep(time.Second)
		}
		if d > 61*time.Second {
			t.Errorf("saved after %v", d)
		}
	})
}

func TestAutosaveOff(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{Autosave: -1})
		s := a.load("u", nil)
		add(t, s, 1)
		time.Sleep(time.Hour)
		if f.stored("u").Revision != 0 {
			t.Error("saved without being asked to")
		}
		release(t, s)
		if f.stored("u").Revision != 1 {
			t.Error("not saved at the release")
		}
	})
}

func TestFailedSaveIsReportedAndRetried(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		add(t, s, 1)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		if err := s.Save(t.Context()); store.OutcomeOf(err) != store.NotDone || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("save: %v", err)
		}
		add(t, s, 1) // the session goes on
		time.Sleep(5 * time.Minute)
		a.faults.SetRule(nil)
		time.Sleep(time.Minute)
		if v, _ := s.Stored(); coins(v) != 2 {
			t.Errorf("stored %v", v)
		}
	})
}

func TestSaveGivenUpByItsCallerIsUnknown(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		add(t, s, 1)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 5 * time.Second}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Save(ctx); store.OutcomeOf(err) != store.Unknown || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("save: %v", err)
		}
		time.Sleep(5 * time.Second)
		if v, _ := s.Stored(); coins(v) != 1 {
			t.Errorf("the save did not go on: %v", v)
		}
	})
}

// A store call that hangs holds up its own session only.
func TestHangingSaveHoldsUpNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s, other := a.load("u", nil), a.load("v", nil)
		add(t, s, 1)
		add(t, other, 1)
		a.faults.SetRule(always(on("commit", "profile/players/u"), faultstore.Fault{Kind: faultstore.Hang}))
		go func() { _ = s.Save(context.Background()) }()
		synctest.Wait()
		if d := took(func() { save(t, other) }); d != 0 {
			t.Errorf("it took %v", d)
		}
		a.faults.SetRule(nil)
		var err error
		if d := took(func() { err = s.Sync(t.Context()) }); d > 11*time.Second {
			t.Errorf("sync took %v: %v", d, err)
		}
		time.Sleep(time.Minute)
		if v, _ := s.Stored(); coins(v) != 1 {
			t.Errorf("stored %v", v)
		}
	})
}

func TestBoundedConcurrencyWithEndsFirst(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{MaxWrites: 4})
		var (
			mu            sync.Mutex
			flying, worst int
		)
		var all []*profile.Session
		for i := range 40 {
			s := a.load(fmt.Sprint("u", i), nil)
			add(t, s, 1)
			all = append(all, s)
		}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if !on("commit", "profile/")(c) {
				return faultstore.Fault{}
			}
			mu.Lock()
			defer mu.Unlock()
			flying++
			worst = max(worst, flying)
			time.AfterFunc(time.Second-1, func() { mu.Lock(); flying--; mu.Unlock() })
			return faultstore.Fault{Delay: time.Second}
		})
		var wg sync.WaitGroup
		for _, s := range all {
			wg.Go(func() { release(t, s) })
		}
		if d := took(wg.Wait); d != 10*time.Second {
			t.Errorf("it took %v", d)
		}
		if worst > 4 {
			t.Errorf("%d writes at once", worst)
		}
	})
}

// case P22.
func TestUnlockAndFinalSaveAreOneWrite(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		add(t, s, 5)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Release(ctx); store.OutcomeOf(err) != store.Unknown {
			t.Errorf("release: %v", err)
		}
		if r := f.stored("u"); r.Session == nil || r.Revision != 0 {
			t.Errorf("half a release: %+v", r)
		}
		synctest.Wait()
		add(t, s, 1) // refused for certain: the session is not frozen
		a.faults.SetRule(nil)
		<-s.Done()
		if r := f.stored("u"); r.Session != nil || string(r.Data) != `{"coins":6}` || s.Reason() != profile.Released {
			t.Errorf("%v, %+v %s", s.Reason(), r, r.Data)
		}
	})
}

// A final save whose answer was lost keeps the session frozen until its outcome is known.
func TestLostAnswerOfTheFinalSaveKeepsTheSessionFrozen(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.FailAfter, faultstore.Late} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				s := a.load("u", nil)
				add(t, s, 5)
				first := true
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					switch {
					case on("commit", "profile/")(c) && first:
						first = false
						return faultstore.Fault{Kind: kind}
					case on("commit", "profile/")(c), on("get", "profile/")(c):
						return faultstore.Fault{Kind: faultstore.FailBefore}
					}
					return faultstore.Fault{}
				})
				go func() { _ = s.Release(context.Background()) }()
				time.Sleep(20 * time.Second)
				if _, err := s.Transact(game, doc.Increment("/coins", 1)); !errors.Is(err, profile.ErrBusy) {
					t.Errorf("a change: %v", err)
				}
				a.faults.SetRule(nil)
				<-s.Done()
				a.faults.Land()
				if r := f.stored("u"); r.Session != nil || string(r.Data) != `{"coins":5}` || s.Reason() != profile.Released {
					t.Errorf("%v, %+v %s", s.Reason(), r, r.Data)
				}
			})
		})
	}
}

// When beats do not land, records say so, idle ones too, and every session is saved every
// FallbackSave until they land again.
func TestFallback(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		busy, idle := a.load("busy", nil), a.load("idle", nil)
		writes := &count{match: on("commit", "profile/players/idle")}
		a.faults.SetRule(writes.rule)
		time.Sleep(5 * time.Second)
		add(t, busy, 1)
		a.faults.Outage(faultstore.Fast, true)
		time.Sleep(5 * time.Second)
		for _, key := range []string{"busy", "idle"} {
			if r := f.stored(key); r.Session == nil || r.Session.Beating {
				t.Errorf("%s still vouches for the beats: %+v", key, r.Session)
			}
		}
		if r := f.stored("busy"); r.Revision != 1 {
			t.Error("the change is not in the fallback save")
		}
		writes.take()
		time.Sleep(10 * time.Minute)
		if n := writes.take(); n < 19 || n > 21 {
			t.Errorf("the idle session was saved %d times in ten minutes", n)
		}
		if age := f.durable(profileKey("idle")).Age; age > 31*time.Second {
			t.Errorf("the idle record is %v old", age)
		}
		a.faults.Outage(faultstore.Fast, false)
		time.Sleep(32 * time.Second)
		if r := f.stored("idle"); !r.Session.Beating {
			t.Error("the record does not vouch for the beats again")
		}
		writes.take()
		time.Sleep(10 * time.Minute)
		if n := writes.take(); n != 0 {
			t.Errorf("the idle session was saved %d times after the outage", n)
		}
		if idle.Reason() != 0 || idle.Revision() != 0 {
			t.Errorf("%v, revision %d", idle.Reason(), idle.Revision())
		}
	})
}

func TestFallbackSavesAreRetried(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.load("u", nil)
		a.faults.Outage(faultstore.Fast|faultstore.Durable, true)
		time.Sleep(20 * time.Second)
		a.faults.Outage(faultstore.Durable, false)
		time.Sleep(6 * time.Second)
		if r := f.stored("u"); r.Session.Beating {
			t.Error("the record still vouches for the beats")
		}
	})
}

// Detail S25 of PROTOCOL.md: data over the budget without a transaction.
func TestSaveOverTheBudgetKeepsWhatWasStored(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		small := f.start("small", nil)
		s := small.load("u", nil)
		if _, err := s.Transact(game, doc.Set("/coins", doc.Int(5))); err != nil {
			t.Fatal(err)
		}
		release(t, s)
		a := f.start("a", &profile.Options{HardBytes: 40, Template: doc.Must(map[string]any{"inventory": []any{1000, 2000, 3000, 4000}})})
		f.plant(f.raw.Durable(), profileKey("v"), `{"format":1,"data":{"name":"abcdefghijklmnopq"},"epoch":4,"revision":9,"schema":1,"session":null}`)
		v := a.load("v", nil)
		if v.Data().Size() <= 40 || v.Revision() != 10 {
			t.Fatalf("revision %d, %d bytes", v.Revision(), v.Data().Size())
		}
		err := v.Save(t.Context())
		var size *profile.SizeError
		if !errors.As(err, &size) || size.Path.String() != "/inventory" || !errors.Is(err, profile.ErrTooLarge) {
			t.Errorf("save: %v", err)
		}
		if r := f.stored("v"); r.Revision != 9 || r.Session == nil {
			t.Errorf("stored %+v", r)
		}
		if err := v.Release(t.Context()); !errors.Is(err, profile.ErrTooLarge) {
			t.Errorf("release: %v", err)
		}
		if r := f.stored("v"); r.Revision != 9 || r.Session != nil || string(r.Data) != `{"name":"abcdefghijklmnopq"}` {
			t.Errorf("stored %+v %s", r, r.Data)
		}
	})
}

func TestSaveAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		add(t, s, 1)
		release(t, s)
		if err := s.Save(t.Context()); !errors.Is(err, profile.ErrEnded) || errors.Is(err, profile.ErrLost) {
			t.Errorf("save: %v", err)
		}
		release(t, s) // again is nothing
		if coins(s.Data()) != 1 {
			t.Errorf("the data is not readable any more: %v", s.Data())
		}
	})
}

// A session that is saved, asked for and released at once ends once, with everything stored.
func TestSaveGrantAndReleaseOverlap(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		b := f.start("b", nil)
		s := a.load("u", nil)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 300 * time.Millisecond}))
		add(t, s, 1)
		go func() { _ = s.Save(context.Background()) }()
		synctest.Wait()
		add(t, s, 1)
		loaded := make(chan *profile.Session)
		go func() { loaded <- b.load("u", nil) }()
		released := make(chan error, 1)
		go func() { released <- s.Release(context.Background()) }()
		next := <-loaded
		synctest.Wait()
		if err := <-released; err != nil {
			t.Errorf("release: %v", err)
		}
		if coins(next.Data()) != 2 || next.Epoch() != 2 || next.Loaded().How != profile.Granted || s.Reason() != profile.HandedOver {
			t.Errorf("%v, epoch %d, %+v, %v", next.Data(), next.Epoch(), next.Loaded(), s.Reason())
		}
	})
}

// The beats land again: within DeadAfter the records say so, so that a crash is found soon.
func TestRecordsVouchForTheBeatsAgainSoon(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		for i := range 20 {
			add(t, a.load(fmt.Sprintf("u%d", i), nil), 1)
		}
		vouching := func() (n int) {
			for i := range 20 {
				if f.stored(fmt.Sprintf("u%d", i)).Session.Beating {
					n++
				}
			}
			return n
		}
		a.faults.Outage(faultstore.Fast, true)
		time.Sleep(10 * time.Second)
		if n := vouching(); n != 0 {
			t.Fatalf("%d records vouch for beats that do not land", n)
		}
		a.faults.Outage(faultstore.Fast, false)
		time.Sleep(8 * time.Second)
		if n := vouching(); n != 20 {
			t.Errorf("8 s after the outage %d of 20 records vouch for the beats", n)
		}
		saves := a.Stats().Saves
		time.Sleep(15 * time.Second)
		if n := a.Stats().Saves - saves; n > 0 {
			t.Errorf("%d more saves", n)
		}
	})
}
