package main_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// A server or a tool that leaves out the fast part of its fleet is refused, and so is one that
// adds one; an operator changes it while nobody runs.
func TestAFleetIsNotMixedUp(t *testing.T) {
	x, fast := tool{t: t, store: filepath.Join(t.TempDir(), "game")}, t.TempDir()
	d := serve(t, x.store, "--fast", fast)
	d.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":3}]}`)
	const expected = "in a fast part of its own, "
	x.fails(4, expected+fast, "serve", "--listen=127.0.0.1:0")
	x.fails(4, "none was given", "profile", "set", "ann", "/coins", "5")
	x.fails(4, "run shoal store pair", "board", "list")
	wantCode(t, copyOf(t, x.store, filepath.Join(t.TempDir(), "copy")), 4, expected)
	x.does("revision 2", "profile", "edit", "ann", `{"op":"increment","path":"/coins","by":1}`, "--fast", fast)
	x.does("4", "profile", "get", "ann", "/coins", "--fast", fast)

	a := x.run("store", "check")
	if a.code != 1 || !strings.Contains(a.out, "pairing: DANGER: ") || !strings.Contains(a.out, "pairing: beats, journals, boards and messages in a fast part of their own, "+fast) {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	x.fails(6, "nothing is repaired", "store", "check", "--repair")
	if a := x.does("a fast part of their own, "+fast, "store", "check", "--fast", fast); strings.Contains(a.out, "pairing: DANGER") || strings.Contains(a.out, "pairing: warning") {
		t.Error(a.out)
	}

	x.does("Nothing to change", "store", "pair", "--fast", fast)
	x.fails(6, "one answered whose fast part is "+fast, "store", "pair")
	x.fails(6, "one answered whose fast part is "+fast, "store", "pair", "--fast", t.TempDir())
	d.stop()
	x.does("Would be changed: one engine for all parts instead of: beats", "store", "pair", "--dry-run")
	x.does("The store is paired: one engine for all parts, since", "store", "pair")
	x.fails(4, "one engine for all parts", "serve", "--listen=127.0.0.1:0", "--fast", fast)
	e := serve(t, x.store)
	x.does("4", "profile", "get", "ann", "/coins")
	x.fails(6, "node-", "store", "pair", "--fast", fast)
	e.stop()
	var p struct {
		Changed       bool
		Fleet, Change string
	}
	if a := x.run("store", "pair", "--json", "--fast", fast); json.Unmarshal([]byte(a.out), &p) != nil || !p.Changed || !strings.Contains(p.Fleet, fast) || !strings.Contains(p.Change, "instead of: one engine") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	serve(t, x.store, "--fast", fast)
}

// A fast part of another fleet is not taken by mistake, nor is a store that is one part of another.
func TestAFastPartOfAnotherFleet(t *testing.T) {
	x, y, fast := tool{t: t, store: t.TempDir()}, tool{t: t, store: t.TempDir()}, t.TempDir()
	x.does("", "profile", "list", "--fast", fast)
	y.fails(4, "belongs to another store", "profile", "list", "--fast", fast)
	z := tool{t: t, store: fast}
	z.fails(4, "the live part of this engine belongs to another store", "profile", "list")
	y.fails(6, "repeat this with --take", "store", "pair", "--fast", fast)
	y.does("The store is paired", "store", "pair", "--take", "--fast", fast)
	y.does("", "profile", "list", "--fast", fast)
	x.fails(4, "belongs to another store: its sign is", "profile", "list", "--fast", fast)
	m := tool{t: t, store: "memory:"}
	m.fails(2, "seen by one process only", "store", "pair")
}

// A copy pairs its target with what it was copied into.
func TestACopyPairsItsTarget(t *testing.T) {
	x, to, fast := tool{t: t, store: t.TempDir()}, t.TempDir(), t.TempDir()
	x.does("", "profile", "list")
	wantCode(t, copyOf(t, x.store, to, "--fast-to", fast), 0, "The copy is complete.")
	y := tool{t: t, store: to}
	y.fails(4, "none was given", "profile", "list")
	y.does("", "profile", "list", "--fast", fast)
	wantCode(t, copyOf(t, x.store, to), 4, "none was given")
	wantCode(t, copyOf(t, x.store, to, "--fast-to", fast, "--prune"), 0, "The copy is complete.")
	y.does("", "profile", "list", "--fast", fast)
}

// On PostgreSQL and Redis: another prefix, another database, no Redis, another way of messages
// and another server that is empty are refused while a server runs; an empty one is that of the fleet when it is.
func TestAFleetOnPostgresAndRedisIsNotMixedUp(t *testing.T) {
	x := tool{t: t, store: enginetest.OwnPostgres(t, nil).URL("shoal")}
	redis := enginetest.OwnRedis(t, nil)
	fast := redis.URL("reef")
	d := serve(t, x.store, "--fast", fast)
	d.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":3}]}`)
	elsewhere := enginetest.OwnRedis(t, nil).URL("reef")
	pooled := tool{t: t, store: x.store + "&pooler=transaction"}
	for want, args := range map[string][]string{
		"Redis, database 0, prefix other": {"--fast", redis.URL("other")},
		"Redis, database 3, prefix reef":  {"--fast", strings.Replace(fast, "?", "/3?", 1)},
		"none was given":                  nil,
		"processes are alive that see it": {"--fast", elsewhere},
	} {
		for _, does := range [][]string{{"serve", "--listen=127.0.0.1:0"}, {"profile", "set", "ann", "/coins", "9"}} {
			x.fails(4, want, append(does, args...)...)
		}
	}
	pooled.does("3", "profile", "get", "ann", "/coins", "--fast", fast) // the bus is that of Redis
	if _, err := redis.Do(t.Context(), "FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	x.does("3", "profile", "get", "ann", "/coins", "--fast", fast) // the server that runs says that it is this one
	d.stop()
	x.does("The store is paired: one engine for all parts, messages by LISTEN and NOTIFY", "store", "pair")
	e := serve(t, x.store)
	pooled.fails(4, "this address has pooler=transaction", "serve", "--listen=127.0.0.1:0")
	pooled.does("The store is paired: one engine for all parts, messages by polling", "store", "pair") // while it runs
	f := serve(t, pooled.store)
	f.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	e.stop()
}

// Many commands open a store that nobody has opened, at once: they agree.
func TestManyOpenAStoreAtOnce(t *testing.T) {
	x := tool{t: t, store: enginetest.OwnPostgres(t, nil).URL("shoal")}
	fast := enginetest.OwnRedis(t, nil).URL("shoal")
	var all sync.WaitGroup
	answers := make([]answer, 6)
	for i := range answers {
		all.Go(func() { answers[i] = x.run("profile", "list", "--fast", fast) })
	}
	all.Wait()
	for _, a := range answers {
		wantCode(t, a, 0, "")
	}
	x.does("", "profile", "list", "--fast", fast)
}

// Nobody runs, and the fast part is empty: whoever comes first has it, after asking.
func TestAFastPartComesBackEmptyToNobody(t *testing.T) {
	x := tool{t: t, store: t.TempDir()}
	redis := enginetest.OwnRedis(t, nil)
	x.does("", "profile", "list", "--fast", redis.URL("shoal"))
	if _, err := redis.Do(t.Context(), "FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	x.does("pairing: warning: the fast part lacks the sign", "store", "check", "--fast", redis.URL("shoal"))
	a := x.does("asking who is alive", "profile", "list", "--verbose", "--fast", redis.URL("shoal"))
	if !strings.Contains(a.err, "nobody alive sees another fast part") {
		t.Error(a.err)
	}
	a = x.does("", "profile", "list", "--verbose", "--fast", redis.URL("shoal"))
	if strings.Contains(a.err, "asking") {
		t.Error(a.err)
	}
}
