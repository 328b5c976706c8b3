package board_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store/faultstore"
)

// byHand are the boards on which the key is hidden by hand, as the record says.
func (f *fleet) byHand(key string) (names []string) {
	f.t.Helper()
	ctx := context.WithoutCancel(f.t.Context())
	recs, err := f.plain.Durable.Get(ctx, "boardhide/"+key)
	if err != nil || recs[0].Missing() {
		return nil
	}
	var form struct {
		Boards map[string]struct {
			Hidden     bool
			Generation string
		}
	}
	if err := json.Unmarshal(recs[0].Value, &form); err != nil {
		f.t.Fatal(err)
	}
	for name, h := range form.Boards {
		if info, err := f.plain.Boards.Info(ctx, name); err == nil && h.Hidden && info.Generation == h.Generation {
			names = append(names, name)
		}
	}
	return names
}

// live has a service write once a minute, until all that others have left is carried out.
func (f *fleet) live(m *seat) {
	f.t.Helper()
	m.write(25)
	if left := f.stored("boardmark/"); len(left) > 0 {
		f.t.Errorf("marks are left: %v", left)
	}
}

// write has a service write once a minute.
func (m *seat) write(minutes int) {
	m.t.Helper()
	for i := range minutes {
		m.submit("Kills", "bob", int64(i))
		m.flush()
		time.Sleep(time.Minute)
	}
	synctest.Wait()
}

// deed is what may be cut off, and what comes before.
type deed struct {
	before, act func(ctx context.Context, m *seat) error
}

// acts are deeds of each kind.
var acts = map[string]deed{
	"ban":   {nil, func(ctx context.Context, m *seat) error { return m.Ban(ctx, mod, "ann") }},
	"unban": {func(ctx context.Context, m *seat) error { return m.Ban(ctx, mod, "ann") }, func(ctx context.Context, m *seat) error { return m.Unban(ctx, mod, "ann") }},
	"hide":  {nil, func(ctx context.Context, m *seat) error { _, err := m.Hide(ctx, mod, "Kills", "ann"); return err }},
	"show": {
		func(ctx context.Context, m *seat) error { _, err := m.Hide(ctx, mod, "Kills", "ann"); return err },
		func(ctx context.Context, m *seat) error { _, err := m.Show(ctx, mod, "Kills", "ann"); return err },
	},
	"unban of who is hidden": {
		func(ctx context.Context, m *seat) error {
			_, err := m.Hide(ctx, mod, "Kills", "ann")
			return errors.Join(err, m.Ban(ctx, mod, "ann"))
		},
		func(ctx context.Context, m *seat) error { return m.Unban(ctx, mod, "ann") },
	},
}

// Every call of an act meets every fault in turn. When the act is repeated until it answers
// nil it is done; when it is not, somebody else carries out what was stored, or nothing was.
func TestActsAreCarriedOutWhateverGetsLost(t *testing.T) {
	faults := []faultstore.Fault{
		{Kind: faultstore.FailBefore},
		{Kind: faultstore.FailAfter},
		{Kind: faultstore.Late, After: 3 * time.Minute},
		{Kind: faultstore.Hang},
		{Kind: faultstore.HangApplied},
		{Kind: faultstore.Crash},
		{Kind: faultstore.CrashAfter},
	}
	for name, c := range acts {
		for _, fault := range faults {
			for _, repeat := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/repeat %v", name, fault, repeat), func(t *testing.T) {
					for n, struck := 1, true; struck; n++ {
						synctest.Test(t, func(t *testing.T) { struck = cutOff(t, n, fault, repeat, c) })
						if t.Failed() {
							t.Fatalf("at call %d", n)
						}
					}
				})
			}
		}
	}
}

// cutOff has the n-th call of an act meet a fault.
func cutOff(t *testing.T, n int, fault faultstore.Fault, repeat bool, d deed) (struck bool) {
	t.Helper()
	f := newFleet(t)
	a, b := f.join(three()), f.join(three())
	a.fill()
	if d.before != nil {
		if err := d.before(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	nth := faultstore.Nth(n, func(c faultstore.Call) bool { return c.Op != "deliver" }, fault)
	a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
		got := nth(c)
		struck = struck || got != faultstore.Fault{}
		return got
	})
	err := d.act(t.Context(), a)
	for range 10 {
		if err == nil || !repeat || a.faults.Crashed() {
			break
		}
		err = d.act(t.Context(), a)
	}
	a.faults.SetRule(nil)
	if repeat && err != nil && !a.faults.Crashed() {
		t.Errorf("repeated without end: %v", err)
	}
	if err == nil {
		f.agree(b, "ann", f.byHand("ann")...)
	}
	if fault.Kind != faultstore.Late {
		b.write(4)
		f.agree(b, "ann", f.byHand("ann")...)
	}
	f.live(b)
	f.agree(b, "ann", f.byHand("ann")...)
	return struck
}

