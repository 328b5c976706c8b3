package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/store"
)

// tied is a board with equal scores: a 30, b 20, c 20, d 10.
func tied(t *testing.T, set setup) *daemon {
	t.Helper()
	d := startDaemon(t, set)
	for _, entries := range []string{`{"key":"a","score":30},{"key":"b","score":20},{"key":"d","score":10}`, `{"key":"c","score":20}`} {
		d.call("BoardService/Submit", `{"board":"coins","entries":[`+entries+`]}`)
		d.flush() // within one window it is open who of equals was first
	}
	return d
}

func TestRanksAreSharedAsAsked(t *testing.T) {
	d := tied(t, setup{})
	for ranks, want := range map[string][4]int{"": {1, 2, 3, 4}, "ordinal": {1, 2, 3, 4}, "competition": {1, 2, 2, 4}, "dense": {1, 2, 2, 3}} {
		entries := func(from, to int) string {
			var out []string
			for i, e := range []string{`"key":"a","score":30`, `"key":"b","score":20`, `"key":"c","score":20`, `"key":"d","score":10`} {
				if i >= from && i < to {
					out = append(out, fmt.Sprintf(`{"rank":%d,%s}`, want[i], e))
				}
			}
			return "[" + strings.Join(out, ",") + "]"
		}
		for range 2 { // the second answer to Top is the kept one
			d.call("BoardService/Top", `{"board":"coins","ranks":"`+ranks+`"}`).want(t, `{"entries":`+entries(0, 4)+`,"total":4,"sealed":false}`)
		}
		d.call("BoardService/Page", `{"board":"coins","ranks":"`+ranks+`","offset":2}`).want(t, `{"entries":`+entries(2, 4)+`,"total":4,"sealed":false}`)
		d.call("BoardService/Around", `{"board":"coins","key":"c","count":1,"ranks":"`+ranks+`"}`).want(t, `{"entries":`+entries(1, 4)+`,"total":4}`)
		d.call("BoardService/Standing", `{"board":"coins","key":"d","ranks":"`+ranks+`"}`).
			want(t, `{"found":true,"standing":`+strings.Trim(entries(3, 4), "[]")+`}`)
	}
}

func TestPagesGoAsDeepAsTheBoard(t *testing.T) {
	d := tied(t, setup{})
	d.call("BoardService/Page", `{"board":"coins","offset":1,"limit":2}`).
		want(t, `{"entries":[{"rank":2,"key":"b","score":20},{"rank":3,"key":"c","score":20}],"total":4,"sealed":false}`)
	d.call("BoardService/Page", `{"board":"coins","offset":"9007199254740993"}`).want(t, `{"entries":[],"total":4,"sealed":false}`)
	d.call("BoardService/Page", `{"board":"laps"}`).want(t, `{"entries":[],"total":0,"sealed":false}`) // nobody wrote to it
	if _, err := d.boards.Seal(t.Context(), "coins"); err != nil {
		t.Fatal(err)
	}
	d.call("BoardService/Page", `{"board":"coins","limit":1}`).want(t, `{"entries":[{"rank":1,"key":"a","score":30}],"total":4,"sealed":true}`)
}

