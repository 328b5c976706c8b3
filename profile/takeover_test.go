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
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// takenOver checks a session that was taken from a dead holder: what was saved is there.
func takenOver(t *testing.T, f *fleet, next *profile.Session, evidence node.Evidence) {
	t.Helper()
	if l := next.Loaded(); l.How != profile.TakenOver || l.Evidence != evidence || coins(next.Data()) != 2 {
		t.Errorf("%+v, %v", l, next.Data())
	}
	if took := f.stored("u").TookFrom; took == nil || took.Evidence != string(evidence) {
		t.Errorf("the record does not say why: %+v", took)
	}
}

// case P1: the holder is killed, and the newcomer arrives at once, or later.
func TestTakeoverOfACrashedNodeByAge(t *testing.T) {
	for _, after := range []time.Duration{0, 1700 * time.Millisecond, time.Minute} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, _ := held(t, f, nil)
				b := f.start("b", nil)
				time.Sleep(5500 * time.Millisecond) // between two beats
				a.kill()
				time.Sleep(after)
				var next *profile.Session
				d := took(func() { next = b.load("u", nil) }) + after
				if limit := max(4300*time.Millisecond, after+10*time.Millisecond); d > limit {
					t.Errorf("loaded %v after the crash, more than %v", d, limit)
				}
				takenOver(t, f, next, node.EvidenceAge)
			})
		})
	}
}

// Under every policy, and quietly too.
func TestADeadHolderIsTakenOverUnderEveryPolicy(t *testing.T) {
	for _, o := range []profile.LoadOptions{{Policy: profile.Wait}, {Policy: profile.Fail}, {Policy: profile.Steal}, {Quiet: true}} {
		t.Run(fmt.Sprintf("%v %v", o.Policy, o.Quiet), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, _ := held(t, f, nil)
				b := f.start("b", nil)
				time.Sleep(5 * time.Second)
				a.kill()
				time.Sleep(10 * time.Second)
				takenOver(t, f, b.load("u", &o), node.EvidenceAge)
			})
		})
	}
}

func TestTakeoverByClosed(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(3 * time.Second)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		report, err := a.node.Close(t.Context())
		if err != nil || report.Complete() {
			t.Fatalf("%+v, %v", report, err)
		}
		if s.Reason() != profile.Closed {
			t.Errorf("the session: %v", s.Reason())
		}
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d > 10*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		takenOver(t, f, next, node.EvidenceClosed)
	})
}

func TestTakeoverByAbsence(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _ := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		a.kill()
		if err := f.raw.Fast().Commit(t.Context(), store.Tx{{Key: "node/" + a.node.ID(), Op: store.Delete}})[0]; err != nil {
			t.Fatal(err)
		}
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d < 4*time.Second || d > 5200*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		takenOver(t, f, next, node.EvidenceAbsent)
	})
}

// A holder that does not vouch for its beats is judged by the age of its record alone.
func TestTakeoverByLease(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		a.faults.Outage(faultstore.Fast|faultstore.Bus, true)
		time.Sleep(10 * time.Second)
		if r := f.stored("u"); r.Session.Beating {
			t.Fatal("the record still vouches for the beats")
		}
		a.kill()
		b.fails("u", &profile.LoadOptions{Policy: profile.Wait}, profile.ErrTimeout)
		b.fails("u", &profile.LoadOptions{Policy: profile.Wait}, profile.ErrTimeout)
		next := b.load("u", &profile.LoadOptions{Policy: profile.Wait})
		if l := next.Loaded(); l.Evidence != node.EvidenceLease || coins(next.Data()) != 5 {
			t.Errorf("%+v, %v", l, next.Data())
		}
		if s.Reason() != 0 {
			t.Errorf("a dead process knows more than it can: %v", s.Reason())
		}
	})
}

