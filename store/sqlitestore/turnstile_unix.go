//go:build unix

package sqlitestore

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// flock is a lock of flock(2). Unlike the record locks that SQLite uses it belongs to the
// open file, so two engines in one process exclude each other too.
type flock struct{ file *os.File }

func newTryLock(path string) (tryLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return flock{file: f}, nil
}

func (l flock) try() bool {
	return unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func (l flock) release() {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN) // fails only for a bad descriptor
}

func (l flock) close() error { return l.file.Close() }
