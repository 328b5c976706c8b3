package profile_test

import (
	"bytes"
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
)

func TestNewPlayerBeginsWithTheTemplate(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		template := doc.Must(map[string]any{"coins": 100, "pets": []any{}})
		a := f.start("a", &profile.Options{Template: template, Schema: 3})
		s := a.load("u_1", nil)
		if !s.Data().Equal(template) || s.Revision() != 0 || s.Epoch() != 1 || s.Loaded().How != profile.Created {
			t.Errorf("%v, revision %d, epoch %d, %v", s.Data(), s.Revision(), s.Epoch(), s.Loaded().How)
		}
		if r := f.stored("u_1"); r.Session == nil || r.Session.Node != a.node.ID() || !r.Session.Beating || r.Schema != 3 {
			t.Errorf("stored %+v", r)
		}
		if got, ok := a.Session("u_1"); !ok || got != s || len(a.Sessions()) != 1 {
			t.Error("the set does not know its session")
		}
		release(t, s)
		f.free("u_1")
		if _, ok := a.Session("u_1"); ok || s.Reason() != profile.Released {
			t.Errorf("after release: %v", s.Reason())
		}
		again := a.load("u_1", nil)
		if again.Epoch() != 2 || again.Loaded().How != profile.Free || !again.Created().Equal(s.Created()) {
			t.Errorf("epoch %d, %v, created %v", again.Epoch(), again.Loaded().How, again.Created())
		}
	})
}

// case P2.
func TestSecondLoadIsErrOpen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		if d := took(func() { a.fails("u", nil, profile.ErrOpen) }); d != 0 {
			t.Errorf("it took %v", d)
		}
		add(t, s, 1)
		save(t, s)
	})
}

// case P2: also while the first load is still under way.
func TestLoadDuringLoadIsErrOpen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Delay: time.Second}))
		done := make(chan *profile.Session)
		go func() { done <- a.load("u", nil) }()
		synctest.Wait()
		a.fails("u", nil, profile.ErrOpen)
		if s := <-done; s.Epoch() != 1 {
			t.Errorf("epoch %d", s.Epoch())
		}
	})
}

// case P3.
func TestTransientFailuresAreRetried(t *testing.T) {
	for _, failures := range []int{1, 2, 5, 30} {
		for _, op := range []string{"get", "commit"} {
			t.Run(fmt.Sprint(op, failures), func(t *testing.T) {
				bubble(t, func(t *testing.T, f *fleet) {
					seed(t, f, "u", 41)
					b := f.start("b", nil)
					left := failures
					b.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
						if on(op, "profile/")(c) && left > 0 {
							left--
							return faultstore.Fault{Kind: faultstore.FailBefore}
						}
						return faultstore.Fault{}
					})
					if s := b.load("u", nil); coins(s.Data()) != 41 || s.Loaded().How != profile.Free {
						t.Errorf("loaded %v, %v", s.Data(), s.Loaded().How)
					}
				})
			})
		}
	}
}

// seed stores a profile with these coins.
func seed(t *testing.T, f *fleet, key string, n int64) {
	t.Helper()
	a := f.start("seed", nil)
	s := a.load(key, nil)
	add(t, s, n)
	release(t, s)
}

// case P4.
func TestFailedReadIsNoNewPlayer(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		seed(t, f, "u", 41)
		before := f.durable(profileKey("u"))
		b := f.start("b", &profile.Options{Template: doc.Must(map[string]any{"coins": 0})})
		b.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		var err error
		if d := took(func() { err = b.fails("u", nil, profile.ErrTimeout) }); d != 120*time.Second {
			t.Errorf("gave up after %v", d)
		}
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the error does not say why: %v", err)
		}
		if after := f.durable(profileKey("u")); after.Version != before.Version || !bytes.Equal(after.Value, before.Value) {
			t.Errorf("the record was changed:\n%s\n%s", before.Value, after.Value)
		}
	})
}

// case P26.
func TestOneDeadlineForTheWholeLoad(t *testing.T) {
	for name, rule := range map[string]faultstore.Rule{
		"reads fail":  always(on("get", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}),
		"reads hang":  always(on("get", "profile/"), faultstore.Fault{Kind: faultstore.Hang}),
		"writes fail": always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}),
		"slow reads and failing writes": faultstore.First(
			always(on("get", "profile/"), faultstore.Fault{Delay: 3 * time.Second}),
			always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore})),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a := f.start("a", nil)
				a.faults.SetRule(rule)
				d := took(func() { a.fails("u", &profile.LoadOptions{Wait: 20 * time.Second}, profile.ErrTimeout) })
				if d != 20*time.Second {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}

