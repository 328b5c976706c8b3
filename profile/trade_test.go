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

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// bags is a set whose profiles have coins and items.
func bags() *profile.Options {
	return &profile.Options{JournalEvery: time.Second, Template: doc.Must(map[string]any{"coins": 0, "items": map[string]any{}})}
}

// market is a node a on which u has a sword and 5 coins, and v has 20 coins, all of it
// journaled and not saved.
func market(t *testing.T, f *fleet) (a *server, u, v *profile.Session) {
	t.Helper()
	return marketOf(t, f, bags())
}

func marketOf(t *testing.T, f *fleet, o *profile.Options) (a *server, u, v *profile.Session) {
	t.Helper()
	a = f.start("a", o)
	u, v = a.load("u", nil), a.load("v", nil)
	if _, err := u.Transact(game, doc.Set("/items/sword", doc.Int(1)), doc.Increment("/coins", 5)); err != nil {
		t.Fatal(err)
	}
	add(t, v, 20)
	syncNow(t, u)
	syncNow(t, v)
	return a, u, v
}

// swap gives u's sword to v for ten coins.
func swap(ctx context.Context, id string, u, v *profile.Session) (profile.Traded, error) {
	return profile.Trade(ctx, profile.Source{ID: id, Note: "test"},
		profile.Party{Session: u, Ops: []doc.Op{doc.CompareAndUnset("/items/sword", doc.Int(1)), doc.Increment("/coins", 10)}},
		profile.Party{Session: v, Ops: []doc.Op{doc.SetIfAbsent("/items/sword", doc.Int(1)), doc.Increment("/coins", -10).AtLeast(doc.Int(0))}})
}

// touch commits, and leaves the data as it is.
func touch(t *testing.T, s *profile.Session) {
	t.Helper()
	if _, err := s.Transact(profile.Source{ID: fmt.Sprint("touch", s.Revision())}, doc.Increment("/coins", 0)); err != nil {
		t.Fatalf("%s is not free: %v", s.Key(), err)
	}
}

func armed(v doc.Value) bool {
	_, ok, _ := v.Lookup("/items/sword")
	return ok
}

// swapped tells whether the trade is in the data of both, or in none: anything else fails.
func swapped(t *testing.T, u, v doc.Value) bool {
	t.Helper()
	switch {
	case armed(u) && !armed(v) && coins(u) == 5 && coins(v) == 20:
		return false
	case !armed(u) && armed(v) && coins(u) == 15 && coins(v) == 10:
		return true
	}
	t.Errorf("half a trade: u %v, v %v", u, v)
	return false
}

// nothingTraded checks that both can go on, and that nothing has changed.
func nothingTraded(t *testing.T, u, v *profile.Session) {
	t.Helper()
	if swapped(t, u.Data(), v.Data()) {
		t.Error("traded in memory")
	}
	for _, s := range []*profile.Session{u, v} {
		if s.Reason() != 0 {
			continue
		}
		touch(t, s)
	}
}

func TestTradeIsStoredInOneWrite(t *testing.T) {
	bothStores(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		writes := &count{match: on("commit", "profile/")}
		a.faults.SetRule(writes.rule)
		told := map[string]profile.Commit{}
		for _, s := range []*profile.Session{u, v} {
			s.OnCommit(func(c profile.Commit) { told[s.Key()] = c })
		}
		out, err := swap(t.Context(), "t1", u, v)
		if err != nil {
			t.Fatal(err)
		}
		if n := writes.take(); n != 1 {
			t.Errorf("%d writes", n)
		}
		if !swapped(t, u.Data(), v.Data()) || !swapped(t, f.storedData("u"), f.storedData("v")) {
			t.Errorf("not traded: %v %v", u.Data(), v.Data())
		}
		for i, s := range []*profile.Session{u, v} {
			c := out.Commits[i]
			if c.ID != "t1" || c.Claim != "trade/t1" || c.Revision != s.Revision() || !c.Data.Equal(s.Data()) || len(c.Edits) == 0 || told[s.Key()].Revision != c.Revision {
				t.Errorf("%s: %+v, told %+v", s.Key(), c, told[s.Key()])
			}
			if _, rev := s.Stored(); rev != c.Revision {
				t.Errorf("%s: stored %d, traded %d", s.Key(), rev, c.Revision)
			}
		}
		again, err := swap(t.Context(), "t1", u, v)
		if err != nil || !again.Repeated || again.Commits[0].Revision != out.Commits[0].Revision || !again.Commits[1].Repeated {
			t.Errorf("again: %+v, %v", again, err)
		}
		if _, err := swap(t.Context(), "t1", v, u); !errors.Is(err, profile.ErrRepeated) {
			t.Errorf("another trade with its id: %v", err)
		}
		add(t, u, 1)
		syncNow(t, u)
		if j := string(f.fast("journal/players/u").Value); !strings.Contains(j, fmt.Sprintf(`"base":%d`, out.Commits[0].Revision)) || strings.Contains(j, "sword") {
			t.Errorf("the journal goes on from elsewhere: %s", j)
		}
		b := f.start("b", bags())
		time.Sleep(6 * time.Second)
		a.kill()
		next, other := b.load("u", nil), b.load("v", nil)
		if coins(next.Data()) != 16 || armed(next.Data()) || !armed(other.Data()) {
			t.Errorf("recovered %v %v", next.Data(), other.Data())
		}
		again, err = swap(t.Context(), "t1", next, other)
		if err != nil || !again.Repeated {
			t.Errorf("after a takeover: %+v, %v", again, err)
		}
	})
}

