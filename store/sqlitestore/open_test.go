package sqlitestore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// execRaw runs SQL on a file of the folder, as another program would.
func execRaw(t *testing.T, path string, script ...string) {
	t.Helper()
	db := openRaw(t, path)
	for _, s := range script {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func openRaw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// populated makes a store with one record and one board, and closes it.
func populated(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	e, err := sqlitestore.Open(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, e.Durable(), "profile/players/u_1", "{}", 1)
	if _, err := e.Boards().Create(t.Context(), "top", store.BoardSpec{Order: store.Descending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return folder
}

func put(t testing.TB, r store.Records, key, value string, v store.Version) {
	t.Helper()
	if err := r.Commit(t.Context(), store.Tx{{Key: key, Op: store.Put, Value: []byte(value), Version: v}})[0]; err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	brief := &sqlitestore.Options{BusyDeadline: time.Millisecond}
	for name, c := range map[string]struct {
		prepare func(t *testing.T) (folder string)
		want    error
		says    string // part of the text
	}{
		"no path": {func(*testing.T) string { return "" }, sqlitestore.ErrFolder, "no path"},
		"a file": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "file")
			writeFile(t, path, "x")
			return path
		}, sqlitestore.ErrFolder, "is a file"},
		"a folder below a file": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "file")
			writeFile(t, path, "x")
			return filepath.Join(path, "below")
		}, sqlitestore.ErrFolder, "not a directory"},
		"a folder that cannot be made": {func(*testing.T) string { return "/proc/shoal" }, sqlitestore.ErrFolder, "/proc/shoal"},
		"text in a file's place": {func(t *testing.T) string {
			folder := t.TempDir()
			writeFile(t, filepath.Join(folder, "records.db"), strings.Repeat("not a database ", 1000))
			return folder
		}, sqlitestore.ErrForeign, "records.db"},
		"a folder in a file's place": {func(t *testing.T) string {
			folder := t.TempDir()
			if err := os.Mkdir(filepath.Join(folder, "live.db"), 0o700); err != nil {
				t.Fatal(err)
			}
			return folder
		}, sqlitestore.ErrForeign, "live.db"},
		"another program's database": {func(t *testing.T) string {
			folder := t.TempDir()
			execRaw(t, filepath.Join(folder, "boards.db"), "CREATE TABLE theirs (x)")
			return folder
		}, sqlitestore.ErrForeign, "another program"},
		"another program's mark": {func(t *testing.T) string {
			folder := t.TempDir()
			execRaw(t, filepath.Join(folder, "records.db"), "PRAGMA application_id = 7")
			return folder
		}, sqlitestore.ErrForeign, "another program"},
		"a newer schema": {func(t *testing.T) string {
			folder := populated(t)
			execRaw(t, filepath.Join(folder, "live.db"), "PRAGMA user_version = 1000")
			return folder
		}, sqlitestore.ErrNewerSchema, "schema 1000 of live.db"},
		"a damaged file": {func(t *testing.T) string {
			folder := populated(t)
			path := filepath.Join(folder, "records.db")
			data := readFile(t, path)
			copy(data[100:4096], make([]byte, 4096)) // the schema's page
			writeFile(t, path, string(data))
			return folder
		}, sqlitestore.ErrCorrupt, "records.db"},
		"a file that is locked": {func(t *testing.T) string {
			folder := populated(t)
			db := openRaw(t, filepath.Join(folder, "records.db"))
			for _, s := range []string{"PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE"} {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			return folder
		}, sqlitestore.ErrLocked, "records.db"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := c.prepare(t)
			_, err := sqlitestore.Open(t.Context(), folder, brief)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("Open = %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A file that was refused is as it was.
func TestRefusedFilesAreLeftAlone(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "records.db")
	execRaw(t, path, "CREATE TABLE theirs (x)", "INSERT INTO theirs VALUES (1)")
	before := readFile(t, path)
	if _, err := sqlitestore.Open(t.Context(), folder, nil); !errors.Is(err, sqlitestore.ErrForeign) {
		t.Fatalf("Open = %v", err)
	}
	if string(readFile(t, path)) != string(before) {
		t.Fatal("the foreign file was changed")
	}
}

// What is damaged beyond the first page shows when it is read, as an error and not as a
// missing record.
func TestDamageIsNotAbsence(t *testing.T) {
	folder := t.TempDir()
	e, err := sqlitestore.Open(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		put(t, e.Durable(), fmt.Sprintf("key/%d", i), strings.Repeat("x", 1000), 1)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "records.db")
	data := readFile(t, path)
	clear(data[4096:])
	writeFile(t, path, string(data))
	r := open(t, folder, nil).Durable()
	for i := range 100 {
		if got, err := r.Get(t.Context(), fmt.Sprintf("key/%d", i)); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Get = %v, %v, want unavailable", got, err)
		}
	}
	if err := r.Commit(t.Context(), store.Tx{{Key: "key/1", Op: store.Put, Value: []byte{}, Version: 2}})[0]; !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Commit = %v, want unavailable", err)
	}
}

