package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/server"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// every has the boards write by themselves, so often.
func every(span time.Duration) func(*shoal.Options) {
	return func(o *shoal.Options) { o.Flush.FlushEvery = span }
}

func TestDurableSubmitsAreStoredWhenTheyAreAnswered(t *testing.T) {
	d := startDaemon(t, setup{wire: every(time.Hour)}) // which they do not wait for
	d.call("BoardService/Submit", `{"board":"coins","durable":true,"entries":[{"key":"a","score":3,"meta":"AAAA"},{"key":"b","score":2},{"key":"a","score":1}]}`).
		want(t, `{"accepted":3}`)
	got, err := d.boards.Scores(t.Context(), "coins", "a", "b")
	if err != nil || got["a"].Score != 3 || string(got["a"].Meta) != "\x00\x00\x00" || got["b"].Score != 2 {
		t.Errorf("%v %v", got, err)
	}
}

// Whatever becomes of the first write, what is answered with 200 is stored, and counted once.
func TestDurableSubmitsOutliveFaults(t *testing.T) {
	merges := func(c faultstore.Call) bool { return c.Op == "merge" }
	for _, kind := range []faultstore.Kind{faultstore.FailBefore, faultstore.FailAfter} {
		faults := faultstore.New(&faultstore.Options{Rule: faultstore.Nth(1, merges, faultstore.Fault{Kind: kind})})
		d := startDaemon(t, setup{parts: faults.Wrap, wire: every(10 * time.Millisecond)})
		d.call("BoardService/Submit", `{"board":"total","durable":true,"entries":[{"key":"a","score":3},{"key":"a","score":4}]}`).want(t, `{"accepted":2}`)
		d.call("BoardService/Scores", `{"board":"total","keys":["a"]}`).want(t, `{"entries":[{"key":"a","score":7}]}`)
	}
}

// A store that does not answer in time leaves the outcome open, and says so.
func TestDurableSubmitsThatAreNotAnsweredAreUnknown(t *testing.T) {
	merges := func(c faultstore.Call) faultstore.Fault {
		if c.Op == "merge" {
			return faultstore.Fault{Kind: faultstore.Hang}
		}
		return faultstore.Fault{}
	}
	faults := faultstore.New(&faultstore.Options{Rule: merges})
	d := startDaemon(t, setup{
		parts: faults.Wrap,
		wire: func(o *shoal.Options) {
			o.Flush.FlushEvery, o.Flush.CallTimeout = 10*time.Millisecond, 20*time.Millisecond
		},
		config: func(c *server.Config) { c.Limits.CallTimeout = time.Second },
	})
	d.call("BoardService/Submit", `{"board":"coins","durable":true,"entries":[{"key":"a","score":3}]}`).
		refused(t, 500, "unknown", "outcome_unknown", `"outcome":"unknown"`)
	faults.SetRule(nil)
}

func TestDurableSubmitsTellWhyTheyAreNotStored(t *testing.T) {
	faults := faultstore.New(nil)
	d := startDaemon(t, setup{
		parts: faults.Wrap,
		wire:  func(o *shoal.Options) { o.Flush.FlushEvery, o.Flush.MaxWriteAttempts = 10*time.Millisecond, 1 },
	})
	submit := func(board, entries string) answer {
		return d.call("BoardService/Submit", `{"board":"`+board+`","durable":true,"entries":[`+entries+`]}`)
	}
	faults.Outage(faultstore.Boards, true)
	submit("coins", `{"key":"a","score":3}`).refused(t, 503, "unavailable", "store_unavailable", `"outcome":"not_done"`)
	faults.Outage(faultstore.Boards, false)

	submit("total", `{"key":"a","score":9223372036854775807}`).want(t, `{"accepted":1}`)
	submit("total", `{"key":"a","score":1}`).refused(t, 400, "invalid_argument", "bad_field", `"outcome":"not_done"`)
	submit("total", `{"key":"a","score":1},{"key":"b","score":1}`).refused(t, 400, "invalid_argument", "bad_field", "other entries may be stored", `"outcome":"partly"`)
	d.call("BoardService/Scores", `{"board":"total","keys":["b"]}`).want(t, `{"entries":[{"key":"b","score":1}]}`)

	if _, err := d.boards.Seal(t.Context(), "total"); err != nil {
		t.Fatal(err)
	}
	submit("total", `{"key":"b","score":1}`).refused(t, 400, "failed_precondition", "sealed", `"outcome":"not_done"`)

	// On a board of the other order nothing can be written.
	if _, err := d.boards.Create(t.Context(), "laps", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	submit("laps", `{"key":"b","score":1}`).refused(t, 400, "failed_precondition", "misconfigured", `"outcome":"not_done"`)
}

func TestWrongSubmissionsAreRefusedByField(t *testing.T) {
	d := startDaemon(t, setup{})
	many := strings.TrimSuffix(strings.Repeat(`{"key":"a","score":1},`, 1001), ",")
	for _, c := range []struct{ body, reason, field, problem string }{
		{`{"board":"coins","durable":true,"entries":[` + many + `]}`, "bad_field", "entries", "1 to 1000 entries"},
		{`{"board":"coins","durable":true}`, "bad_field", "entries", "1 to 1000 entries"},
		{`{"board":"coins","durable":"yes","entries":[{"key":"a","score":1}]}`, "malformed", "durable", "true or false"},
		{`{"board":"coins","entries":[{"key":"b","score":1},{"key":"a","score":1,"meta":"car 7"}]}`, "malformed", "entries[1].meta", "base64"},
		{`{"board":"coins","entries":[{"key":"b","score":1},{"key":"a","score":1,"meta":"` + strings.Repeat("AAAA", 86) + `"}]}`, "bad_field", "entries[1].meta", "at most 256 bytes are expected, got 258"},
		{`{"board":"laps","durable":true,"entries":[{"key":"a","score":-1}]}`, "bad_field", "entries[0].score", "got -1"},
	} {
		d.call("BoardService/Submit", c.body).refused(t, 400, "invalid_argument", c.reason, fmt.Sprintf("%q:%q", "field", c.field), c.problem, `"outcome":"not_done"`)
	}
	d.flush()
	d.call("BoardService/Top", `{"board":"coins"}`).want(t, `{"entries":[],"total":0,"sealed":false}`)
}
