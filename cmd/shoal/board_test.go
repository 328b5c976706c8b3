package main_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to damage a store
)

// boardRows are the lines that a command on boards prints with --json.
func (x tool) boardRows(args ...string) string {
	x.t.Helper()
	a := x.run(append([]string{"board"}, append(args, "--json")...)...)
	if a.code != 0 {
		x.t.Errorf("shoal board %s: exit %d\n%s", strings.Join(args, " "), a.code, a.err)
	}
	return strings.TrimSpace(a.out)
}

// submit stores scores one after the other: key score key score.
func (x tool) submit(board string, pairs ...string) {
	x.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		x.does("rank", "board", "submit", board, pairs[i], pairs[i+1])
	}
}

// What the command line stores a running daemon reads, and the other way round.
func TestBoardsAreReadAndWrittenBesideADaemon(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	x.does("Kills: nobody has written to it", "board", "top", "Kills")
	x.does("ann: has no entry; it would be 30. Nothing was changed.", "board", "submit", "Kills", "ann", "30", "--dry-run")
	x.does("ann: 30, rank 1 of 1", "board", "submit", "Kills", "ann", "30")
	x.does("bob: 20, rank 2 of 2", "board", "submit", "Kills", "bob", "20", "--meta", "car 7")
	x.does("ann: has 30; it would be 30", "board", "submit", "Kills", "ann", "5", "--dry-run")
	x.does("ann: 30 is stored, which stays before 5, rank 1 of 2", "board", "submit", "Kills", "ann", "5")
	d.call("BoardService/Page", `{"board":"Kills"}`).want(t, "Y2FyIDc=", "entries", 1, "meta")
	d.call("BoardService/Submit", `{"board":"Kills","durable":true,"entries":[{"key":"cy","score":20},{"key":"dan","score":-5}]}`)
	if top := x.does("4 of 4 entries", "board", "top", "Kills", "--ranks", "competition").out; top != `RANK  KEY  SCORE  META
1     ann  30     
2     bob  20     car 7
2     cy   20     
4     dan  -5     
4 of 4 entries
` {
		t.Errorf("got\n%s", top)
	}
	for _, c := range []struct{ want, args string }{
		{`{"rank":2,"key":"bob","score":20,"meta":"Y2FyIDc="}` + "\n" + `{"rank":3,"key":"cy","score":20}`, "top Kills --offset 1 -n 2"},
		{`{"rank":3,"key":"cy","score":20,"total":4,"top":50}`, "rank Kills cy"},
		{`{"rank":3,"key":"dan","score":-5,"total":4,"top":100}`, "rank Kills dan --ranks dense"},
		{`{"rank":3,"key":"cy","score":20}` + "\n" + `{"rank":4,"key":"dan","score":-5}`, "around Kills dan -n 1"},
		{`{"key":"dan","score":-5}` + "\n" + `{"key":"ann","score":30}`, "scores Kills dan eve ann"},
	} {
		if got := x.boardRows(strings.Fields(c.args)...); got != c.want {
			t.Errorf("board %s\ngot  %s\nwant %s", c.args, got, c.want)
		}
	}
	x.does("among  the top 50%", "board", "rank", "Kills", "cy")
	x.does("the larg", "board", "info", "Kills")
	x.does("ann: 61.250, rank 1 of 1", "board", "submit", "BestTime", "ann", "61.25")
	if got := x.boardRows("rank", "BestTime", "ann"); got != `{"rank":1,"key":"ann","score":61250,"decimal":"61.250","total":1,"top":100}` {
		t.Errorf("got %s", got)
	}
	if got := x.boardRows("list", "Best"); !strings.HasPrefix(got, `{"board":"BestTime","stored":true,"configured":true,"order":"ascending","rule":"best","decimals":3,"count":1,"hidden":0,"sequence":1,"generation":"`) {
		t.Errorf("got %s", got)
	}
}