// case P26: a write under way at the deadline gets a second for its answer, and what it took
// is given back.
func TestHangingClaimEndsSoonAfterTheDeadline(t *testing.T) {
	for _, kind := range []faultstore.Kind{faultstore.Hang, faultstore.HangApplied} {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				seed(t, f, "u", 1)
				a := f.start("a", nil)
				a.faults.SetRule(nth(1, on("commit", "profile/"), kind))
				d := took(func() { a.fails("u", &profile.LoadOptions{Wait: 5 * time.Second}, profile.ErrTimeout) })
				if d > 9*time.Second {
					t.Errorf("it took %v", d)
				}
				time.Sleep(10 * time.Second)
				f.free("u")
			})
		})
	}
}

func TestCancelledLoadGivesBackWhatItTook(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		seed(t, f, "u", 5)
		a := f.start("a", nil)
		ctx, cancel := context.WithCancel(t.Context())
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if on("commit", "profile/")(c) {
				cancel() // while the claim is on its way
				return faultstore.Fault{Back: 10 * time.Millisecond}
			}
			return faultstore.Fault{}
		})
		_, err := a.Load(ctx, "u", nil)
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("load: %v", err)
		}
		f.free("u")
		if r := f.stored("u"); r.Epoch != 2 || r.Revision != 1 {
			t.Errorf("given back as %+v", r)
		}
		a.faults.SetRule(nil)
		if s := a.load("u", nil); coins(s.Data()) != 5 {
			t.Errorf("loaded %v", s.Data())
		}
	})
}

func TestCancelIsPrompt(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Kind: faultstore.Hang}))
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("the player left"))
		defer cancel()
		var err error
		d := took(func() { _, err = a.Load(ctx, "u", nil) })
		if d != 3*time.Second || err == nil || !strings.Contains(err.Error(), "the player left") {
			t.Errorf("after %v: %v", d, err)
		}
	})
}

// case P5.
func TestFailureAfterTheClaimGivesTheKeyBackUnchanged(t *testing.T) {
	for name, validate := range map[string]func(doc.Value) error{
		"schema": func(doc.Value) error { return errors.New("no such pet") },
		"panic":  func(doc.Value) error { panic("index out of range") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				seed(t, f, "u", 5)
				before := f.stored("u")
				a := f.start("a", &profile.Options{Validate: validate, Template: doc.Must(map[string]any{"new": 1})})
				a.fails("u", nil, profile.ErrSchema)
				f.free("u")
				if after := f.stored("u"); string(after.Data) != string(before.Data) || after.Revision != before.Revision {
					t.Errorf("was %+v, is %+v", before, after)
				}
				b := f.start("b", nil)
				if d := took(func() { b.load("u", nil) }); d != 0 {
					t.Errorf("the next load took %v", d)
				}
			})
		})
	}
}

func TestForeignValueIsLeftAloneAndQuarantined(t *testing.T) {
	for name, value := range map[string]string{
		"text": "hello", "empty": "", "JSON of another": `{"Data":{"coins":5},"MetaData":{}}`,
		"cut": `{"format":1,"data":{"coins":`, "binary": "\x00\xff\x80",
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				version := f.plant(f.raw.Durable(), profileKey("u"), value)
				a := f.start("a", nil)
				for range 2 {
					a.fails("u", nil, profile.ErrForeign)
				}
				if r := f.durable(profileKey("u")); r.Version != version || string(r.Value) != value {
					t.Errorf("the original was changed to %q", r.Value)
				}
				if q := f.durable("quarantine/players/u"); q.Missing() || string(q.Value) != value {
					t.Errorf("quarantined %q", q.Value)
				}
				if n := a.Stats().Quarantine; n != 1 {
					t.Errorf("quarantined %d times", n)
				}
				if _, err := a.Read(t.Context(), "u"); !errors.Is(err, profile.ErrForeign) {
					t.Errorf("read: %v", err)
				}
			})
		})
	}
}

func TestForeignValueThatCannotBeCopiedStaysForeign(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), "hello")
		a := f.start("a", nil)
		a.faults.SetRule(always(on("commit", "quarantine/"), faultstore.Fault{Kind: faultstore.FailBefore}))
		a.fails("u", nil, profile.ErrForeign)
		a.faults.SetRule(nil)
		a.fails("u", nil, profile.ErrForeign)
		if q := f.durable("quarantine/players/u"); string(q.Value) != "hello" {
			t.Errorf("quarantined %q", q.Value)
		}
	})
}

