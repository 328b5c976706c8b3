package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/storetest"
)

// What was acknowledged by the old master and not copied may be lost; nothing else may, and
// nobody is told that a write is not done which is there.
func TestFailOver(t *testing.T) {
	s := enginetest.Sentinel(t, nil)
	e := open(t, s.URL("p"), nil)
	r, b := e.Fast(), e.Bus()
	heard := storetest.Hear(t, b, "topic")
	const keys = 20
	key := func(i int) string { return fmt.Sprintf("note/n1/players/u%d", i) }
	for i := range keys {
		must(t, r, put(key(i), "v", 1, store.Absent()))
	}
	was, err := s.Master(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask(t, was, "WAIT", "1", "10000") // the replica has them
	if err := s.FailOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		failures := again(t, "write after the fail-over", func() error {
			err := commit(t.Context(), r, put(key(i), "w", 2, store.Is(1)))
			if errors.Is(err, store.ErrConflict) && get(t, r, key(i)).Version == 2 {
				return nil // an earlier one of unknown outcome
			}
			return err
		})
		for _, err := range failures {
			if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("a write in a fail-over answers %v", err)
			}
		}
	}
	n := 0
	for rec, err := range r.Scan(t.Context(), store.Prefix("note/")) {
		if n++; err != nil || rec.Version != 2 {
			t.Fatalf("after the fail-over there is %+v, %v", rec, err)
		}
	}
	if n != keys {
		t.Fatalf("after the fail-over there are %d notes, want %d", n, keys)
	}
	storetest.Arrives(t, b, heard, "topic", "a message")
	if now, err := s.Master(t.Context()); err != nil || now == was {
		t.Fatalf("there was no fail-over: %v, %v", now, err)
	}
}

// The master is gone without a word.
func TestMasterIsKilled(t *testing.T) {
	s := enginetest.Sentinel(t, nil)
	e := open(t, s.URL("p"), nil)
	r, b := e.Fast(), e.Bus()
	heard := storetest.Hear(t, b, "topic")
	was, err := s.Master(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range kinds() {
		must(t, r, put(key, "v", 1, store.Absent()))
	}
	ask(t, was, "WAIT", "1", "10000")
	if err := was.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, key := range kinds() {
		again(t, "read", func() error { _, err := r.Get(t.Context(), key); return err })
		if rec := get(t, r, key); rec.Version != 1 {
			t.Fatalf("the new master has %+v", rec)
		}
		again(t, "write", func() error {
			err := commit(t.Context(), r, put(key, "w", 2, store.Is(1)))
			if errors.Is(err, store.ErrConflict) && get(t, r, key).Version == 2 {
				return nil
			}
			return err
		})
	}
	storetest.Arrives(t, b, heard, "topic", "a message")
}

// slots are the slots of keys, as the cluster counts them.
func slotOf(t *testing.T, node *engines.Redis, key string) string {
	t.Helper()
	return fmt.Sprint(ask(t, node, "CLUSTER", "KEYSLOT", key))
}

// idOf is the name that a node has in its cluster.
func idOf(t *testing.T, node *engines.Redis) string {
	t.Helper()
	id, _ := ask(t, node, "CLUSTER", "MYID").(string)
	return id
}

// ownerOf is the node of the cluster that serves the key.
func ownerOf(t *testing.T, c *engines.Cluster, key string) int {
	t.Helper()
	for i, node := range c.Nodes() {
		if _, err := node.Do(t.Context(), "EXISTS", key); err == nil {
			return i
		}
	}
	t.Fatalf("nobody serves %s", key)
	return 0
}

// A slot moves to another server while its records are used, key by key.
func TestSlotMoves(t *testing.T) {
	c := enginetest.OwnCluster(t, nil)
	r := open(t, c.URL("p"), nil).Fast()
	values := "p:{p.notes}:note/values"
	for i := range 10 {
		must(t, r, put(fmt.Sprintf("note/n1/%d", i), "v", 1, store.Absent()))
	}
	at := ownerOf(t, c, values)
	from, to := c.Nodes()[at], c.Nodes()[(at+1)%3]
	slot := slotOf(t, from, values)
	ask(t, to, "CLUSTER", "SETSLOT", slot, "IMPORTING", idOf(t, from))
	ask(t, from, "CLUSTER", "SETSLOT", slot, "MIGRATING", idOf(t, to))
	must(t, r, put("note/n1/0", "w", 2, store.Is(1))) // it is still here
	host, port, _ := strings.Cut(to.Addr(), ":")
	ask(t, from, "MIGRATE", host, port, values, "0", "5000")
	// Half of the family is there, and half is here: nobody can serve it.
	if err := commit(t.Context(), r, put("note/n1/1", "w", 2, store.Is(1))); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a write to a family that is on its way answers %v", err)
	}
	if _, err := r.Get(t.Context(), "note/n1/0"); err != nil {
		t.Fatalf("a read of the half that is there: %v", err)
	}
	ask(t, from, "MIGRATE", host, port, "p:{p.notes}:note/order", "0", "5000")
	must(t, r, put("note/n1/1", "w", 2, store.Is(1))) // ASK
	for _, node := range []*engines.Redis{to, from, c.Nodes()[(at+2)%3]} {
		ask(t, node, "CLUSTER", "SETSLOT", slot, "NODE", idOf(t, to))
	}
	must(t, r, put("note/n1/2", "w", 2, store.Is(1)), put("note/n1/3", "w", 2, store.Is(1))) // MOVED
	versions := ""
	for rec, err := range r.Scan(t.Context(), store.Prefix("note/")) {
		if err != nil {
			t.Fatal(err)
		}
		versions += rec.Version.String()
	}
	if versions != "2222111111" {
		t.Fatalf("the notes have versions %s", versions)
	}
	if now := ownerOf(t, c, values); now != (at+1)%3 {
		t.Fatalf("the slot has not moved: %d", now)
	}
}