// The last word about a key is what the boards show, as soon as all have their answers: here
// while each call of an act takes its time in turn, and another service does something else.
func TestLastWordHoldsAtOnce(t *testing.T) {
	for name, slow := range acts {
		for other, quick := range acts {
			t.Run(name+" during which comes "+other, func(t *testing.T) {
				for n, struck := 1, true; struck; n++ {
					synctest.Test(t, func(t *testing.T) {
						f := newFleet(t)
						o := func() *board.Options {
							o := three()
							o.CallTimeout = time.Minute
							return o
						}
						a, b := f.join(o()), f.join(o())
						a.fill()
						for _, before := range []func(context.Context, *seat) error{slow.before, quick.before} {
							if before != nil && before(t.Context(), b) != nil {
								t.Fatal("before")
							}
						}
						synctest.Wait()
						struck = a.slowly(n, faultstore.Fault{Delay: 10 * time.Second},
							func() error { return slow.act(t.Context(), a) },
							func() error { return quick.act(t.Context(), b) })
						f.agree(b, "ann", f.byHand("ann")...)
					})
					if t.Failed() {
						t.Fatalf("at call %d", n)
					}
				}
			})
		}
	}
}

// slowly has the n-th call of an act of this service meet a fault that takes ten seconds,
// and does something else after five.
func (m *seat) slowly(n int, fault faultstore.Fault, act, other func() error) (struck bool) {
	m.t.Helper()
	nth := faultstore.Nth(n, func(c faultstore.Call) bool { return c.Part != faultstore.Bus }, fault)
	m.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
		got := nth(c)
		struck = struck || got != faultstore.Fault{}
		return got
	})
	done := make(chan error, 1)
	go func() { done <- act() }()
	time.Sleep(5 * time.Second)
	for _, err := range []error{other(), <-done} {
		if err != nil && !errors.Is(err, board.ErrBanned) {
			m.t.Errorf("call %d: %v", n, err)
		}
	}
	m.faults.SetRule(nil)
	return struck
}

// Whatever three services do at once, with faults, with calls that land late, and with
// processes that sleep for minutes between two steps: in the end the boards are as the
// records say.
func TestBoardsFollowTheRecordsInTheEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration
		odds    faultstore.Odds
	}{
		{"faults", 2 * time.Second, faultstore.Odds{
			FailBefore: 0.05, FailAfter: 0.1, Late: 0.1, Hang: 0.05, HangApplied: 0.05, Lose: 0.1,
			Delay: time.Second, Back: time.Second, After: 3 * time.Minute,
		}},
		{"sleepers", -1, faultstore.Odds{FailAfter: 0.05, Late: 0.05, Lose: 0.5, Delay: time.Minute, Back: time.Minute, After: 3 * time.Minute}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(100) {
				synctest.Test(t, func(t *testing.T) { quarrel(t, seed, c.timeout, c.odds) })
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// quarrel has services ban, unban, hide, show and drop at once.
func quarrel(t *testing.T, seed uint64, timeout time.Duration, odds faultstore.Odds) {
	t.Helper()
	f := newFleet(t)
	o := func() *board.Options {
		o := three()
		o.CallTimeout = timeout
		return o
	}
	members := []*seat{f.join(o()), f.join(o()), f.join(o())}
	last := f.join(o())
	last.fill()
	synctest.Wait()
	var wg sync.WaitGroup
	for i, m := range members {
		m.faults.SetRule(faultstore.Chance(seed*10+uint64(i), odds))
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 6 {
				_ = m.anyAct(rng) // whatever it answers
				time.Sleep(time.Duration(rng.Int64N(int64(20 * time.Second))))
			}
		})
	}
	wg.Wait()
	for _, m := range members {
		m.faults.SetRule(nil)
	}
	time.Sleep(3 * time.Minute)
	f.live(last)
	f.agree(last, "ann", f.byHand("ann")...)
	if left := f.stored("ban/"); len(left) > 0 != f.isBanned(last, "ann") {
		t.Errorf("records of bans at rest: %v", left)
	}
}

// anyAct does something by chance.
func (m *seat) anyAct(rng *rand.Rand) error {
	ctx, cancel := context.WithTimeout(m.t.Context(), 10*time.Minute)
	defer cancel()
	switch rng.IntN(9) {
	case 0, 1:
		return m.Ban(ctx, mod, "ann")
	case 2, 3:
		return m.Unban(ctx, mod, "ann")
	case 4, 5:
		_, err := m.Hide(ctx, mod, "Kills", "ann")
		return err
	case 6:
		_, err := m.Show(ctx, mod, "Kills", "ann")
		return err
	case 7:
		return m.Drop(ctx, "Coins")
	default:
		return errors.Join(m.Submit("Coins", "ann", 1), m.FlushNow(ctx))
	}
}

// A ban falls into a service's first write of a board, before and after each of its calls;
// the board is new, or was dropped by another service.
func TestBansFallIntoFirstWrites(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("dropped %v, on the way back %v", again, back), func(t *testing.T) {
				for n, struck := 1, true; struck; n++ {
					synctest.Test(t, func(t *testing.T) { struck = fallsIn(t, n, again, back, false) })
				}
			})
		}
	}
}