// A function sees the data of all, and moves what is there.
func TestTradeFuncSeesAllParties(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, u, v := market(t, f)
		all := func(data []doc.Value) ([][]doc.Op, error) {
			n := coins(data[1])
			return [][]doc.Op{{doc.Increment("/coins", n)}, {doc.Increment("/coins", -n)}}, nil
		}
		out, err := profile.TradeFunc(t.Context(), game, all, u, v)
		if err != nil || coins(u.Data()) != 25 || coins(v.Data()) != 0 || out.ID == "" {
			t.Errorf("%+v, %v: %v %v", out, err, u.Data(), v.Data())
		}
		again, err := profile.TradeFunc(t.Context(), profile.Source{ID: out.ID}, all, u, v)
		if err != nil || !again.Repeated {
			t.Errorf("again: %+v, %v", again, err)
		}
		broke := errors.New("broke")
		if _, err := profile.TradeFunc(t.Context(), game, func([]doc.Value) ([][]doc.Op, error) { return nil, broke }, u, v); !errors.Is(err, broke) {
			t.Errorf("%v", err)
		}
		if _, err := profile.TradeFunc(t.Context(), game, func([]doc.Value) ([][]doc.Op, error) { return nil, nil }, u, v); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = profile.TradeFunc(t.Context(), game, func([]doc.Value) ([][]doc.Op, error) { panic("oops") }, u, v)
		}()
		add(t, u, 1)
		add(t, v, 1)
	})
}

func TestTradeOfSeveralSets(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, _ := market(t, f)
		banks, err := profile.New(a.node, "banks", bags())
		if err != nil {
			t.Fatal(err)
		}
		bank, err := banks.Load(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = profile.Trade(t.Context(), game,
			profile.Party{Session: u, Ops: []doc.Op{doc.Increment("/coins", -5).AtLeast(doc.Int(0))}},
			profile.Party{Session: bank, Ops: []doc.Op{doc.Increment("/coins", 5)}})
		if err != nil || coins(u.Data()) != 0 || coins(bank.Data()) != 5 {
			t.Errorf("%v: %v %v", err, u.Data(), bank.Data())
		}
	})
}

// Whoever is refused is named, and nothing is changed.
func TestTradesThatAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		far := f.start("b", bags()).load("w", nil)
		ended := a.load("x", nil)
		release(t, ended)
		party := func(s *profile.Session, ops ...doc.Op) profile.Party {
			return profile.Party{Session: s, Ops: ops}
		}
		crowd := make([]profile.Party, profile.MaxParties+1)
		for name, c := range map[string]struct {
			parties []profile.Party
			want    error
			key     string
		}{
			"alone":         {[]profile.Party{party(u)}, store.ErrInvalid, ""},
			"too many":      {crowd, store.ErrInvalid, ""},
			"no session":    {[]profile.Party{party(u), party(nil)}, store.ErrInvalid, ""},
			"itself":        {[]profile.Party{party(u), party(v), party(u)}, store.ErrInvalid, "u"},
			"another node":  {[]profile.Party{party(u), party(far)}, store.ErrInvalid, ""},
			"ended":         {[]profile.Party{party(u), party(ended)}, profile.ErrEnded, "x"},
			"does not have": {[]profile.Party{party(u, doc.Increment("/coins", 21)), party(v, doc.Increment("/coins", -21).AtLeast(doc.Int(0)))}, doc.ErrBounds, "v"},
			"ill formed":    {[]profile.Party{party(u, doc.Op{}), party(v)}, doc.ErrBadOp, "u"},
		} {
			_, err := profile.Trade(t.Context(), profile.Source{ID: "t"}, c.parties...)
			if !errors.Is(err, c.want) || store.OutcomeOf(err) == store.Unknown && errors.Is(err, store.ErrUnknown) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			var p *profile.PartyError
			if c.key != "" && (!errors.As(err, &p) || p.Key != c.key) {
				t.Errorf("%s: %v does not name %s", name, err, c.key)
			}
			nothingTraded(t, u, v)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := swap(gone, "gone", u, v); store.OutcomeOf(err) != store.NotDone || !errors.Is(err, context.Canceled) {
			t.Errorf("for a caller who has gone: %v", err)
		}
		nothingTraded(t, u, v)
	})
}