func TestPercentiles(t *testing.T) {
	d := tied(t, setup{})
	for key, want := range map[string]string{
		"a": `{"found":true,"rank":1,"total":4,"top":25}`,
		"b": `{"found":true,"rank":2,"total":4,"top":50}`,
		"c": `{"found":true,"rank":2,"total":4,"top":50}`,
		"d": `{"found":true,"rank":4,"total":4,"top":100}`,
		"e": `{"found":false,"rank":0,"total":4,"top":0}`,
	} {
		d.call("BoardService/Percentile", `{"board":"coins","key":"`+key+`"}`).want(t, want)
	}
	d.call("BoardService/Percentile", `{"board":"laps","key":"a"}`).want(t, `{"found":false,"rank":0,"total":0,"top":0}`)
	for name, wire := range d.wires() {
		got, err := shoalv1connect.NewBoardServiceClient(wire).Percentile(t.Context(), &shoalv1.BoardPercentileRequest{Board: "coins", Key: "b"})
		if err != nil || got.GetTop() != 50 {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// case B15.
func TestAWalkShowsTheBoardAsItWas(t *testing.T) {
	d := tied(t, setup{})
	first := d.call("BoardService/Walk", `{"board":"coins","limit":2}`)
	if first.status != http.StatusOK || !strings.HasPrefix(first.body, `{"entries":[{"rank":1,"key":"a","score":30},{"rank":2,"key":"b","score":20}],"total":4,"next":"`) {
		t.Fatalf("%d %s", first.status, first.body)
	}
	cursor := strings.TrimSuffix(first.body[strings.LastIndex(first.body, `"next":"`)+len(`"next":"`):], `"}`)
	// Those that were shown sink, those that were not rise.
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"d","score":99},{"key":"e","score":50}]}`)
	d.flush()
	const rest = `{"entries":[{"rank":3,"key":"c","score":20},{"rank":4,"key":"d","score":10}],"total":4}`
	for range 2 { // a lost answer can be asked for again
		d.call("BoardService/Walk", `{"board":"coins","cursor":"`+cursor+`"}`).want(t, rest)
	}
	if got := d.read("BoardService/Walk", `{"board":"coins","cursor":"`+cursor+`"}`); got.body != rest || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %s", got.body, got.header.Get("Cache-Control"))
	}
	d.call("BoardService/Walk", `{"board":"total","cursor":"`+cursor+`"}`).refused(t, 400, "invalid_argument", "bad_field", `"field":"cursor"`)
	d.call("BoardService/Walk", `{"board":"coins","cursor":"AAAA"}`).refused(t, 400, "invalid_argument", "bad_field", `"field":"cursor"`)
	if err := d.boards.Drop(t.Context(), "coins"); err != nil {
		t.Fatal(err)
	}
	d.call("BoardService/Walk", `{"board":"coins","cursor":"`+cursor+`"}`).refused(t, 409, "aborted", "cursor_too_old", "begin the walk again", `"outcome":"not_done"`)
	d.call("BoardService/Walk", `{"board":"coins"}`).want(t, `{"entries":[],"total":0}`)
}

// Names come with every way to see entries; one that nobody knows is left out, and one that
// cannot be had now does not hold the entries up.
func TestNamesStandBesideKeys(t *testing.T) {
	local := func(key string) (board.Name, bool) {
		switch key {
		case "a":
			return board.Name{Display: "Ann", User: "ann_1"}, true
		case "b":
			return board.Name{User: "bob_2"}, true
		}
		return board.Name{}, false
	}
	d := tied(t, setup{wire: func(o *shoal.Options) { o.Flush.Names = &board.NameOptions{Local: local} }})
	const a, b, c = `{"rank":1,"key":"a","score":30,"name":"Ann"}`, `{"rank":2,"key":"b","score":20,"name":"bob_2"}`, `{"rank":3,"key":"c","score":20}`
	d.call("BoardService/Top", `{"board":"coins","count":3}`).want(t, `{"entries":[`+a+`,`+b+`,`+c+`],"total":4,"sealed":false}`)
	d.call("BoardService/Page", `{"board":"coins","limit":2}`).want(t, `{"entries":[`+a+`,`+b+`],"total":4,"sealed":false}`)
	d.call("BoardService/Standing", `{"board":"coins","key":"b"}`).want(t, `{"found":true,"standing":`+b+`}`)
	d.call("BoardService/Around", `{"board":"coins","key":"b","count":1}`).want(t, `{"entries":[`+a+`,`+b+`,`+c+`],"total":4}`)
	d.call("BoardService/Scores", `{"board":"coins","keys":["c","a"]}`).want(t, `{"entries":[{"key":"c","score":20},{"key":"a","score":30,"name":"Ann"}]}`)
	d.call("BoardService/Walk", `{"board":"coins","limit":4}`).
		want(t, `{"entries":[`+a+`,`+b+`,`+c+`,{"rank":4,"key":"d","score":10}],"total":4}`)
	for name, wire := range d.wires() {
		got, err := shoalv1connect.NewBoardServiceClient(wire).Top(t.Context(), &shoalv1.BoardTopRequest{Board: "coins", Count: proto.Int32(1)})
		if err != nil || got.GetEntries()[0].GetName() != "Ann" {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// Names that a resolver brings later than the page are in a later answer, of the same page.
func TestNamesMayComeLate(t *testing.T) {
	asked := make(chan struct{})
	resolve := func(context.Context, []string) (map[string]board.Name, error) {
		<-asked
		return map[string]board.Name{"a": {Display: "Ann"}}, nil
	}
	d := tied(t, setup{wire: func(o *shoal.Options) { o.Flush.Names = &board.NameOptions{Resolve: resolve} }})
	const top = `{"board":"coins","count":1}`
	d.call("BoardService/Top", top).want(t, `{"entries":[{"rank":1,"key":"a","score":30}],"total":4,"sealed":false}`)
	close(asked)
	for !strings.Contains(d.call("BoardService/Top", top).body, `"name":"Ann"`) { // until the test's deadline
		continue
	}
}

// A resolver that does not answer leaves the rows unnamed.
func TestNamesThatDoNotComeAreLeftOut(t *testing.T) {
	hang := func(ctx context.Context, _ []string) (map[string]board.Name, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	d := tied(t, setup{wire: func(o *shoal.Options) { o.Flush.Names = &board.NameOptions{Resolve: hang} }})
	d.call("BoardService/Top", `{"board":"coins","count":1}`).want(t, `{"entries":[{"rank":1,"key":"a","score":30}],"total":4,"sealed":false}`)
}

func TestMetadataStaysWithItsScore(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":30,"meta":"+/8A"},{"key":"b","score":20,"meta":""}]}`).want(t, `{"accepted":2}`)
	d.flush()
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":29,"meta":"AAAA"}]}`) // not better
	d.flush()
	const a, b = `{"rank":1,"key":"a","score":30,"meta":"+/8A"}`, `{"rank":2,"key":"b","score":20}`
	d.call("BoardService/Top", `{"board":"coins"}`).want(t, `{"entries":[`+a+`,`+b+`],"total":2,"sealed":false}`)
	d.call("BoardService/Standing", `{"board":"coins","key":"a"}`).want(t, `{"found":true,"standing":`+a+`}`)
	d.call("BoardService/Scores", `{"board":"coins","keys":["a","b"]}`).want(t, `{"entries":[{"key":"a","score":30,"meta":"+/8A"},{"key":"b","score":20}]}`)
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":31}]}`) // without metadata
	d.flush()
	d.call("BoardService/Standing", `{"board":"coins","key":"a"}`).want(t, `{"found":true,"standing":{"rank":1,"key":"a","score":31}}`)
}

