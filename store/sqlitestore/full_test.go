package sqlitestore_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// passes fails unless the error says that nothing was done and that it passes: a disk that is
// full is not full for ever.
func passes(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrTooLarge) || store.OutcomeOf(err) != store.NotDone || !strings.Contains(err.Error(), "full") {
		t.Fatalf("%s = %v, want unavailable because it is full", what, err)
	}
}

// versions fails unless the keys have these versions.
func versions(t *testing.T, r store.Records, want map[string]store.Version) {
	t.Helper()
	for key, v := range want {
		if got := versionOf(t, r, key); got != v {
			t.Errorf("%s has version %v, want %v", key, got, v)
		}
	}
}

// On a full disk what finds no room is not done, wholly: unavailable, since room comes back. What
// shares the engine's transaction with it is written all the same, reads go on, and when there is
// room the same call is done.
func TestFullDisk(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	r := e.Durable()
	put(t, r, "a", "small", 1)
	limit(t, e, 40)
	big := make([]byte, 1<<20)
	passes(t, "Commit", r.Commit(t.Context(), putTx("a", 2, big))[0])
	versions(t, r, map[string]store.Version{"a": 1})
	answers := grouped(t, e,
		func() error { return r.Commit(t.Context(), putTx("b", 1, []byte("1")))[0] },
		func() error {
			return r.Commit(t.Context(), append(putTx("half", 1, []byte("1")), putTx("a", 3, big)...))[0]
		},
		func() error { return r.Commit(t.Context(), putTx("c", 1, []byte("1")))[0] })
	if answers[0] != nil || answers[2] != nil {
		t.Errorf("answers %v, want only the second to be refused", answers)
	}
	passes(t, "Commit among others", answers[1])
	versions(t, r, map[string]store.Version{"a": 1, "b": 1, "c": 1, "half": 0})
	limit(t, e, 0)
	if err := r.Commit(t.Context(), append(putTx("half", 1, []byte("1")), putTx("a", 3, big)...))[0]; err != nil {
		t.Errorf("Commit when there is room = %v", err)
	}
	versions(t, r, map[string]store.Version{"a": 3, "half": 1})
}

func limit(t *testing.T, e *sqlitestore.Engine, pages int) {
	t.Helper()
	if err := e.LimitPages(t.Context(), pages); err != nil {
		t.Fatal(err)
	}
}

// full is how SQLite says that there is no room.
func full(t *testing.T) error {
	t.Helper()
	db := openRaw(t, filepath.Join(t.TempDir(), "full.db"))
	db.SetMaxOpenConns(1) // the limit is the connection's
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (x); PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (zeroblob(100000))")
	if err == nil {
		t.Fatal("a file has grown over its limit")
	}
	return err
}

// The disk may be found full as late as by COMMIT, which writes the log: then nothing is done
// either, and each transaction of the group has its own try on a new connection.
func TestFullDiskAtCommit(t *testing.T) {
	folder, cause := t.TempDir(), full(t)
	e := open(t, folder, nil)
	r := e.Durable()
	put(t, r, "a", "1", 1)
	passes(t, "COMMIT", e.CommitFails(t.Context(), cause))
	answers := grouped(t, e,
		func() error { return r.Commit(t.Context(), putTx("a", 2, []byte("2")))[0] },
		func() error { return e.CommitFails(t.Context(), cause) },
		func() error { return r.Commit(t.Context(), putTx("b", 2, []byte("2")))[0] })
	if answers[0] != nil || answers[2] != nil {
		t.Errorf("answers %v, want only the second to be refused", answers)
	}
	passes(t, "COMMIT among others", answers[1])
	versions(t, r, map[string]store.Version{"a": 2, "b": 2})
	versions(t, open(t, folder, nil).Durable(), map[string]store.Version{"a": 2, "b": 2})
}
