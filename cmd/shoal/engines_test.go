package main_test

import (
	"path/filepath"
	"strings"
	"testing"

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
