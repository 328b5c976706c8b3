package sqlitestore

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/shoalworks/shoal/clock"
)

// file is one database of the folder with what works on it: a writer, readers, a
// checkpoint. Every file of a folder is written by itself, so that a flush of boards does
// not hold up profiles.
type file struct {
	writer     *writer
	pool       *pool
	checkpoint *checkpoint
	lock       tryLock
	closing    chan struct{} // one place: who holds it is closing; lock is nil afterwards
}

// kind is what makes one file differ from another.
type kind struct {
	schema schema
	// synchronous is FULL when what was acknowledged survives the loss of power, and NORMAL
	// when it survives the loss of every process.
	synchronous string
	cacheKiB    int // of the writer
}

// openFile opens a database of the folder, making or migrating it where needed.
func openFile(ctx context.Context, folder string, k kind, o Options, up uptime) (*file, error) {
	path := filepath.Join(folder, k.schema.name)
	f, err := startFile(ctx, path, k, o, up)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: open %s: %w", path, openError(err))
	}
	return f, nil
}

func startFile(ctx context.Context, path string, k kind, o Options, up uptime) (*file, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", ErrForeign)
	}
	if err := prepareFile(ctx, path, k, o); err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, err
	}
	g, err := newGuard(path)
	if err != nil {
		return nil, err
	}
	lock, err := newTryLock(strings.TrimSuffix(path, ".db") + ".turn")
	if err != nil {
		return nil, err
	}
	f := &file{lock: lock, checkpoint: newCheckpoint(o.CheckpointPages, o.Logger), closing: make(chan struct{}, 1)}
	write := access{pragmas: pragmas(k.synchronous, k.cacheKiB)}
	f.writer = &writer{
		path: path, access: write, options: o, uptime: up, guard: g, log: o.Logger,
		queue: newQueue(int64(o.QueueBytes)), turn: turnstile{lock: lock},
		rand: newRand(), checkpoint: f.checkpoint,
		done: make(chan struct{}),
	}
	f.pool = newPool(path, access{pragmas: append(pragmas(k.synchronous, readerCacheKiB), "query_only=1")}, o)
	background := context.WithoutCancel(ctx)
	go f.writer.run(background)
	go f.checkpoint.run(background, path, write)
	return f, nil
}

// now is this moment.
func (f *file) now() moment { return f.writer.uptime.at(f.writer.options.Clock.Now()) }

// newRand spreads the retries of processes that wait for the same lock.
func newRand() *rand.Rand {
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // it never fails
	return rand.New(rand.NewChaCha8(seed))
}

const readerCacheKiB = 8 << 10

// pragmas are the settings of a connection. The log is never copied inside a commit (see
// checkpoint), nor does SQLite wait for locks by itself (see writer.begin).
func pragmas(synchronous string, cacheKiB int) []string {
	return []string{
		"busy_timeout=0",
		"synchronous=" + synchronous,
		"wal_autocheckpoint=0",
		"journal_size_limit=134217728",
		pragma("cache_size", -cacheKiB),
		"temp_store=MEMORY",
		"trusted_schema=0",
	}
}

// prepareFile makes or migrates the database, waiting while another process does.
func prepareFile(ctx context.Context, path string, k kind, o Options) error {
	until := o.Clock.Now().Add(o.BusyDeadline)
	for {
		err := migrateFile(ctx, path, k)
		if !busy(err) || o.Clock.Now().After(until) {
			return err
		}
		if err := clock.Sleep(ctx, o.Clock, maxPause); err != nil {
			return err
		}
	}
}

func migrateFile(ctx context.Context, path string, k kind) error {
	c, err := connect(ctx, path, access{
		create: true, modeOf: filepath.Join(filepath.Dir(path), markerFile), pragmas: pragmas(k.synchronous, readerCacheKiB),
	})
	if err != nil {
		return err
	}
	return errors.Join(k.schema.migrate(ctx, c), c.close())
}

// close ends the writer after what is queued, then the readers. Again is harmless.
func (f *file) close(ctx context.Context) error {
	select {
	case f.closing <- struct{}{}:
		defer func() { <-f.closing }()
	case <-ctx.Done():
		return fmt.Errorf("sqlitestore: close %s: %w", f.writer.path, context.Cause(ctx))
	}
	if f.lock == nil {
		return nil
	}
	if err := f.writer.close(ctx); err != nil {
		return err
	}
	if err := errors.Join(f.pool.close(ctx), f.checkpoint.close(ctx)); err != nil {
		return err
	}
	err := f.lock.close()
	f.lock = nil
	return err
}
