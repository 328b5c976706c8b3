package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tool runs shoal on a store, with standard input.
type tool struct {
	t     *testing.T
	store string
	stdin string
}

// answer is what a command has printed, and its exit code.
type answer struct {
	out, err string
	code     int
}

func (x tool) run(args ...string) answer {
	x.t.Helper()
	path, err := binary()
	if err != nil {
		x.t.Fatal(err)
	}
	cmd := exec.CommandContext(x.t.Context(), path, slices.Insert(args, 2, "--store", x.store)...)
	cmd.Dir = x.t.TempDir()
	cmd.Env = append(os.Environ(), "SHOAL_BEAT=1s")
	cmd.Stdin = strings.NewReader(x.stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		x.t.Fatal(err)
	}
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// does runs a command that must succeed and say what is wanted.
func (x tool) does(want string, args ...string) answer {
	x.t.Helper()
	a := x.run(args...)
	if a.code != 0 || !strings.Contains(a.out+a.err, want) {
		x.t.Errorf("shoal %s: exit %d\n%s%s\nwant %q", strings.Join(args, " "), a.code, a.out, a.err, want)
	}
	return a
}

// fails runs a command that must fail with the code, and say what is wanted.
func (x tool) fails(code int, want string, args ...string) {
	x.t.Helper()
	if a := x.run(args...); a.code != code || !strings.Contains(a.err, want) {
		x.t.Errorf("shoal %s: exit %d\n%s%s\nwant exit %d and %q", strings.Join(args, " "), a.code, a.out, a.err, code, want)
	}
}

// value is what get prints at a path.
func (x tool) value(key, path string) string {
	x.t.Helper()
	return strings.TrimSpace(x.run("profile", "get", key, path, "--json").out)
}

// A player is online: what support does is done by the server that holds the profile, and the
// player plays on. Then they leave, and it is done in the store.
func TestSupportWorksOnlineAndOffline(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	d.call("ProfileService/Load", `{"set":"players","key":"u_42"}`)
	x.does("by the server that holds it, revision 1", "profile", "set", "u_42", "/coins", "500", "-m", "refund of order 17", "--actor", "ann")
	x.does("in revision 1", "profile", "set", "u_42", "/coins", "500", "--id", idOf(t, x), "-m", "again")
	x.fails(6, `"/hat/size": op 1, increment: nothing at this path`, "profile", "edit", "u_42",
		`[{"op":"increment","path":"/coins","by":-50,"min":0},{"op":"increment","path":"/hat/size","by":1}]`)
	x.does("sent as sorry-1", "mail", "send", "u_42", "--id", "sorry-1", "--op", `{"op":"increment","path":"/coins","by":7}`)
	x.does("was sent before", "mail", "send", "u_42", "--id", "sorry-1", "--op", `{"op":"increment","path":"/coins","by":7}`)
	// Mail is handled at the holder's next look into the box, or by the next session: a release
	// at once may leave it waiting.
	d.await("the holder handles the mail", func() error {
		if got := x.value("u_42", "/coins"); got != "507" {
			return fmt.Errorf("coins: %s, 507 expected", got)
		}
		return nil
	})
	d.call("ProfileService/Release", `{"set":"players","key":"u_42"}`)
	x.does("in the store, since nobody holds it", "profile", "edit", "u_42", `{"op":"append","path":"/bag","items":["cod"]}`, `{"op":"unset","path":"/coins"}`)
	log := x.does("refund of order 17", "profile", "history", "u_42").out
	for _, want := range []string{"operator ann", "mail/sorry-1", "/bag"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the history:\n%s", want, log)
		}
	}
}

// idOf is the id of the newest change, which makes it safe to repeat.
func idOf(t *testing.T, x tool) string {
	t.Helper()
	var entry struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(x.run("profile", "history", "u_42", "--limit", "1", "--json").out), &entry); err != nil {
		t.Error(err)
	}
	return entry.ID
}

// Wrong input is refused before anything is touched, and the exit code says of which kind it is.
func TestToolsRefuseWhatIsWrong(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	x.fails(4, "there is no store", "profile", "get", "u")
	d := serve(t, x.store)
	d.call("ProfileService/Load", `{"set":"players","key":"u"}`)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{5, "no such profile", []string{"profile", "get", "nobody"}},
		{5, "nothing at /coins", []string{"profile", "get", "u", "/coins"}},
		{5, "no such profile", []string{"profile", "set", "nobody", "/coins", "1"}},
		{5, "no such version", []string{"profile", "versions", "u", "3"}},
		{2, "at byte 1", []string{"profile", "get", "u/x"}},
		{2, "at byte 1", []string{"profile", "erase", "u/x", "--confirm", "u/x"}},
		{2, "at byte 1", []string{"mail", "send", "u/x", "--kind", "gift"}},
		{2, "VALUE: JSON expected", []string{"profile", "set", "u", "/coins", "many"}},
		{2, "operation 2", []string{"profile", "edit", "u", `{"op":"unset","path":"/a"}`, `{"op":"fly"}`}},
		{2, "at least one operation", []string{"profile", "edit", "u"}},
		{2, "--kind of a handler, or --op", []string{"mail", "send", "u"}},
		{2, "--body", []string{"mail", "send", "u", "--kind", "gift", "--body", "{"}},
		{5, "no such profile", []string{"mail", "send", "nobody", "--kind", "gift"}},
		{2, "repeat the key with --confirm u", []string{"profile", "restore", "u", "3"}},
		{2, `"v" was typed, "u" expected`, []string{"profile", "restore", "u", "3", "--confirm", "v"}},
		{2, "no such file", []string{"profile", "import", "nowhere.jsonl"}},
	} {
		x.fails(c.code, c.want, c.args...)
	}
}

