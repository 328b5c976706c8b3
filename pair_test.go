package shoal_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/store"
)

// opened opens a store and closes it when the test ends.
func opened(t *testing.T, a shoal.Addresses) *store.Store {
	t.Helper()
	st, err := shoal.OpenWith(t.Context(), a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	t.Cleanup(func() {
		if err := st.Close(t.Context()); err != nil && !errors.Is(err, t.Context().Err()) {
			t.Error(err)
		}
	})
	return st
}

// Whoever opens a store first says what belongs to it; anything else is refused from then on, but
// for those who only look.
func TestAnotherFastPartIsRefused(t *testing.T) {
	folder := func(name string) string { return filepath.Join(t.TempDir(), name) }
	game, fast := folder("game"), folder("fast")
	two := shoal.Addresses{Store: game, Fast: fast}
	opened(t, two)
	opened(t, two)
	opened(t, shoal.Addresses{Store: "sqlite:" + game, Fast: "sqlite:" + fast})
	single := folder("single")
	opened(t, shoal.Addresses{Store: single})
	for want, a := range map[string]shoal.Addresses{
		"none was given":               {Store: game},
		"one engine for all parts":     {Store: single, Fast: folder("more")},
		"belongs to another store":     {Store: folder("new"), Fast: fast},
		"the live part of this engine": {Store: fast},
		"processes are alive that see": {Store: game, Fast: folder("empty")},
	} {
		st, err := shoal.OpenWith(t.Context(), a)
		if !errors.Is(err, shoal.ErrPairing) || st != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", a, err, want)
		}
	}
	opened(t, shoal.Addresses{Store: game, AsGiven: true})
	opened(t, shoal.Addresses{Store: game, Fast: single, AsGiven: true})
	opened(t, two)
}

// A store that was opened before there were marks gets one.
func TestAnOlderStoreGetsItsMark(t *testing.T) {
	game := filepath.Join(t.TempDir(), "game")
	st := opened(t, shoal.Addresses{Store: game, AsGiven: true})
	w := store.Write{Key: "profile/players/u", Op: store.Put, Value: []byte(`{}`), If: store.Absent(), Version: 7}
	if err := st.Durable().Commit(t.Context(), store.Tx{w})[0]; err != nil {
		t.Fatal(err)
	}
	opened(t, shoal.Addresses{Store: game})
	recs, err := st.Durable().Get(t.Context(), "profile/players/u", "pairing/fleet")
	if err != nil || recs[0].Version != 7 || recs[1].Missing() {
		t.Errorf("%+v, %v", recs, err)
	}
}