// The record names this very node by a token that it does not know.
func TestOrphanOfThisNodeIsTakenAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		b := f.start("b", nil)
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"coins":2},"epoch":4,"revision":9,"schema":1,"session":{"token":"lost","node":"`+b.node.ID()+`","beating":true}}`)
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d != 0 {
			t.Errorf("it took %v", d)
		}
		takenOver(t, f, next, node.EvidenceOrphan)
	})
}

// A node that is asked for a token of its own that it does not know frees the record.
func TestOrphanIsFreedWhenAskedFor(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"coins":2},"epoch":4,"revision":9,"schema":1,"session":{"token":"lost","node":"`+a.node.ID()+`","beating":true}}`)
		j := `{"format":1,"epoch":4,"token":"lost","base":9,"baseDigest":"` + doc.Must(map[string]any{"coins": 2}).Digest() + `","schema":1,"rev":11,"effects":{"set":{"/coins":6}}}`
		f.plant(f.raw.Fast(), "journal/players/u", j)
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d > 2*time.Second {
			t.Errorf("it took %v", d)
		}
		if coins(next.Data()) != 6 || next.Loaded().How != profile.Free {
			t.Errorf("%v, %+v", next.Data(), next.Loaded())
		}
		if a.Stats().Freed != 1 {
			t.Errorf("%+v", a.Stats())
		}
	})
}

// plantJournal leaves what a holder would have journaled after its save of revision 1.
func plantJournal(t *testing.T, f *fleet, change func(map[string]any)) {
	t.Helper()
	r := f.stored("u")
	base, err := doc.Parse(r.Data, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := map[string]any{
		"format": 1, "epoch": r.Epoch, "token": r.Session.Token, "base": r.Revision, "baseDigest": base.Digest(),
		"schema": 1, "rev": r.Revision + 3, "effects": map[string]any{"set": map[string]any{"/coins": 9}},
		"commits": []any{map[string]any{"id": "gift", "revision": r.Revision + 2}},
	}
	if change != nil {
		change(j)
	}
	f.plant(f.raw.Fast(), "journal/players/u", doc.Must(j).String())
}

func TestTakeoverReplaysTheJournal(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"unsealed":              nil,
		"sealed by another":     func(j map[string]any) { j["sealedBy"] = "someone" },
		"fields of a later one": func(j map[string]any) { j["zip"] = []any{1.5} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, _ := held(t, f, nil)
				plantJournal(t, f, change)
				b := f.start("b", nil)
				time.Sleep(5500 * time.Millisecond)
				a.kill()
				next := b.load("u", nil)
				if l := next.Loaded(); l.How != profile.Recovered || l.Evidence != node.EvidenceAge || coins(next.Data()) != 9 || next.Revision() != 4 {
					t.Errorf("%+v, revision %d: %v", l, next.Revision(), next.Data())
				}
				if v, rev := next.Stored(); rev != 4 || coins(v) != 9 {
					t.Errorf("claim and replay are not one write: %d %v", rev, v)
				}
				if c, err := next.Change(profile.Source{ID: "gift"}, nil); err != nil || !c.Repeated || c.Revision != 3 {
					t.Errorf("the journal's commit ids are forgotten: %+v, %v", c, err)
				}
				if j := string(f.fast("journal/players/u").Value); !strings.Contains(j, `"sealedBy"`) || !strings.Contains(j, `"/coins":9`) {
					t.Errorf("the seal lost the entries: %s", j)
				}
			})
		})
	}
}

func TestTakeoverLeavesAloneWhatIsNotItsJournal(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(map[string]any)
		quarantine bool
	}{
		"lower epoch":         {func(j map[string]any) { j["epoch"], j["token"] = 0, "old" }, false},
		"all in the record":   {func(j map[string]any) { j["rev"] = 1 }, false},
		"higher epoch":        {func(j map[string]any) { j["epoch"], j["token"] = 9, "next" }, true},
		"another token":       {func(j map[string]any) { j["token"] = "twin" }, true},
		"made for other data": {func(j map[string]any) { j["baseDigest"] = "0" }, true},
		"base ahead":          {func(j map[string]any) { j["base"], j["rev"] = 7, 9 }, true},
		"no such place":       {func(j map[string]any) { j["effects"] = map[string]any{"set": map[string]any{"/no/such": 1}} }, true},
		"unreadable":          {func(j map[string]any) { j["effects"] = 5 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, _ := held(t, f, nil)
				plantJournal(t, f, c.change)
				original := string(f.fast("journal/players/u").Value)
				b := f.start("b", nil)
				time.Sleep(5 * time.Second)
				a.kill()
				next := b.load("u", nil)
				if coins(next.Data()) != 2 || next.Loaded().How != profile.TakenOver {
					t.Errorf("%v, %+v", next.Data(), next.Loaded())
				}
				q := f.durable("quarantine/journal/players/u")
				if q.Missing() == c.quarantine {
					t.Errorf("quarantined %q", q.Value)
				}
				if name == "unreadable" && string(q.Value) != original {
					t.Errorf("quarantined %s, was %s", q.Value, original)
				}
			})
		})
	}
}

