package server_test

import (
	"strings"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// case B18.
func TestHiddenKeysHaveNoRank(t *testing.T) {
	d := tied(t, setup{})
	d.call("BoardService/Hide", `{"board":"coins","keys":["a","zed"],"actor":"ann","note":"under review"}`).want(t, `{"changed":2}`)
	d.call("BoardService/Hide", `{"board":"coins","keys":["a"],"actor":"ann"}`).want(t, `{"changed":0}`)
	d.call("BoardService/Top", `{"board":"coins","count":1}`).want(t, `{"entries":[{"rank":1,"key":"b","score":20}],"total":3,"sealed":false}`)
	d.call("BoardService/Standing", `{"board":"coins","key":"a"}`).want(t, `{"found":false}`)
	d.call("BoardService/Hidden", `{"board":"coins"}`).want(t, `{"entries":[{"key":"a","score":30},{"key":"zed"}]}`)
	d.call("BoardService/Hidden", `{"board":"coins","limit":1}`).want(t, `{"entries":[{"key":"a","score":30}],"next":"a"}`)
	d.call("BoardService/Hidden", `{"board":"coins","after":"a"}`).want(t, `{"entries":[{"key":"zed"}]}`)
	d.call("BoardService/Hidden", `{"board":"laps"}`).want(t, `{"entries":[]}`) // nobody wrote to it
	d.call("BoardService/Info", `{"board":"coins"}`).is(t, "/count", "3", "/hidden", "2")
	d.call("BoardService/Show", `{"board":"coins","keys":["a","b"],"actor":"ann"}`).want(t, `{"changed":1}`)
	d.call("BoardService/Top", `{"board":"coins","count":1}`).want(t, `{"entries":[{"rank":1,"key":"a","score":30}],"total":4,"sealed":false}`)
}

func TestHiddenScoresHaveDecimals(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("BoardService/Submit", `{"board":"laps","durable":false,"entries":[{"key":"a","decimal":"1.5","meta":"AAAA"}]}`).want(t, `{"accepted":1}`)
	d.flush()
	d.call("BoardService/Hide", `{"board":"laps","keys":["a"],"actor":"ann"}`).want(t, `{"changed":1}`)
	d.call("BoardService/Hidden", `{"board":"laps"}`).want(t, `{"entries":[{"key":"a","score":1500,"decimal":"1.500","meta":"AAAA"}]}`)
}

// case B18.
func TestBannedKeysTakePartNowhere(t *testing.T) {
	d := tied(t, setup{})
	d.call("BoardService/Submit", `{"board":"total","entries":[{"key":"a","score":1}]}`)
	d.flush()
	d.call("BoardService/Ban", `{"keys":["a"],"actor":"ann","note":"speed hack"}`).want(t, `{}`)
	for _, name := range []string{"coins", "total"} {
		d.call("BoardService/Standing", `{"board":"`+name+`","key":"a"}`).want(t, `{"found":false}`)
	}
	for _, durable := range []string{"true", "false"} {
		d.call("BoardService/Submit", `{"board":"coins","durable":`+durable+`,"entries":[{"key":"a","score":99}]}`).
			refused(t, 403, "permission_denied", "banned", `"field":"entries[0].key"`, "is banned", `"outcome":"not_done"`)
	}
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"b","score":21},{"key":"a","score":99}]}`).
		refused(t, 403, "permission_denied", "banned", `"field":"entries[1].key"`, "the 1 entries before it were accepted", `"outcome":"partly"`)
	d.call("BoardService/Bans", `{}`).is(t, "/bans/0/key", `"a"`, "/bans/0/actor", `"ann"`, "/bans/0/note", `"speed hack"`)
	if got := d.call("BoardService/Bans", `{"after":"a"}`); got.body != `{"bans":[]}` {
		t.Errorf("bans behind the last: %s", got.body)
	}
	d.call("BoardService/Bans", `{"limit":1}`).is(t, "/next", `"a"`)
	d.call("BoardService/Unban", `{"keys":["a"],"actor":"bo"}`).want(t, `{}`)
	d.call("BoardService/Bans", `{}`).want(t, `{"bans":[]}`)
	d.call("BoardService/Standing", `{"board":"coins","key":"a"}`).want(t, `{"found":true,"standing":{"rank":1,"key":"a","score":30}}`)
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"a","score":99}]}`).want(t, `{"accepted":1}`)
}

func TestRemovalsAreRecorded(t *testing.T) {
	d := tied(t, setup{})
	d.call("BoardService/Submit", `{"board":"coins","entries":[{"key":"b","score":99}]}`) // waits
	d.call("BoardService/Remove", `{"board":"coins","keys":["a","b","nobody"],"actor":"ann","note":"by mistake"}`).
		refused(t, 400, "invalid_argument", "bad_field", `"field":"confirm"`)
	d.call("BoardService/Remove", `{"board":"coins","keys":["a","b","nobody"],"confirm":"coins","actor":"ann","note":"by mistake"}`).want(t, `{"removed":2}`)
	d.flush()
	d.call("BoardService/Top", `{"board":"coins","count":1}`).want(t, `{"entries":[{"rank":1,"key":"c","score":20}],"total":2,"sealed":false}`)
	d.call("BoardService/Hide", `{"board":"coins","keys":["c"],"actor":"bo"}`)
	d.call("BoardService/Audit", `{}`).is(t,
		"/entries/0/action", `"hide"`, "/entries/0/actor", `"bo"`, "/entries/0/board", `"coins"`, "/entries/0/keys", `["c"]`,
		"/entries/1/action", `"remove"`, "/entries/1/note", `"by mistake"`, "/entries/1/keys", `["a","b","nobody"]`,
		"/entries/1/entries", `[{"key":"a","score":30},{"key":"b","score":20}]`, "/entries/1/erased", "0")
	newest := d.call("BoardService/Audit", `{"limit":1}`)
	newest.is(t, "/entries/0/action", `"hide"`)
	d.call("BoardService/Audit", `{"limit":1,"before":`+newest.field(t, "/next").String()+`}`).is(t, "/entries/0/action", `"remove"`)
}

