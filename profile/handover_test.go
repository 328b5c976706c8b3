package profile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// held is a fleet with a profile of 5 coins that a has open, three of them not saved.
func held(t *testing.T, f *fleet, opts *profile.Options) (a *server, s *profile.Session) {
	t.Helper()
	a = f.start("a", opts)
	s = a.load("u", nil)
	add(t, s, 2)
	save(t, s)
	add(t, s, 3)
	return a, s
}

// handedOver checks that next has what s had, and that s has ended in order.
func handedOver(t *testing.T, s, next *profile.Session) {
	t.Helper()
	synctest.Wait() // the newcomer may know before the holder does
	if coins(next.Data()) != 5 || next.Epoch() != s.Epoch()+1 || next.Loaded().How != profile.Granted {
		t.Errorf("%v, epoch %d, %+v", next.Data(), next.Epoch(), next.Loaded())
	}
	select {
	case <-s.Done():
	default:
		t.Fatal("the old session lives")
	}
	if s.Reason() != profile.HandedOver {
		t.Errorf("the old session ended as %v", s.Reason())
	}
	if _, err := s.Transact(game); !errors.Is(err, profile.ErrEnded) || errors.Is(err, profile.ErrLost) {
		t.Errorf("a change after the hand-over: %v", err)
	}
}

func TestHandOverByMessageIsImmediate(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		for _, x := range []*server{a, b} {
			x.faults.SetRule(always(func(faultstore.Call) bool { return true }, faultstore.Fault{Delay: time.Millisecond}))
		}
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d > 10*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		handedOver(t, s, next)
		if l := next.Loaded(); l.From != a.node.ID() || l.Waited > 10*time.Millisecond {
			t.Errorf("%+v", l)
		}
		synctest.Wait()
		time.Sleep(2 * time.Second)
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("left in the fast store: %v", left)
		}
		if st := a.Stats(); st.HandedOver != 1 {
			t.Errorf("%+v", st)
		}
		if st := b.Stats(); st.Granted != 1 || st.Takeovers != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// case P1: with the message lost, the holder finds the note within AskEvery, and the newcomer
// finds itself granted at its next poll.
func TestHandOverByNoteAlone(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b := f.start("b", nil)
		a.faults.Outage(faultstore.Bus, true)
		b.faults.Outage(faultstore.Bus, true)
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d > time.Second+250*time.Millisecond {
			t.Errorf("it took %v", d)
		}
		handedOver(t, s, next)
	})
}

// With bus and fast store down the ask is in the record, and the holder meets it at its next
// save.
func TestHandOverByAskInTheRecord(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, s := held(t, f, &profile.Options{Autosave: 20 * time.Second})
		b := f.start("b", &profile.Options{Policy: profile.Wait})
		b.faults.Outage(faultstore.Bus|faultstore.Fast, true)
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d > 25*time.Second {
			t.Errorf("it took %v", d)
		}
		handedOver(t, s, next)
		if ask := f.stored("u").Ask; ask != nil {
			t.Errorf("the ask is still there: %+v", ask)
		}
	})
}

func TestThirdRequesterOutbidsTheSecond(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		a.faults.Outage(faultstore.Bus, true)
		b, c := f.start("b", nil), f.start("c", nil)
		b.faults.Outage(faultstore.Bus, true)
		c.faults.Outage(faultstore.Bus, true)
		// The holder has just read its notes; both ask before it reads them again.
		time.Sleep(100 * time.Millisecond)
		second := make(chan error, 1)
		go func() {
			_, err := b.Load(context.Background(), "u", nil)
			second <- err
		}()
		time.Sleep(300 * time.Millisecond)
		next := c.load("u", nil)
		handedOver(t, s, next)
		if err := <-second; !errors.Is(err, profile.ErrOutbid) {
			t.Errorf("the second requester: %v", err)
		}
		if st := b.Stats(); st.Outbid != 1 || st.Loading != 0 {
			t.Errorf("%+v", st)
		}
		time.Sleep(3 * time.Second)
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("left in the fast store: %v", left)
		}
	})
}

