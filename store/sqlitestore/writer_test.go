package sqlitestore_test

import (
	"context"
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

func storeRange(key string) store.Range { return store.Range{From: key, To: key + "~"} }

func putTx(key string, v store.Version, value []byte) store.Tx {
	return store.Tx{{Key: key, Op: store.Put, Value: value, Version: v}}
}

// versionOf is the version of a key, 0 when it is missing.
func versionOf(t testing.TB, r store.Records, key string) store.Version {
	t.Helper()
	got, err := r.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Version
}

// holdLock has another program hold the write lock of records.db until release is called.
func holdLock(t *testing.T, folder string) (release func()) {
	t.Helper()
	db := openRaw(t, filepath.Join(folder, "records.db"))
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { endRaw(t, c) })
}

func endRaw(t *testing.T, c *sql.Conn) {
	t.Helper()
	if _, err := c.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK"); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A context that ends before the writer has the call: not done, and never done later.
func TestCancelledWhileWaitingIsNotDone(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	r := e.Durable()
	put(t, r, "a", "1", 1)
	release := holdLock(t, folder)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() { answer <- r.Commit(ctx, putTx("a", 2, []byte("2")))[0] }()
	waitFor(t, "the call to be queued", func() bool { return e.QueuedBytes() > 0 })
	cancel()
	if err := <-answer; store.OutcomeOf(err) != store.NotDone || !errors.Is(err, context.Canceled) {
		t.Fatalf("Commit = %v, want not done", err)
	}
	release()
	put(t, r, "b", "1", 1) // queued behind it
	if v := versionOf(t, r, "a"); v != 1 {
		t.Fatalf("a has version %v: a write that was not done was done", v)
	}
}

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 3000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// A context that ends when the writer has the call: unknown, whatever comes of it.
func TestCancelledWhileWritingIsUnknown(t *testing.T) {
	for _, outcome := range []string{"done", "not done"} {
		t.Run(outcome, func(t *testing.T) {
			e := open(t, t.TempDir(), nil)
			ctx, cancel := context.WithCancel(t.Context())
			started, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			answer := make(chan error, 1)
			go func() {
				answer <- e.Do(ctx, func(exec func(string) error) error {
					defer close(ended)
					close(started)
					<-release
					if outcome == "not done" {
						return errors.New("the engine fails")
					}
					return exec(`INSERT INTO records VALUES ('a', 7, 0, 0, 0, x'31')`)
				})
			}()
			<-started
			cancel()
			if err := <-answer; store.OutcomeOf(err) != store.Unknown || !errors.Is(err, context.Canceled) {
				t.Fatalf("answer %v, want unknown", err)
			}
			close(release)
			<-ended
			put(t, e.Durable(), "b", "1", 1) // in a later group
			want := map[string]store.Version{"done": 7, "not done": 0}[outcome]
			if v := versionOf(t, e.Durable(), "a"); v != want {
				t.Fatalf("a has version %v, want %v", v, want)
			}
		})
	}
}

// The caller may reuse its values as soon as Commit has answered, also when it left early.
func TestValuesAreTheCallersAfterLeaving(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	started, release := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		_ = e.Do(t.Context(), func(func(string) error) error {
			close(started)
			<-release
			return nil
		})
	})
	<-started
	value := []byte("good")
	answer := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { answer <- e.Durable().Commit(ctx, putTx("a", 1, value))[0] }()
	waitFor(t, "the call to be queued", func() bool { return e.QueuedBytes() > 0 })
	copy(value, "evil")
	close(release)
	err := <-answer
	cancel()
	group.Wait()
	got, getErr := e.Durable().Get(t.Context(), "a")
	if err != nil || getErr != nil || string(got[0].Value) != "good" {
		t.Fatalf("Commit = %v, Get = %q, %v", err, got[0].Value, getErr)
	}
}

// A lock that somebody keeps beyond the deadline: unavailable, and not done.
func TestLockHeldTooLong(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, &sqlitestore.Options{BusyDeadline: 20 * time.Millisecond})
	r := e.Durable()
	release := holdLock(t, folder)
	defer release()
	if err := r.Commit(t.Context(), putTx("a", 1, []byte("1")))[0]; !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("Commit = %v, want unavailable", err)
	}
	if v := versionOf(t, r, "a"); v != 0 { // readers never wait for writers
		t.Fatalf("a has version %v", v)
	}
	release()
	put(t, r, "a", "1", 2)
}

// A lock that is given up in time only delays.
func TestLockHeldForAWhile(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	release := holdLock(t, folder)
	answer := make(chan error, 1)
	go func() { answer <- e.Durable().Commit(t.Context(), putTx("a", 1, []byte("1")))[0] }()
	waitFor(t, "the call to be queued", func() bool { return e.QueuedBytes() > 0 })
	release()
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
}

