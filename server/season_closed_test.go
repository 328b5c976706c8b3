package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// small has seasons with two boards, two titles and a reserve of one, which are closed by calls
// only, however long a test takes.
func small(o *shoal.Options) {
	s := o.Seasons["reef"]
	s.Rules.Boards, s.Rules.Top, s.Rules.Keep, s.Rules.CacheFor = s.Rules.Boards[:2], 2, 3, 1
	s.Rules.CloseEvery = -1
	o.Seasons["reef"] = s
}

// catches has players catch fish in the running season, and leave: ann 3, bob 2, cy 1.
func (d *daemon) catches(t *testing.T, players ...string) {
	t.Helper()
	for i, key := range players {
		d.call("ProfileService/Load", `{"set":"players","key":"`+key+`"}`).is(t)
		for range len(players) - i {
			d.call("SeasonService/Record", `{"season":"reef","set":"players","key":"`+key+`","event":"catch"}`).is(t)
		}
		d.call("ProfileService/Release", `{"set":"players","key":"`+key+`"}`).is(t)
	}
}

// seasonEnds is some days after the end of the running season, by the fleet's clock.
func (d *daemon) seasonEnds() {
	d.t.Helper()
	before := d.reef.Current().K
	d.engine.StepClock(memstore.Durable, 46*24*time.Hour)
	for d.reef.Current().K == before { // the node reads the store's clock at its next beat
		d.call("NodeService/Status", "{}")
	}
}

// closed is a daemon with a closed season that ann, bob and cy have played.
func closed(t *testing.T) *daemon {
	t.Helper()
	d := startDaemon(t, setup{wire: small})
	d.catches(t, "ann", "bob", "cy")
	d.seasonEnds()
	d.call("SeasonService/Close", `{"season":"reef"}`).want(t, `{"closed":[{"id":"C1S1","here":true}],"waiting":[]}`)
	return d
}

// who is the keys of a list of places, in order.
func who(t *testing.T, a answer, path string) string {
	t.Helper()
	var keys []string
	for i := range a.field(t, path).Len() {
		key, _ := a.field(t, fmt.Sprintf("%s/%d/key", path, i)).AsString()
		keys = append(keys, a.field(t, fmt.Sprintf("%s/%d/rank", path, i)).String()+key)
	}
	return strings.Join(keys, " ")
}

func TestClosedSeasonsAreRead(t *testing.T) {
	d := closed(t)
	res := d.read("SeasonService/Results", `{"season":"reef","id":"C1S1"}`)
	res.is(t, "/season/id", `"C1S1"`, "/unplayed", "false", "/corrections", "0", "/closed/node", `"`+d.node.ID()+`"`, "/closed/without", "[]", "/closed/actor", "null",
		"/boards/0/board", `"Fish"`, "/boards/0/title", `"SEA KING"`, "/boards/0/order", `"descending"`, "/boards/0/total", "3", "/boards/0/missing", "false",
		"/boards/0/entries", `[{"key":"ann","rank":1,"score":3},{"key":"bob","rank":2,"score":2}]`, "/boards/0/reserve", `[{"key":"cy","rank":3,"score":1}]`,
		"/boards/0/disqualified", "[]", "/boards/1/total", "0", "/boards/2", "null")
	if got := res.header.Get("Cache-Control"); got != "public, max-age=30" {
		t.Errorf("Cache-Control %q", got)
	}
	d.read("SeasonService/Status", `{"season":"reef"}`).is(t, "/current/id", `"C1S2"`, "/first/id", `"C1S1"`, "/closedThrough/id", `"C1S1"`, "/waiting", "[]", "/fresh", "true")
	d.seasonEnds()
	d.call("SeasonService/Close", `{"season":"reef"}`).want(t, `{"closed":[{"id":"C1S2","here":true}],"waiting":[]}`)
	d.call("SeasonService/Close", `{"season":"reef"}`).want(t, `{"closed":[],"waiting":[]}`)
	list := d.read("SeasonService/Closed", `{"season":"reef"}`)
	list.is(t, "/next", "null", "/seasons/2", "null",
		"/seasons/0/season/id", `"C1S2"`, "/seasons/0/unplayed", "true", "/seasons/0/winners/0/winner", "null",
		"/seasons/1/season/id", `"C1S1"`, "/seasons/1/unplayed", "false", "/seasons/1/corrections", "0",
		"/seasons/1/winners/0", `{"board":"Fish","missing":false,"title":"SEA KING","total":3,"winner":{"key":"ann","rank":1,"score":3}}`, "/seasons/1/winners/1/winner", "null")
	if got := list.header.Get("Cache-Control"); got != "public, max-age=30" {
		t.Errorf("Cache-Control %q", got)
	}
	d.read("SeasonService/Closed", `{"season":"reef","limit":1}`).is(t, "/seasons/0/season/id", `"C1S2"`, "/seasons/1", "null", "/next", `"C1S2"`)
	d.read("SeasonService/Closed", `{"season":"reef","limit":1,"before":"C1S2"}`).is(t, "/seasons/0/season/id", `"C1S1"`, "/next", `"C1S1"`)
	d.read("SeasonService/Closed", `{"season":"reef","before":"C1S1"}`).is(t, "/seasons", "[]", "/next", "null")
}