// A load that was granted the session, while a newer one had asked for it, passes it on.
func TestOutbidLoadPassesTheGrantOn(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		b, c := f.start("b", nil), f.start("c", nil)
		// The holder hears b at once, and its final save takes a while; c, which nobody
		// hears on the bus, asks meanwhile. b hears nothing on the bus either.
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 400 * time.Millisecond}))
		b.faults.SetRule(always(on("deliver", ""), faultstore.Fault{Kind: faultstore.Lose}))
		c.faults.Outage(faultstore.Bus, true)
		second := make(chan error, 1)
		time.Sleep(50 * time.Millisecond) // the holder reads its notes again after the final save
		go func() {
			_, err := b.Load(context.Background(), "u", nil)
			second <- err
		}()
		time.Sleep(300 * time.Millisecond)
		next := c.load("u", nil)
		if err := <-second; !errors.Is(err, profile.ErrOutbid) {
			t.Errorf("the second requester: %v", err)
		}
		if coins(next.Data()) != 5 || next.Epoch() != s.Epoch()+2 || next.Loaded().How != profile.Granted {
			t.Errorf("%v, epoch %d, %+v", next.Data(), next.Epoch(), next.Loaded())
		}
		synctest.Wait()
		if s.Reason() != profile.HandedOver {
			t.Errorf("the holder: %v", s.Reason())
		}
	})
}

func TestQuietNeverDisturbsALivingHolder(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, s := held(t, f, nil)
		b := f.start("b", nil)
		time.Sleep(2 * time.Second)
		err := b.fails("u", &profile.LoadOptions{Quiet: true}, profile.ErrInUse)
		if !strings.Contains(err.Error(), "node a-") {
			t.Errorf("the error does not name the holder: %v", err)
		}
		time.Sleep(5 * time.Second)
		if s.Reason() != 0 || len(f.leftovers()) > 0 {
			t.Errorf("the holder: %v, left: %v", s.Reason(), f.leftovers())
		}
		release(t, s)
		if q := b.load("u", &profile.LoadOptions{Quiet: true}); q.Loaded().How != profile.Free {
			t.Errorf("%+v", q.Loaded())
		}
	})
}

// stubborn makes a's final saves fail, so that it lives and does not let go.
func stubborn(a *server) {
	a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Kind: faultstore.FailBefore}))
}

func TestPolicySteal(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		stubborn(a)
		b := f.start("b", nil)
		var next *profile.Session
		d := took(func() { next = b.load("u", nil) })
		// The holder accepts the ask when it sees the note again, and patience begins anew.
		if d < 15*time.Second || d > 18*time.Second {
			t.Errorf("stolen after %v", d)
		}
		if l := next.Loaded(); l.How != profile.TakenOver || l.Evidence != profile.EvidencePolicy || coins(next.Data()) != 2 {
			t.Errorf("%+v, %v", l, next.Data())
		}
		if took := f.stored("u").TookFrom; took == nil || took.Evidence != "policy" || took.Node != a.node.ID() || took.Epoch != 1 {
			t.Errorf("the record does not say why: %+v", took)
		}
		time.Sleep(2 * time.Second)
		if s.Reason() != profile.Lost {
			t.Errorf("the holder: %v", s.Reason())
		}
		if _, err := s.Transact(game); !errors.Is(err, profile.ErrLost) {
			t.Errorf("a change after it was taken: %v", err)
		}
		if err := s.Save(t.Context()); !errors.Is(err, profile.ErrLost) {
			t.Errorf("a save after it was taken: %v", err)
		}
		if err := s.Release(t.Context()); !errors.Is(err, profile.ErrLost) {
			t.Errorf("a release after it was taken: %v", err)
		}
	})
}

func TestPolicyFail(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		stubborn(a)
		b := f.start("b", nil)
		d := took(func() {
			b.fails("u", &profile.LoadOptions{Policy: profile.Fail, StealAfter: 3 * time.Second}, profile.ErrHeld)
		})
		if d < 3*time.Second || d > 6*time.Second {
			t.Errorf("failed after %v", d)
		}
		if s.Reason() != 0 || f.stored("u").Session.Node != a.node.ID() {
			t.Errorf("the holder: %v", s.Reason())
		}
	})
}

func TestPolicyWaitWaitsUntilTheDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		stubborn(a)
		b := f.start("b", nil)
		d := took(func() {
			b.fails("u", &profile.LoadOptions{Policy: profile.Wait, Wait: 50 * time.Second}, profile.ErrTimeout)
		})
		if d != 50*time.Second {
			t.Errorf("failed after %v", d)
		}
		a.faults.SetRule(nil)
		next := make(chan *profile.Session)
		go func() { next <- b.load("u", &profile.LoadOptions{Policy: profile.Wait}) }()
		handedOver(t, s, <-next)
	})
}

// While the store refuses the final save, the session goes on; the ask is void after
// LoadTimeout, and the hand-over is given up.
func TestRefusedHandOverUnfreezesAndIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, &profile.Options{LoadTimeout: 10 * time.Second})
		stubborn(a)
		b := f.start("b", nil)
		b.fails("u", &profile.LoadOptions{Policy: profile.Wait, Wait: 5 * time.Second}, profile.ErrTimeout)
		synctest.Wait()
		add(t, s, 1)
		time.Sleep(20 * time.Second)
		a.faults.SetRule(nil)
		time.Sleep(2 * time.Minute)
		if s.Reason() != 0 {
			t.Errorf("the session was handed to nobody: %v", s.Reason())
		}
		if v, _ := s.Stored(); coins(v) != 6 {
			t.Errorf("stored %v", v)
		}
	})
}

func TestCancelledAskIsRemovedAndDisturbsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		a.faults.Outage(faultstore.Bus, true)
		b := f.start("b", nil)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		time.Sleep(50 * time.Millisecond)
		if _, err := b.Load(ctx, "u", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("load: %v", err)
		}
		synctest.Wait()
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		time.Sleep(5 * time.Second)
		if s.Reason() != 0 {
			t.Errorf("the player was thrown out for nobody: %v", s.Reason())
		}
	})
}

// A grant to a load that has gone away is freed by its node.
func TestGrantToNobodyIsFreed(t *testing.T) {
	for name, bus := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				a, s := held(t, f, nil)
				b := f.start("b", nil)
				a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 2 * time.Second}))
				if !bus {
					b.faults.SetRule(always(on("deliver", ""), faultstore.Fault{Kind: faultstore.Lose}))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := b.Load(ctx, "u", nil); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("load: %v", err)
				}
				time.Sleep(8 * time.Second)
				if s.Reason() != profile.HandedOver {
					t.Errorf("the holder: %v", s.Reason())
				}
				f.free("u")
				if st := b.Stats(); st.Freed != 1 || st.Disowned != 0 {
					t.Errorf("%+v", st)
				}
				c := f.start("c", nil)
				if next := c.load("u", nil); coins(next.Data()) != 5 {
					t.Errorf("loaded %v", next.Data())
				}
			})
		})
	}
}

// A→B→A: the old note names the old token, and ends nothing.
func TestStaleAskEndsNoLaterSession(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		old := f.stored("u").Session.Token
		release(t, s)
		again := a.load("u", nil)
		n := node.Note{Kind: node.NoteAsk, Set: "players", Key: "u", Token: "x", Node: "ghost-1", For: old}
		f.plant(f.raw.Fast(), node.NoteKey(a.node.ID(), "players", "u"), string(n.Encode()))
		time.Sleep(5 * time.Second)
		if again.Reason() != 0 {
			t.Errorf("ended by a stale ask: %v", again.Reason())
		}
		if left := f.leftovers(); len(left) > 0 {
			t.Errorf("the stale note is still there: %v", left)
		}
	})
}

func TestAskNamingAnotherKeyIsNoAsk(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		n := node.Note{Kind: node.NoteAsk, Set: "players", Key: "v", Token: "x", Node: "ghost-1", For: f.stored("u").Session.Token}
		f.plant(f.raw.Fast(), node.NoteKey(a.node.ID(), "players", "v"), string(n.Encode()))
		time.Sleep(5 * time.Second)
		if s.Reason() != 0 || len(f.leftovers()) > 0 {
			t.Errorf("%v, left %v", s.Reason(), f.leftovers())
		}
	})
}