// The queue is bounded: callers wait for room, and may leave.
func TestFullQueue(t *testing.T) {
	folder := t.TempDir()
	const room = 4096
	e := open(t, folder, &sqlitestore.Options{QueueBytes: room})
	r := e.Durable()
	release := holdLock(t, folder)
	defer release()
	const callers = 32
	answers := make(chan error, callers)
	for i := range callers {
		go func() { answers <- r.Commit(t.Context(), putTx(fmt.Sprintf("key/%d", i), 1, make([]byte, 500)))[0] }()
	}
	waitFor(t, "the queue to fill", func() bool { return e.QueuedBytes() > room/2 })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- r.Commit(ctx, putTx("left", 1, make([]byte, 500)))[0] }()
	cancel()
	if err := <-left; store.OutcomeOf(err) != store.NotDone {
		t.Fatalf("a caller that left: %v, want not done", err)
	}
	if n := e.QueuedBytes(); n > room {
		t.Fatalf("%d bytes are queued, %d are allowed", n, room)
	}
	release()
	for range callers {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
}

// A transaction larger than a group and than the queue still goes through.
func TestLargerThanTheQueue(t *testing.T) {
	e := open(t, t.TempDir(), &sqlitestore.Options{QueueBytes: 4096, GroupBytes: 1024})
	put(t, e.Durable(), "large", strings.Repeat("x", 1<<20), 1)
	if v := versionOf(t, e.Durable(), "large"); v != 1 {
		t.Fatalf("version %v", v)
	}
}

// A call of many transactions is cut into groups, and every answer is in its place.
func TestCommitOfManyGroups(t *testing.T) {
	e := open(t, t.TempDir(), &sqlitestore.Options{GroupSize: 10, GroupBytes: 2000})
	r := e.Durable()
	var txs []store.Tx
	for i := range 200 {
		tx := putTx(fmt.Sprintf("key/%03d", i), 1, make([]byte, i))
		if i%7 == 0 {
			tx[0].If = store.Is(99)
		}
		txs = append(txs, tx)
	}
	for i, err := range r.Commit(t.Context(), txs...) {
		var conflict *store.ConflictError
		if bad := i%7 == 0; bad != errors.As(err, &conflict) || bad && conflict.Key != txs[i][0].Key {
			t.Errorf("tx %d: %v", i, err)
		}
		if v := versionOf(t, r, txs[i][0].Key); (v == 1) != (i%7 != 0) {
			t.Errorf("tx %d left version %v", i, v)
		}
	}
}

// No group is larger than it may be, by transactions or by bytes. What shares a group shares
// its moment.
func TestGroupsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		options sqlitestore.Options
		want    int // transactions of the largest group
	}{
		"by transactions": {sqlitestore.Options{GroupSize: 10}, 10},
		"by bytes":        {sqlitestore.Options{GroupBytes: 5000}, 3}, // 1,000 bytes, and 512 of its own
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			e := open(t, folder, &c.options)
			calls := make([]func() error, 40)
			for i := range calls {
				calls[i] = func() error {
					return e.Durable().Commit(t.Context(), putTx(fmt.Sprintf("key/%02d", i), 1, make([]byte, 1000)))[0]
				}
			}
			if err := errors.Join(grouped(t, e, calls...)...); err != nil {
				t.Fatal(err)
			}
			var largest int
			err := openRaw(t, filepath.Join(folder, "records.db")).QueryRowContext(t.Context(),
				`SELECT max(n) FROM (SELECT count(*) AS n FROM records GROUP BY up)`).Scan(&largest)
			if err != nil || largest > c.want || largest < 2 {
				t.Fatalf("the largest group has %d transactions (%v), want at most %d", largest, err, c.want)
			}
		})
	}
}

// grouped has the writer meet the calls in one group, in this order, and answers their errors.
func grouped(t *testing.T, e *sqlitestore.Engine, calls ...func() error) []error {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	errs := make([]error, len(calls))
	start := sync.OnceFunc(func() { close(started) }) // work may be applied again
	var group sync.WaitGroup
	group.Go(func() {
		_ = e.Do(t.Context(), func(func(string) error) error {
			start()
			<-release
			return nil
		})
	})
	<-started
	for i, call := range calls {
		before := e.QueuedBytes()
		group.Go(func() { errs[i] = call() })
		waitFor(t, "a call to be queued", func() bool { return e.QueuedBytes() > before })
	}
	close(release)
	group.Wait()
	return errs
}

