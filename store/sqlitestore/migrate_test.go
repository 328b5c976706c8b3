package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// oldFolder makes a folder as the release before hidden entries and walks left it, with a
// board "top" of 2,500 entries, some with metadata.
func oldFolder(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := sqlitestore.MakeOldBoards(t.Context(), filepath.Join(folder, "boards.db"), 2500); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A folder of the release before has everything after it was opened, and the new abilities.
func TestBoardsOfTheReleaseBefore(t *testing.T) {
	e := open(t, oldFolder(t), nil)
	wantFullSort(t, e, "top")
	found, err := e.Boards().Scores(t.Context(), "top", "old-7")
	if err != nil || string(found["old-7"].Meta) != "meta" {
		t.Fatalf("Scores = %+v, %v", found, err)
	}
	if check, err := e.Boards().Check(t.Context(), "top", false); err != nil || len(check.Problems) != 0 || check.Entries != 2500 {
		t.Fatalf("Check = %+v, %v", check, err)
	}
	first, next, err := e.Boards().Walk(t.Context(), "top", store.Cursor{}, 10)
	if err != nil || len(first.Entries) != 10 {
		t.Fatalf("Walk = %+v, %v", first, err)
	}
	if n, err := e.Boards().Hide(t.Context(), "top", true, first.Entries[0].Key, "nobody"); err != nil || n != 2 {
		t.Fatalf("Hide = %d, %v", n, err)
	}
	if page, _, err := e.Boards().Walk(t.Context(), "top", next, store.MaxPage); err != nil || len(page.Entries) != store.MaxPage {
		t.Fatalf("Walk = %d entries, %v", len(page.Entries), err)
	}
	info, err := e.Boards().Info(t.Context(), "top")
	if err != nil || info.Count != 2499 || info.Hidden != 2 {
		t.Fatalf("Info = %+v, %v", info, err)
	}
	wantFullSort(t, e, "top")
}

// Many engines, and two processes, open an old folder at once: one migrates it, nothing is
// lost, and all write.
func TestManyMigrateAtOnce(t *testing.T) {
	folder := oldFolder(t)
	children := []*child{startChild(t, "merge", folder, "a"), startChild(t, "merge", folder, "b")}
	engines := make([]*sqlitestore.Engine, 4)
	var group sync.WaitGroup
	for i := range engines {
		group.Go(func() {
			e, err := sqlitestore.Open(t.Context(), folder, nil)
			if err != nil {
				t.Error(err)
				return
			}
			engines[i] = e
			if _, err := e.Boards().Hide(t.Context(), "top", true, fmt.Sprintf("old-%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	acknowledged := make(map[string]store.Version)
	for _, c := range children {
		for range 5 {
			hear(t, c, acknowledged)
		}
		c.kill()
	}
	if t.Failed() {
		return
	}
	for _, e := range engines {
		wantFullSort(t, e, "top")
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A process of the release before, which has the file open while it is migrated, writes no
// more to it: it knows neither hidden keys nor logs.
func TestTheReleaseBeforeWritesNoMore(t *testing.T) {
	folder := oldFolder(t)
	old, err := sqlitestore.OldMerge(t.Context(), filepath.Join(folder, "boards.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := old(false); err != nil {
		t.Fatal(err)
	}
	open(t, folder, nil)
	if err := old(true); err == nil {
		t.Fatal("the release before goes on writing")
	}
}

// Boards of a newer release are refused, and left as they are.
func TestBoardsOfANewerRelease(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	if err := e.DoBoards(t.Context(), "PRAGMA user_version = 3"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Open(t.Context(), folder, nil); !errors.Is(err, sqlitestore.ErrNewerSchema) {
		t.Fatalf("Open = %v", err)
	}
}
