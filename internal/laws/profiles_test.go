package laws_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// A player goes from node to node; each finds what the one before has done, saved or not, and
// the epoch grows with every hand-over.
func TestHandOver(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		nodes, l, epoch := s.fleet(t, 3), newLedger(), uint64(0)
		for i := range 12 {
			at := nodes[i%3].load(t, "ada")
			if got := len(done(t, at.Data())); got != i {
				t.Fatalf("hand-over %d: %d deeds came along", i, got)
			}
			if at.Epoch() <= epoch {
				t.Fatalf("hand-over %d: epoch %d after %d", i, at.Epoch(), epoch)
			}
			epoch = at.Epoch()
			if deed, done := l.do(at); done {
				l.keep(deed) // the release that follows keeps it
			}
		}
		l.judge(t, nodes[0], []string{"ada"})
	})
}

// A node dies. What was synced is in the next load; what the dead node still tries changes
// nothing.
func TestTakeover(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		a, b, l := s.start(t, nil), s.start(t, nil), newLedger()
		ctx := within(t)
		session := a.load(t, "ada")
		for range 5 {
			l.doAndKeep(ctx, session, session.Sync)
		}
		a.faults.Crash()
		for range 5 { // what is not acknowledged may be lost
			l.doAndKeep(ctx, session, session.Save)
		}
		l.judge(t, b, []string{"ada"})
	})
}

// Nobody comes back to a dead node's players: another node saves and frees them.
func TestReaper(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		a, b, l := s.start(t, nil), s.start(t, nil), newLedger()
		ctx := within(t)
		for i := range 3 {
			session := a.load(t, fmt.Sprint("u", i))
			l.doAndKeep(ctx, session, session.Sync)
		}
		a.faults.Crash()
		for i := range 3 {
			for {
				v, err := b.players.Read(ctx, fmt.Sprint("u", i))
				if err == nil && v.Holder == nil && len(done(t, v.Data)) == 1 {
					break
				}
				if ctx.Err() != nil {
					t.Fatalf("u%d is held, or not saved: %+v, %v", i, v, err)
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
		l.judge(t, b, []string{"u0", "u1", "u2"})
	})
}

// A few nodes play with the same players while calls fail in every way and a node dies.
func TestPlayUnderFaults(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		nodes, l := s.fleet(t, 4), newLedger()
		var players []string
		for i := range 12 {
			players = append(players, fmt.Sprint("u", i))
		}
		for i, n := range nodes {
			n.faults.SetRule(unreliable(uint64(i)))
		}
		ctx, end := context.WithTimeout(t.Context(), 6*time.Second)
		defer end()
		var wg sync.WaitGroup
		for i, n := range nodes {
			for k := range 3 {
				wg.Go(func() { play(ctx, n, l, players, uint64(10*i+k)) })
			}
		}
		time.Sleep(2 * time.Second)
		nodes[3].faults.Crash()
		wg.Wait()
		for _, n := range nodes[:3] {
			n.faults.SetRule(nil)
		}
		l.judge(t, nodes[0], players)
		if len(l.mu.kept) == 0 {
			t.Error("nothing was acknowledged: the law was not tried")
		}
	})
}

// unreliable fails one call in twelve, before, after, or late.
func unreliable(seed uint64) faultstore.Rule {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(c faultstore.Call) faultstore.Fault {
		switch r.IntN(36) {
		case 0:
			return faultstore.Fault{Kind: faultstore.FailBefore}
		case 1:
			return faultstore.Fault{Kind: faultstore.FailAfter}
		case 2:
			if c.Write {
				return faultstore.Fault{Kind: faultstore.Late, After: 50 * time.Millisecond}
			}
		}
		return faultstore.Fault{}
	}
}

// play loads players at random, does deeds and has them kept, until ctx ends.
func play(ctx context.Context, n *server, l *ledger, players []string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 2))
	for ctx.Err() == nil && !n.faults.Crashed() {
		s, err := n.players.Load(ctx, players[r.IntN(len(players))], nil)
		if err != nil {
			continue
		}
		for range 1 + r.IntN(4) {
			keeps := []func(context.Context) error{s.Save, s.Sync}[r.IntN(2)]
			l.doAndKeep(ctx, s, keeps)
		}
		_ = s.Release(ctx)
	}
}

