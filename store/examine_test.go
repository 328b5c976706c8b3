package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// Every part of a store tells what it is, and is as it was afterwards.
func TestExamineEveryPart(t *testing.T) {
	e, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "game"), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := e.Store()
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, st)
	if want := []store.Role{store.RoleDurable, store.RoleFast, store.RoleBoards, store.RoleBus}; !slices.Equal(st.Roles(), want) {
		t.Errorf("roles %v", st.Roles())
	}
	for _, role := range st.Roles() {
		x, err := st.Examine(t.Context(), role, clock.System().Now)
		if err != nil || !x.Inspected || x.Inspection.Engine == "" || !strings.Contains(x.Inspection.Place, "game") || x.Write <= 0 || len(x.Dangers()) > 0 {
			t.Errorf("%s: %+v, %v", role, x, err)
		}
		if role == store.RoleDurable && !slices.Contains(x.Inspection.Settings, store.Setting{Name: "synchronous", Value: "FULL"}) {
			t.Errorf("settings %v", x.Inspection.Settings)
		}
	}
	wantEmpty(t, st)
}

func wantEmpty(t *testing.T, st *store.Store) {
	t.Helper()
	for _, r := range []store.Records{st.Durable(), st.Fast()} {
		for rec, err := range r.Scan(t.Context(), store.Range{}) {
			t.Errorf("left behind: %s, %v", rec.Key, err)
		}
	}
	if names, err := st.Boards().List(t.Context(), "", "", 10); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func shut(t *testing.T, st *store.Store) {
	t.Helper()
	if err := st.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// A durable part that is not durable, or has no transactions of several keys, is a danger.
func TestADurablePartThatForgetsIsADanger(t *testing.T) {
	st, err := memstore.New(&memstore.Options{SingleKey: true}).Store()
	if err != nil {
		t.Fatal(err)
	}
	x, err := st.Examine(t.Context(), store.RoleDurable, clock.System().Now)
	if err != nil || len(x.Dangers()) != 2 {
		t.Errorf("%+v, %v", x, err)
	}
	if x, err = st.Examine(t.Context(), store.RoleBoards, clock.System().Now); err != nil || len(x.Dangers()) != 0 || x.Inspection.Engine != "memory" {
		t.Errorf("%+v, %v", x, err)
	}
}

// An engine whose clock is off is seen to be, whatever the answers take.
func TestExamineComparesClocks(t *testing.T) {
	e := memstore.New(nil)
	e.StepClock(memstore.All, time.Hour)
	st, err := e.Store()
	if err != nil {
		t.Fatal(err)
	}
	x, err := st.Examine(t.Context(), store.RoleDurable, clock.System().Now)
	if err != nil || x.Ahead < 59*time.Minute || x.Ahead > 61*time.Minute {
		t.Errorf("ahead by %v, %v; want an hour", x.Ahead, err)
	}
}

// A part that does not answer is an error that names it; a part that there is not, too.
func TestExamineOfWhatDoesNotAnswer(t *testing.T) {
	st, err := memstore.New(nil).Store()
	if err != nil {
		t.Fatal(err)
	}
	shut(t, st)
	for _, role := range st.Roles() {
		if x, err := st.Examine(t.Context(), role, clock.System().Now); !errors.Is(err, store.ErrClosed) || !strings.Contains(err.Error(), string(role)) || x.Role != role || len(x.Dangers()) > 0 {
			t.Errorf("%s: %+v, %v", role, x, err)
		}
	}
	if _, err := st.Examine(t.Context(), "attic", clock.System().Now); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("an unknown part: %v", err)
	}
}

// A bus that loses the message is not waited for beyond ctx.
func TestExamineOfABusThatLosesEverything(t *testing.T) {
	s := &spy{multiKey: true}
	st, err := store.New(store.Parts{Durable: spyRecords{s}, Boards: spyBoards{s}, Bus: spyBus{s}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.after = func(call string) {
		if strings.HasPrefix(call, "publish") {
			cancel()
		}
	}
	if x, err := st.Examine(ctx, store.RoleBus, clock.System().Now); !errors.Is(err, store.ErrUnavailable) || x.Inspected {
		t.Errorf("%+v, %v", x, err)
	}
}

// What else belongs to a store ends with it: who uses the parts before them, other things after.
func TestWhatElseBelongsToAStoreEndsInOrder(t *testing.T) {
	s := &spy{}
	also := func(context.Context) error { s.saw("also"); return nil }
	first := func(context.Context) error { s.saw("first"); return nil }
	st, err := store.New(store.Parts{Durable: spyRecords{s}, Boards: spyBoards{s}, Bus: spyBus{s}, First: []func(context.Context) error{first}, Also: []func(context.Context) error{also}})
	if err != nil {
		t.Fatal(err)
	}
	shut(t, st)
	if want := []string{"first", "close bus", "close boards", "close records", "also"}; !slices.Equal(s.calls, want) {
		t.Errorf("%q, want %q", s.calls, want)
	}
}
