package board_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Bans that were lifted lately have records still. However many they are, they take no place
// on the list of who is banned.
func TestLiftedBansTakeNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		value := []byte(`{"format":1,"lifted":true,"at":"2000-01-01T00:00:00Z"}`)
		var txs []store.Tx
		add := func(key string, value []byte) {
			txs = append(txs, store.Tx{{Key: "ban/" + key, Op: store.Put, Value: value, Version: store.VersionFrom(uint64(len(txs) + 1))}})
		}
		for i := range board.MaxBans + board.MaxBans/10 + 1 {
			add(fmt.Sprintf("u%06d", i), value)
		}
		add("zed", []byte(`{"format":1,"at":"2000-01-01T00:00:00Z"}`))
		for len(txs) > 0 {
			n := min(len(txs), store.MaxCommit)
			if err := errors.Join(f.plain.Durable.Commit(t.Context(), txs[:n]...)...); err != nil {
				t.Fatal(err)
			}
			txs = txs[n:]
		}
		m := f.join(&board.Options{Boards: boards{"Kills": {}}})
		synctest.Wait()
		wantRefused(t, m.Submit("Kills", "zed", 1), "key", board.ErrBanned)
	})
}

// A service that writes nothing for long remembers no more of what others ban than who is
// banned now.
func TestIdleServicesDoNotPileUpBans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		a, idle := f.join(&board.Options{Boards: boards{"Kills": {}}}), f.join(&board.Options{Boards: boards{"Kills": {}}})
		synctest.Wait()
		for i := range 20 {
			for _, act := range []func() error{
				func() error { return a.Ban(t.Context(), mod, "ann", fmt.Sprint("u", i)) },
				func() error { return a.Unban(t.Context(), mod, "ann") },
			} {
				if err := act(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		if n := idle.Fresh(); n > 21 {
			t.Errorf("%d keys are remembered, 20 are banned, and one was", n)
		}
	})
}

// While the list of bans cannot be read, boards that are written for the first time wait; the
// others are written hardly later than they would be.
func TestUnreadBansDoNotHoldUpOtherBoards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t)
		names := boards{"Kills": {}}
		for i := range 30 {
			names[fmt.Sprintf("New%02d", i)] = board.Config{}
		}
		m := f.join(&board.Options{Boards: names})
		m.submit("Kills", "bob", 1)
		m.flush()
		m.faults.SetRule(func(c faultstore.Call) faultstore.Fault {
			if c.Part == faultstore.Durable {
				return faultstore.Fault{Kind: faultstore.Hang}
			}
			return faultstore.Fault{}
		})
		for name := range names {
			m.submit(name, "bob", 2)
		}
		most := time.Duration(0)
		for i := range 10 {
			began := time.Now()
			m.submit("Kills", "bob", int64(10+i))
			for f.score("Kills", "bob") != int64(10+i) {
				time.Sleep(100 * time.Millisecond)
			}
			most = max(most, time.Since(began))
		}
		if most > 25*time.Second {
			t.Errorf("a score was written after %v", most)
		}
		m.faults.SetRule(nil)
		time.Sleep(time.Minute)
		for name := range names {
			if f.score(name, "bob") < 2 {
				t.Errorf("nothing on %s", name)
			}
		}
	})
}

func (f *fleet) score(name, key string) int64 {
	f.t.Helper()
	got, err := f.plain.Boards.Scores(f.t.Context(), name, key)
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		f.t.Fatal(err)
	}
	return got[key].Score
}
