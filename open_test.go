package shoal_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// An address that is refused says why and what there is, and never a password.
func TestAddressesThatAreRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "game")
	for _, c := range []struct{ store, fast, want string }{
		{"", "", "is empty"},
		{"mysql://root:hunter2@h/db", "", `no driver for "mysql"`},
		{"memory:there", "", "takes no path"},
		{"redis://:hunter2@127.0.0.1:1", "", "name a durable store"},
		{"rediss://u:hunter2@127.0.0.1:1", "memory:", "may forget what it has acknowledged"},
		{"redis+cluster://u:hunter2@127.0.0.1:1", "", "as the fast part"},
		{folder, "mongo://u:hunter2@h", `no driver for "mongo"`},
		{folder, "memory:", "both parts are there, or none"},
		{"memory:", "redis://u:hunter2@127.0.0.1:1", "both parts are there, or none"},
		{"memory:", folder, "both parts are there, or none"},
		{"postgres://u:hunter2@127.0.0.1:port/db", "", "postgres://***@127.0.0.1"},
	} {
		st, err := shoal.OpenWith(t.Context(), shoal.Addresses{Store: c.store, Fast: c.fast})
		if err == nil || st != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s and %s: %v, want %q", c.store, c.fast, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a password in %v", err)
		}
	}
}

// The fast engine plays all but the durable part; what is not used of the other one ends, too.
func TestAFastEngineTakesAllButTheDurablePart(t *testing.T) {
	ctx := t.Context()
	a := shoal.Addresses{Store: filepath.Join(t.TempDir(), "game"), Fast: "sqlite:" + filepath.Join(t.TempDir(), "fast")}
	st, err := shoal.OpenWith(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	if !apart(t, st) {
		t.Error("one part is played by both")
	}
	for _, role := range st.Roles() {
		x, err := st.Examine(ctx, role, clock.System().Now)
		if err != nil || strings.Contains(x.Inspection.Place, "game") != (role == store.RoleDurable) {
			t.Errorf("the %s part is at %s, %v", role, x.Inspection.Place, err)
		}
	}
	for range 2 {
		if err := st.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// apart tells that what is written into the parts is in the folders that they name.
func apart(t *testing.T, st *store.Store) bool {
	t.Helper()
	w := store.Write{Key: "key", Op: store.Put, Value: []byte("v"), If: store.Absent(), Version: 7}
	if err := st.Durable().Commit(t.Context(), store.Tx{w})[0]; err != nil {
		t.Error(err)
	}
	found, err := st.Fast().Get(t.Context(), "key")
	return err == nil && found[0].Missing() && !st.OneRecords()
}

// The same address twice is one engine, as if it were given once.
func TestTheSameAddressTwiceIsOneStore(t *testing.T) {
	st, err := shoal.OpenWith(t.Context(), shoal.Addresses{Store: "memory:", Fast: "memory:"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if !st.OneRecords() || !slices.Equal(st.Roles(), []store.Role{store.RoleDurable, store.RoleBoards, store.RoleBus}) {
		t.Errorf("roles %v", st.Roles())
	}
}