// Any path that a folder can have is one.
func TestOddPaths(t *testing.T) {
	for _, name := range []string{"with space", "50%25?mode=ro#x&y", "äöü", "quo'te\"s"} {
		folder := filepath.Join(t.TempDir(), name)
		put(t, open(t, folder, nil).Durable(), "a", "1", 1)
		if v := versionOf(t, open(t, folder, nil).Durable(), "a"); v != 1 {
			t.Errorf("%s: version %v", name, v)
		}
		if _, err := os.Stat(filepath.Join(folder, "records.db")); err != nil {
			t.Error(err)
		}
	}
}

func TestEverythingIsPrivate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "store")
	e := open(t, folder, nil)
	put(t, e.Durable(), "a", "1", 1)
	put(t, e.Fast(), "a", "1", 1)
	if _, err := e.Boards().Create(t.Context(), "top", store.BoardSpec{Order: store.Ascending, Generation: "g"}); err != nil {
		t.Fatal(err)
	}
	found := 0
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		found++
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || found < 3*4+2 { // three databases with log, index and turnstile; the marker and the bus
		t.Fatalf("found %d files, %v", found, err)
	}
}

// A file that somebody opened to others is closed to them again.
func TestPermissionsAreRestored(t *testing.T) {
	folder := populated(t)
	path := filepath.Join(folder, "records.db")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, folder, nil)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
}

// Many processes start at once on a new folder: each finds it made once.
func TestManyOpenANewFolder(t *testing.T) {
	for range 2 {
		manyOpen(t, t.TempDir())
	}
}

func manyOpen(t *testing.T, folder string) {
	t.Helper()
	engines := make([]*sqlitestore.Engine, 16)
	var group sync.WaitGroup
	for i := range engines {
		group.Go(func() {
			var err error
			if engines[i], err = sqlitestore.Open(t.Context(), folder, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i, e := range engines {
		if e == nil {
			continue
		}
		put(t, e.Durable(), fmt.Sprintf("from/%d", i), "x", 1)
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	n := 0
	for _, err := range open(t, folder, nil).Durable().Scan(t.Context(), store.Prefix("from/")) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != len(engines) {
		t.Fatalf("%d records, want %d", n, len(engines))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := sqlitestore.Open(t.Context(), t.TempDir(), &sqlitestore.Options{GroupSize: -1, Readers: -2})
	if err == nil || !strings.Contains(err.Error(), "GroupSize") || !strings.Contains(err.Error(), "Readers") {
		t.Fatalf("Open = %v, want everything that is wrong", err)
	}
}

func TestStoreIsWhole(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	s, err := e.Store()
	if err != nil {
		t.Fatal(err)
	}
	if s.OneRecords() {
		t.Error("durable and fast records are said to be one")
	}
	if d, f := s.Durable().Abilities(), s.Fast().Abilities(); !d.Durable || f.Durable || !d.MultiKey || !f.Shared || !f.Scan {
		t.Errorf("abilities %+v and %+v", d, f)
	}
	put(t, s.Durable(), "a", "1", 1)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatalf("closed again: %v", err)
	}
	if _, err := e.Durable().Get(t.Context(), "a"); !errors.Is(err, store.ErrClosed) {
		t.Fatalf("Get = %v, want closed", err)
	}
}

// The view is for people with the sqlite3 tool.
func TestProfilesView(t *testing.T) {
	folder := populated(t)
	var profile, json string
	err := openRaw(t, filepath.Join(folder, "records.db")).QueryRowContext(t.Context(),
		`SELECT profile, json FROM profiles WHERE written <= datetime('now')`).Scan(&profile, &json)
	if err != nil || profile != "players/u_1" || json != "{}" {
		t.Fatalf("%q %q %v", profile, json, err)
	}
}

func TestNetworkFileSystems(t *testing.T) {
	for magic, want := range map[uint32]string{
		0x6969: "NFS", 0xFF534D42: "CIFS", 0xFE534D42: "SMB2", 0x65735546: "FUSE", 0x01021997: "9P",
		0xEF53: "", 0x58465342: "", 0x9123683E: "", 0x01021994: "", 0x2FC12FC1: "", 0: "", // ext4, xfs, btrfs, tmpfs, zfs
	} {
		if got := sqlitestore.NetworkFileSystem(magic); got != want {
			t.Errorf("%#x is %q, want %q", magic, got, want)
		}
	}
}
