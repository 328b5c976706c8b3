package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store/memstore"
)

func TestStatusShowsTheFleet(t *testing.T) {
	engine := memstore.New(nil)
	d := startDaemon(t, setup{engine: engine})
	d.call("ProfileService/Load", ann).is(t)
	put(t, d, "node/gone-1", `{"format":1,"id":"gone-1","name":"gone","n":9,"started":"2026-08-11T00:00:00Z","closed":true}`)
	put(t, d, "node/zoo-1", `{"format":1,"id":"zoo-1","name":"zoo","n":9,"started":"2026-08-11T00:00:00Z"}`)
	status := d.call("NodeService/Status", "{}")
	status.is(t, "/id", `"`+d.node.ID()+`"`, "/name", `"test"`, "/version", `"1.2.3"`, "/beating", "true", "/fresh", "true",
		"/sets", `[{"name":"guilds","sessions":0},{"name":"players","sessions":1}]`,
		"/seasons", `["reef"]`,
		"/fleet/0/id", `"gone-1"`, "/fleet/0/state", `"closed"`,
		"/fleet/1/id", `"`+d.node.ID()+`"`, "/fleet/1/state", `"alive"`,
		"/fleet/2/id", `"zoo-1"`, "/fleet/2/state", `"alive"`)
	for _, name := range []string{"coins", "laps", "total"} {
		if !strings.Contains(status.field(t, "/boards").String(), `"`+name+`"`) {
			t.Errorf("%s is not in %s", name, status.body)
		}
	}
	engine.StepClock(memstore.Durable, 10_000_000_000) // 10 s, as after a failover
	for status.field(t, "/fleet/2/state").String() != `"silent"` {
		status = d.call("NodeService/Status", "{}")
	}
}

func TestConfigurationsThatAreNotUsable(t *testing.T) {
	if _, err := server.New(server.Config{}); err == nil || !strings.Contains(err.Error(), "Node is needed") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsNameSomeOfMany(t *testing.T) {
	boards := make(map[string]board.Config)
	for i := range 15 {
		boards[fmt.Sprintf("b%02d", i)] = board.Config{}
	}
	d := startDaemon(t, setup{boards: boards})
	d.call("BoardService/Top", `{"board":"x"}`).refused(t, 404, "not_found", "unknown_board", "there are b00, b01,", "b09 and ", " more")
}

// Many callers at once: every call that was answered with success counts, once.
func TestManyCallersAtOnce(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	const callers, calls = 8, 25
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range calls {
				body := fmt.Sprintf(`{"set":"players","key":"ann","id":"%d-%d","ops":[{"op":"increment","path":"/coins","by":1}]}`, c, i)
				for range 2 { // each is sent twice, as if the first answer had been lost
					if got := d.call("ProfileService/Transact", body); got.status != 200 {
						t.Errorf("%d %s", got.status, got.body)
					}
				}
				d.call("BoardService/Submit", fmt.Sprintf(`{"board":"total","entries":[{"key":"ann","score":%d}]}`, i))
				d.call("ProfileService/Get", ann)
			}
		})
	}
	wg.Wait()
	d.flush()
	d.call("ProfileService/Get", ann).is(t, "/profile/data/coins", fmt.Sprint(callers*calls))
	d.call("BoardService/Standing", `{"board":"total","key":"ann"}`).is(t, "/standing/score", fmt.Sprint(callers*calls*(calls-1)/2))
}