// The other way round: a first write falls into a ban, before and after each of its calls.
func TestFirstWritesFallIntoBans(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("dropped %v, on the way back %v", again, back), func(t *testing.T) {
				for n, struck := 1, true; struck; n++ {
					synctest.Test(t, func(t *testing.T) { struck = fallsIn(t, n, again, back, true) })
				}
			})
		}
	}
}

// fallsIn has the n-th call of a first write, or of a ban, take ten seconds, within which the
// other is done.
func fallsIn(t *testing.T, n int, again, back, writeIntoBan bool) (struck bool) {
	t.Helper()
	f := newFleet(t)
	o := func() *board.Options {
		o := three()
		o.CallTimeout = time.Minute
		return o
	}
	writer, banner := f.join(o()), f.join(o())
	synctest.Wait()
	writer.faults.Outage(faultstore.Bus, true)
	if again {
		writer.fill()
		if err := banner.Drop(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
	}
	write := func() error { return errors.Join(writer.Submit("Kills", "ann", 30), writer.FlushNow(t.Context())) }
	ban := func() error { return banner.Ban(t.Context(), mod, "ann") }
	slow, slowAct, otherAct := writer, write, ban
	if writeIntoBan {
		slow, slowAct, otherAct = banner, ban, write
	}
	fault := faultstore.Fault{Delay: 10 * time.Second}
	if back {
		fault = faultstore.Fault{Back: 10 * time.Second}
	}
	struck = slow.slowly(n, fault, slowAct, otherAct)
	if got := f.shown("Kills"); len(got) > 0 {
		t.Errorf("call %d: a banned key is shown: %v", n, got)
	}
	return struck
}

// A write that lands when the opposite has been done since, and everybody has forgotten it,
// changes nothing.
func TestGhostsChangeNothing(t *testing.T) {
	for record, c := range map[string]struct {
		act, opposite func(ctx context.Context, m *seat) error
	}{
		"ban/ann":       {acts["ban"].act, acts["unban"].act},
		"boardhide/ann": {acts["hide"].act, acts["show"].act},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t)
			a, b := f.join(three()), f.join(three())
			a.fill()
			synctest.Wait()
			a.faults.SetRule(faultstore.Nth(1, func(c faultstore.Call) bool { return c.Op == "commit" && slices.Contains(c.Keys, record) }, faultstore.Fault{Kind: faultstore.Late}))
			if err := errors.Join(c.act(t.Context(), a), c.opposite(t.Context(), b)); err != nil {
				t.Fatal(err)
			}
			b.write(8)
			if n := a.faults.Land(); n != 1 {
				t.Fatalf("%d ghosts", n)
			}
			f.agree(b, "ann")
			f.live(b)
			f.agree(b, "ann")
			want(t, "records at rest", f.stored(record), []string{})
		})
	}
}

// A service that could not look for long hides what it has written meanwhile: here to a board
// that was made anew after the ban.
func TestLateLearnersHideWhatTheyWrote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, deaf := f.join(three()), f.join(three())
		deaf.fill()
		synctest.Wait()
		deaf.faults.Outage(faultstore.Bus|faultstore.Durable, true)
		if err := a.Ban(t.Context(), mod, "ann"); err != nil {
			t.Fatal(err)
		}
		f.rest()
		if err := a.Drop(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		a.submit("Kills", "bob", 1) // makes the board anew
		a.flush()
		deaf.submit("Kills", "ann", 30)
		deaf.flush()
		want(t, "written by who could not know", f.shown("Kills"), []string{"ann", "bob"})
		deaf.faults.Outage(faultstore.Durable, false)
		time.Sleep(board.LookEvery)
		deaf.submit("Kills", "bob", 2)
		deaf.flush()
		synctest.Wait()
		want(t, "when it knows", f.shown("Kills"), []string{"bob"})
	})
}