// A set goes through a file into another store, and back as records of Roblox libraries.
func TestSetsMoveThroughFiles(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	for _, key := range []string{"ann", "bob", "cy"} {
		d.call("ProfileService/Load", `{"set":"players","key":"`+key+`"}`)
		d.call("ProfileService/Transact", `{"set":"players","key":"`+key+`","ops":[{"op":"set","path":"/coins","value":3}]}`)
		d.call("ProfileService/Release", `{"set":"players","key":"`+key+`"}`)
	}
	folder := t.TempDir()
	file, lua := filepath.Join(folder, "players.jsonl"), filepath.Join(folder, "players.lua.jsonl")
	x.does("3 profiles exported", "profile", "export", file)
	x.fails(2, "is there already", "profile", "export", file)
	x.does("3 profiles exported", "profile", "export", file, "--force")
	x.does("1 profiles exported", "profile", "export", filepath.Join(folder, "some.jsonl"), "--prefix", "b")
	x.does("3 profiles exported", "profile", "export", lua, "--format", "roblox")

	for _, c := range []struct{ name, file, format string }{{"shoal", file, "shoal"}, {"roblox", lua, "roblox"}} {
		t.Run(c.name, func(t *testing.T) {
			y := tool{t: t, store: filepath.Join(t.TempDir(), "copy")}
			serve(t, y.store)
			y.does("3 would be written", "profile", "import", c.file, "--format", c.format, "--dry-run")
			y.does("3 read: 3 written", "profile", "import", c.file, "--format", c.format)
			y.does("3 there already", "profile", "import", c.file, "--format", c.format)
			if got := y.value("bob", "/coins"); got != "3" {
				t.Errorf("coins: %s", got)
			}
		})
	}
}

// Broken lines are named by their numbers; the rest goes on only when that was asked for.
func TestBrokenLinesOfAnImportAreNamed(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	serve(t, x.store)
	x.stdin = `{"key":"ann","value":{"Data":{"coins":1},"MetaData":{"MetaTags":{},"SessionLoadCount":2,"ProfileCreateTime":1700000000,"LastUpdate":1700000100},"GlobalUpdates":[0,[]]}}
{"key":"bob","value":{"Data":7}}
not json
{"key":"cy","value":{"Data":{"coins":2},"MetaData":{"MetaTags":{},"SessionLoadCount":1},"GlobalUpdates":[0,[]]}}
`
	if a := x.run("profile", "import", "-", "--format", "roblox", "--dry-run"); a.code != 1 || strings.Contains(a.err, "--after") {
		t.Errorf("a dry run wrote nothing that may be left out afterwards: exit %d\n%s", a.code, a.err)
	}
	x.fails(1, "--after 1 goes on", "profile", "import", "-", "--format", "roblox")
	a := x.run("profile", "import", "-", "--format", "roblox", "--keep-going")
	if a.code != 1 || !strings.Contains(a.err, "line 2: ") || !strings.Contains(a.err, "line 3: ") || !strings.Contains(a.out, "4 read: 1 written, 0 replaced, 1 there already, 0 left as they are, 0 held, 0 erased, 2 refused") {
		t.Errorf("exit %d\n%s%s", a.code, a.out, a.err)
	}
	if got := x.value("cy", "/coins"); got != "2" {
		t.Errorf("coins behind the broken lines: %s", got)
	}
}

// A player's session is ended by an operator; later their data is erased, with their entries on
// the boards. Both want the key repeated.
func TestOperatorsEndSessionsAndErase(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	d := serve(t, x.store)
	d.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	d.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":3}]}`)
	d.call("ProfileService/Sync", `{"set":"players","key":"ann"}`)
	d.call("BoardService/Submit", `{"board":"Kills","entries":[{"key":"ann","score":7}]}`)
	x.fails(2, "repeat the key with --confirm ann", "profile", "release", "ann")
	x.does("nothing was changed", "profile", "release", "ann", "--dry-run")
	x.does("ann: free", "profile", "release", "ann", "--confirm", "ann", "-m", "stuck")
	if got := x.value("ann", "/coins"); got != "3" {
		t.Errorf("coins: %s: what was synced is lost", got)
	}
	x.does("nobody", "profile", "release", "ann")
	d.await("the score is on the board", func() error {
		if code, answer := d.post("BoardService/Top", `{"board":"Kills"}`); code != 200 || !bytes.Contains(answer, []byte("ann")) {
			return errors.New(string(answer))
		}
		return nil
	})
	x.fails(2, "repeat the key with --confirm ann", "profile", "erase", "ann")
	x.does("Nothing was erased", "profile", "erase", "ann", "--dry-run")
	x.does("ann: erased", "profile", "erase", "ann", "--confirm", "ann")
	x.fails(5, "no such profile", "profile", "get", "ann")
	d.await("the board forgets", func() error {
		if _, answer := d.post("BoardService/Top", `{"board":"Kills"}`); bytes.Contains(answer, []byte("ann")) {
			return errors.New(string(answer))
		}
		return nil
	})
	x.does("there was no profile", "profile", "erase", "nobody", "--confirm", "nobody")
}
