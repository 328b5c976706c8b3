package engines

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	folderPrefix = "shoal-engine-"
	lockName     = "owner.lock"
)

// folder is a temporary folder that belongs to this process for as long as it holds the lock
// in it. What a process that died left behind has no holder, and is swept by the next one.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder that others may pass through (a server may run as another user).
func newFolder() (*folder, error) {
	sweep(os.TempDir())
	fresh, err := os.MkdirTemp("", "shoal-new-engine-")
	if err != nil {
		return nil, fmt.Errorf("engines: temporary folder: %w", err)
	}
	f := &folder{path: filepath.Join(filepath.Dir(fresh), folderPrefix+strings.TrimPrefix(filepath.Base(fresh), "shoal-new-engine-"))}
	f.lock, err = lockFile(filepath.Join(fresh, lockName), os.O_CREATE)
	if err == nil {
		err = os.Chmod(fresh, 0o755)
	}
	if err == nil {
		err = os.Rename(fresh, f.path) // locked before it has a name that sweeps look for
	}
	if err != nil {
		_ = os.RemoveAll(fresh)
		return nil, fmt.Errorf("engines: temporary folder: %w", err)
	}
	return f, nil
}

// inner makes a folder within that as owns.
func (f *folder) inner(name string, as *account) (string, error) {
	path := filepath.Join(f.path, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("engines: %w", err)
	}
	if as != nil {
		if err := os.Chown(path, int(as.uid), int(as.gid)); err != nil {
			return "", fmt.Errorf("engines: %w", err)
		}
	}
	return path, nil
}

// remove deletes the folder and then gives the lock back.
func (f *folder) remove() error {
	err := removeLocked(f.path)
	_ = f.lock.Close()
	return err
}

// removeLocked deletes a folder whose lock is held, and the lock last: who dies meanwhile leaves
// what a sweep still knows.
func removeLocked(path string) error {
	inside, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // by an earlier Close
	}
	if err != nil {
		return err
	}
	for _, entry := range inside {
		if entry.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, entry.Name())))
		}
	}
	return errors.Join(err, os.RemoveAll(path))
}

// sweep removes the folders of processes that died; what it cannot remove is left.
func sweep(within string) {
	found, _ := filepath.Glob(filepath.Join(within, folderPrefix+"*")) // a fixed pattern
	for _, path := range found {
		// Without a lock it is being removed: what is made in it now would be in the way.
		lock, err := lockFile(filepath.Join(path, lockName), 0)
		if err != nil {
			continue // somebody lives there, or it is nobody's that we know
		}
		_ = removeLocked(path)
		_ = lock.Close()
	}
}