func TestJournalOfALaterReleaseFailsTheLoad(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"format": func(j map[string]any) { j["format"] = 2 },
		"schema": func(j map[string]any) { j["schema"] = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, _ := held(t, f, nil)
				plantJournal(t, f, change)
				before := f.durable(profileKey("u"))
				b := f.start("b", nil)
				time.Sleep(5 * time.Second)
				a.kill()
				b.fails("u", nil, profile.ErrNewerSchema)
				if after := f.durable(profileKey("u")); after.Version != before.Version {
					t.Errorf("the record was changed: %s", after.Value)
				}
			})
		})
	}
}

// A journal that cannot be read proves nothing: what Sync acknowledged may be in it.
func TestTakeoverNeedsTheJournal(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _ := held(t, f, nil)
		plantJournal(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		a.kill()
		b.faults.SetRule(always(on("get", "journal/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		b.fails("u", &profile.LoadOptions{Wait: 30 * time.Second}, profile.ErrTimeout)
		b.faults.SetRule(nil)
		if next := b.load("u", nil); coins(next.Data()) != 9 {
			t.Errorf("loaded %v", next.Data())
		}
	})
}

// Finding M15 of PROTOCOL.md: an idle holder whose session was taken learns of it within AskEvery.
func TestIdleHolderLearnsThatItWasTaken(t *testing.T) {
	for name, bus := range map[string]bool{"by message": true, "by note": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				s := a.load("u", nil)
				b := f.start("b", nil)
				time.Sleep(5 * time.Second)
				next := wronglyTaken(t, f, a, b, bus)
				since := time.Now()
				<-s.Done()
				if d := time.Since(since); d > time.Second+10*time.Millisecond {
					t.Errorf("it took %v", d)
				}
				if s.Reason() != profile.Lost || a.Stats().Lost != 1 {
					t.Errorf("%v, %+v", s.Reason(), a.Stats())
				}
				add(t, next, 1)
				save(t, next)
				time.Sleep(2 * time.Minute)
				if left := f.leftovers(); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// wronglyTaken has b take a's session by policy, a being deaf to asks meanwhile.
func wronglyTaken(t *testing.T, f *fleet, a, b *server, bus bool) *profile.Session {
	t.Helper()
	a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
		if c.Op == "deliver" || on("scan", "note/")(c) {
			return faultstore.Fault{Kind: faultstore.FailBefore}
		}
		return faultstore.Fault{}
	})
	next := b.load("u", &profile.LoadOptions{StealAfter: 2 * time.Second})
	if l := next.Loaded(); l.Evidence != profile.EvidencePolicy {
		t.Fatalf("%+v", l)
	}
	a.faults.SetRule(nil)
	if !bus {
		a.faults.Outage(faultstore.Bus, true)
	} else {
		// The message was sent while a was deaf.
		n := node.Note{Kind: node.NoteTaken, Set: "players", Key: "u", Token: "x", Node: b.node.ID(), For: f.tokenOf(a)}
		if err := b.node.Tell(t.Context(), a.node.ID(), n); err != nil {
			t.Fatal(err)
		}
	}
	return next
}

// tokenOf is the token of the session that was taken from a.
func (f *fleet) tokenOf(a *server) string {
	if took := f.stored("u").TookFrom; took != nil && took.Node == a.node.ID() {
		return took.Token
	}
	f.t.Fatal("nothing was taken")
	return ""
}

// The note lies, or is late: only the record decides.
func TestTakenNoteIsVerified(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		n := node.Note{Kind: node.NoteTaken, Set: "players", Key: "u", Token: "x", Node: "ghost-1", For: f.stored("u").Session.Token}
		f.plant(f.raw.Fast(), node.NoteKey(a.node.ID(), "players", "u"), string(n.Encode()))
		time.Sleep(3 * time.Second)
		if s.Reason() != 0 {
			t.Errorf("ended by a note: %v", s.Reason())
		}
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("the note is still there: %v", left)
		}
		add(t, s, 1)
		save(t, s)
	})
}