// oneKey is a store that writes one key a transaction.
type oneKey struct{ store.Records }

func (o oneKey) Abilities() store.Abilities {
	a := o.Records.Abilities()
	a.MultiKey = false
	return a
}

func TestTradeNeedsAStoreOfSeveralKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts := memstore.New(nil).Parts()
		parts.Durable = oneKey{parts.Durable}
		parts.Fast = parts.Durable
		st, err := store.New(parts)
		if err != nil {
			t.Fatal(err)
		}
		n, err := node.Start(t.Context(), st, &node.Options{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			_, _ = n.Close(context.Background())
			_ = st.Close(context.Background())
		}()
		set, err := profile.New(n, "players", bags())
		if err != nil {
			t.Fatal(err)
		}
		var parties []profile.Party
		for _, key := range []string{"u", "v"} {
			s, err := set.Load(t.Context(), key, nil)
			if err != nil {
				t.Fatal(err)
			}
			parties = append(parties, profile.Party{Session: s, Ops: []doc.Op{doc.Increment("/coins", 1)}})
		}
		if _, err := profile.Trade(t.Context(), game, parties...); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%v", err)
		}
		if s := parties[0].Session; coins(s.Data()) != 0 {
			t.Errorf("%v", s.Data())
		}
	})
}

// While the trade is on its way: no transaction, no save, no append; what waited for a save is
// answered by the trade.
func TestPartiesAreFrozen(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		time.Sleep(10 * time.Second)
		touch(t, u)
		touch(t, v)
		writes := &count{match: func(c faultstore.Call) bool { return c.Op == "commit" && c.Part == faultstore.Durable }}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			writes.rule(c)
			if on("commit", "profile/")(c) {
				return faultstore.Fault{Delay: 4 * time.Second}
			}
			return faultstore.Fault{}
		})
		done := make(chan error, 3)
		go func() { _, err := swap(context.Background(), "t", u, v); done <- err }()
		synctest.Wait()
		for _, s := range []*profile.Session{u, v} {
			if _, err := s.Transact(game, doc.Increment("/coins", 1)); !errors.Is(err, profile.ErrBusy) {
				t.Errorf("%s: %v", s.Key(), err)
			}
			if _, err := s.Change(game, func(doc.Value) ([]doc.Op, error) { return nil, nil }); !errors.Is(err, profile.ErrBusy) {
				t.Errorf("%s: %v", s.Key(), err)
			}
			go func() { done <- s.Save(context.Background()) }()
		}
		before := f.fast("journal/players/u").Version
		time.Sleep(3 * time.Second)
		if swapped(t, u.Data(), v.Data()) || f.fast("journal/players/u").Version != before {
			t.Error("traded, or journaled, before the store has answered")
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := writes.take(); n != 1 || !swapped(t, u.Data(), v.Data()) {
			t.Errorf("%d writes", n)
		}
	})
}

// A save that has been waiting for its turn waits on for the trade, which does its work.
func TestASaveInTheQueueWaitsForATrade(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		o := bags()
		o.MaxWrites = 1
		a, u, v := marketOf(t, f, o)
		w := a.load("w", nil)
		add(t, w, 1)
		time.Sleep(10 * time.Second)
		touch(t, u)
		add(t, w, 1)
		saves := &count{match: on("commit", "profile/players/u")}
		a.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			saves.rule(c)
			switch {
			case on("commit", "profile/players/w")(c):
				return faultstore.Fault{Delay: time.Second}
			case on("commit", "profile/")(c):
				return faultstore.Fault{Delay: 2 * time.Second}
			}
			return faultstore.Fault{}
		})
		done := make(chan error, 3)
		go func() { done <- w.Save(context.Background()) }()
		synctest.Wait()
		go func() { done <- u.Save(context.Background()) }()
		synctest.Wait()
		go func() { _, err := swap(context.Background(), "t", u, v); done <- err }()
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := saves.take(); n != 1 || a.Stats().Conflicts > 0 {
			t.Errorf("%d writes of u, %d conflicts", n, a.Stats().Conflicts)
		}
	})
}

