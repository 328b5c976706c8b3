package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	main "github.com/shoalworks/shoal/cmd/shoal"
)

// The address of the fast part comes from flags, the environment or the file, in this order.
func TestWhereThePartsAre(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shoal.yaml")
	if err := os.WriteFile(file, []byte("store: postgres://file/db\nfast: redis://file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path  string
		env   []string
		flags map[string]any
		want  string
	}{
		{"", nil, nil, "./game and "},
		{file, nil, nil, "postgres://file/db and redis://file"},
		{file, []string{"SHOAL_FAST=redis://env"}, nil, "postgres://file/db and redis://env"},
		{file, []string{"SHOAL_FAST=redis://env", "SHOAL_STORE=./env"}, map[string]any{"fast": "redis://flag"}, "./env and redis://flag"},
	} {
		got, err := main.Addresses(c.path, c.env, c.flags)
		if err != nil || got.Store+" and "+got.Fast != c.want {
			t.Errorf("%+v, %v; want %s", got, err, c.want)
		}
	}
}

// Whatever is wrong with an address, a command says so without its password, and before it does
// anything.
func TestNoCommandShowsAPassword(t *testing.T) {
	for _, c := range []struct {
		code  int
		store string
		fast  string
		want  string
		args  []string
	}{
		{4, "redis://u:hunter2@127.0.0.1:1/0", "", "name a durable store", []string{"profile", "get", "u"}},
		{4, "redis://u:hunter2@127.0.0.1:1/0", "", "name a durable store", []string{"store", "check"}},
		{4, "mysql://u:hunter2@127.0.0.1:1/0", "", "no driver for", []string{"board", "list"}},
		{4, "memory:", "redis://u:hunter2@127.0.0.1:1", "both parts are there", []string{"season", "show"}},
		{4, "memory:", "redis://u:hunter2@127.0.0.1:bad?password=hunter2", "both parts are there", []string{"store", "check"}},
		{2, "postgres://u:hunter2@127.0.0.1/db", "", "a folder, or memory:, expected", []string{"bench", "boards"}},
	} {
		x := tool{t: t, store: c.store}
		args := c.args
		if c.fast != "" {
			args = append(args, "--fast", c.fast)
		}
		a := x.run(args...)
		if a.code != c.code || !strings.Contains(a.err, c.want) || strings.Contains(a.out+a.err, "hunter2") {
			t.Errorf("%v on %s: exit %d, want %d and %q\n%s%s", args, c.store, a.code, c.code, c.want, a.out, a.err)
		}
	}
}

// A folder that is not there is refused, as the store and as its fast part.
func TestAStoreThatIsNotThere(t *testing.T) {
	x := tool{t: t, store: filepath.Join(t.TempDir(), "game")}
	x.fails(4, "--store", "store", "check")
	y := tool{t: t, store: t.TempDir()}
	y.fails(4, "--fast", "store", "check", "--fast", filepath.Join(t.TempDir(), "fast"))
}