// A board that the configuration does not know is read as the store says, and written as flags
// say.
func TestBoardsBesideTheConfiguration(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	x.fails(2, "--rule best, last or sum expected", "board", "submit", "Trial", "ann", "5")
	x.fails(2, "--order descending or ascending expected", "board", "submit", "Trial", "ann", "5", "--rule", "sum")
	x.does("ann: 0.5, rank 1 of 1", "board", "submit", "Trial", "ann", "0.5", "--rule", "sum", "--order", "ascending", "--decimals", "1")
	x.does("ann: 2.0, rank 1 of 1", "board", "submit", "Trial", "ann", "1.5", "--rule", "sum", "--decimals", "1")
	x.does("ann: has 20; it would be 17", "board", "submit", "Trial", "--rule", "sum", "--dry-run", "ann", "--", "-3")
	x.fails(2, "--decimals says how many the board has", "board", "submit", "Trial", "ann", "1.5", "--rule", "sum")
	x.fails(2, "--order: ascending expected, as Trial has", "board", "submit", "Trial", "ann", "5", "--rule", "sum", "--order", "descending")
	x.does("does not have it", "board", "info", "Trial")
	if got := x.boardRows("top", "Trial", "--decimals", "1"); got != `{"rank":1,"key":"ann","score":20,"decimal":"2.0"}` {
		t.Errorf("got %s", got)
	}
	config := file(t, "boards: {Trial: {order: descending}}\n")
	x.does("Trial is descending in the configuration and ascending in the store; it is shown as it is stored", "board", "top", "Trial", "--config", config)
	x.fails(6, "cannot change", "board", "submit", "Trial", "ann", "5", "--config", config)
}

// Wrong input is refused before anything is touched, and the exit code says of which kind it is.
func TestBoardCommandsRefuseWhatIsWrong(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	x.fails(4, "there is no store", "board", "top", "Kills")
	serve(t, x.store)
	x.submit("Kills", "ann", "30")
	limited := file(t, "boards: {Kills: {min: 0, max: 100}}\n")
	for _, c := range []struct {
		code int
		want string
		args string
	}{
		{5, `there is no board "Nope"`, "top Nope"},
		{5, `there is no board "Nope"`, "rank Nope ann"},
		{5, `there is no board "Nope"`, "export Nope -"},
		{5, "bob has no entry on Kills", "rank Kills bob"},
		{5, "bob has no entry on Kills", "around Kills bob"},
		{5, "nobody has written to it", "drop BestTime --confirm BestTime"},
		{5, "nobody has written to it", "hide BestTime ann"},
		{2, "at byte 1", "rank Kills a/b"},
		{2, "empty part", "top a//b"},
		{2, "key 3: ann comes twice", "scores Kills ann bob ann"},
		{2, "--count: 1 to 1000", "top Kills -n 0"},
		{2, "--offset: 0 or more", "top Kills --offset=-1"},
		{2, "0 to 499 expected", "around Kills ann -n 500"},
		{2, "must be one of", "top Kills --ranks olympic"},
		{2, "--decimals: 0 expected, as the configuration says", "top Kills --decimals 2"},
		{2, "SCORE: a decimal number", "submit Kills ann many"},
		{2, "SCORE: at most 0 decimals", "submit Kills ann 1.5"},
		{2, "does not fit into 64 bits", "submit Kills ann 9223372036854775808"},
		{2, "--rule: best expected, as the configuration says", "submit Kills ann 5 --rule sum"},
		{2, `--rule: best, last or sum expected, got "worst"`, "submit Kills ann 5 --rule worst"},
		{2, "--meta: at most 256 bytes", "submit Kills ann 5 --meta " + strings.Repeat("x", 257)},
		{6, "at most 100 expected", "submit Kills ann 101 --config " + limited},
		{6, "0 to 100 expected", "submit Kills ann 101 --dry-run --config " + limited},
		{6, "record an event instead", "submit season/reef/Fish/C1S1 ann 5"},
		{6, "sealed by their seasons", "seal season/reef/Fish/C1S1 --confirm season/reef/Fish/C1S1"},
		{2, "repeat the key with --confirm ann", "remove Kills ann"},
		{2, "repeat how many keys they are with --confirm 2", "remove Kills ann bob"},
		{2, `"bob" was typed, "ann" expected`, "remove Kills ann --confirm bob"},
		{2, "repeat the key with --confirm ann", "ban ann"},
		{2, "repeat the board's name with --confirm Kills", "drop Kills"},
		{2, "repeat the board's name with --confirm Kills", "seal Kills"},
		{2, "boards.Kills.from", "refill Kills"},
		{2, "--limit: 1 to 1000", "audit --limit 0"},
		{2, "no such file", "import Kills nowhere.jsonl"},
		{2, "--resume and --force", "export Kills x --resume --force"},
		{2, "--resume: a file expected", "export Kills - --resume"},
	} {
		x.fails(c.code, c.want, append([]string{"board"}, strings.Fields(c.args)...)...)
	}
	if got := x.boardRows("top", "Kills"); got != `{"rank":1,"key":"ann","score":30}` {
		t.Errorf("changed: %s", got)
	}
}

