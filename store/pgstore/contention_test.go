package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
)

// connect is a plain connection to the shared server.
func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), strings.Split(enginetest.Postgres(t).URL("x"), "?")[0]+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// number asks for a number.
func number(t *testing.T, c *pgx.Conn, sql string) (n int64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"

// Several processes write overlapping keys, in groups and in transactions of several keys, in
// any order: nobody waits in a circle, and every answer is one of the three.
// case S15.
func TestOverlappingWritesDoNotDeadlock(t *testing.T) {
	// A circle is broken at once, so that a test that finds one ends.
	url, c := direct(t)+"&options=-c%20deadlock_timeout%3D20ms", connect(t)
	before := number(t, c, deadlocks)
	var versions atomic.Uint64
	var all sync.WaitGroup
	for process := range 3 {
		e := open(t, url, nil)
		for _, r := range []store.Records{e.Durable(), e.Fast()} {
			for caller := range 3 {
				all.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(process), uint64(caller)))
					for range 40 {
						overlap(t, r, rng, &versions)
					}
				})
			}
		}
	}
	all.Wait()
	if err := flushStatistics(t, c); err != nil {
		t.Fatal(err)
	}
	if after := number(t, c, deadlocks); after != before {
		t.Errorf("%d deadlocks", after-before)
	}
}

// flushStatistics waits for what sessions report when they are idle for a second.
func flushStatistics(t *testing.T, c *pgx.Conn) error {
	t.Helper()
	_, err := c.Exec(t.Context(), "SELECT pg_sleep(1.1), pg_stat_clear_snapshot()")
	return err
}

// overlap sends a call of many transactions over few keys.
func overlap(t *testing.T, r store.Records, rng *rand.Rand, versions *atomic.Uint64) {
	t.Helper()
	keys := rng.Perm(12)
	var txs []store.Tx
	for len(keys) > 0 {
		n := min(1+rng.IntN(2)*rng.IntN(5), len(keys))
		var tx store.Tx
		for _, k := range keys[:n] {
			w := store.Write{Key: fmt.Sprintf("key/%02d", k), Op: store.Put, Value: []byte("x"), Version: store.Version(versions.Add(1))}
			switch rng.IntN(5) {
			case 0:
				w = store.Write{Key: w.Key, Op: store.Delete}
			case 1:
				w.If = store.Absent()
			case 2:
				w.If = store.Is(store.Version(versions.Load() / 2))
			}
			tx = append(tx, w)
		}
		txs, keys = append(txs, tx), keys[n:]
	}
	for i, err := range r.Commit(t.Context(), txs...) {
		if err != nil && !errors.Is(err, store.ErrConflict) {
			t.Errorf("Commit %v = %v", txs[i], err)
		}
	}
}

// Two transactions that each check what the other writes are never both done.
// case S15.
func TestCheckForbidsWriteSkew(t *testing.T) {
	url := direct(t)
	a, b := open(t, url, nil).Durable(), open(t, url, nil).Durable()
	for round := range 40 {
		x, y := fmt.Sprintf("x/%d", round), fmt.Sprintf("y/%d", round)
		if round%2 == 1 {
			x, y = fmt.Sprintf("y/%d", round), fmt.Sprintf("x/%d", round)
		}
		if err := one(t, a, putOf(x, "on", 1, store.Absent()), putOf(y, "on", 2, store.Absent())); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		var errs [2]error
		both.Go(func() {
			errs[0] = one(t, a, store.Write{Key: x, Op: store.Check, If: store.Is(1)}, putOf(y, "off", 3, store.Is(2)))
		})
		both.Go(func() {
			errs[1] = one(t, b, putOf(x, "off", 4, store.Is(1)), store.Write{Key: y, Op: store.Check, If: store.Is(2)})
		})
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("round %d: %v and %v, want one done and one conflict", round, errs[0], errs[1])
		}
		for _, err := range errs {
			if err != nil && !errors.Is(err, store.ErrConflict) {
				t.Fatalf("round %d: %v", round, err)
			}
		}
	}
}

