package server_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// partStates are the parts as the daemon knows them: "fast down; boards up".
func (d *daemon) partStates() string {
	d.t.Helper()
	return strings.Join(d.server.PartStates(), "; ")
}

// apart is a daemon whose parts fail as f says. A test for whose sake heartbeats stop makes them
// short; otherwise they are not, since the machine may stand still for longer than short ones may.
func apart(t *testing.T, f *faultstore.Faults, beat time.Duration) *daemon {
	t.Helper()
	return startDaemon(t, setup{engine: memstore.New(&memstore.Options{Apart: true}), parts: f.Wrap, beat: beat})
}

// awaitParts asks until the parts are as wanted.
func (d *daemon) awaitParts(want string) {
	d.t.Helper()
	for d.partStates() != want {
		d.server.AskParts()
		if d.t.Context().Err() != nil {
			d.t.Fatalf("parts are %s, want %s", d.partStates(), want)
		}
	}
}

// Each part that goes away is named by the call, by the probe and on the page of metrics, and is
// well again when it is back; those that players can do without for a while leave the daemon
// ready.
func TestPartsThatGoAway(t *testing.T) {
	for _, c := range []struct {
		part   faultstore.Part
		beat   time.Duration // 0: the usual
		status int
		states string
		says   string
	}{
		{faultstore.Fast, 20 * time.Millisecond, 503, "durable up; fast down; boards up; bus up", "heartbeats do not land"},
		{faultstore.Boards, 0, 200, "durable up; fast up; boards down; bus up", "scores wait in memory"},
		{faultstore.Bus, 0, 200, "durable up; fast up; boards up; bus down", "hand-overs take longer"},
		{faultstore.Durable, 0, 503, "durable down; fast up; boards up; bus up", "the store does not answer"},
	} {
		t.Run(c.part.String(), func(t *testing.T) {
			f := faultstore.New(nil)
			d := apart(t, f, c.beat)
			d.awaitParts("durable up; fast up; boards up; bus up")
			f.Outage(c.part, true)
			d.awaitParts(c.states)
			line := fmt.Sprintf("the %s part of the store has not answered for", c.part)
			got := d.do("GET", "/readyz", "")
			for got.status != c.status {
				got = d.do("GET", "/readyz", "")
			}
			if !strings.Contains(got.body, c.says) || !strings.Contains(got.body, line) {
				t.Errorf("%d %q, want %q and %q", got.status, got.body, c.says, line)
			}
			if got := d.call("NodeService/Parts", "{}"); got.status != 200 || strings.Count(got.body, `"state":"down"`) != 1 || !strings.Contains(got.body, `"meaning":"`) {
				t.Errorf("%d %s", got.status, got.body)
			}
			page := d.do("GET", "/metrics", "").body
			for _, want := range []string{fmt.Sprintf(`shoal_store_part_up{part="%s"} 0`, c.part), fmt.Sprintf(`shoal_store_part_failures_total{part="%s"} `, c.part)} {
				if !strings.Contains(page, want) {
					t.Errorf("%s is not on the page of metrics", want)
				}
			}
			f.Outage(c.part, false)
			d.awaitParts("durable up; fast up; boards up; bus up")
			for got = d.do("GET", "/readyz", ""); got.body != "ok\n"; {
				got = d.do("GET", "/readyz", "")
			}
		})
	}
}

// A part that hangs holds up neither the others nor the end.
func TestAPartThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
			if c.Part == faultstore.Boards {
				return faultstore.Fault{Kind: faultstore.Hang}
			}
			return faultstore.Fault{}
		}})
		st, err := store.New(f.Wrap(memstore.New(&memstore.Options{Apart: true}).Parts()))
		if err != nil {
			t.Fatal(err)
		}
		w, end := server.WatchParts(t.Context(), st)
		synctest.Wait()
		if got := w(); got != "durable up; fast up; boards unasked; bus up" {
			t.Errorf("at first: %s", got)
		}
		time.Sleep(3 * time.Second)
		if got := w(); got != "durable up; fast up; boards down; bus up" {
			t.Errorf("later: %s", got)
		}
		time.Sleep(5 * time.Second) // it is asked again
		end()
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A bus that takes messages and delivers none is down.
func TestABusThatDeliversNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := faultstore.New(&faultstore.Options{Rule: func(c faultstore.Call) faultstore.Fault {
			if c.Part == faultstore.Bus && c.Op == "publish" {
				return faultstore.Fault{Kind: faultstore.Lose}
			}
			return faultstore.Fault{}
		}})
		st, err := store.New(f.Wrap(memstore.New(nil).Parts()))
		if err != nil {
			t.Fatal(err)
		}
		w, end := server.WatchParts(t.Context(), st)
		time.Sleep(3 * time.Second)
		if got := w(); got != "durable up; boards up; bus down" {
			t.Errorf("%s", got)
		}
		f.SetRule(func(faultstore.Call) faultstore.Fault { return faultstore.Fault{} })
		time.Sleep(8 * time.Second)
		if got := w(); got != "durable up; boards up; bus up" {
			t.Errorf("%s", got)
		}
		end()
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
