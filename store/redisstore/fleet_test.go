package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/redisstore"
)

// fleet is what the nodes of a test share: durable records in memory, all else on the servers.
type fleet struct {
	durable *memstore.Engine
	url     string
}

// member is one node of it.
type member struct {
	*shoal.Node
	faults *faultstore.Faults
	engine *redisstore.Engine
}

// start starts a node that beats ten times a second and is forgotten soon.
func (f fleet) start(t *testing.T, name string) *member {
	t.Helper()
	m := &member{faults: faultstore.New(nil), engine: open(t, f.url, nil)}
	st, err := store.New(m.faults.Wrap(store.Parts{Durable: f.durable.Records(), Fast: m.engine.Fast(), Boards: m.engine.Boards(), Bus: m.engine.Bus()}))
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	m.Node, err = shoal.Start(t.Context(), st, &shoal.Options{
		Node: node.Options{
			Name: name, Beat: 100 * time.Millisecond, DeadAfter: 600 * time.Millisecond, LeaseTimeout: time.Second,
			ForgetAfter: time.Second, CloseTimeout: 2 * time.Second, Logger: quiet,
		},
		Sets: map[string]*profile.Options{"players": {
			Template: doc.Must(map[string]any{"coins": 0}), JournalEvery: 50 * time.Millisecond, ReapEvery: 200 * time.Millisecond, FallbackSave: time.Second,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := m.Close(context.WithoutCancel(t.Context())); err != nil && !m.faults.Crashed() {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return m
}

// load opens a player, however often it takes.
func (m *member) load(t *testing.T, key string) (s *profile.Session) {
	t.Helper()
	again(t, "load "+key, func() (err error) {
		s, err = m.Set("players").Load(t.Context(), key, nil)
		return err
	})
	return s
}

// earn adds a coin, and keeps it.
func earn(t *testing.T, s *profile.Session, keep func(context.Context) error) {
	t.Helper()
	if _, err := s.Transact(profile.Source{Note: "test"}, doc.Increment("/coins", 1)); err != nil {
		t.Fatal(err)
	}
	again(t, "keep", func() error { return keep(t.Context()) })
}

// coins fails unless the session has n.
func coins(t *testing.T, what string, s *profile.Session, n int64) {
	t.Helper()
	if v, _, err := s.Data().Lookup("/coins"); err != nil || !v.Equal(doc.Int(n)) {
		t.Fatalf("%s: %s has %v coins, want %d (%v)", what, s.Key(), v, n, err)
	}
}

// count is how many records a folder holds.
func count(t *testing.T, r store.Records, folder string) (n int) {
	t.Helper()
	for _, err := range r.Scan(t.Context(), store.Prefix(folder)) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Nodes hand players over, take them over from one that died, save and free those whom nobody
// asks for, and forget the dead: all that they list in the fast store can be listed.
func TestFleet(t *testing.T) {
	for name, url := range map[string]string{
		"single": enginetest.Redis(t).URL(enginetest.Prefix(t)), "cluster": enginetest.Cluster(t).URL(enginetest.Prefix(t)),
	} {
		t.Run(name, func(t *testing.T) {
			f := fleet{memstore.New(nil), url}
			a, b := f.start(t, "a"), f.start(t, "b")
			fast := b.engine.Fast()
			s := a.load(t, "ada")
			earn(t, s, s.Sync)
			s = b.load(t, "ada") // a gives her away
			coins(t, "after a hand-over", s, 1)
			earn(t, s, s.Sync)
			s = a.load(t, "ada")
			coins(t, "and back", s, 2)
			earn(t, s, s.Sync)
			for i := range 5 {
				idle := a.load(t, fmt.Sprint("idle", i))
				earn(t, idle, idle.Sync)
			}
			if n := count(t, fast, node.EstatePrefix(a.ID())); n < 6 {
				t.Fatalf("%d journals of a are listed, want those of 6 players", n)
			}
			must(t, fast, put("note/"+a.ID()+"/players/ada", "{}", 7, store.Any())) // nobody will read it
			a.faults.Crash()
			s = b.load(t, "ada")
			coins(t, "after a crash", s, 3)
			for i := range 5 { // b saves and frees them by itself
				again(t, "reaped", func() error {
					v, err := b.Set("players").Read(t.Context(), fmt.Sprint("idle", i))
					if err == nil && v.Holder != nil {
						err = errors.New("still held")
					}
					return err
				})
				idle := b.load(t, fmt.Sprint("idle", i))
				coins(t, "after the reaper", idle, 1)
			}
			again(t, "the dead node is forgotten", func() error {
				left := 0
				for _, folder := range []string{node.EstatePrefix(a.ID()), "note/" + a.ID() + "/", "mark/" + a.ID() + "/"} {
					left += count(t, fast, folder)
				}
				if rec := get(t, fast, "node/"+a.ID()); left > 0 || !rec.Missing() {
					return fmt.Errorf("%d records of it, and its beat (%v), are left", left, !rec.Missing())
				}
				return nil
			})
			if n := count(t, fast, "node/"); n != 1 {
				t.Fatalf("%d nodes beat, want one", n)
			}
		})
	}
}

// The server forgets everything, and then is away for longer than a beat may be late: sessions
// go on, nobody is taken for dead, and what was synced is there.
func TestFleetWithoutItsFastStore(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	f := fleet{memstore.New(nil), server.URL("p")}
	a, b := f.start(t, "a"), f.start(t, "b")
	s, other := a.load(t, "ada"), b.load(t, "bob")
	n := int64(0)
	for _, trouble := range []func(){
		func() { ask(t, server, "FLUSHALL") },
		func() { ask(t, server, "SCRIPT", "FLUSH") },
		func() {
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			earn(t, s, s.Sync) // by the record
			if err := server.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			n++
		},
		func() { pause(t, server, 12*100*time.Millisecond) },
	} {
		earn(t, s, s.Sync)
		earn(t, other, other.Sync)
		n++
		trouble()
		earn(t, s, s.Sync)
		n++
		coins(t, "in trouble", s, n)
		if s.Reason() != 0 || other.Reason() != 0 {
			t.Fatalf("sessions have ended: %v, %v", s.Reason(), other.Reason())
		}
	}
	again(t, "both beat", func() error {
		if n := count(t, a.engine.Fast(), "node/"); n != 2 {
			return fmt.Errorf("%d beat", n)
		}
		return nil
	})
	s = b.load(t, "ada")
	coins(t, "afterwards", s, n)
}

// pause holds the server for about d: long enough for b's beats to be missed.
func pause(t *testing.T, server *engines.Redis, d time.Duration) {
	t.Helper()
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(d)
	<-timer.C
	if err := server.Continue(); err != nil {
		t.Fatal(err)
	}
}
