package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shoalworks/shoal/board"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/server"
)

// want checks status and body of an answer.
func (a answer) want(t *testing.T, body string) {
	t.Helper()
	if a.status != http.StatusOK || a.body != body {
		t.Errorf("got  %d %s\nwant 200 %s", a.status, a.body, body)
	}
}

// refused checks that an answer is a refusal with these words in it.
func (a answer) refused(t *testing.T, status int, code, reason string, words ...string) {
	t.Helper()
	words = append(words, `"code":"`+code+`"`, `"reason":"`+reason+`"`)
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.body)
	}
	for _, w := range words {
		if !strings.Contains(a.body, w) {
			t.Errorf("%q is not in %s", w, a.body)
		}
	}
}

func TestBoardCalls(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"ann","score":300},{"key":"bob","score":100},{"key":"cat","score":0},{"key":"dan","score":-5}]}`).
		want(t, `{"accepted":4}`)
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"bob","score":200},{"key":"ann","score":"1"}]}`).want(t, `{"accepted":2}`)
	d.flush()
	d.call("BoardService/Top", `{"board":"coins","count":2}`).
		want(t, `{"entries":[{"rank":1,"key":"ann","score":300},{"rank":2,"key":"bob","score":200}],"total":4,"sealed":false}`)
	d.call("BoardService/Standing", `{"board":"coins","key":"cat"}`).want(t, `{"found":true,"standing":{"rank":3,"key":"cat","score":0}}`)
	d.call("BoardService/Standing", `{"board":"coins","key":"eve"}`).want(t, `{"found":false}`)
	d.call("BoardService/Around", `{"board":"coins","key":"bob","count":1}`).
		want(t, `{"entries":[{"rank":1,"key":"ann","score":300},{"rank":2,"key":"bob","score":200},{"rank":3,"key":"cat","score":0}],"total":4}`)
	d.call("BoardService/Around", `{"board":"coins","key":"eve"}`).want(t, `{"entries":[],"total":4}`)
	d.call("BoardService/Scores", `{"board":"coins","keys":["dan","eve","ann"]}`).
		want(t, `{"entries":[{"key":"dan","score":-5},{"key":"ann","score":300}]}`)
}

func TestBoardsNobodyWroteTo(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Top", `{"board":"coins"}`).want(t, `{"entries":[],"total":0,"sealed":false}`)
	d.call("BoardService/Standing", `{"board":"coins","key":"ann"}`).want(t, `{"found":false}`)
	d.call("BoardService/Around", `{"board":"coins","key":"ann"}`).want(t, `{"entries":[],"total":0}`)
	d.call("BoardService/Scores", `{"board":"coins","keys":["ann"]}`).want(t, `{"entries":[]}`)
}