// A purchase arrives at every node, several times: it is granted once.
func TestGrantOnce(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		nodes, ctx := s.fleet(t, 3), within(t)
		for i := range 9 {
			n := nodes[i%3]
			n.faults.SetRule(loseAnswers(uint64(i)))
			session := n.load(t, "ada")
			_, _ = session.Grant(ctx, "order-1", profile.Source{Note: "bought"}, doc.Increment("/coins", 100))
			n.faults.SetRule(nil)
		}
		session := nodes[0].load(t, "ada")
		if _, err := session.Grant(ctx, "order-1", profile.Source{Note: "bought"}, doc.Increment("/coins", 100)); err != nil {
			t.Fatal(err)
		}
		if coins, _, _ := session.Data().Lookup("/coins"); !coins.Equal(doc.Int(100)) {
			t.Errorf("one order of 100 gave %v", coins)
		}
	})
}

// loseAnswers loses the answer of one durable write in three.
func loseAnswers(seed uint64) faultstore.Rule {
	r := rand.New(rand.NewPCG(seed, 3))
	return func(c faultstore.Call) faultstore.Fault {
		if c.Write && c.Part == faultstore.Durable && r.IntN(3) == 0 {
			return faultstore.Fault{Kind: faultstore.FailAfter}
		}
		return faultstore.Fault{}
	}
}

// Mail has its effect once, however often it is sent, and wherever its player is.
func TestMailOnce(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		nodes, ctx := s.fleet(t, 2), within(t)
		must(t, nodes[0].load(t, "ada").Release(ctx))
		send := func(id string) error {
			_, err := nodes[0].players.Send(ctx, "ada", profile.Mail{ID: id, Ops: []doc.Op{doc.Increment("/coins", 10)}})
			return err
		}
		for i := range 6 {
			if i == 3 { // the player is online elsewhere
				nodes[1].load(t, "ada")
			}
			id := fmt.Sprint("gift-", i%3)
			for err := send(id); err != nil; err = send(id) {
				if ctx.Err() != nil {
					t.Fatal(err)
				}
			}
		}
		for {
			session, held := nodes[1].players.Session("ada")
			if !held {
				session = nodes[1].load(t, "ada")
			}
			coins, _, _ := session.Data().Lookup("/coins")
			if n, _ := coins.AsInt(); n == 30 {
				break
			} else if n > 30 || ctx.Err() != nil {
				t.Fatalf("three gifts of 10 are %d coins", n)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// What changes hands in a trade is with one of the two, whatever fails.
func TestTrade(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		n, ctx := s.start(t, nil), within(t)
		ada, bob := n.load(t, "ada"), n.load(t, "bob")
		_, err := ada.Transact(profile.Source{}, doc.Set("/coins", doc.Int(20)))
		must(t, err)
		must(t, ada.Save(ctx))
		n.faults.SetRule(loseAnswers(7))
		for range 10 {
			_, err := profile.Trade(ctx, profile.Source{Note: "swap"},
				profile.Party{Session: ada, Ops: []doc.Op{doc.Increment("/coins", -1).AtLeast(doc.Int(0))}},
				profile.Party{Session: bob, Ops: []doc.Op{doc.Increment("/coins", 1)}})
			if errors.Is(err, store.ErrUnsupported) {
				t.Fatal(err)
			}
			if err != nil && errors.Is(err, profile.ErrEnded) {
				break
			}
		}
		n.faults.SetRule(nil)
		_, _ = ada.Release(ctx), bob.Release(ctx) // one of them may have ended
		total := int64(0)
		for _, key := range []string{"ada", "bob"} {
			coins, _, _ := n.load(t, key).Data().Lookup("/coins")
			c, _ := coins.AsInt()
			total += c
		}
		if total != 20 {
			t.Errorf("20 coins became %d", total)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
