package profile_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// lobby is a game that writes down what it is told.
type lobby struct {
	*profile.Players
	t *testing.T

	mu      sync.Mutex
	told    map[string][]string
	running map[string]bool
	left    map[*profile.Player]bool // Leave has returned
	wait    func(ctx context.Context, what, key string)
}

func newLobby(t *testing.T, s *server, opts *profile.PlayersOptions) *lobby {
	t.Helper()
	l := &lobby{t: t, told: map[string][]string{}, running: map[string]bool{}, left: map[*profile.Player]bool{}}
	if opts == nil {
		opts = &profile.PlayersOptions{}
	}
	opts.Joined = func(ctx context.Context, p *profile.Player) { l.tell(ctx, p, "joined") }
	opts.Failed = func(ctx context.Context, p *profile.Player, err error) { l.tell(ctx, p, "failed: "+cause(err)) }
	opts.Kicked = func(ctx context.Context, p *profile.Player, why profile.Reason) {
		l.tell(ctx, p, "kicked: "+why.String())
	}
	opts.Left = func(ctx context.Context, p *profile.Player, err error) {
		what := "left"
		if err != nil {
			what += ": " + cause(err)
		}
		l.tell(ctx, p, what)
	}
	ps, err := profile.NewPlayers(s.Set, opts)
	if err != nil {
		t.Fatal(err)
	}
	l.Players = ps
	return l
}

// cause is the sentinel inside an error.
func cause(err error) string {
	for _, e := range []error{profile.ErrClosing, profile.ErrTimeout, profile.ErrOpen, profile.ErrOutbid, profile.ErrForeign, profile.ErrLost, store.ErrUnknown} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return err.Error()
}

func (l *lobby) tell(ctx context.Context, p *profile.Player, what string) {
	l.mu.Lock()
	if l.running[p.Key()] {
		l.t.Errorf("%s: %s while another callback runs", p.Key(), what)
	}
	if l.left[p] && !strings.HasPrefix(what, "left") {
		l.t.Errorf("%s: %s after Leave", p.Key(), what)
	}
	l.running[p.Key()] = true
	l.told[p.Key()] = append(l.told[p.Key()], what)
	wait := l.wait
	l.mu.Unlock()
	if wait != nil {
		wait(ctx, what, p.Key())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running[p.Key()] = false
}

func (l *lobby) join(key string) *profile.Player {
	l.t.Helper()
	p, err := l.Join(key)
	if err != nil {
		l.t.Fatalf("join %s: %v", key, err)
	}
	return p
}

// in joins and waits until the game has been told.
func (l *lobby) in(key string) *profile.Player {
	l.t.Helper()
	p := l.join(key)
	for range 10_000 {
		if p.Session() != nil {
			synctest.Wait()
			return p
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.t.Fatalf("%s does not come in: %v", key, l.heard(key))
	return nil
}

// leave has the player leave, and no callback but left may begin from now on. The moment must
// be such that none is just beginning.
func (l *lobby) leave(p *profile.Player) {
	p.Leave()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left[p] = true
}

func (l *lobby) heard(key string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told[key])
}

func (l *lobby) expect(key string, want ...string) {
	l.t.Helper()
	if got := l.heard(key); !slices.Equal(got, want) {
		l.t.Errorf("%s: the game heard %q, want %q", key, got, want)
	}
}

func TestPlayersComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		l := newLobby(t, f.start("a", nil), nil)
		for range 3 {
			p := l.in("u")
			add(t, p.Session(), 5)
			if got, ok := l.Player("u"); !ok || got != p || l.Len() != 1 || len(l.Here()) != 1 {
				t.Errorf("%v %v, %d players", got, ok, l.Len())
			}
			l.leave(p)
			p.Leave() // twice is harmless
			<-p.Gone()
			if _, ok := l.Player("u"); ok || l.Len() != 0 || len(l.Here()) != 0 {
				t.Errorf("the player has left, and is still here: %d", l.Len())
			}
			f.free("u")
		}
		l.expect("u", "joined", "left", "joined", "left", "joined", "left")
		if r := f.stored("u"); string(r.Data) != `{"coins":15}` || r.Epoch != 3 {
			t.Errorf("epoch %d %s", r.Epoch, r.Data)
		}
		l.Leave("nobody") // harmless
		if _, err := l.Join("a/b"); err == nil {
			t.Error("an unusable key was taken")
		}
	})
}