func TestBoardsAreDescribedAndListed(t *testing.T) {
	d := tied(t, setup{})
	if _, err := d.boards.Create(t.Context(), "old/board", store.BoardSpec{Order: store.Ascending, Generation: "g1"}); err != nil {
		t.Fatal(err)
	}
	d.call("BoardService/Info", `{"board":"coins"}`).is(t, "/board", `"coins"`, "/stored", "true", "/order", `"descending"`, "/count", "4", "/hidden", "0", "/sequence", "4", "/sealed", "false",
		"/config/rule", `"best"`, "/config/maxEntries", "100")
	d.call("BoardService/Info", `{"board":"laps"}`).
		want(t, `{"board":"laps","stored":false,"order":"ascending","count":0,"hidden":0,"sequence":0,"generation":"","sealed":false,"config":{"rule":"best","decimals":3,"min":0,"max":"9223372036854775807","maxEntries":100}}`)
	d.call("BoardService/Info", `{"board":"old/board"}`).
		want(t, `{"board":"old/board","stored":true,"order":"ascending","count":0,"hidden":0,"sequence":0,"generation":"g1","sealed":false}`)

	const coins, laps, old, total = `{"board":"coins","stored":true,"configured":true}`, `{"board":"laps","stored":false,"configured":true}`,
		`{"board":"old/board","stored":true,"configured":false}`, `{"board":"total","stored":false,"configured":true}`
	d.call("BoardService/List", `{"prefix":"la"}`).want(t, `{"boards":[`+laps+`]}`)
	d.call("BoardService/List", `{"prefix":"zz"}`).want(t, `{"boards":[]}`)
	var seen []string
	after, all := "", d.call("BoardService/List", `{}`).body
	for range 20 { // in steps of each length it is the same list
		got := d.call("BoardService/List", `{"limit":1,"after":"`+after+`"}`)
		one, next, more := strings.Cut(strings.TrimPrefix(got.body, `{"boards":[`), `],"next":"`)
		seen = append(seen, strings.TrimSuffix(one, `]}`))
		if !more {
			break
		}
		after = strings.TrimSuffix(next, `"}`)
	}
	if got := `{"boards":[` + strings.TrimSuffix(strings.Join(seen, ","), ",") + `]}`; got != all {
		t.Errorf("in steps %s\nat once %s", got, all)
	}
	for _, want := range []string{coins, laps, old, total} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in %s", want, all)
		}
	}
}