// A write waits for a row that somebody has locked, and a caller that gives up meanwhile does
// not know.
func TestWriteWaitsForTheRow(t *testing.T) {
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	r := open(t, pg.URL(schema), nil).Durable()
	for i, key := range []string{"key", "given up"} {
		if err := one(t, r, putOf(key, "first", store.Version(1+i), store.Absent())); err != nil {
			t.Fatal(err)
		}
	}
	c := connect(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN")
	exec("SELECT 1 FROM " + schema + ".records FOR UPDATE")
	answers := make(map[store.Version]chan error)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	send := func(ctx context.Context, key string, wanted, version store.Version) {
		answer := make(chan error, 1)
		answers[wanted] = answer
		go func() { answer <- r.Commit(ctx, store.Tx{putOf(key, "last", version, store.Is(wanted))})[0] }()
	}
	send(t.Context(), "key", 1, 21)
	send(ctx, "given up", 2, 22)
	watch := connect(t)
	until(t, "both wait for their rows", func() bool {
		return number(t, watch, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"+schema+"%'") > 0
	})
	cancel()
	gaveUp := <-answers[2]
	exec("COMMIT")
	if err := <-answers[1]; err != nil {
		t.Errorf("the write that waited for its row = %v, want nil", err)
	}
	found, err := r.Get(t.Context(), "key")
	if err != nil || found[0].Version != 21 {
		t.Errorf("Get = %+v, %v", found, err)
	}
	switch {
	case errors.Is(gaveUp, store.ErrUnavailable): // it waited for its group's turn
		if err := one(t, r, putOf("given up", "fence", 5, store.Is(2))); err != nil {
			t.Errorf("not done, and in the way: %v", err)
		}
	case errors.Is(gaveUp, store.ErrUnknown):
		until(t, "the unknown write", func() bool {
			found, err := r.Get(t.Context(), "given up")
			return err == nil && found[0].Version == 22
		})
	default:
		t.Errorf("a caller that gave up hears %v", gaveUp)
	}
}

// When every connection is busy callers wait for one; who gives up has done nothing.
func TestConnectionsExhausted(t *testing.T) {
	pg, schema := enginetest.Postgres(t), enginetest.Schema(t)
	e := open(t, pg.URL(schema)+"&pool_max_conns=1", nil)
	r := e.Durable()
	if err := one(t, r, putOf("held", "first", 1, store.Absent())); err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	if _, err := c.Exec(t.Context(), "BEGIN; SELECT 1 FROM "+schema+".records FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	held := make(chan error, 1)
	go func() { held <- one(t, r, putOf("held", "second", 2, store.Is(1))) }()
	watch := connect(t)
	until(t, "the only connection is busy", func() bool {
		return number(t, watch, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"+schema+"%'") > 0
	})
	// Beats have connections of their own.
	if err := one(t, e.Fast(), putOf("node/a", "beat", 3, store.Absent())); err != nil {
		t.Errorf("a beat while every connection is busy = %v", err)
	}
	if found, err := e.Fast().Get(t.Context(), "node/a"); err != nil || found[0].Version != 3 {
		t.Errorf("Get of a beat = %+v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan error, 3)
	go func() { answers <- r.Commit(ctx, store.Tx{putOf("other", "x", 4, store.Absent())})[0] }()
	go func() {
		answers <- r.Commit(ctx, store.Tx{putOf("a", "x", 5, store.Absent()), putOf("b", "x", 6, store.Absent())})[0]
	}()
	go func() {
		_, err := r.Get(ctx, "held")
		answers <- err
	}()
	cancel()
	for range 3 {
		if err := <-answers; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a call that found no connection = %v, want ErrUnavailable", err)
		}
	}
	if _, err := c.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-held; err != nil {
		t.Error(err)
	}
	if found, err := r.Get(t.Context(), "other", "a", "b"); err != nil || !found[0].Missing() || !found[1].Missing() || !found[2].Missing() {
		t.Errorf("what was not done is there: %+v, %v", found, err)
	}
}

// Ten processes that open a new schema at once all find it made, once.
// case S15.
func TestMigrateAtOnce(t *testing.T) {
	url := direct(t)
	var all sync.WaitGroup
	engines := make([]*pgstore.Engine, 10)
	for i := range engines {
		all.Go(func() {
			var err error
			if engines[i], err = pgstore.Open(t.Context(), url, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i, e := range engines {
		if e == nil {
			continue
		}
		if err := one(t, e.Durable(), putOf(fmt.Sprint(i), "x", 1, store.Absent())); err != nil {
			t.Error(err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