// case B11.
func TestScoresAreExactOnTheWire(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":9223372036854775807},{"key":"b","score":"9223372036854775806"},{"key":"c","score":9007199254740993},{"key":"d","score":-9223372036854775808}]}`).
		want(t, `{"accepted":4}`)
	d.flush()
	d.call("BoardService/Scores", `{"board":"coins","keys":["a","b","c","d"]}`).want(t,
		`{"entries":[{"key":"a","score":"9223372036854775807"},{"key":"b","score":"9223372036854775806"},{"key":"c","score":"9007199254740993"},{"key":"d","score":"-9223372036854775808"}]}`)
	for name, wire := range d.wires() {
		client := shoalv1connect.NewBoardServiceClient(wire)
		got, err := client.Top(t.Context(), &shoalv1.BoardTopRequest{Board: "coins", Count: proto.Int32(1)})
		if err != nil || got.GetEntries()[0].GetScore() != 1<<63-1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestDecimalsOnTheWire(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Submit", `{"board":"laps","entries":[{"key":"ann","decimal":"12.345"},{"key":"bob","decimal":"9"},{"key":"cat","score":12}]}`).
		want(t, `{"accepted":3}`)
	d.flush()
	d.call("BoardService/Top", `{"board":"laps"}`).want(t,
		`{"entries":[{"rank":1,"key":"cat","score":12,"decimal":"0.012"},{"rank":2,"key":"bob","score":9000,"decimal":"9.000"},{"rank":3,"key":"ann","score":12345,"decimal":"12.345"}],"total":3,"sealed":false}`)
	d.call("BoardService/Scores", `{"board":"laps","keys":["ann"]}`).want(t, `{"entries":[{"key":"ann","score":12345,"decimal":"12.345"}]}`)
	d.call("BoardService/Standing", `{"board":"laps","key":"bob"}`).want(t, `{"found":true,"standing":{"rank":2,"key":"bob","score":9000,"decimal":"9.000"}}`)
}

func TestBadBoardCallsChangeNothing(t *testing.T) {
	d := startDaemon(t, setup{})
	for _, c := range []struct {
		method, body string
		status       int
		code, reason string
		words        []string
	}{
		{"Submit", `{"board":"coin","entries":[{"key":"a","score":1}]}`, 404, "not_found", "unknown_board", []string{`there is no board \"coin\"`, "coins, laps, total"}},
		{"Submit", `{"entries":[{"key":"a","score":1}]}`, 404, "not_found", "unknown_board", nil},
		{"Submit", `{"board":"coins"}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries"`}},
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"key":"a b","score":1}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].key"`}},
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"key":"` + strings.Repeat("k", 129) + `","score":1}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].key"`, "at most 128"}},
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"score":1}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].key"`}},
		{"Submit", `{"board":"coins","entries":[{"key":"../x","score":1}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[0].key"`}},                                         // case B17
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"key":"a"}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].score"`, "is missing; 0 is a score"}}, // case B14
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"key":"a","score":null}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].score"`}},
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"key":"a","score":1e300}]}`, 400, "invalid_argument", "malformed", []string{`"field":"entries[1].score"`, "whole number"}}, // case B12
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"key":"a","score":9223372036854775808}]}`, 400, "invalid_argument", "malformed", []string{"outside the range of int64"}},   // case B13
		{"Submit", `{"board":"coins","entries":[{"key":"ok","score":1},{"key":"a","score":1,"decimal":"1"}]}`, 400, "invalid_argument", "bad_field", []string{"not both"}},
		{"Submit", `{"board":"laps","entries":[{"key":"ok","score":1},{"key":"a","decimal":"1.2345"}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].decimal"`, "at most 3 decimals"}},
		{"Submit", `{"board":"laps","entries":[{"key":"ok","score":1},{"key":"a","decimal":"NaN"}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].decimal"`}},
		{"Submit", `{"board":"laps","entries":[{"key":"ok","score":1},{"key":"a","decimal":""}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].decimal"`}},
		{"Submit", `{"board":"laps","entries":[{"key":"ok","score":1},{"key":"a","score":-1}]}`, 400, "invalid_argument", "bad_field", []string{`"field":"entries[1].score"`, "is expected, got -1"}},
		{"Submit", `{"board":"season/reef/Fish/C1S1","entries":[{"key":"a","score":1}]}`, 400, "invalid_argument", "bad_field", []string{"record an event"}},
		{"Submit", `{"board":"coins","entries":[` + strings.Repeat(`{"key":"a","score":1},`, 10_000) + `{"key":"a","score":1}]}`, 400, "invalid_argument", "bad_field", []string{"1 to 10000 entries"}},
		{"Top", `{"board":"coin"}`, 404, "not_found", "unknown_board", []string{`"field":"board"`}},
		{"Top", `{"board":"coins","count":0}`, 400, "invalid_argument", "bad_field", []string{`"field":"count"`, "1 to 100 is expected, got 0"}},
		{"Top", `{"board":"coins","count":101}`, 400, "invalid_argument", "bad_field", []string{`"field":"count"`}},
		{"Top", `{"board":"total","count":4}`, 400, "invalid_argument", "bad_field", []string{"1 to 3"}},
		{"Top", `{"board":"coins","count":-1}`, 400, "invalid_argument", "bad_field", nil},
		{"Standing", `{"board":"coin","key":"a"}`, 404, "not_found", "unknown_board", nil},
		{"Standing", `{"board":"coins"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`, "is empty"}},
		{"Standing", `{"board":"coins","key":"ä"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
		{"Around", `{"board":"coin","key":"a"}`, 404, "not_found", "unknown_board", nil},
		{"Around", `{"board":"coins","key":"a/b"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
		{"Around", `{"board":"coins","key":"a","count":500}`, 400, "invalid_argument", "bad_field", []string{`"field":"count"`, "1 to 499"}},
		{"Scores", `{"board":"coin","keys":["a"]}`, 404, "not_found", "unknown_board", nil},
		{"Scores", `{"board":"coins"}`, 400, "invalid_argument", "bad_field", []string{`"field":"keys"`}},
		{"Scores", `{"board":"coins","keys":["a","a"]}`, 400, "invalid_argument", "bad_field", []string{`"field":"keys[1]"`, "comes twice"}},
		{"Scores", `{"board":"coins","keys":["a",""]}`, 400, "invalid_argument", "bad_field", []string{`"field":"keys[1]"`}},
	} {
		t.Run(c.method+" "+c.body[:min(len(c.body), 80)], func(t *testing.T) {
			d.call("BoardService/"+c.method, c.body).refused(t, c.status, c.code, c.reason, append(c.words, `"outcome":"not_done"`)...)
		})
	}
	d.flush()
	for _, board := range []string{"coins", "laps"} {
		if got := d.call("BoardService/Top", `{"board":"`+board+`"}`); !strings.Contains(got.body, `"total":0`) {
			t.Errorf("%s changed: %s", board, got.body)
		}
	}
}