func TestBeforeAnythingIsClosed(t *testing.T) {
	d := startDaemon(t, setup{})
	d.read("SeasonService/Status", `{"season":"reef"}`).is(t, "/current/id", `"C1S1"`, "/first", "null", "/closedThrough", "null", "/waiting", "[]")
	d.read("SeasonService/Closed", `{"season":"reef"}`).is(t, "/seasons", "[]", "/next", "null")
	d.call("SeasonService/Close", `{"season":"reef"}`).want(t, `{"closed":[],"waiting":[]}`)
	d.catches(t, "ann")
	d.call("SeasonService/Close", `{"season":"reef"}`).want(t, `{"closed":[],"waiting":[]}`)
	d.read("SeasonService/Status", `{"season":"reef"}`).is(t, "/first/id", `"C1S1"`, "/closedThrough", "null")
}

func TestOperatorsCorrectClosedSeasons(t *testing.T) {
	d := closed(t)
	const out = `{"season":"reef","id":"C1S1","key":"ann","confirm":"ann","actor":"mo","note":"bot, ticket 7"}`
	ruled := d.call("SeasonService/Disqualify", out)
	ruled.is(t, "/corrections", "1", "/boards/0/entries", `[{"key":"bob","rank":1,"score":2},{"key":"cy","rank":2,"score":1}]`,
		"/boards/0/reserve", "[]", "/boards/0/disqualified", `[{"key":"ann","rank":1,"score":3}]`, "/boards/0/total", "3")
	d.call("SeasonService/Disqualify", out).is(t, "/corrections", "1") // its answer was lost
	res := d.call("SeasonService/Results", `{"season":"reef","id":"C1S1"}`)
	res.is(t, "/corrections", "1")
	if got := who(t, res, "/boards/0/entries"); got != "1bob 2cy" {
		t.Errorf("got %s", got)
	}
	d.call("SeasonService/Closed", `{"season":"reef"}`).is(t, "/seasons/0/corrections", "1", "/seasons/0/winners/0/winner/key", `"bob"`)
	d.read("SeasonService/Corrections", `{"season":"reef","id":"C1S1"}`).is(t, "/corrections/0/action", `"disqualify"`, "/corrections/0/key", `"ann"`,
		"/corrections/0/actor", `"mo"`, "/corrections/0/note", `"bot, ticket 7"`, "/corrections/1", "null")
	if !d.log.has("an operator has ruled", "key=ann", "actor=mo", `note="bot, ticket 7"`) {
		t.Error("the ruling is not in the log")
	}

	d.call("ProfileService/Load", `{"set":"players","key":"cy"}`).is(t)
	d.call("SeasonService/View", `{"season":"reef","set":"players","key":"cy"}`).is(t, "/titles/0/text", `"#2 SEA KING (S1)"`, "/titles/0/corrections", "1")

	d.call("SeasonService/Reinstate", strings.Replace(out, "bot, ticket 7", "the brother", 1)).is(t, "/corrections", "2", "/boards/0/disqualified", "[]")
	if got := who(t, d.call("SeasonService/Results", `{"season":"reef","id":"C1S1"}`), "/boards/0/entries"); got != "1ann 2bob" {
		t.Errorf("got %s", got)
	}
	d.read("SeasonService/Corrections", `{"season":"reef","id":"C1S1"}`).is(t, "/corrections/1/action", `"reinstate"`, "/corrections/1/note", `"the brother"`)
	d.call("SeasonService/Disqualify", `{"season":"reef","id":"C1S1","key":"ann","boards":["Fish"],"confirm":"ann","actor":"mo","note":"n"}`).is(t, "/corrections", "3")
	d.read("SeasonService/Corrections", `{"season":"reef","id":"C1S1"}`).is(t, "/corrections/2/boards", `["Fish"]`)
}

