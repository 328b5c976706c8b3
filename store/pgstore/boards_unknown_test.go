package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// throughProxy opens the boards of the ground once more, through a proxy, on so many
// connections. A merge has already been on the first.
func (g *ground) throughProxy(t *testing.T, connections int) (*engines.Proxy, store.Boards) {
	t.Helper()
	pg := enginetest.Postgres(t)
	proxy := enginetest.Proxy(t, pg.Addr())
	boards := open(t, pg.URLAt(proxy.Addr(), g.schema)+fmt.Sprintf("&pool_max_conns=%d", connections), g.options).Boards()
	if _, err := boards.Merge(t.Context(), "top", sumOf("warm", 1, 1)); err != nil {
		t.Fatal(err)
	}
	return proxy, boards
}

// sumOf adds to the key "key", in the n-th batch of a source.
func sumOf(source string, n uint64, score int64) store.Batch {
	return store.Batch{Rule: store.Sum, Source: source, N: n, Entries: []store.Submission{{Key: "key", Score: score}}}
}

// hold locks rows until let go.
func (g *ground) hold(t *testing.T, sql string) (letGo func()) {
	t.Helper()
	tx, err := g.connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func (g *ground) score(t *testing.T) int64 {
	t.Helper()
	scores, err := g.boards.Scores(t.Context(), "top", "key")
	if err != nil {
		t.Fatal(err)
	}
	return scores["key"].Score
}

// A merge whose answer to COMMIT is lost is unknown, whether the connection breaks or the
// caller gives up; sent again verbatim it counts once.
//
// case B5.
func TestMergeWhoseCommitIsNotAnswered(t *testing.T) {
	for name, giveUp := range map[string]bool{"the connection breaks": false, "the caller gives up": true} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, 8, 4)
			proxy, boards := g.throughProxy(t, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			letGo := g.hold(t, `SELECT 1 FROM entries FOR UPDATE`) // a merge reads, and waits when it writes
			answer := make(chan error, 1)
			go func() {
				_, err := boards.Merge(ctx, "top", sumOf("s", 1, 10))
				answer <- err
			}()
			until(t, "the merge to write", func() bool {
				return g.number(t, `SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN
					(SELECT pid FROM pg_stat_activity WHERE query LIKE '%`+g.schema+`%')`) > 0
			})
			lost := proxy.DropAnswers()
			letGo()
			<-lost
			if giveUp {
				cancel()
			} else {
				proxy.Reset()
			}
			if err := <-answer; !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("Merge = %v, want ErrUnknown", err)
			}
			proxy.Heal()
			changes, err := boards.Merge(t.Context(), "top", sumOf("s", 1, 10))
			if err != nil || g.score(t) != 11 {
				t.Fatalf("sent again: %+v, %v, the score is %d, want 11", changes, err, g.score(t))
			}
			if changes, err = boards.Merge(t.Context(), "top", sumOf("s", 2, 5)); err != nil || changes[0].New != 16 {
				t.Fatalf("the next batch: %+v, %v", changes, err)
			}
			g.wantFullSort(t)
		})
	}
}

// A merge that hears nothing of what it reads has sent nothing that commits: it is not done,
// and never will be.
func TestMergeThatHearsNothingIsNotDone(t *testing.T) {
	g := newGround(t, 8, 4)
	proxy, boards := g.throughProxy(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lost := proxy.DropAnswers()
	answer := make(chan error, 1)
	go func() {
		_, err := boards.Merge(ctx, "top", sumOf("s", 1, 10))
		answer <- err
	}()
	<-lost
	cancel()
	if err := <-answer; !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Merge = %v, want ErrUnavailable", err)
	}
	proxy.Heal()
	if changes, err := g.boards.Merge(t.Context(), "top", sumOf("s", 1, 10)); err != nil || changes[0].New != 11 {
		t.Fatalf("Merge by somebody else = %+v, %v: the one that was not done is in the way", changes, err)
	}
}

// A walk is a read: when the answer to its first call is lost it was not done, and begins anew.
func TestWalkWhoseFirstCallIsNotAnswered(t *testing.T) {
	g := newGround(t, 8, 4)
	g.merge(t, "player", 100, 30)
	proxy, boards := g.throughProxy(t, 3) // the sweeper needs one, too
	if _, _, err := boards.Walk(t.Context(), "top", store.Cursor{}, 10); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lost := proxy.DropAnswers()
	answer := make(chan error, 1)
	go func() {
		_, _, err := boards.Walk(ctx, "top", store.Cursor{}, 10)
		answer <- err
	}()
	<-lost
	cancel()
	if err := <-answer; !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Walk = %v, want ErrUnavailable", err)
	}
	proxy.Heal()
	seen := 0
	for cursor := (store.Cursor{}); !cursor.Done(); {
		page, next, err := boards.Walk(t.Context(), "top", cursor, 30)
		if err != nil {
			t.Fatal(err)
		}
		cursor, seen = next, seen+len(page.Entries)
	}
	if seen != 101 {
		t.Errorf("the walk has shown %d entries, want 101", seen)
	}
}
