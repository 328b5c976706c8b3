package shoal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// pair is two nodes on one store. messages tells whether they hear each other.
func pair(t *testing.T, messages bool) (here, there *shoal.Node) {
	t.Helper()
	e := memstore.New(nil)
	start := func() *shoal.Node {
		bus := e.Bus()
		if !messages {
			bus = memstore.New(nil).Bus()
		}
		st, err := store.New(store.Parts{Durable: e.Records(), Boards: e.Boards(), Bus: bus})
		if err != nil {
			t.Fatal(err)
		}
		o := &shoal.Options{
			Sets:   map[string]*profile.Options{"players": nil},
			Boards: map[string]board.Config{"Kills": {CacheFor: 10 * time.Second}, "Times": {Order: store.Ascending, CacheFor: 10 * time.Second}},
		}
		o.Node.Logger = slog.New(slog.DiscardHandler)
		n, err := shoal.Start(t.Context(), st, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := n.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			_ = st.Close(context.WithoutCancel(t.Context()))
		})
		return n
	}
	return start(), start()
}

// listed are the keys on a node's cached pages, in every mode; it fails when they differ.
func listed(t *testing.T, n *shoal.Node, name string) (keys []string) {
	t.Helper()
	for _, mode := range []store.RankMode{store.Ordinal, store.Competition, store.Dense} {
		page, err := n.Boards().By(mode).Top(t.Context(), name, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, e := range page.Entries {
			got = append(got, fmt.Sprintf("%d %s", e.Rank, e.Key))
		}
		if mode == store.Ordinal {
			keys = got
		} else if len(got) != len(keys) {
			t.Errorf("%s in mode %v: %v, in ordinal ranks %v", name, mode, got, keys)
		}
	}
	return keys
}

// case B18: deleted, banned, hidden and removed players leave cached pages at once on the node
// where it is done, and within one window on every other, in every rank mode.
func TestPlayersLeaveCachedPagesWithinOneWindow(t *testing.T) {
	by := board.Moderator{Actor: "mod"}
	for name, act := range map[string]func(ctx context.Context, n *shoal.Node) error{
		"erased": func(ctx context.Context, n *shoal.Node) error {
			_, err := n.Set("players").Erase(ctx, "ann", profile.Source{Kind: profile.SourceOperator}, nil)
			return err
		},
		"banned": func(ctx context.Context, n *shoal.Node) error { return n.Boards().Ban(ctx, by, "ann") },
		"hidden": func(ctx context.Context, n *shoal.Node) error {
			_, first := n.Boards().Hide(ctx, by, "Kills", "ann")
			_, second := n.Boards().Hide(ctx, by, "Times", "ann")
			return errors.Join(first, second)
		},
		"removed": func(ctx context.Context, n *shoal.Node) error {
			_, first := n.Boards().RemoveBy(ctx, by, "Kills", "ann")
			_, second := n.Boards().RemoveBy(ctx, by, "Times", "ann")
			return errors.Join(first, second)
		},
		"hidden, then erased": func(ctx context.Context, n *shoal.Node) error {
			_, first := n.Boards().Hide(ctx, by, "Kills", "ann")
			_, second := n.Set("players").Erase(ctx, "ann", profile.Source{Kind: profile.SourceOperator}, nil)
			return errors.Join(first, second)
		},
	} {
		for _, messages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, messages %v", name, messages), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { leave(t, messages, act) })
			})
		}
	}
}

func leave(t *testing.T, messages bool, act func(context.Context, *shoal.Node) error) {
	t.Helper()
	here, there := pair(t, messages)
	names := []string{"Kills", "Times"}
	s, err := here.Set("players").Load(t.Context(), "ann", nil)
	if err == nil {
		err = s.Release(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	submit := func(name, key string, score int64) {
		t.Helper()
		if err := here.Boards().Submit(name, key, score); err != nil {
			t.Fatal(err)
		}
	}
	submit("Kills", "ann", 9)
	submit("Times", "ann", 5)
	for _, name := range names {
		submit(name, "bob", 7)
	}
	if err := here.Boards().FlushNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, rest := []string{"1 ann", "2 bob"}, []string{"1 bob"}
	both := func(what string, n *shoal.Node, expected []string) {
		t.Helper()
		for _, name := range names {
			if d := cmp.Diff(expected, listed(t, n, name)); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", what, name, d)
			}
		}
	}
	both("here, before", here, all)
	both("there, before", there, all)
	synctest.Wait()
	if err := act(t.Context(), here); err != nil {
		t.Fatal(err)
	}
	both("here, at once", here, rest)
	synctest.Wait()
	if messages {
		both("there, told", there, rest)
	} else {
		both("there, not told", there, all)
	}
	time.Sleep(10 * time.Second)
	synctest.Wait()
	both("there, a window later", there, rest)
}