func TestBadOperationsOnSeasons(t *testing.T) {
	d := closed(t)
	rule := func(pairs ...string) string {
		text := `{"season":"reef","id":"C1S1","key":"ann","confirm":"ann","actor":"mo","note":"bot","boards":[]}`
		for i := 0; i+1 < len(pairs); i += 2 {
			text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
		}
		return text
	}
	without := func(id, board, confirm string) string {
		return `{"season":"reef","id":"` + id + `","without":["` + board + `"],"confirm":"` + confirm + `","actor":"mo","note":"gone"}`
	}
	for _, c := range []struct {
		method, body string
		status       int
		code, reason string
		words        []string
	}{
		{"Disqualify", rule("reef", "x"), 404, "not_found", "unknown_season", nil},
		{"Disqualify", rule(`"key":"ann"`, `"key":"a/b"`), 400, "invalid_argument", "bad_field", []string{`"field":"key"`}},
		{"Disqualify", rule(`"confirm":"ann"`, `"confirm":"bob"`), 400, "invalid_argument", "bad_field", []string{`"field":"confirm"`}},
		{"Disqualify", rule(`"mo"`, `""`), 400, "invalid_argument", "bad_field", []string{`"field":"actor"`, "who does it"}},
		{"Disqualify", rule(`"mo"`, `"`+strings.Repeat("x", 129)+`"`), 400, "invalid_argument", "bad_field", []string{`"field":"actor"`, "at most 128"}},
		{"Disqualify", rule(`"bot"`, `""`), 400, "invalid_argument", "bad_field", []string{`"field":"note"`, "why"}},
		{"Disqualify", rule(`"bot"`, `"`+strings.Repeat("x", 1025)+`"`), 400, "invalid_argument", "bad_field", []string{`"field":"note"`, "at most 1024"}},
		{"Disqualify", rule(`"bot"`, `"b\u001bot"`), 400, "invalid_argument", "bad_field", []string{`"field":"note"`, "control character at byte 1"}},
		{"Disqualify", rule("[]", `["Fish","Fish"]`), 400, "invalid_argument", "bad_field", []string{`"field":"boards[1]"`, "comes twice"}},
		{"Disqualify", rule("[]", `["a b"]`), 400, "invalid_argument", "bad_field", []string{`"field":"boards[0]"`}},
		{"Disqualify", rule("[]", `["x"`+strings.Repeat(`,"x"`, 32)+`]`), 400, "invalid_argument", "bad_field", []string{`"field":"boards"`, "at most 32"}},
		{"Disqualify", rule("[]", `["Bones"]`), 404, "not_found", "unknown_board", []string{`"field":"boards"`}},
		{"Disqualify", rule("[]", `["Coins"]`), 404, "not_found", "no_place", []string{`"field":"key"`}},
		{"Disqualify", rule("ann", "zoe"), 404, "not_found", "no_place", []string{`"field":"key"`}},
		{"Disqualify", rule("C1S1", "C1S2"), 404, "not_found", "no_result", nil},
		{"Disqualify", rule("C1S1", "2026-08"), 400, "invalid_argument", "no_season", []string{`"field":"id"`}},
		{"Reinstate", rule(`"confirm":"ann"`, `"confirm":""`), 400, "invalid_argument", "bad_field", []string{`"field":"confirm"`}},
		{"Reinstate", rule("ann", "zoe"), 404, "not_found", "no_place", []string{`"field":"key"`}},
		{"Corrections", `{"season":"reef","id":"C1S2"}`, 404, "not_found", "no_result", nil},
		{"Corrections", `{"season":"reef","id":"x"}`, 400, "invalid_argument", "no_season", []string{`"field":"id"`}},
		{"Closed", `{"season":"reef","before":"x"}`, 400, "invalid_argument", "no_season", []string{`"field":"before"`}},
		{"Closed", `{"season":"reef","limit":51}`, 400, "invalid_argument", "bad_field", []string{`"field":"limit"`, "1 to 50"}},
		{"Closed", `{"season":"x"}`, 404, "not_found", "unknown_season", nil},
		{"Status", `{"season":"x"}`, 404, "not_found", "unknown_season", nil},
		{"Close", `{"season":"x"}`, 404, "not_found", "unknown_season", nil},
		{"Close", `{"season":"reef","id":"C1S1"}`, 400, "invalid_argument", "bad_field", []string{`"field":"id"`, "without"}},
		{"Close", without("C1S2", "Fish", "C1S1"), 400, "invalid_argument", "bad_field", []string{`"field":"confirm"`}},
		{"Close", strings.Replace(without("C1S2", "Fish", "C1S2"), `"gone"`, `""`, 1), 400, "invalid_argument", "bad_field", []string{`"field":"note"`}},
		{"Close", without("C1S2", "Fish", "C1S2"), 400, "failed_precondition", "not_due", nil},
		{"Close", without("C1S2", "Bones", "C1S2"), 404, "not_found", "unknown_board", []string{`"field":"without"`}},
		{"Close", without("S2", "Fish", "S2"), 400, "invalid_argument", "no_season", []string{`"field":"id"`}},
	} {
		t.Run(c.method+" "+c.reason, func(t *testing.T) {
			d.call("SeasonService/"+c.method, c.body).refused(t, c.status, c.code, c.reason, append(c.words, `"outcome":"not_done"`)...)
		})
	}
	d.call("SeasonService/Results", `{"season":"reef","id":"C1S1"}`).is(t, "/corrections", "0")
}

