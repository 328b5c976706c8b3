package main_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/store"
)

// reefOnDemand is the default series, of which no daemon closes a season by itself, however long
// a test takes.
const reefOnDemand = `
seasons:
  reef:
    set: players
    epoch: "2026-08-11T00:00:00Z"
    length: 1080h
    closeEvery: -1s
    stats:
      - {name: fish, kind: sum, on: [catch], each: 1}
      - {name: coins, kind: sum, on: [coins]}
      - {name: experience, kind: sum, on: [experience]}
      - {name: streak, kind: run, on: [catch], resetOn: [lose]}
      - {name: bestStreak, kind: best, of: streak}
    boards:
      - {name: Fish, stat: fish, title: SEA KING}
      - {name: Coins, stat: coins, title: GOLD SOVEREIGN}
      - {name: Experience, stat: experience, title: GRAND MARINER}
      - {name: Streak, stat: bestStreak, title: RELENTLESS KING}
`

// calendar is one of seasons of 100 hours, of which the second is half over, with 2 days and 2
// hours left: the flags that say so, and its beginning.
func calendar(t *testing.T) (flags []string, epoch string) {
	t.Helper()
	epoch = time.Now().UTC().Add(-149*time.Hour - 30*time.Minute).Format(time.RFC3339)
	return []string{"--season-length", "100h", "--season-epoch", epoch, "--config", file(t, reefOnDemand)}, epoch
}