func TestWrongReadsAreRefusedByField(t *testing.T) {
	d := startDaemon(t, setup{})
	for _, c := range []struct {
		method, body string
		status       int
		code, reason string
		words        []string
	}{
		{"Top", `{"board":"coins","ranks":"olympic"}`, 400, "invalid_argument", "bad_field", []string{`"field":"ranks"`, `ordinal, competition or dense is expected, got \"olympic\"`}},
		{"Standing", `{"board":"coins","key":"a","ranks":"Dense"}`, 400, "invalid_argument", "bad_field", []string{`"field":"ranks"`}},
		{"Around", `{"board":"coins","key":"a","ranks":" "}`, 400, "invalid_argument", "bad_field", []string{`"field":"ranks"`}},
		{"Page", `{"board":"coins","ranks":"x"}`, 400, "invalid_argument", "bad_field", []string{`"field":"ranks"`}},
		{"Page", `{"board":"coin"}`, 404, "not_found", "unknown_board", []string{`"field":"board"`, "coins, laps, total"}},
		{"Page", `{"board":"coins","offset":-1}`, 400, "invalid_argument", "bad_field", []string{`"field":"offset"`, "0 or more"}},
		{"Page", `{"board":"coins","limit":0}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`, "1 to 1000"}},
		{"Page", `{"board":"coins","limit":1001}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`}},
		{"Page", `{"board":"coins","offset":1.5}`, 400, "invalid_argument", "malformed", []string{`"field":"offset"`}},
		{"Walk", `{"board":"coin"}`, 404, "not_found", "unknown_board", nil},
		{"Walk", `{"board":"coins","limit":1001}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`}},
		{"Walk", `{"board":"coins","cursor":"%"}`, 400, "invalid_argument", "bad_field", []string{`"field":"cursor"`}},
		{"Walk", `{"board":"coins","cursor":"` + strings.Repeat("A", 10_000) + `"}`, 400, "invalid_argument", "bad_field", []string{`"field":"cursor"`}},
		{"Percentile", `{"board":"coin","key":"a"}`, 404, "not_found", "unknown_board", nil},
		{"Percentile", `{"board":"coins"}`, 400, "invalid_argument", "bad_field", []string{`"field":"key"`, "is empty"}},
		{"Info", `{"board":"coin"}`, 404, "not_found", "unknown_board", []string{`"field":"board"`}},
		{"Info", `{"board":"a//b"}`, 400, "invalid_argument", "bad_field", []string{`"field":"board"`}}, // case B17
		{"Info", `{}`, 400, "invalid_argument", "bad_field", []string{`"field":"board"`, "is empty"}},
		{"List", `{"limit":0}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`}},
		{"List", `{"prefix":"` + strings.Repeat("a", 201) + `"}`, 400, "invalid_argument", "bad_field", []string{`"field":"prefix"`}},
		{"List", `{"after":"` + strings.Repeat("a", 201) + `"}`, 400, "invalid_argument", "bad_field", []string{`"field":"after"`}},
	} {
		t.Run(c.method+" "+c.body[:min(len(c.body), 60)], func(t *testing.T) {
			d.call("BoardService/"+c.method, c.body).refused(t, c.status, c.code, c.reason, append(c.words, `"outcome":"not_done"`)...)
		})
	}
}