// A claim that has been waiting for its turn is stored first, with its rows.
func TestATradeWaitsForAClaimInTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		o := bags()
		o.MaxWrites = 1
		a, u, v := marketOf(t, f, o)
		w := a.load("w", nil)
		add(t, w, 1)
		time.Sleep(10 * time.Second)
		add(t, w, 1)
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		done := make(chan error, 2)
		go func() { done <- w.Save(context.Background()) }()
		synctest.Wait()
		go func() { done <- grant(context.Background(), u) }()
		synctest.Wait()
		_, err := profile.Trade(t.Context(), game,
			profile.Party{Session: v, Ops: []doc.Op{doc.Increment("/coins", -1)}},
			profile.Party{Session: u, Ops: []doc.Op{doc.Increment("/coins", 1)}})
		f.together(t, f.storedData("u"))
		if err := errors.Join(err, <-done, <-done); err != nil || coins(f.storedData("u")) != 16 {
			t.Errorf("%v: %v", err, f.storedData("u"))
		}
	})
}

// Whoever follows a session, and its history, see a trade as any commit; it is not undone.
func TestATradeIsACommitLikeAnyOther(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		_, u, v := market(t, f)
		out, err := swap(t.Context(), "t", u, v)
		if err != nil {
			t.Fatal(err)
		}
		list := u.History()
		if last := list[len(list)-1]; last.ID != "t" || last.Revision != out.Commits[0].Revision {
			t.Errorf("%+v", last)
		}
		if _, err := u.Undo(game, profile.Which{ID: "t"}, nil); !errors.Is(err, profile.ErrClaimed) {
			t.Errorf("half a trade is undone: %v", err)
		}
	})
}

// A set in memory has a store of its own.
func TestNoTradeBetweenModes(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		o := bags()
		o.Mode = profile.Memory
		toys, err := profile.New(a.node, "toys", o)
		if err != nil {
			t.Fatal(err)
		}
		toy, err := toys.Load(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := swap(t.Context(), "", u, toy); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v", err)
		}
		nothingTraded(t, u, v)
	})
}

// A save that is on its way lands first, and so do claims.
func TestTradeAfterASaveAndAClaim(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a, u, v := market(t, f)
		touch(t, u)
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second, Back: time.Second}))
		saved, claimed := make(chan error, 1), make(chan error, 1)
		go func() { saved <- u.Save(context.Background()) }()
		synctest.Wait()
		if _, err := swap(t.Context(), "t", u, v); err != nil || !swapped(t, f.storedData("u"), f.storedData("v")) {
			t.Errorf("%v", err)
		}
		err := <-saved
		time.Sleep(5 * time.Second)
		if err != nil || a.Stats().Conflicts > 0 {
			t.Errorf("%v, %d conflicts", err, a.Stats().Conflicts)
		}
		a.faults.SetRule(faultstore.Nth(1, on("commit", "profile/"), faultstore.Fault{Delay: time.Second}))
		go func() { claimed <- grant(context.Background(), u) }()
		synctest.Wait()
		_, err = profile.Trade(t.Context(), game, profile.Party{Session: v, Ops: []doc.Op{doc.Increment("/coins", -1)}}, profile.Party{Session: u, Ops: []doc.Op{doc.Increment("/coins", 1)}})
		if err := errors.Join(err, <-claimed); err != nil {
			t.Fatal(err)
		}
		f.together(t, f.storedData("u"))
		if coins(f.storedData("u")) != 26 || coins(f.storedData("v")) != 9 {
			t.Errorf("%v %v", f.storedData("u"), f.storedData("v"))
		}
	})
}

// Many trades over the same few sessions, from many goroutines, beside transactions and saves:
// no deadlock, and nothing is lost or made.
func TestManyTradesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", bags())
		var sessions []*profile.Session
		for i := range 5 {
			s := a.load(fmt.Sprint("u", i), nil)
			add(t, s, 100)
			sessions = append(sessions, s)
		}
		a.faults.SetRule(always(on("commit", "profile/"), faultstore.Fault{Delay: time.Millisecond, Back: time.Millisecond}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for g := range 20 {
			wg.Go(func() {
				for i := range 10 {
					from, to, third := sessions[(g+i)%5], sessions[(g*3+i*i+1)%5], sessions[(g+2*i+3)%5]
					if from == to || to == third || from == third {
						continue
					}
					_, err := profile.Trade(ctx, game,
						profile.Party{Session: from, Ops: []doc.Op{doc.Increment("/coins", -2)}},
						profile.Party{Session: to, Ops: []doc.Op{doc.Increment("/coins", 1)}},
						profile.Party{Session: third, Ops: []doc.Op{doc.Increment("/coins", 1)}})
					if err != nil {
						t.Errorf("%v", err)
					}
					if i%3 == 0 {
						_ = from.Save(ctx)
					}
				}
			})
		}
		wg.Wait()
		var memory, stored int64
		for _, s := range sessions {
			memory += coins(s.Data())
			stored += coins(f.storedData(s.Key()))
		}
		if memory != 500 || stored != 500 {
			t.Errorf("%d coins in memory, %d stored", memory, stored)
		}
	})
}