func TestNewerReleaseIsLeftAlone(t *testing.T) {
	for name, value := range map[string]string{
		"format": `{"format":2,"anything":[]}`,
		"schema": `{"format":1,"data":{},"epoch":4,"revision":9,"schema":2,"session":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				version := f.plant(f.raw.Durable(), profileKey("u"), value)
				a := f.start("a", nil)
				a.fails("u", nil, profile.ErrNewerSchema)
				if r := f.durable(profileKey("u")); r.Version != version {
					t.Errorf("changed to %s", r.Value)
				}
				if q := f.durable("quarantine/players/u"); !q.Missing() {
					t.Error("quarantined")
				}
			})
		})
	}
}

func TestUnknownFieldsSurviveASession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), `{"zeta":[1.50, 2],"format":1,"data":{"coins":1},"epoch":4,"revision":9,"schema":1,"alpha":{"b":1,"a":1e400},"session":null}`)
		a := f.start("a", nil)
		s := a.load("u", nil)
		add(t, s, 1)
		save(t, s)
		release(t, s)
		for _, want := range []string{`"zeta":[1.50, 2]`, `"alpha":{"b":1,"a":1e400}`} {
			if got := string(f.durable(profileKey("u")).Value); !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	})
}

func TestReconcileIsACommit(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"coins":3,"old":true,"pets":["cat"],"opts":{"sound":false}},"epoch":4,"revision":9,"schema":1,"session":null}`)
		a := f.start("a", &profile.Options{Migrations: []profile.Migration{{To: 2}}, Template: doc.Must(map[string]any{
			"coins": 100, "gems": 5, "pets": []any{"dog", "fish"}, "opts": map[string]any{"sound": true, "music": true},
		})})
		s := a.load("u", nil)
		want := doc.Must(map[string]any{
			"coins": 3, "gems": 5, "old": true, "pets": []any{"cat"}, "opts": map[string]any{"sound": false, "music": true},
		})
		if !s.Data().Equal(want) || s.Revision() != 10 {
			t.Errorf("revision %d: %v", s.Revision(), s.Data())
		}
		if v, rev := s.Stored(); rev != 9 || !v.Equal(want) || f.stored("u").Schema != 1 {
			t.Errorf("stored already, or not shown as a load makes it: %d %v", rev, v)
		}
		release(t, s)
		if r := f.stored("u"); r.Revision != 10 || r.Schema != 2 {
			t.Errorf("stored %+v", r)
		}
		again := a.load("u", nil)
		if again.Revision() != 10 {
			t.Errorf("reconciled again: revision %d", again.Revision())
		}
	})
}

// case P13.
func TestLoadDuringTheOwnReleaseWaitsForIt(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		s := a.load("u", nil)
		add(t, s, 7)
		a.faults.SetRule(nth(1, on("commit", "profile/"), faultstore.Pass))
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: 2 * time.Second}))
		go func() { _ = s.Release(context.Background()) }()
		synctest.Wait()
		var next *profile.Session
		if d := took(func() { next = a.load("u", nil) }); d != 2*time.Second {
			t.Errorf("it took %v", d)
		}
		if coins(next.Data()) != 7 || next.Epoch() != 2 {
			t.Errorf("rejoined with %v in epoch %d", next.Data(), next.Epoch())
		}
	})
}

// case P8.
func TestLoadWhileClosingIsErrClosing(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Delay: time.Second}))
		result := make(chan error)
		go func() {
			_, err := a.Load(context.Background(), "u", nil)
			result <- err
		}()
		synctest.Wait()
		if _, err := a.node.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-result; !errors.Is(err, profile.ErrClosing) {
			t.Errorf("the load under way: %v", err)
		}
		a.fails("v", nil, profile.ErrClosing)
		if n := len(a.Sessions()); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		if r := f.durable(profileKey("u")); !r.Missing() {
			f.free("u")
		}
	})
}