// The hand-over names the newest schema's data; a node that cannot read it gives it back.
func TestGrantInANewerSchemaIsGivenBack(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		f.plant(f.raw.Durable(), profileKey("u"), `{"format":1,"data":{"coins":5},"epoch":4,"revision":9,"schema":1,"session":null}`)
		a := f.start("a", &profile.Options{Migrations: []profile.Migration{{To: 2}}})
		s := a.load("u", nil) // stored as schema 1 until its first save
		b := f.start("b", nil)
		b.fails("u", nil, profile.ErrNewerSchema)
		synctest.Wait()
		if s.Reason() != profile.HandedOver {
			t.Errorf("the holder: %v", s.Reason())
		}
		f.free("u")
		if r := f.stored("u"); r.Schema != 2 || r.Revision != 10 {
			t.Errorf("%+v", r)
		}
	})
}

// case P9, for a hand-over: leave functions run before the final save, and what they change
// is in it.
func TestLeaveHooksRunBeforeTheHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, nil)
		a.OnLeave(func(_ context.Context, s *profile.Session) { add(t, s, 10) })
		a.OnLeave(func(context.Context, *profile.Session) { panic("boom") })
		b := f.start("b", nil)
		if next := b.load("u", nil); coins(next.Data()) != 15 {
			t.Errorf("loaded %v", next.Data())
		}
		synctest.Wait()
		if s.Reason() != profile.HandedOver || a.Stats().Panics != 1 {
			t.Errorf("%v, %+v", s.Reason(), a.Stats())
		}
	})
}

func TestAcceptedAskIsWaitedForAnew(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, s := held(t, f, &profile.Options{HookTimeout: 20 * time.Second})
		a.OnLeave(func(ctx context.Context, _ *profile.Session) { time.Sleep(15500 * time.Millisecond) })
		b := f.start("b", nil)
		var next *profile.Session
		if d := took(func() { next = b.load("u", nil) }); d < 15500*time.Millisecond || d > 17*time.Second {
			t.Errorf("it took %v", d)
		}
		handedOver(t, s, next)
	})
}

// A holder that does not vouch for its beats counts as living until its lease is up.
func TestQuietWithAHolderThatDoesNotVouch(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, _ := held(t, f, nil)
		b := f.start("b", nil)
		a.faults.Outage(faultstore.Fast|faultstore.Bus, true)
		time.Sleep(10 * time.Second)
		if d := took(func() { b.fails("u", &profile.LoadOptions{Quiet: true}, profile.ErrInUse) }); d != 0 {
			t.Errorf("it took %v", d)
		}
		a.kill()
		time.Sleep(6 * time.Minute)
		if l := b.load("u", &profile.LoadOptions{Quiet: true}).Loaded(); l.Evidence != node.EvidenceLease {
			t.Errorf("%+v", l)
		}
	})
}

// A release may join a hand-over at the very moment at which its final save lands: either says
// how the session ended, and nothing is read while it is written.
func TestReleaseMeetsTheLandingHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		slow := func(c faultstore.Call) faultstore.Fault {
			if c.Part == faultstore.Durable && c.Write {
				return faultstore.Fault{Back: 100 * time.Millisecond}
			}
			return faultstore.Fault{}
		}
		for i := range 40 {
			key := fmt.Sprint("u", i)
			s := a.load(key, nil)
			a.faults.SetRule(slow)
			var wg sync.WaitGroup
			wg.Go(func() { b.load(key, nil) })
			for s.Leaving() == 0 && s.Reason() == 0 {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(99 * time.Millisecond) // the save lands now
			if err := s.Release(t.Context()); err != nil {
				t.Error(err)
			}
			wg.Wait()
			a.faults.SetRule(nil)
			if r := s.Reason(); r != profile.HandedOver && r != profile.Released {
				t.Errorf("%s ended as %v", key, r)
			}
		}
	})
}