// When COMMIT itself fails nobody can say what happened; the next group starts afresh.
func TestFailedCommitIsUnknown(t *testing.T) {
	e := open(t, t.TempDir(), nil)
	err := e.Do(t.Context(), func(exec func(string) error) error {
		return errors.Join(
			exec(`CREATE TEMP TABLE parent (id INTEGER PRIMARY KEY)`),
			exec(`CREATE TEMP TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`),
			exec(`PRAGMA defer_foreign_keys = 1`))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.ForeignKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = e.Do(t.Context(), func(exec func(string) error) error { return exec(`INSERT INTO child VALUES (1)`) })
	if store.OutcomeOf(err) != store.Unknown {
		t.Fatalf("answer %v, want unknown", err)
	}
	put(t, e.Durable(), "a", "1", 1)
}

// A folder that is deleted or replaced under a running process takes no writes: they would
// be acknowledged and gone.
func TestFolderRemovedWhileInUse(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			e := open(t, folder, nil)
			put(t, e.Durable(), "a", "1", 1)
			if err := replace(filepath.Join(folder, "records.db")); err != nil {
				t.Fatal(err)
			}
			err := e.Durable().Commit(t.Context(), putTx("a", 2, []byte("2")))[0]
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), name) {
				t.Fatalf("Commit = %v, want unavailable because it was %s", err, name)
			}
		})
	}
}

// The log is copied back while writes go on, so it does not grow for ever.
func TestLogStaysShort(t *testing.T) {
	const pages = 200
	e := open(t, t.TempDir(), &sqlitestore.Options{CheckpointPages: pages})
	r := e.Durable()
	var written, longest int64
	for i := 0; written < 50*pages; i++ {
		value := make([]byte, 64<<10)
		for _, err := range r.Commit(t.Context(), putTx(fmt.Sprintf("key/%d", i%50), store.Version(i+1), value)) {
			if err != nil {
				t.Fatal(err)
			}
		}
		written += 17
		length, err := e.LogPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, length)
	}
	// It is looked at every megabyte (256 pages) and may grow to four times its length.
	if longest > 4*pages+2*256+50 {
		t.Fatalf("the log grew to %d pages, %d are its length", longest, pages)
	}
}

// Close lets what is queued end, and refuses what comes later.
func TestCloseDrains(t *testing.T) {
	folder := t.TempDir()
	e, err := sqlitestore.Open(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	const callers = 50
	answers := make(chan error, callers)
	for i := range callers {
		go func() { answers <- e.Durable().Commit(t.Context(), putTx(fmt.Sprintf("key/%d", i), 1, []byte("1")))[0] }()
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := 0
	for range callers {
		switch err := <-answers; {
		case err == nil:
			done++
		case !errors.Is(err, store.ErrClosed):
			t.Errorf("Commit = %v", err)
		}
	}
	n := 0
	for _, err := range open(t, folder, nil).Durable().Scan(t.Context(), store.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != done {
		t.Fatalf("%d calls were done, %d records are there", done, n)
	}
}

// Close gives up at its deadline: what was queued is not done, and a later Close ends well.
func TestCloseGivesUp(t *testing.T) {
	folder := t.TempDir()
	e, err := sqlitestore.Open(t.Context(), folder, &sqlitestore.Options{BusyDeadline: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	release := holdLock(t, folder)
	defer release()
	answer := make(chan error, 1)
	go func() { answer <- e.Durable().Commit(t.Context(), putTx("a", 1, []byte("1")))[0] }()
	waitFor(t, "the call to be queued", func() bool { return e.QueuedBytes() > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := e.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Close = %v, want its deadline", err)
	}
	if err := <-answer; store.OutcomeOf(err) != store.NotDone {
		t.Fatalf("Commit = %v, want not done", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatalf("Close again = %v", err)
	}
}

// Readers are bounded: more wait, and may leave.
func TestReadersWait(t *testing.T) {
	e := open(t, t.TempDir(), &sqlitestore.Options{Readers: 1})
	put(t, e.Durable(), "a", "1", 1)
	put(t, e.Durable(), "b", "1", 1)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if got, err := e.Durable().Get(t.Context(), "a", "b"); err != nil || got[1].Version != 1 {
				t.Errorf("Get = %v, %v", got, err)
			}
		})
	}
	group.Wait()
	// A Scan holds no connection while its records are looked at.
	for _, err := range e.Durable().Scan(t.Context(), store.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		put(t, e.Durable(), "c", "1", 1)
		versionOf(t, e.Durable(), "c")
	}
}

// Large values make short pages: a Scan never holds much more than a few megabytes.
func TestScanOfLargeValues(t *testing.T) {
	r := open(t, t.TempDir(), nil).Durable()
	value := make([]byte, 1<<20)
	for i := range 12 {
		put(t, r, fmt.Sprintf("key/%02d", i), string(value), 1)
	}
	n := 0
	for record, err := range r.Scan(t.Context(), store.Range{From: "key/01", To: "key/11"}) {
		if err != nil || record.Key != fmt.Sprintf("key/%02d", n+1) || len(record.Value) != len(value) {
			t.Fatalf("%s: %d bytes, %v", record.Key, len(record.Value), err)
		}
		n++
	}
	if n != 10 {
		t.Fatalf("%d records, want 10", n)
	}
}