// One server of a cluster is gone: what the others hold goes on, or is refused as a whole, as
// the cluster is set. What it holds is not done.
func TestServerOfAClusterIsDown(t *testing.T) {
	c := enginetest.OwnCluster(t, &engines.RedisOptions{Settings: map[string]string{"cluster-require-full-coverage": "no"}})
	r := open(t, c.URL("p"), nil).Fast()
	var keys []string
	owner := map[string]int{}
	for i := range 60 {
		key := fmt.Sprintf("journal/players/u%d", i)
		must(t, r, put(key, "v", 1, store.Absent()))
		keys, owner[key] = append(keys, key), ownerOf(t, c, "p:r:"+key)
	}
	gone := owner[keys[0]]
	if err := c.Nodes()[gone].Kill(); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if owner[key] == gone {
			again(t, "a write is known not to be done", func() error {
				err := commit(t.Context(), r, put(key, "w", 2, store.Is(1)))
				if errors.Is(err, store.ErrUnavailable) {
					return nil
				}
				if !errors.Is(err, store.ErrUnknown) {
					t.Fatalf("a write to a server that is gone answers %v", err)
				}
				return err
			})
			if _, err := r.Get(t.Context(), key); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("a read from a server that is gone answers %v", err)
			}
			continue
		}
		again(t, "the others go on", func() error { return commit(t.Context(), r, put(key, "w", 2, store.Is(1))) })
	}
	// One call over all servers: each answer stands for itself.
	txs := make([]store.Tx, len(keys))
	for i, key := range keys {
		txs[i] = put(key, "x", 3, store.Any())
	}
	for i, err := range r.Commit(t.Context(), txs...) {
		if (owner[keys[i]] == gone) != (store.OutcomeOf(err) == store.NotDone) || owner[keys[i]] != gone && err != nil {
			t.Fatalf("%s, of server %d (%d is gone): %v", keys[i], owner[keys[i]], gone, err)
		}
	}
	if err := c.Nodes()[gone].Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		again(t, "all go on", func() error { return commit(t.Context(), r, put(key, "y", 4, store.Any())) })
	}
}