// The boards of seasons are written by seasons, but moderated by people.
func TestSeasonBoardsAreModerated(t *testing.T) {
	d := startDaemon(t, setup{})
	const name = "season/reef/Fish/C1S1"
	if _, err := d.boards.Create(t.Context(), name, store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.boards.Merge(t.Context(), name, store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "a", Score: 3}}}); err != nil {
		t.Fatal(err)
	}
	d.call("BoardService/Hide", `{"board":"`+name+`","keys":["a"],"actor":"ann"}`).want(t, `{"changed":1}`)
	d.call("BoardService/Hidden", `{"board":"`+name+`"}`).want(t, `{"entries":[{"key":"a","score":3}]}`)
	d.call("BoardService/Remove", `{"board":"`+name+`","keys":["a"],"confirm":"`+name+`","actor":"ann"}`).want(t, `{"removed":1}`)
	if _, err := d.boards.Seal(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	d.call("BoardService/Hide", `{"board":"`+name+`","keys":["a"],"actor":"ann"}`).refused(t, 400, "failed_precondition", "sealed")
}

func TestWrongModerationIsRefusedByField(t *testing.T) {
	d := tied(t, setup{})
	long := strings.Repeat("x", 1001)
	for _, method := range []string{"Remove", "Hide", "Show", "Ban", "Unban"} {
		on, head := method != "Ban" && method != "Unban", ""
		if on {
			head = `"board":"coins",`
		}
		if method == "Remove" {
			head += `"confirm":"coins",`
		}
		type wrong struct{ body, field, problem string }
		cases := []wrong{
			{`{` + head + `"actor":"ann"}`, "keys", "1 to 1000 keys"},
			{`{` + head + `"actor":"ann","keys":["a","a"]}`, "keys[1]", "comes twice"},
			{`{` + head + `"actor":"ann","keys":["a","a b"]}`, "keys[1]", "at byte 1"},
			{`{` + head + `"keys":["a"]}`, "actor", "is missing"},
			{`{` + head + `"keys":["a"],"actor":"` + long + `"}`, "actor", "at most 128 bytes"},
			{`{` + head + `"keys":["a"],"actor":"ann","note":"` + long + `"}`, "note", "at most 1000 bytes"},
		}
		if on {
			cases = append(cases, wrong{`{"keys":["a"],"actor":"ann","confirm":"x"}`, "board", "is empty"})
		}
		for _, c := range cases {
			if method != "Remove" {
				c.body = strings.Replace(c.body, `,"confirm":"x"`, "", 1)
			}
			d.call("BoardService/"+method, c.body).refused(t, 400, "invalid_argument", "bad_field", `"field":"`+c.field+`"`, c.problem, `"outcome":"not_done"`)
		}
	}
	for _, c := range []struct{ method, body, field string }{
		{"Hidden", `{}`, "board"},
		{"Hidden", `{"board":"coins","limit":0}`, "limit"},
		{"Hidden", `{"board":"coins","after":"a b"}`, "after"},
		{"Bans", `{"limit":1001}`, "limit"},
		{"Bans", `{"after":"/"}`, "after"},
		{"Audit", `{"limit":-1}`, "limit"},
		{"Audit", `{"before":"../x"}`, "before"},
	} {
		d.call("BoardService/"+c.method, c.body).refused(t, 400, "invalid_argument", "bad_field", `"field":"`+c.field+`"`)
	}
	for _, c := range []struct{ method, body, words string }{
		{"Hide", `{"board":"nosuch","keys":["a"],"actor":"ann"}`, "coins, laps, total"},
		{"Show", `{"board":"laps","keys":["a"],"actor":"ann"}`, "nobody has written"},
		{"Hidden", `{"board":"nosuch"}`, "there is no board"},
	} {
		d.call("BoardService/"+c.method, c.body).refused(t, 404, "not_found", "unknown_board", `"field":"board"`, c.words)
	}
	d.call("BoardService/Remove", `{"board":"laps","keys":["a"],"confirm":"laps","actor":"ann"}`).want(t, `{"removed":0}`)
	d.call("BoardService/Top", `{"board":"coins","count":1}`).want(t, `{"entries":[{"rank":1,"key":"a","score":30}],"total":4,"sealed":false}`)
	if list, err := d.boards.Bans(t.Context(), "", 0); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
}

func TestMirroredBoardsTakeNoSubmits(t *testing.T) {
	d := startDaemon(t, setup{boards: map[string]board.Config{"rich": {Rule: store.Last, From: &board.Source{Set: "players", Path: "/coins"}}}})
	d.call("BoardService/Submit", `{"board":"rich","entries":[{"key":"a","score":1}]}`).
		refused(t, 400, "invalid_argument", "bad_field", `"field":"board"`, `the profiles of the set \"players\"`)
	d.call("BoardService/Info", `{"board":"rich"}`).is(t, "/config/mirrors", `"players"`)
}
