package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// copyOf runs store copy between two stores.
func copyOf(t *testing.T, from, to string, args ...string) answer {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"store", "copy", "--from", from, "--to", to}, args...)...)
	cmd.Env = append(os.Environ(), "SHOAL_COPY_FAST_FROM=")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // its exit code is in the answer
	return answer{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

func wantCode(t *testing.T, a answer, code int, want string) {
	t.Helper()
	if a.code != code || !strings.Contains(a.out+a.err, want) {
		t.Errorf("exit %d, want %d and %q\n%s%s", a.code, code, want, a.out, a.err)
	}
}

// A fleet moves to another store: copied while it plays, finished when it has ended, and played
// on there. The old store is then safe from being copied over the new one.
func TestAFleetMovesToAnotherStore(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	y := tool{t: t, store: filepath.Join(t.TempDir(), "moved")}
	d := serve(t, x.store)
	for _, key := range []string{"ann", "bob"} {
		d.call("ProfileService/Load", `{"set":"players","key":"`+key+`"}`)
		d.call("ProfileService/Transact", `{"set":"players","key":"`+key+`","ops":[{"op":"set","path":"/coins","value":3}]}`)
	}
	d.call("ProfileService/Release", `{"set":"players","key":"ann"}`)
	d.call("BoardService/Submit", `{"board":"Kills","durable":true,"entries":[{"key":"ann","score":7},{"key":"bob","score":7}]}`)

	wantCode(t, copyOf(t, x.store, y.store, "--dry-run"), 8, "would be copied")
	a := copyOf(t, x.store, y.store)
	wantCode(t, a, 8, "held: profile/players/bob: by node-")
	wantCode(t, a, 8, "node runs on the source, 1 profile is held")
	d.call("ProfileService/Transact", `{"set":"players","key":"bob","ops":[{"op":"set","path":"/coins","value":4}]}`)
	d.stop()
	var sum struct {
		Records  struct{ Copied, Same int }
		Complete bool
	}
	a = copyOf(t, x.store, y.store, "--prune", "--json")
	if err := json.Unmarshal([]byte(a.out), &sum); err != nil || a.code != 0 || !sum.Complete || sum.Records.Copied == 0 || sum.Records.Same == 0 {
		t.Errorf("exit %d, %+v, %v\n%s%s", a.code, sum, err, a.out, a.err)
	}
	wantCode(t, copyOf(t, x.store, y.store, "--prune"), 0, "The copy is complete.")

	moved := serve(t, y.store)
	wantCode(t, copyOf(t, x.store, y.store), 6, "nodes run on the target")
	if got := y.value("bob", "/coins"); got != "4" {
		t.Errorf("coins of bob: %s", got)
	}
	moved.call("ProfileService/Load", `{"set":"players","key":"ann"}`)
	moved.call("ProfileService/Transact", `{"set":"players","key":"ann","ops":[{"op":"set","path":"/coins","value":1000}]}`)
	if got := y.boardRows("top", "Kills"); got != x.boardRows("top", "Kills") || !strings.Contains(got, `"key":"ann"`) {
		t.Errorf("the board: %s", got)
	}
	moved.stop()
	wantCode(t, copyOf(t, x.store, y.store, "--prune"), 1, "conflict: profile/players/ann")
	if got := y.value("ann", "/coins"); got != "1000" {
		t.Errorf("coins of ann: %s", got)
	}
	wantCode(t, copyOf(t, x.store, y.store, "--overwrite"), 2, "repeat the target with --confirm "+y.store)
	wantCode(t, copyOf(t, x.store, y.store, "--overwrite", "--confirm", y.store), 0, "")
	if got := y.value("ann", "/coins"); got != "3" {
		t.Errorf("coins of ann: %s", got)
	}
}

// Wrong addresses are refused before anything is opened, and no password is shown.
func TestCopiesThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	wantCode(t, copyOf(t, folder, folder), 2, "are the same store")
	wantCode(t, copyOf(t, folder, "sqlite:"+folder), 6, "are the same store")
	wantCode(t, copyOf(t, "", folder), 2, "--from and --to are needed")
	wantCode(t, copyOf(t, filepath.Join(folder, "nowhere"), folder), 4, "there is no store")
	wantCode(t, copyOf(t, folder, filepath.Join(folder, "to"), "--rate", "-1"), 2, "--rate")
	a := copyOf(t, folder, "redis://u:hunter2@127.0.0.1:1")
	wantCode(t, a, 4, "name a durable store")
	if strings.Contains(a.out+a.err, "hunter2") {
		t.Errorf("a password in %s%s", a.out, a.err)
	}
}
