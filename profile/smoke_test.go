package profile_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/memstore"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(nil)
		mk := func(name string) (*node.Node, *profile.Set) {
			st, err := e.Store()
			if err != nil {
				t.Fatal(err)
			}
			n, err := node.Start(t.Context(), st, &node.Options{Name: name, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			s, err := profile.New(n, "players", nil)
			if err != nil {
				t.Fatal(err)
			}
			return n, s
		}
		na, a := mk("a")
		nb, b := mk("b")
		sa, err := a.Load(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sa.Transact(profile.Source{}, doc.Set("/coins", doc.Int(5))); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		sb, err := b.Load(t.Context(), "u", nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(start), sb.Loaded(), sb.Data(), sa.Reason())
		if err := sb.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Log(na.Close(context.Background()))
		t.Log(nb.Close(context.Background()))
	})
}