func TestADaemonWithoutBoards(t *testing.T) {
	d := startDaemon(t, setup{boards: map[string]board.Config{}})
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":1}]}`).refused(t, 404, "not_found", "unknown_board", "the daemon has none")
	d.call("BoardService/Top", `{"board":"coins"}`).refused(t, 404, "not_found", "unknown_board", "the daemon has none")
}

// A sum that would overflow while it is queued is refused in the middle of a call: the answer
// says how far the call came.
func TestSubmitSaysHowFarItCame(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Submit", `{"board":"total","entries":[{"key":"a","score":9223372036854775807}]}`).want(t, `{"accepted":1}`)
	d.call("BoardService/Submit", `{"board":"total","entries":[{"key":"b","score":1},{"key":"a","score":1},{"key":"c","score":1}]}`).
		refused(t, 400, "invalid_argument", "bad_field", `"field":"entries[1].score"`, "the 1 entries before it were accepted", `"outcome":"partly"`)
	d.flush()
	d.call("BoardService/Scores", `{"board":"total","keys":["a","b","c"]}`).want(t, `{"entries":[{"key":"a","score":"9223372036854775807"},{"key":"b","score":1}]}`)
}

func TestReadsByGET(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"ann","score":3}]}`).want(t, `{"accepted":1}`)
	d.flush()
	for _, c := range []struct{ method, message, cache string }{
		{"BoardService/Top", `{"board":"coins"}`, "public, max-age=60"},
		{"BoardService/Standing", `{"board":"coins","key":"ann"}`, "public, max-age=60"},
		{"BoardService/Around", `{"board":"coins","key":"ann"}`, "public, max-age=60"},
		{"BoardService/Scores", `{"board":"coins","keys":["ann"]}`, "public, max-age=60"},
		{"BoardService/Top", `{"board":"laps"}`, "public, max-age=0"},
		{"SeasonService/Top", `{"season":"reef","board":"Fish"}`, "public, max-age=30"},
		{"NodeService/Status", `{}`, "no-store"},
	} {
		got := d.read(c.method, c.message)
		if got.status != 200 || got.header.Get("Cache-Control") != c.cache {
			t.Errorf("%s %s: %d, %q, %s", c.method, c.message, got.status, got.header.Get("Cache-Control"), got.body)
		}
		posted := d.call(c.method, c.message)
		if posted.header.Get("Cache-Control") != "no-store" {
			t.Errorf("POST %s: %q", c.method, posted.header.Get("Cache-Control"))
		}
		if c.method != "NodeService/Status" && posted.body != got.body {
			t.Errorf("%s: GET gives %s, POST %s", c.method, got.body, posted.body)
		}
	}
	// A refusal is not cached, and what has side effects is not answered to GET.
	if got := d.read("BoardService/Top", `{"board":"x"}`); got.status != 404 || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := d.read("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":1}]}`); got.status != 405 {
		t.Errorf("Submit by GET: %d %s", got.status, got.body)
	}
}

func TestKeyedReadsAreCachedPrivately(t *testing.T) {
	d := startDaemon(t, setup{config: func(c *server.Config) { c.APIKey = testKey }})
	got := d.read("BoardService/Top", `{"board":"coins"}`, "Authorization", "Bearer "+testKey)
	if got.status != 200 || got.header.Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("%d %v", got.status, got.header)
	}
}

// A page is encoded once; what readers get is always that of the board's page.
func TestPagesAreEncodedOnce(t *testing.T) {
	d := startDaemon(t, setup{})
	submit := func(n int) {
		var entries []string
		for i := range n {
			entries = append(entries, fmt.Sprintf(`{"key":"p%d","score":%d}`, i, 100-i))
		}
		d.call("BoardService/Submit", `{"board":"total","entries":[`+strings.Join(entries, ",")+`]}`)
		d.flush()
	}
	submit(2)
	first := d.call("BoardService/Top", `{"board":"total","count":3}`)
	first.want(t, `{"entries":[{"rank":1,"key":"p0","score":100},{"rank":2,"key":"p1","score":99}],"total":2,"sealed":false}`)
	if one := d.call("BoardService/Top", `{"board":"total","count":1}`); one.body != `{"entries":[{"rank":1,"key":"p0","score":100}],"total":2,"sealed":false}` {
		t.Errorf("got %s", one.body)
	}
	submit(3)
	d.call("BoardService/Top", `{"board":"total","count":3}`).
		want(t, `{"entries":[{"rank":1,"key":"p0","score":200},{"rank":2,"key":"p1","score":198},{"rank":3,"key":"p2","score":98}],"total":3,"sealed":false}`)
	for name, wire := range d.wires() {
		got, err := shoalv1connect.NewBoardServiceClient(wire).Top(t.Context(), &shoalv1.BoardTopRequest{Board: "total", Count: proto.Int32(3)})
		if err != nil || len(got.GetEntries()) != 3 || got.GetEntries()[2].GetScore() != 98 {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}