// case P8: the race at every store call of the load.
func TestLoadRacingWithCloseLeavesNoSession(t *testing.T) {
	for n := 1; n <= 2; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				seed(t, f, "u", 1)
				a := f.start("a", nil)
				start := make(chan struct{})
				calls := 0
				a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
					if len(c.Keys) == 0 || !strings.HasPrefix(c.Keys[0], "profile/") {
						return faultstore.Fault{}
					}
					if calls++; calls == n {
						close(start)
					}
					return faultstore.Fault{Delay: time.Second, Back: time.Second}
				})
				result := make(chan error, 1)
				go func() {
					_, err := a.Load(context.Background(), "u", nil)
					result <- err
				}()
				select {
				case <-start:
				case err := <-result:
					t.Fatalf("there was no call %d: %v", n, err)
				}
				if _, err := a.node.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
				err := <-result
				if err != nil && !errors.Is(err, profile.ErrClosing) {
					t.Errorf("load: %v", err)
				}
				f.free("u")
			})
		})
	}
}

func TestBadNames(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		for _, key := range []string{"", "a/b", "a b", "ü", strings.Repeat("k", 129), "a\x00"} {
			if _, err := a.Load(t.Context(), key, nil); err == nil {
				t.Errorf("loaded %q", key)
			}
			if _, err := a.Read(t.Context(), key); err == nil {
				t.Errorf("read %q", key)
			}
		}
		if _, err := profile.New(a.node, "no/slash", nil); err == nil {
			t.Error("a set with a slash in its name")
		}
		if _, err := a.Load(t.Context(), "u", &profile.LoadOptions{Policy: 9}); err == nil {
			t.Error("loaded with a policy that is none")
		}
	})
}

func TestOptionsReportEverythingThatIsWrong(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		_, err := profile.New(a.node, "others", &profile.Options{
			Template: doc.Int(1), Schema: -1, Policy: 7, LoadTimeout: -1, PollEvery: 1, HardBytes: 1 << 30, MaxWrites: -1,
		})
		for _, field := range []string{"Template", "Schema", "Policy", "LoadTimeout", "PollEvery", "HardBytes", "MaxWrites"} {
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("%s is not in %v", field, err)
			}
		}
	})
}

func TestOnLoadHooks(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		var order []string
		hung := make(chan struct{})
		a.OnLoad(func(_ context.Context, s *profile.Session) {
			order = append(order, "first")
			add(t, s, 2)
		})
		a.OnLoad(func(context.Context, *profile.Session) { panic("boom") })
		a.OnLoad(func(ctx context.Context, _ *profile.Session) {
			order = append(order, "third")
			<-ctx.Done()
			close(hung)
		})
		var s *profile.Session
		if d := took(func() { s = a.load("u", nil) }); d != 5*time.Second {
			t.Errorf("a hook that hangs held the load up for %v", d)
		}
		<-hung
		if fmt.Sprint(order) != "[first third]" || coins(s.Data()) != 2 {
			t.Errorf("%v, %v", order, s.Data())
		}
		if st := a.Stats(); st.Panics != 1 || st.Stuck != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// A process that sleeps between its read and its claim finds the record changed.
func TestClaimAfterALongPauseIsConditional(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		seed(t, f, "u", 1)
		slow := f.start("slow", &profile.Options{CallTimeout: 10 * time.Minute, LoadTimeout: 10 * time.Minute})
		slow.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Minute}))
		loaded := make(chan *profile.Session)
		go func() { loaded <- slow.load("u", nil) }()
		synctest.Wait()
		b := f.start("b", nil)
		s := b.load("u", nil)
		add(t, s, 10)
		time.Sleep(90 * time.Second)
		got := <-loaded // the claim failed, then it asked b
		synctest.Wait()
		if coins(got.Data()) != 11 || s.Reason() != profile.HandedOver || got.Epoch() != 3 || got.Loaded().How != profile.Granted {
			t.Errorf("%v, %v, epoch %d, %v", got.Data(), s.Reason(), got.Epoch(), got.Loaded().How)
		}
	})
}

func TestEvidenceOfALoadIsEmptyWithoutTakeover(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		seed(t, f, "u", 1)
		a := f.start("a", nil)
		if l := a.load("u", nil).Loaded(); l.Evidence != node.NoEvidence || l.From != "" {
			t.Errorf("%+v", l)
		}
	})
}

// A node has one set of a name: a second one would take the first one's asks.
func TestASecondSetOfTheSameNameIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		if _, err := profile.New(a.node, "players", nil); !errors.Is(err, node.ErrServed) {
			t.Errorf("%v", err)
		}
		if _, err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := profile.New(a.node, "players", nil); err != nil {
			t.Errorf("after the first has closed: %v", err)
		}
	})
}