// keep stores a record as it is.
func keep(t *testing.T, folder, key, value string) {
	t.Helper()
	st, err := shoal.Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	err = st.Durable().Commit(t.Context(), store.Tx{{Key: key, Op: store.Put, Value: []byte(value), Version: store.VersionFrom(7)}})[0]
	if err := errors.Join(err, st.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// firstSeason is the record of a series that began with the first season of a calendar.
func firstSeason(epoch string) string {
	return fmt.Sprintf(`{"format":1,"k":0,"season":"C1S1","epoch":%q,"length":"100h0m0s","perCycle":20}`, epoch)
}

// played is a store in whose first season ann, bob and cy caught 3, 2 and 1 fish. They were
// offline when it ended; then they came by, and left. A daemon is running.
func played(t *testing.T) (x seasonTool, d *daemon) {
	t.Helper()
	flags, epoch := calendar(t)
	x = seasonTool{tool{t: t, store: filepath.Join(t.TempDir(), "game")}, flags}
	keep(t, x.store, "season/reef/first", firstSeason(epoch))
	for i, key := range []string{"ann", "bob", "cy"} {
		x.stdin += fmt.Sprintf(`{"key":%q,"value":{"Data":{"seasons":{"reef":{"season":"C1S1","stats":{"fish":%d}}}},"MetaData":{"MetaTags":{},"SessionLoadCount":1,"ProfileCreateTime":1700000000},"GlobalUpdates":[0,[]]}}`+"\n", key, 3-i)
	}
	x.does("3 read: 3 written", "profile", "import", "-", "--format", "roblox")
	d = serve(t, x.store, flags...)
	for _, key := range []string{"ann", "bob", "cy"} {
		d.call("ProfileService/Load", `{"set":"players","key":"`+key+`"}`)
		d.call("ProfileService/Release", `{"set":"players","key":"`+key+`"}`) // its values reach the boards first
	}
	return x, d
}

// seasonTool runs shoal season.
type seasonTool struct {
	tool
	flags []string
}

func (x seasonTool) on(args string, more ...string) []string {
	flags := x.flags
	if strings.Contains(args, "--config") { // another one
		flags = flags[:len(flags)-2]
	}
	return append(append([]string{"season"}, append(strings.Fields(args), more...)...), flags...)
}

// rows are the lines that a command prints with --json.
func (x seasonTool) rows(args string) string {
	x.t.Helper()
	a := x.run(x.on(args, "--json")...)
	if a.code != 0 {
		x.t.Errorf("shoal season %s: exit %d\n%s", args, a.code, a.err)
	}
	return strings.TrimSpace(a.out)
}

// has fails the test when a part is missing in what a command prints.
func (x seasonTool) has(args string, parts ...string) {
	x.t.Helper()
	a := x.run(x.on(args)...)
	for _, part := range parts {
		if a.code != 0 || !strings.Contains(a.out, part) {
			x.t.Errorf("shoal season %s: exit %d\n%s%s\nwant %q", args, a.code, a.out, a.err, part)
		}
	}
}

// A season's way on the command line, beside a running daemon: it is shown, closed, read, and
// corrected, and the daemon sees it all.
func TestASeasonOnTheCommandLine(t *testing.T) {
	x, d := played(t)
	x.has("show", "season      C1S2 of reef: Cycle 1 Season 2, number 2\n", " UTC, in 2 days 2 hours\n", "closed      none; C1S1 was the first that was played\n",
		"not closed  C1S1: it is due, and no node has closed it yet\n", "Fish (SEA KING): nobody is on it\nCoins (")
	d.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	d.call("SeasonService/Record", `{"season":"reef","set":"players","key":"ann","event":"catch"}`)
	d.call("ProfileService/Release", `{"set":"players","key":"ann"}`)
	x.has("show --board Fish", "\nFish (SEA KING): 1 player\nRANK  KEY  SCORE\n1     ann  1\n")
	x.has("show --board Fish -n 0", "\nFish (SEA KING): 1 player\n")

	if got, want := x.rows("close --dry-run"), `{"season":"C1S1","closed":false,"here":false,"why":"it is due, and no node has closed it yet"}`; got != want {
		t.Errorf("got %s", got)
	}
	x.fails(5, "shoal season show tells what waits", x.on("results C1S1")...)
	if got, want := x.rows("close"), `{"season":"C1S1","closed":true,"here":true}`; got != want {
		t.Errorf("got %s", got)
	}
	x.has("close", "Nothing is due.\n")
	x.has("show", "closed  up to C1S1; shoal season results shows them\n")
	// A daemon that looked before believes for 30 s that there was no result.
	serve(t, x.store, x.flags...).call("SeasonService/Results", `{"season":"reef","id":"C1S1"}`).want(t, "ann", "boards", 0, "entries", 0, "key")

	x.has("results", "C1S1    ", "Fish        3        ann     3\n", "Coins       0        –")
	x.has("results C1S1 --board Fish", "closed  ", " by cli-", "\nFish (SEA KING): 3 players\nRANK  KEY  SCORE\n1     ann  3\n2     bob  2\n3     cy   1\n")
	x.has("results C1S1 --board Fish -n 1", "1     ann  3\nand 2 players; -n 0 shows all that the result has\n")
	if got := x.rows("results"); !strings.Contains(got, `"unplayed":false,"corrections":0,"winners":[{"board":"Fish","title":"SEA KING","total":3,"winner":{"rank":1,"key":"ann","score":3}},{"board":"Coins","title":"GOLD SOVEREIGN","total":0},`) {
		t.Errorf("got %s", got)
	}
	if got := x.rows("results --before C1S1"); got != "" {
		t.Errorf("got %s", got)
	}
	x.has("results --before C1S1", "no season before C1S1 is closed\n")
	if a := x.run(x.on("results -n 1")...); a.code != 0 || a.err != "" {
		t.Errorf("there are no more, and yet: exit %d, %s", a.code, a.err)
	}
	x.has("close --dry-run", "No season waits for its result. Nothing was changed.\n")
}

func TestClosedSeasonsAreCorrectedOnTheCommandLine(t *testing.T) {
	x, _ := played(t)
	x.has("close", "C1S1: closed\n")
	const moves = "Fish (SEA KING)\nKEY  SCORE  FROM  TO\nann  3      #1    –\nbob  2      #2    #1\ncy   1      #3    #2\n"
	x.has("disqualify C1S1 ann --dry-run", moves+"Nothing was changed.\n")
	x.has("corrections C1S1", "C1S1 has no corrections: it stands as it was closed\n")
	x.has("disqualify C1S1 ann --confirm ann -m bot --actor mo", moves+"C1S1: done; it has 1 correction now\n")
	x.has("disqualify C1S1 ann --confirm ann --reason again --by mo", "C1S1: it was so before; nothing was changed\n")
	x.has("results C1S1 --board Fish", "corrections  1; shoal season corrections C1S1 lists them\n", "1     bob  2\n2     cy   1\ndisqualified: ann, who was 1 with 3\n")
	d := serve(t, x.store, x.flags...) // others look for corrections every 30 s
	d.call("SeasonService/Results", `{"season":"reef","id":"C1S1"}`).want(t, "bob", "boards", 0, "entries", 0, "key")
	d.call("ProfileService/Load", `{"set":"players","key":"bob"}`)
	d.call("ProfileService/Save", `{"set":"players","key":"bob"}`)
	x.has("titles bob", "bob in C1S2 (Cycle 1 Season 2), with 2 days 2 hours left\n", "as it is stored; what node-", "nothing was counted in it yet\n", "TITLE             SEASON  BOARD  SCORE\n#1 SEA KING (S1)  C1S1    Fish   2\n")
	d.call("ProfileService/Release", `{"set":"players","key":"bob"}`)
	if got := x.rows("titles bob"); !strings.HasPrefix(got, `{"key":"bob","season":"C1S2","stats":{},"boards":[{"board":"Fish","title":"SEA KING","total":0},`) ||
		!strings.HasSuffix(got, `"titles":[{"season":"C1S1","board":"Fish","rank":1,"score":2,"text":"#1 SEA KING (S1)","corrections":1}]}`) {
		t.Errorf("got %s", got)
	}
	if got := x.rows("reinstate C1S1 ann --board Fish --dry-run"); got != `{"season":"C1S1","corrections":2,"changed":true,"dryRun":true,"boards":[{"board":"Fish","title":"SEA KING","moves":[`+
		`{"key":"ann","score":3,"from":0,"to":1},{"key":"bob","score":2,"from":1,"to":2},{"key":"cy","score":1,"from":2,"to":3}]}]}` {
		t.Errorf("got %s", got)
	}
	x.has("reinstate C1S1 ann --board Fish --confirm ann -m brother", "C1S1: done; it has 2 corrections now\n")
	lines := strings.Split(x.rows("corrections C1S1"), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], `"action":"disqualify","key":"ann","boards":[],"actor":"mo","note":"bot"}`) || !strings.Contains(lines[1], `"action":"reinstate","key":"ann","boards":["Fish"]`) {
		t.Errorf("got %q", lines)
	}
	x.has("corrections C1S1", "disqualify  ann  all     bot\n", "reinstate   ann  Fish    brother\n")
}

// The calendar follows from the configuration and the store's clock.
func TestTheCalendarOnTheCommandLine(t *testing.T) {
	x, _ := played(t)
	rows := strings.Split(x.rows("calendar -n 2"), "\n")
	if len(rows) != 2 || !strings.HasPrefix(rows[0], `{"season":"C1S2","name":"Cycle 1 Season 2","number":2,"start":"`) || !strings.HasSuffix(rows[0], `,"current":true}`) || !strings.HasSuffix(rows[1], `,"current":false}`) {
		t.Errorf("got %q", rows)
	}
	x.has("calendar -n 3", "SEASON  NAME              BEGINS (UTC) ", "  now, 2 days 2 hours left", "C1S4    Cycle 1 Season 4  ")
	x.has("calendar --from C1S1 -n 1", "  over\n")
	if rows := strings.Split(x.rows("calendar --from C2S1 -n 3"), "\n"); len(rows) != 3 || !strings.Contains(rows[0], `{"season":"C2S1","name":"Cycle 2 Season 1","number":21,`) {
		t.Errorf("got %q", rows)
	}
	y := seasonTool{tool{t: t, store: filepath.Join(t.TempDir(), "game")}, nil}
	keep(t, y.store, "nothing", "1")
	if got, want := y.rows("calendar --at 2027-01-01"), `{"season":"C1S4","name":"Cycle 1 Season 4","number":4,"start":"2026-12-24T00:00:00Z","end":"2027-02-07T00:00:00Z","remainingSeconds":3196800,"current":false}`; strings.Replace(got, `"current":true`, `"current":false`, 1) != want {
		t.Errorf("got %s", got)
	}
	y.has("calendar --at 2027-01-01T12:00:00Z", "C1S4    Cycle 1 Season 4  2026-12-24 00:00:00  2027-02-07 00:00:00  36 days 12 hours left then\n")
	if got, want := y.rows("calendar --from 2029-02-01 -n 1"), `{"season":"C2S1","name":"Cycle 2 Season 1","number":21,"start":"2029-01-27T00:00:00Z","end":"2029-03-13T00:00:00Z","current":false}`; got != want {
		t.Errorf("got %s", got)
	}
	y.has("show", "nobody has played yet")
	y.has("results", "no season is closed yet")
}

// Wrong input is refused before anything is touched, and the exit code says of which kind it is.
func TestSeasonCommandsRefuseWhatIsWrong(t *testing.T) {
	x, _ := played(t)
	x.has("close", "C1S1: closed\n")
	none := tool{t: t, store: filepath.Join(t.TempDir(), "none")}
	none.fails(4, "there is no store", "season", "show")
	x.fails(2, "another calendar: stored are epoch", "season", "show")
	x.fails(2, "--season-length and --season-epoch if its daemons have them", "season", "close")
	two := file(t, "sets: {players: {}}\nseasons: {a: {set: players, epoch: 2026-08-11T00:00:00Z, length: 1h, stats: [{name: n, kind: sum, on: [e]}]}, b: {set: players, epoch: 2026-08-11T00:00:00Z, length: 1h, stats: [{name: n, kind: sum, on: [e]}]}}\n")
	for _, c := range []struct {
		code int
		want string
		args string
	}{
		{5, `there is no season "x"`, "show --season x"},
		{2, "--season: the name of a series expected; there are a, b", "show --config " + two},
		{5, `--board: reef has no board "Bones"; there are Fish, Coins`, "show --board Bones"},
		{2, "--count: 0 or more", "show --count=-1"},
		{2, "--count: 1 to 1000", "calendar -n 0"},
		{2, "--at and --from", "calendar --at 2027-01-01 --from C1S1"},
		{2, "--at: a time such as", "calendar --at soon"},
		{2, "--from: the id of a season", "calendar --from C1S21"},
		{2, "--count: 0 or more", "results --count=-1"},
		{2, "--before: without", "results C1S1 --before C1S2"},
		{2, "an id such as C1S2 expected", "results 2026-08"},
		{2, "an id such as C1S2 expected", "results --before 2026-08"},
		{5, "no result yet: C1S2", "results C1S2"},
		{5, `--board: C1S1 had no board "Bones"; there are Fish, Coins`, "results C1S1 --board Bones"},
		{5, `--board: reef has no board "Bones"; there are Fish, Coins`, "results --board Bones"},
		{5, "no such profile", "titles nobody"},
		{2, "at byte 1", "titles a/b"},
		{2, "at byte 1", "disqualify C1S1 a/b --dry-run"},
		{2, "say why", "disqualify C1S1 ann --confirm ann"},
		{2, "repeat the key with --confirm ann", "disqualify C1S1 ann -m bot"},
		{2, `"bob" was typed, "ann" expected`, "reinstate C1S1 ann -m bot --confirm bob"},
		{5, "no place in the result", "disqualify C1S1 zoe -m bot --confirm zoe"},
		{5, "no place in the result", "disqualify C1S1 zoe --dry-run"},
		{5, "no place in the result", "disqualify C1S1 ann --board Coins --dry-run"},
		{5, `--board: C1S1 had no board "Bones"`, "disqualify C1S1 ann --board Bones --dry-run"},
		{5, "no result yet: C1S2", "reinstate C1S2 ann --dry-run"},
		{5, "no result yet: C1S2", "corrections C1S2"},
		{2, "an id and --without go together", "close C1S1"},
		{2, "an id and --without go together", "close --without Fish"},
		{2, "say why", "close C1S2 --without Fish --confirm C1S2"},
		{2, "repeat the season with --confirm C1S2", "close C1S2 --without Fish -m gone"},
		{6, "not due: C1S2", "close C1S2 --without Fish --confirm C1S2 -m gone"},
		{5, "no such board", "close C1S2 --without Bones --confirm C1S2 -m gone"},
	} {
		x.fails(c.code, c.want, x.on(c.args)...)
	}
	x.has("close C1S1 --without Fish --confirm C1S1 -m gone", "C1S1: has its result already; nothing was changed.")
	x.has("corrections C1S1", "no corrections")
}

// A season that cannot be closed is told, with the reason, and the exit code says so.
func TestASeasonThatWaitsOnTheCommandLine(t *testing.T) {
	flags, epoch := calendar(t)
	x := seasonTool{tool{t: t, store: filepath.Join(t.TempDir(), "game")}, flags}
	keep(t, x.store, "season/reef/first", firstSeason(epoch))
	keep(t, x.store, "season/reef/C1S1/boards", `{"format":99,"season":"C1S1"}`)
	x.has("show", "not closed  C1S1: season: record of a newer format: register of format 99\n")
	a := x.run(x.on("close")...)
	if a.code != 1 || !strings.Contains(a.out, "C1S1: waits: season: record of a newer format") || !strings.Contains(a.err, "1 season could not be closed; daemons try again") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	if a := x.run(x.on("close", "--json")...); a.code != 1 || !strings.HasPrefix(a.out, `{"season":"C1S1","closed":false,"here":false,"why":"season: record of`) {
		t.Errorf("exit %d\n%s", a.code, a.out)
	}
}