// case P2.
func TestSecondJoinOfAPlayerIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, nil)
		a.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Delay: time.Second}))
		p := l.join("u")
		again := func(when string) {
			if _, err := l.Join("u"); !errors.Is(err, profile.ErrOpen) {
				t.Errorf("%s: %v", when, err)
			}
		}
		again("while the load runs")
		time.Sleep(2 * time.Second)
		again("while the player is in")
		l.leave(p)
		l.join("u")
		again("while the release runs and another join waits for it")
		time.Sleep(5 * time.Second)
		l.expect("u", "joined", "left", "joined")
	})
}

// A leave may come at any moment of a load; whatever the load got is given back.
func TestLeaveWhileTheLoadRuns(t *testing.T) {
	for ms := range 60 {
		bubble(t, func(t *testing.T, f *fleet) {
			a := f.start("a", nil)
			l := newLobby(t, a, nil)
			release(t, a.load("u", nil))
			a.faults.SetRule(always(func(faultstore.Call) bool { return true }, faultstore.Fault{Delay: 20 * time.Millisecond}))
			p := l.join("u")
			time.Sleep(time.Duration(ms) * time.Millisecond)
			synctest.Wait()
			l.leave(p)
			<-p.Gone()
			if got := l.heard("u"); !slices.Equal(got, nil) && !slices.Equal(got, []string{"joined", "left"}) {
				t.Errorf("left after %d ms: %q", ms, got)
			}
			time.Sleep(time.Minute) // a claim whose load was cancelled is freed in the background
			f.free("u")
			if l.Len() != 0 {
				t.Errorf("left after %d ms: %d players", ms, l.Len())
			}
			l.leave(l.in("u"))
		})
	}
}

// case P13: a player who comes back at once gets what the release stores.
func TestJoinDirectlyAfterLeaveWaitsForTheRelease(t *testing.T) {
	for ms := range 50 {
		bubble(t, func(t *testing.T, f *fleet) {
			a := f.start("a", nil)
			l := newLobby(t, a, nil)
			p := l.in("u")
			add(t, p.Session(), 7)
			a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: 20 * time.Millisecond}))
			l.leave(p)
			time.Sleep(time.Duration(ms) * time.Millisecond)
			q := l.join("u")
			p.Leave() // of the connection that is gone: it must not end the new stay
			time.Sleep(time.Second)
			if q.Session() == nil || coins(q.Session().Data()) != 7 || q.Session().Reason() != 0 {
				t.Errorf("after %d ms: %v", ms, q.Session())
			}
			l.expect("u", "joined", "left", "joined")
		})
	}
}

// Nervous fingers: joins and leaves faster than the store answers never leave two behind.
func TestJoinLeaveJoinLeave(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, &profile.PlayersOptions{MaxJoining: 3})
		a.faults.SetRule(always(func(faultstore.Call) bool { return true }, faultstore.Fault{Delay: 30 * time.Millisecond}))
		for range 100 {
			p := l.join("u")
			time.Sleep(time.Millisecond)
			l.leave(p)
		}
		p := l.in("u")
		l.expect("u", "joined")
		l.leave(p)
		<-p.Gone()
		if l.Len() != 0 {
			t.Errorf("%d players", l.Len())
		}
		f.free("u")
	})
}

func TestKickWhenAnotherServerGetsThePlayer(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		l := newLobby(t, a, nil)
		p := l.in("u")
		s := b.load("u", nil)
		<-p.Gone()
		l.expect("u", "joined", "kicked: handed over")
		p.Leave() // the connection ends because of the kick
		release(t, s)
		q := l.in("u")
		p.Leave()
		time.Sleep(time.Second)
		if q.Session().Reason() != 0 {
			t.Error("a leave of the former stay has ended this one")
		}
		l.expect("u", "joined", "kicked: handed over", "joined")
	})
}

func TestKickWhenTheSessionIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, b := f.start("a", nil), f.start("b", nil)
		l := newLobby(t, a, nil)
		p := l.in("u")
		a.faults.Outage(faultstore.All, true)
		time.Sleep(5 * time.Second)
		s := b.load("u", nil) // the beats of a have stopped
		add(t, p.Session(), 1)
		a.faults.Outage(faultstore.All, false)
		<-p.Gone()
		l.expect("u", "joined", "kicked: lost")
		release(t, s)
	})
}

// A leave and a hand-over at the same moment: the game hears exactly one end.
func TestLeaveRacesWithKick(t *testing.T) {
	for ms := range 40 {
		bubble(t, func(t *testing.T, f *fleet) {
			a, b := f.start("a", nil), f.start("b", nil)
			l := newLobby(t, a, nil)
			p := l.in("u")
			for _, s := range []*server{a, b} {
				s.faults.SetRule(always(func(c faultstore.Call) bool { return c.Op != "scan" }, faultstore.Fault{Delay: 10 * time.Millisecond}))
			}
			go func() { _, _ = b.Load(context.Background(), "u", nil) }()
			time.Sleep(time.Duration(ms) * time.Millisecond)
			p.Leave() // a kick may just be beginning
			<-p.Gone()
			got := l.heard("u")
			if len(got) != 2 || got[0] != "joined" || got[1] != "left" && got[1] != "kicked: handed over" {
				t.Errorf("left after %d ms: %q", ms, got)
			}
			time.Sleep(time.Minute)
			if s, ok := b.Session("u"); ok {
				release(t, s)
			}
			f.free("u")
		})
	}
}

func TestFailedLoadIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, &profile.PlayersOptions{Load: &profile.LoadOptions{Wait: 20 * time.Second}})
		f.plant(f.raw.Durable(), profileKey("odd"), "[]")
		p := l.join("odd")
		<-p.Gone()
		l.expect("odd", "failed: not a profile")
		if p.Session() != nil || l.Len() != 0 {
			t.Errorf("%v, %d players", p.Session(), l.Len())
		}
		a.faults.Outage(faultstore.All, true)
		p, q := l.join("u"), l.join("v")
		time.Sleep(10 * time.Second)
		l.leave(q)
		<-p.Gone()
		<-q.Gone()
		l.expect("u", "failed: timed out")
		l.expect("v") // had left
		a.faults.Outage(faultstore.All, false)
		time.Sleep(time.Minute)
		l.in("u")
	})
}

func TestPlayersAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, &profile.PlayersOptions{MaxPlayers: 5, MaxJoining: 2})
		a.faults.SetRule(always(on("get", "profile/"), faultstore.Fault{Delay: time.Second}))
		full := func(key, what string) {
			t.Helper()
			_, err := l.Join(key)
			var e *profile.FullError
			if !errors.As(err, &e) || !errors.Is(err, profile.ErrFull) || e.What != what {
				t.Errorf("join %s: %v, want full of %s", key, err, what)
			}
		}
		l.join("u1")
		u2 := l.join("u2")
		full("u3", "joins")
		u2.Leave()
		<-u2.Gone()
		l.join("u2")
		full("u3", "joins")
		time.Sleep(3 * time.Second)
		for _, key := range []string{"u3", "u4", "u5"} {
			l.in(key)
		}
		full("u6", "players")
		p, _ := l.Player("u1")
		l.leave(p)
		l.in("u1") // has a seat
		p, _ = l.Player("u1")
		l.leave(p)
		<-p.Gone()
		l.in("u6")
	})
}

func TestPanicsOfCallbacksAreIsolated(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		ps, err := profile.NewPlayers(a.Set, &profile.PlayersOptions{
			Joined: func(context.Context, *profile.Player) { panic("joined") },
			Failed: func(context.Context, *profile.Player, error) { panic("failed") },
			Left:   func(context.Context, *profile.Player, error) { panic("left") },
			Kicked: func(context.Context, *profile.Player, profile.Reason) { panic("kicked") },
		})
		if err != nil {
			t.Fatal(err)
		}
		f.plant(f.raw.Durable(), profileKey("odd"), "[]")
		for _, key := range []string{"u", "odd", "v"} {
			if _, err := ps.Join(key); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		ps.Leave("u")
		b := f.start("b", nil)
		release(t, b.load("v", nil))
		time.Sleep(time.Second)
		if n := a.Stats().Panics; n != 5 || ps.Len() != 0 {
			t.Errorf("%d panics, %d players", n, ps.Len())
		}
	})
}

