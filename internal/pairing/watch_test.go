package pairing_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/internal/pairing"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

func wantLog(t *testing.T, log *journal, want string) {
	t.Helper()
	if n := strings.Count(log.String(), want); n != 1 {
		t.Errorf("%q is said %d times, once expected:\n%s", want, n, log)
	}
}

// A process hangs for longer than anybody waits, and the fast part forgets meanwhile: a newcomer
// begins a new life of it, and the one that hung goes on in that.
func TestOneThatHungLearnsOfTheNewLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		f := faultstore.New(nil)
		log := living(t, behind(f, p), apart("redis://a"))
		first := settled(t, p, apart("redis://a"))
		f.Outage(faultstore.Durable, true)
		forget(t, p.Fast)
		second := settled(t, p, apart("redis://a"))
		f.Outage(faultstore.Durable, false)
		time.Sleep(3 * pairing.Every)
		if first.ID == second.ID || log.String() != "" {
			t.Errorf("%s, %s\n%s", first.ID, second.ID, log)
		}
		refusedLater(t, pairing.Parts{Durable: p.Durable, Fast: engine()}, apart("redis://a")) // it answers
	})
}

// The fleet moves on without a process: it says so, and does not answer for what it sees.
func TestOneThatWasLeftBehindSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		f := faultstore.New(nil)
		log := living(t, behind(f, p), apart("redis://localhost"))
		elsewhere := pairing.Parts{Durable: p.Durable, Fast: engine()}
		f.Outage(faultstore.Durable, true)
		second := settled(t, elsewhere, apart("redis://localhost"))
		f.Outage(faultstore.Durable, false)
		time.Sleep(5 * pairing.Every)
		wantLog(t, log, "the fleet has another fast part now")
		forget(t, elsewhere.Fast)
		if third := settled(t, elsewhere, apart("redis://localhost")); third.ID == second.ID {
			t.Error("the sign came back, from nobody")
		}
	})
}

// Two fleets on one fast part say so, and neither overwrites the sign of the other.
func TestTwoFleetsOnOneFastPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		log := living(t, p, apart("redis://a"))
		forget(t, p.Fast)
		living(t, pairing.Parts{Durable: engine(), Fast: p.Fast}, apart("redis://a"))
		sign := dump(t, p.Fast)[signKey]
		time.Sleep(5 * pairing.Every)
		wantLog(t, log, "another store uses this fast part, too")
		if got := dump(t, p.Fast)[signKey]; got != sign {
			t.Errorf("the sign was overwritten: %s, it was %s", got, sign)
		}
	})
}

// A fast part goes back to an earlier life, as a failover may do: who lives puts it right.
func TestAFastPartGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		settled(t, p, apart("redis://a"))
		recs, err := p.Fast.Get(t.Context(), signKey)
		must(t, err)
		forget(t, p.Fast)
		log := living(t, p, apart("redis://a"))
		second := dump(t, p.Fast)[signKey]
		must(t, p.Fast.Commit(t.Context(), store.Tx{{Key: signKey, Op: store.Put, Value: recs[0].Value, Version: 7}})[0])
		time.Sleep(2 * pairing.Every)
		got := dump(t, p.Fast)[signKey]
		if _, value, _ := strings.Cut(got, " "); !strings.HasSuffix(second, value) {
			t.Errorf("the sign is %s, want that of %s", got, second)
		}
		wantLog(t, log, "the fast part has lost its memory")
	})
}

// The mark is lost with an old backup while a process runs: it says so once.
func TestTheMarkIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		log := living(t, p, apart("redis://a"))
		forget(t, p.Durable)
		time.Sleep(5 * pairing.Every)
		wantLog(t, log, "was an old backup restored")
		refused(t, p, apart("redis://a"), "belongs to another store")
	})
}

// A store that was closed ends its watcher; closing before the start, and twice, is nothing.
func TestAWatcherEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		w := new(pairing.Watcher)
		must(t, w.Close(t.Context()))
		w.Start(t.Context(), p, settled(t, p, apart("redis://a")), apart("redis://a"))
		must(t, p.Durable.Close(t.Context()))
		time.Sleep(3 * pairing.Every)
		synctest.Wait() // the bubble ends only when the goroutine has
		must(t, w.Close(t.Context()))
		must(t, w.Close(t.Context()))
	})
}

// A change waits until nobody is alive, and says who is.
func TestAChangeOfALivingFleetIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		w, f := new(pairing.Watcher), faultstore.New(nil)
		w.Start(t.Context(), behind(f, p), settled(t, p, apart("redis://a")), apart("redis://a"))
		before := dump(t, p.Durable)
		to := pairing.Parts{Durable: p.Durable, Fast: engine()}
		for i, g := range []pairing.Given{{}, apart("redis://b"), apart("redis://b")} {
			f.Outage(faultstore.Fast, i == 2) // that may be why it is changed
			if _, err := pairing.Change(t.Context(), to, g, true); !errors.Is(err, pairing.ErrAlive) || !strings.Contains(err.Error(), "redis://a") {
				t.Errorf("%+v: %v", g, err)
			}
		}
		if after := dump(t, p.Durable); !equal(before, after) || len(dump(t, to.Fast)) > 0 {
			t.Errorf("%v, before %v", after, before)
		}
		must(t, w.Close(t.Context()))
		for _, g := range []pairing.Given{{}, apart("redis://b"), {}} {
			if _, err := pairing.Change(t.Context(), to, g, false); err != nil {
				t.Fatalf("%+v: %v", g, err)
			}
			wantPair(t, to, g)
		}
	})
}

// A change of the way of messages alone needs no silence, and is no new life.
func TestTheWayOfMessagesChangesWhileServersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pairing.Parts{Durable: engine(), Fast: engine()}
		g := apart("postgres://h/db")
		g.Bus = "listen"
		log := living(t, p, g)
		first := settled(t, p, g)
		g.Bus = "poll"
		m, err := pairing.Change(t.Context(), p, g, false)
		if err != nil || m.ID != first.ID || m.Bus != "poll" {
			t.Errorf("%+v, %v", m, err)
		}
		time.Sleep(3 * pairing.Every)
		if log.String() != "" {
			t.Errorf("the one who lives says %s", log)
		}
		wantPair(t, p, g)
	})
}

// A fast part of another store is not taken by mistake.
func TestAFastPartIsNotTakenByMistake(t *testing.T) {
	p := pairing.Parts{Durable: engine(), Fast: engine()}
	settled(t, pairing.Parts{Durable: engine(), Fast: p.Fast}, apart("redis://a"))
	before := dump(t, p.Fast)
	if _, err := pairing.Change(t.Context(), p, apart("redis://a"), false); !errors.Is(err, pairing.ErrTaken) || !equal(before, dump(t, p.Fast)) || len(dump(t, p.Durable)) > 0 {
		t.Errorf("%v; %v and %v", err, dump(t, p.Durable), dump(t, p.Fast))
	}
	if _, err := pairing.Change(t.Context(), p, apart("redis://a"), true); err != nil {
		t.Error(err)
	}
	wantPair(t, p, apart("redis://a"))
}