// deaf are boards of which some cannot be read.
type deaf struct {
	store.Boards
	part atomic.Pointer[string] // of the names of those
}

func (b *deaf) hears(board string) error {
	if part := b.part.Load(); part != nil && strings.Contains(board, *part) {
		return fmt.Errorf("the cluster is gone: %w", store.ErrUnavailable)
	}
	return nil
}

func (b *deaf) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	if err := b.hears(board); err != nil {
		return store.BoardInfo{}, err
	}
	return b.Boards.Info(ctx, board)
}

func (b *deaf) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	if err := b.hears(board); err != nil {
		return store.BoardInfo{}, err
	}
	return b.Boards.Seal(ctx, board)
}

func (b *deaf) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	if err := b.hears(board); err != nil {
		return store.Page{}, err
	}
	return b.Boards.Page(ctx, board, offset, limit, mode)
}

// A board that cannot be read keeps its season waiting, and why is told; an operator closes the
// season without it, once it is sure that the board cannot be read.
func TestASeasonIsClosedWithoutABoard(t *testing.T) {
	boards := new(deaf)
	d := startDaemon(t, setup{wire: small, parts: func(p store.Parts) store.Parts {
		boards.Boards = p.Boards
		p.Boards = boards
		return p
	}})
	d.catches(t, "ann", "bob")
	d.seasonEnds()
	const without = `{"season":"reef","id":"C1S1","without":["Fish"],"confirm":"C1S1","actor":"mo","note":"lost with the old cluster"}`
	d.call("SeasonService/Close", without).refused(t, 400, "failed_precondition", "board_fine", `"field":"without"`)
	gone := "/Fish/"
	boards.part.Store(&gone)
	waits := d.call("SeasonService/Close", `{"season":"reef"}`)
	waits.is(t, "/closed", "[]", "/waiting/0/id", `"C1S1"`)
	if !strings.Contains(waits.body, "the cluster is gone") {
		t.Errorf("why? %s", waits.body)
	}
	d.read("SeasonService/Status", `{"season":"reef"}`).is(t, "/waiting/0/id", `"C1S1"`, "/closedThrough", "null")
	d.call("SeasonService/Close", without).want(t, `{"closed":[{"id":"C1S1","here":true}],"waiting":[]}`)
	d.call("SeasonService/Close", without).want(t, `{"closed":[{"id":"C1S1","here":false}],"waiting":[]}`) // its answer was lost
	d.read("SeasonService/Results", `{"season":"reef","id":"C1S1"}`).is(t, "/boards/0/missing", "true", "/boards/0/entries", "[]", "/boards/1/missing", "false",
		"/closed/without", `["Fish"]`, "/closed/actor", `"mo"`, "/closed/note", `"lost with the old cluster"`)
	d.read("SeasonService/Closed", `{"season":"reef"}`).is(t, "/seasons/0/winners/0/missing", "true", "/seasons/0/winners/0/winner", "null")
	if !d.log.has("level=WARN", "an operator has closed a season without boards", "actor=mo") {
		t.Error("it is not in the log")
	}
}