// A paused holder that wakes after it was taken over writes nothing, and learns it.
func TestPausedHolderWritesNothingAfterATakeover(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, &profile.Options{CallTimeout: time.Hour})
		b := f.start("b", nil)
		time.Sleep(5500 * time.Millisecond)
		// Its save is on its way for a minute, and all its beats are held up.
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			switch {
			case on("commit", "profile/")(c):
				return faultstore.Fault{Delay: time.Minute}
			case on("commit", "node/")(c):
				return faultstore.Fault{Kind: faultstore.Hang}
			}
			return faultstore.Fault{}
		})
		saved := make(chan error)
		go func() { saved <- s.Save(context.Background()) }()
		synctest.Wait()
		next := b.load("u", nil)
		takenOver(t, f, next, node.EvidenceAge)
		add(t, next, 100)
		save(t, next)
		if err := <-saved; !errors.Is(err, profile.ErrLost) {
			t.Errorf("the old holder's save: %v", err)
		}
		if r := f.stored("u"); r.Session.Node != b.node.ID() || !strings.Contains(string(r.Data), "102") {
			t.Errorf("stored %+v %s", r, r.Data)
		}
	})
}

// case P21: a stolen session saves after its thief has played and released.
func TestStaleSessionCannotOverwriteWhatCameAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		a.faults.Outage(faultstore.All, true)
		next := b.load("u", nil)
		add(t, next, 100)
		release(t, next)
		add(t, s, 7)
		a.faults.Outage(faultstore.All, false)
		if err := s.Save(t.Context()); !errors.Is(err, profile.ErrLost) && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the stale save: %v", err)
		}
		<-s.Done()
		if r := f.stored("u"); s.Reason() != profile.Lost || string(r.Data) != `{"coins":102}` || r.Session != nil {
			t.Errorf("%v, stored %s", s.Reason(), r.Data)
		}
	})
}

// case P12: two nodes release the same profile; the older session's changes do not reach it.
func TestTwoReleasesFromTwoNodes(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		next := wronglyTaken(t, f, a, b, false)
		a.faults.Outage(faultstore.Fast|faultstore.Bus, true) // a does not hear of it
		add(t, next, 100)
		errs := make(chan error, 2)
		go func() { errs <- s.Release(context.Background()) }()
		go func() { errs <- next.Release(context.Background()) }()
		one, two := <-errs, <-errs
		if one == nil {
			one, two = two, one
		}
		if !errors.Is(one, profile.ErrLost) || two != nil {
			t.Errorf("released: %v, %v", one, two)
		}
		if r := f.stored("u"); string(r.Data) != `{"coins":102}` || r.Session != nil || r.Epoch != 2 {
			t.Errorf("stored %+v %s", r, r.Data)
		}
	})
}

// The fast store forgets everything while a holder is asked and judged.
func TestTakeoverWhileTheFastStoreForgets(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _ := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(5 * time.Second)
		a.kill()
		loaded := make(chan *profile.Session)
		go func() { loaded <- b.load("u", nil) }()
		time.Sleep(2 * time.Second)
		f.engine.Forget(memstore.Fast)
		next := <-loaded
		takenOver(t, f, next, node.EvidenceAbsent)
	})
}

// The record store goes back in time under a living session.
func TestRecordStoreThatGoesBackEndsNoSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, s := held(t, f, nil)
		old := f.engine.Snapshot(memstore.Durable)
		save(t, s)
		f.engine.Restore(old)
		add(t, s, 1)
		save(t, s)
		if r := f.stored("u"); string(r.Data) != `{"coins":6}` {
			t.Errorf("stored %s", r.Data)
		}
	})
}