// case B18. What operators do reaches the store at once, and every daemon soon.
func TestOperatorsModerateBoards(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	x.submit("Kills", "ann", "30", "bob", "20", "cy", "10")
	x.does("would be hidden. Nothing was changed.", "board", "hide", "Kills", "bob", "--dry-run")
	x.does("Kills: 2 keys hidden", "board", "hide", "Kills", "bob", "eve", "-m", "under review", "--actor", "mo")
	x.does("Kills: 0 keys hidden, 1 were before", "board", "hide", "Kills", "bob")
	x.fails(5, "bob is hidden on Kills", "board", "rank", "Kills", "bob")
	if got := x.boardRows("hidden", "Kills"); got != `{"key":"bob","score":20}`+"\n"+`{"key":"eve"}` {
		t.Errorf("got %s", got)
	}
	x.does("the first 1 are shown; --limit 0 shows all, --after bob goes on", "board", "hidden", "Kills", "--limit", "1")
	x.does("bob: 25 is stored; the key has no rank", "board", "submit", "Kills", "bob", "25")
	d.call("BoardService/Standing", `{"board":"Kills","key":"bob"}`).want(t, "false", "found")
	x.does("Kills: 1 key shown", "board", "show", "Kills", "bob")
	d.call("BoardService/Standing", `{"board":"Kills","key":"bob"}`).want(t, "2", "standing", "rank")

	x.does("would be hidden. Nothing was changed.", "board", "ban", "ann", "--dry-run")
	x.does("ann: banned", "board", "ban", "ann", "--confirm", "ann", "-m", "speed hack", "--actor", "mo")
	if got := x.boardRows("bans"); !strings.HasPrefix(got, `{"key":"ann","at":"`) || !strings.HasSuffix(got, `,"actor":"mo","note":"speed hack"}`) {
		t.Errorf("got %s", got)
	}
	x.fails(6, "is banned", "board", "submit", "Kills", "ann", "99")
	d.await("the daemon refuses the key's scores", func() error {
		if code, answer := d.post("BoardService/Submit", `{"board":"Kills","entries":[{"key":"ann","score":99}]}`); code != 403 {
			return fmt.Errorf("%d %s", code, answer)
		}
		return nil
	})
	x.does("could be shown", "board", "unban", "ann", "--dry-run")
	x.does("ann: not banned any more", "board", "unban", "ann")
	if got := x.boardRows("bans"); got != "" {
		t.Errorf("got %s", got)
	}

	x.does("would be removed", "board", "remove", "Kills", "cy", "--dry-run")
	x.does("Kills: 1 entry removed", "board", "remove", "Kills", "cy", "--confirm", "cy", "-m", "wrong board")
	x.does("Kills: 0 entries removed", "board", "remove", "Kills", "cy", "--confirm", "cy")
	x.fails(5, "cy has no entry on Kills", "board", "rank", "Kills", "cy")
	log := x.does("wrong board", "board", "audit").out
	for _, want := range []string{"speed hack", "under review", "unban", "remove", "hide", "mo"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the log:\n%s", want, log)
		}
	}
	if lines := strings.Split(x.boardRows("audit", "--limit", "2"), "\n"); len(lines) != 2 || !strings.Contains(lines[0], `"action":"remove"`) {
		t.Errorf("got %q", lines)
	}
}

func TestBoardsEnd(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	x.submit("Kills", "ann", "30")
	x.does("Nothing was changed.", "board", "seal", "Kills", "--dry-run")
	x.does("Kills: sealed, with 1 entries", "board", "seal", "Kills", "--confirm", "Kills")
	x.does("sealed", "board", "list")
	x.does("Nothing was changed.", "board", "seal", "Kills")
	x.fails(6, "takes no more scores", "board", "submit", "Kills", "ann", "31")
	x.fails(6, "sealed", "board", "hide", "Kills", "ann")
	x.fails(6, "sealed", "board", "remove", "Kills", "ann", "--confirm", "ann")
	d.await("the daemon refuses scores", func() error {
		if code, answer := d.post("BoardService/Submit", `{"board":"Kills","durable":true,"entries":[{"key":"bob","score":1}]}`); code != 400 || !strings.Contains(string(answer), "sealed") {
			return fmt.Errorf("%d %s", code, answer)
		}
		return nil
	})
	x.does("Nothing was changed.", "board", "drop", "Kills", "--dry-run")
	x.does("Kills: dropped, with 1 entries", "board", "drop", "Kills", "--confirm", "Kills")
	x.does("Kills: nobody has written to it", "board", "top", "Kills")
	x.does("ann: 3, rank 1 of 1", "board", "submit", "Kills", "ann", "3")
}

