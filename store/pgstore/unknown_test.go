package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// throughProxy opens a fresh schema through a proxy, and once more directly.
func throughProxy(t *testing.T, o *pgstore.Options) (*engines.Proxy, *pgstore.Engine, *pgstore.Engine) {
	t.Helper()
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	proxy := enginetest.Proxy(t, pg.Addr())
	sure := open(t, pg.URL(schema), nil)
	return proxy, open(t, pg.URLAt(proxy.Addr(), schema)+"&pool_max_conns=1&connect_timeout=1", o), sure
}

// A write whose answer is lost is unknown, whether the connection breaks or the caller gives
// up; what it did is there.
func TestLostAnswerIsUnknown(t *testing.T) {
	for name, giveUp := range map[string]bool{"the connection breaks": false, "the caller gives up": true} {
		t.Run(name, func(t *testing.T) {
			proxy, e, sure := throughProxy(t, nil)
			r := e.Durable()
			if err := one(t, r, putOf("key", "first", 1, store.Absent())); err != nil {
				t.Fatal(err)
			}
			at := store.Version(1)
			for try := 1; ; try++ {
				// The statement is prepared by an earlier write, so that its only answer is lost.
				if err := one(t, r, putOf("key", "before", at+1, store.Is(at))); err != nil {
					t.Fatal(err)
				}
				at++
				err := loseAnswer(t, proxy, r, putOf("key", "after", at+1, store.Is(at)), giveUp)
				// What was lost may have been the answer of a ping, or of a new session: then nothing
				// was written. A write that is conditional on it tells, since it waits for its turn.
				if errors.Is(err, store.ErrUnknown) {
					again := one(t, r, putOf("key", "again", at+2, store.Is(at+1)))
					if again == nil {
						break
					}
					err = again
				}
				if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrConflict) || try == 20 {
					t.Fatalf("Commit whose answer was lost = %v, want ErrUnknown, and that it is written", err)
				}
			}
			found, err := sure.Durable().Get(t.Context(), "key")
			if err != nil || found[0].Version != at+2 {
				t.Fatalf("after it heals: %v, %v", found, err)
			}
		})
	}
}

// loseAnswer sends a write whose answer is lost, and heals the network.
func loseAnswer(t *testing.T, proxy *engines.Proxy, r store.Records, w store.Write, giveUp bool) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lost := proxy.DropAnswers()
	answer := make(chan error, 1)
	go func() { answer <- r.Commit(ctx, store.Tx{w})[0] }()
	<-lost
	if giveUp {
		cancel()
	} else {
		proxy.Reset()
	}
	err := <-answer
	proxy.Heal()
	proxy.Reset() // nothing else ends a connection that waits for what was lost
	return err
}

// Nothing that commits has left when a transaction of several keys hears nothing of its
// writes: it is not done, and never will be.
func TestTransactionThatHearsNothingIsNotDone(t *testing.T) {
	proxy, e, sure := throughProxy(t, nil)
	r := e.Durable()
	if err := one(t, r, putOf("a", "before", 1, store.Absent())); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lost := proxy.DropAnswers()
	answer := make(chan error, 1)
	go func() {
		answer <- r.Commit(ctx, store.Tx{putOf("a", "after", 2, store.Is(1)), putOf("b", "after", 3, store.Absent())})[0]
	}()
	<-lost
	cancel()
	if err := <-answer; !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Commit = %v, want ErrUnavailable", err)
	}
	proxy.Heal()
	// The server lets go of the rows when it notices that the connection is gone.
	if err := one(t, sure.Durable(), putOf("a", "fence", 4, store.Is(1)), putOf("b", "fence", 5, store.Absent())); err != nil {
		t.Fatalf("the transaction that was not done is in the way: %v", err)
	}
}

// A server that is silent is given up after the deadline of a call: a write that was sent is
// unknown, and a read is not done.
func TestSilentServer(t *testing.T) {
	proxy, e, _ := throughProxy(t, &pgstore.Options{CallDeadline: 300 * time.Millisecond})
	r := e.Durable()
	ready := func() bool { // the statement is prepared
		return one(t, r, putOf("key", "before", 1, store.Any())) == nil && one(t, r, putOf("key", "before", 1, store.Is(1))) == nil
	}
	until(t, "an unknown write", func() bool {
		proxy.Heal()
		until(t, "the server", ready)
		proxy.Cut()
		err := one(t, r, putOf("key", "after", 2, store.Is(1)))
		if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("Commit = %v", err)
		}
		return errors.Is(err, store.ErrUnknown)
	})
	if _, err := r.Get(t.Context(), "key"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Get = %v, want ErrUnavailable", err)
	}
	proxy.Heal()
	until(t, "the server", ready)
}

// A server that is away takes nothing: writes and reads are not done, and go on when it is
// back.
func TestServerAway(t *testing.T) {
	pg := enginetest.OwnPostgres(t, nil)
	e := open(t, pg.URL("shoal"), nil)
	for _, r := range []store.Records{e.Durable(), e.Fast()} {
		if err := one(t, r, putOf("node/a", "before", 1, store.Any()), putOf("key", "before", 1, store.Any())); err != nil {
			t.Fatal(err)
		}
	}
	if err := pg.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []store.Records{e.Durable(), e.Fast()} {
		// The first call may find a connection that is broken only when it is used.
		until(t, "not done", func() bool { return errors.Is(one(t, r, putOf("key", "lost", 2, store.Any())), store.ErrUnavailable) })
		for _, err := range r.Commit(t.Context(), store.Tx{putOf("node/a", "lost", 3, store.Is(99))}, store.Tx{putOf("key", "lost", 3, store.Is(99)), putOf("x", "lost", 3, store.Absent())}) {
			if errors.Is(err, store.ErrConflict) || err == nil {
				t.Errorf("Commit on a server that is away = %v", err)
			}
		}
		if _, err := r.Get(t.Context(), "key"); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Get = %v, want ErrUnavailable", err)
		}
		if _, err := r.Now(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Now = %v, want ErrUnavailable", err)
		}
		for _, err := range r.Scan(t.Context(), store.Range{}) {
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Scan = %v, want ErrUnavailable", err)
			}
		}
	}
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range []store.Records{e.Durable(), e.Fast()} {
		if err := one(t, r, putOf("node/a", "after", 4, store.Any()), putOf("key", "after", 4, store.Is(1))); err != nil {
			t.Fatalf("after the server is back: %v", err)
		}
	}
}

// What was acknowledged survives a crash of the server in the durable records; the fast ones
// are lost as a whole, and can be written again.
func TestServerCrashes(t *testing.T) {
	pg := enginetest.OwnPostgres(t, &engines.PostgresOptions{Durable: true})
	e := open(t, pg.URL("shoal"), nil)
	for _, r := range []store.Records{e.Durable(), e.Fast()} {
		if err := one(t, r, putOf("key", "value", 1, store.Absent())); err != nil {
			t.Fatal(err)
		}
	}
	if err := pg.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := pg.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for r, want := range map[store.Records]store.Version{e.Durable(): 1, e.Fast(): 0} {
		found, err := r.Get(t.Context(), "key")
		if err != nil || found[0].Version != want {
			t.Errorf("after a crash Get = %+v, %v, want version %d", found, err, want)
		}
		if err := one(t, r, putOf("key", "again", 2, store.Is(want))); err != nil {
			t.Error(err)
		}
	}
}