// case P9.
func TestHangingCallbackHoldsUpNobodyElse(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, nil)
		hang := make(chan struct{})
		l.wait = func(_ context.Context, what, key string) {
			if key == "slow" && what == "joined" {
				<-hang
			}
		}
		slow := l.in("slow")
		other := l.in("u")
		add(t, slow.Session(), 3)
		l.leave(slow)
		l.leave(other)
		<-other.Gone()
		time.Sleep(time.Second)
		f.free("slow") // the release does not wait for the callback
		q := l.join("slow")
		time.Sleep(10 * time.Second)
		l.leave(q)
		if _, err := l.Join("slow"); !errors.Is(err, profile.ErrBusy) || !strings.Contains(err.Error(), "Joined") {
			t.Errorf("join while the callback hangs: %v", err)
		}
		r, err := l.Close(t.Context())
		if err == nil || r.Took != 0 || len(r.Running) != 1 || !strings.HasPrefix(r.Running[0], "Joined ") || !strings.HasSuffix(r.Running[0], " for slow") {
			t.Errorf("%+v %v", r, err)
		}
		if d := took(func() {
			if nr, err := a.node.Close(t.Context()); err != nil || !nr.Complete() {
				t.Errorf("%+v %v", nr, err)
			}
		}); d > time.Second {
			t.Errorf("the node took %v", d)
		}
		close(hang)
		<-q.Gone()
		l.expect("slow", "joined", "left")
		if n := a.Stats().Stuck; n != 1 {
			t.Errorf("%d stuck", n)
		}
	})
}

func TestPlayersOptionsAreChecked(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		for _, o := range []*profile.PlayersOptions{{MaxPlayers: -1}, {MaxJoining: -1}} {
			if _, err := profile.NewPlayers(a.Set, o); err == nil {
				t.Errorf("%+v was taken", o)
			}
		}
	})
}

// A player may try again while the game still hears of the failure.
func TestJoinWhileFailedRuns(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		l := newLobby(t, a, nil)
		l.wait = func(_ context.Context, what, _ string) {
			if strings.HasPrefix(what, "failed") {
				time.Sleep(time.Second)
			}
		}
		held := a.load("u", nil) // by the game itself
		l.join("u")
		time.Sleep(100 * time.Millisecond)
		release(t, held)
		if p, ok := l.Player("u"); ok {
			t.Errorf("%v is here although the load has failed", p)
		}
		l.in("u")
		l.expect("u", "failed: already open on this node", "joined")
	})
}

// The player leaves when the session is there already, and before the game was told.
func TestLeaveInOnLoad(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", nil)
		a.OnLoad(func(context.Context, *profile.Session) { time.Sleep(time.Second) })
		l := newLobby(t, a, nil)
		p := l.join("u")
		time.Sleep(500 * time.Millisecond)
		l.leave(p)
		<-p.Gone()
		l.expect("u")
		f.free("u")
		time.Sleep(time.Second) // the hook has slept
	})
}

// Joined gets a context that ends with the stay.
func TestContextOfJoinedEndsWithTheStay(t *testing.T) {
	for what, end := range map[string]func(*testing.T, *fleet, *lobby, *profile.Player){
		"leave":    func(_ *testing.T, _ *fleet, l *lobby, p *profile.Player) { l.leave(p) },
		"handover": func(_ *testing.T, f *fleet, _ *lobby, _ *profile.Player) { f.start("b", nil).load("u", nil) },
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				l := newLobby(t, f.start("a", nil), nil)
				l.wait = func(ctx context.Context, what, _ string) {
					if what == "joined" {
						<-ctx.Done()
					}
				}
				p := l.in("u")
				if d := took(func() { end(t, f, l, p); <-p.Gone() }); d > time.Second {
					t.Errorf("it took %v", d)
				}
			})
		})
	}
}