// A board that mirrors profiles takes no submits, and is filled from what is stored.
func TestMirroredBoardsAreRefilled(t *testing.T) {
	config := file(t, `sets: {players: {}}
boards: {Rich: {rule: last, from: {set: players, path: /coins}}}
seasons: {}
`)
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store, "--config", config)
	for i, key := range []string{"ann", "bob"} {
		d.call("ProfileService/Load", `{"set":"players","key":"`+key+`"}`)
		d.call("ProfileService/Transact", `{"set":"players","key":"`+key+`","ops":[{"op":"set","path":"/coins","value":`+strconv.Itoa(7+i)+`}]}`)
		d.call("ProfileService/Release", `{"set":"players","key":"`+key+`"}`)
	}
	if code := d.stop(); code != 0 { // with all scores written
		t.Fatalf("exit %d", code)
	}
	x.fails(6, "shoal board refill", "board", "submit", "Rich", "ann", "5", "--config", config)
	x.does("Rich: dropped", "board", "drop", "Rich", "--confirm", "Rich", "--config", config)
	x.does("Rich: 2 profiles, 2 scores, 0 removed", "board", "refill", "Rich", "--config", config)
	x.does("2 profiles", "board", "refill", "Rich", "--config", config)
	if got := x.boardRows("top", "Rich", "--config", config); got != `{"rank":1,"key":"bob","score":8}`+"\n"+`{"rank":2,"key":"ann","score":7}` {
		t.Errorf("got %s", got)
	}
	x.does("mirrors", "board", "info", "Rich", "--config", config)
}

// Names stand beside keys when the configuration says where they are.
func TestBoardsShowNames(t *testing.T) {
	config := file(t, "sets: {players: {}}\nnames: {set: players, display: /name}\nseasons: {}\n")
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store, "--config", config)
	d.call("ProfileService/Load", `{"set":"players","key":"u_1"}`)
	d.call("ProfileService/Transact", `{"set":"players","key":"u_1","ops":[{"op":"set","path":"/name","value":"Ann\u001b[2J"}]}`)
	d.call("ProfileService/Save", `{"set":"players","key":"u_1"}`)
	d.call("BoardService/Submit", `{"board":"Kills","durable":true,"entries":[{"key":"u_1","score":3},{"key":"u_2","score":2}]}`)
	d.await("the name is known", func() error {
		got := x.boardRows("top", "Kills", "--config", config)
		if got != `{"rank":1,"key":"u_1","name":"Ann\u001b[2J","score":3}`+"\n"+`{"rank":2,"key":"u_2","score":2}` {
			return errors.New(got)
		}
		return nil
	})
	x.does("Ann\uFFFD[2J", "board", "top", "Kills", "--config", config)
}

func TestTheStoreIsChecked(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	x.submit("Kills", "ann", "30", "bob", "20")
	x.does("1 board with 2 entries checked: 0 wrong", "store", "check")
	x.fails(5, `there is no board "Nope"`, "store", "check", "--board", "Nope")
	x.fails(2, "--board 1", "store", "check", "--board", "a//b")
	d.kill()
	damage(t, filepath.Join(x.store, "boards.db"))
	a := x.run("store", "check", "--board", "Kills")
	if a.code != 1 || !strings.Contains(a.out, "Kills: ") || !strings.Contains(a.err, "1 board is wrong; --repair") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	x.does("1 board with 2 entries checked: 0 wrong, 1 put right", "store", "check", "--repair")
	if got := strings.TrimSpace(x.run("store", "check", "--json").out); !strings.HasPrefix(got, `{"board":"Kills","entries":2}`+"\n"+`{"boards":1,"entries":2,"wrong":0,"fixed":0,"parts":[`) {
		t.Errorf("got %s", got)
	}
	x.does("2 of 2 entries", "board", "top", "Kills")
}

// damage makes the counts of a file's boards wrong.
func damage(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "UPDATE boards SET count = count + 100")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
