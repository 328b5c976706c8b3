package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
)

// A fleet on PostgreSQL and Redis is looked at, played on, and moved there from a folder and away
// again.
func TestAFleetOnPostgresAndRedis(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	d.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":3}]}`)
	d.call("BoardService/Submit", `{"board":"Kills","durable":true,"entries":[{"key":"ann","score":7},{"key":"bob","score":7}]}`)
	d.stop()

	y := tool{t: t, store: enginetest.OwnPostgres(t, &engines.PostgresOptions{Durable: true, Settings: map[string]string{"full_page_writes": "on"}}).URL("shoal")}
	fast := enginetest.OwnRedis(t, nil).URL("shoal")
	wantCode(t, copyOf(t, x.store, y.store, "--fast-to", fast), 0, "The copy is complete.")
	a := y.does("1 board with 2 entries checked: 0 wrong", "store", "check", "--fast", fast)
	for _, want := range []string{"durable  PostgreSQL", "fast     Redis", "boards   Redis", "bus      Redis", "durable: answers, with the time of this machine", "fast: answers"} {
		if !strings.Contains(a.out, want) {
			t.Errorf("%q is not said:\n%s", want, a.out)
		}
	}
	e := serve(t, y.store, "--fast", fast)
	e.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	e.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"increment","path":"/coins","by":1}]}`)
	e.call("ProfileService/Sync", `{"set":"players","key":"ann"}`)
	y.does("4", "profile", "get", "ann", "/coins", "--fast", fast)
	e.call("BoardService/Submit", `{"board":"Kills","durable":true,"entries":[{"key":"cy","score":8}]}`)
	e.stop()
	wantCode(t, copyOf(t, y.store, filepath.Join(t.TempDir(), "back"), "--fast-from", fast), 0, "The copy is complete.")
}

// Redis dies and comes back empty. Meanwhile sessions go on and are saved, nobody is taken for
// dead, and the daemons say which part is down; afterwards journals and boards are there again.
func TestTheFastEngineDies(t *testing.T) {
	url := enginetest.OwnPostgres(t, nil).URL("shoal")
	redis := enginetest.OwnRedis(t, nil)
	fast := redis.URL("shoal")
	d, e := serve(t, url, "--fast", fast), serve(t, url, "--fast", fast)
	for key, on := range map[string]*daemon{"ann": d, "bob": e} {
		on.call("ProfileService/Load", `{"set":"players","key":"`+key+`"}`)
		on.call("BoardService/Submit", `{"board":"Kills","durable":true,"entries":[{"key":"`+key+`","score":7}]}`)
	}
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	for key, on := range map[string]*daemon{"ann": d, "bob": e} {
		on.await("the fast part is said to be down", func() error {
			code, body, err := on.get("/readyz")
			if err != nil || code != http.StatusServiceUnavailable || !strings.Contains(string(body), "the fast part of the store has not answered for") {
				return fmt.Errorf("%d %s %w", code, body, err)
			}
			return nil
		})
		on.call("ProfileService/Transact", `{"set":"players","key":"`+key+`","ops":[{"op":"set","path":"/coins","value":5}]}`)
		on.call("ProfileService/Sync", `{"set":"players","key":"`+key+`"}`) // by a save
		on.call("BoardService/Submit", `{"board":"Kills","entries":[{"key":"`+key+`","score":9}]}`)
	}
	time.Sleep(5 * time.Second) // longer than DeadAfter: whoever takes silence for death does so now
	for key, on := range map[string]*daemon{"ann": d, "bob": e} {
		on.call("ProfileService/Transact", `{"set":"players","key":"`+key+`","ops":[{"op":"increment","path":"/coins","by":1}]}`)
	}
	if err := redis.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, on := range []*daemon{d, e} {
		on.await("all is well again", func() error {
			code, body, err := on.get("/readyz")
			if err != nil || code != http.StatusOK || string(body) != "ok\n" {
				return fmt.Errorf("%d %s %w", code, body, err)
			}
			return nil
		})
	}
	for key, on := range map[string]*daemon{"ann": d, "bob": e} {
		on.call("ProfileService/Transact", `{"set":"players","key":"`+key+`","ops":[{"op":"increment","path":"/coins","by":1}]}`)
		on.call("ProfileService/Sync", `{"set":"players","key":"`+key+`"}`)
		on.await("the board is there again", func() error {
			if code, body := on.post("BoardService/Standing", `{"board":"Kills","key":"`+key+`"}`); code != http.StatusOK || !strings.Contains(string(body), `"score":9`) {
				return fmt.Errorf("%d %s", code, body)
			}
			return nil
		})
		for _, gone := range []string{`shoal_profile_sessions_ended_total{how="lost",set="players"} 0`, `shoal_node_dead_nodes 0`} {
			if _, body, err := on.get("/metrics"); err != nil || !strings.Contains(string(body), gone) {
				t.Errorf("%s is not on the page of metrics (%v)", gone, err)
			}
		}
	}
	e.call("ProfileService/Load", `{"set":"players","key":"ann"}`) // handed over, as ever
	x := tool{t: t, store: url}
	x.does("7", "profile", "get", "ann", "/coins", "--fast", fast)
}
