package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// What a store's folder holds.
const (
	markerFile  = "README.txt"
	recordsFile = "records.db"
	boardsFile  = "boards.db"
	liveFile    = "live.db"
	busFolder   = "bus"
)

const marker = `This folder is a Shoal store: SQLite files that belong together.

records.db  profiles, results, receipts   never lose this one
boards.db   leaderboards
live.db     beats, notes and journals of the running nodes
bus/        sockets of the running processes

A *-wal file beside a database is part of it: never delete it, never copy the database
without it. Copy the folder while no process uses it, or with "sqlite3 records.db .backup".
`

// prepareFolder makes sure that path is a folder of this machine that can hold a store,
// and answers its absolute path.
func prepareFolder(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("%w: no path given", ErrFolder)
	}
	folder, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%w %s: %w", ErrFolder, path, err)
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%w: %s is a file, a folder is needed", ErrFolder, folder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("%w %s: %w", ErrFolder, folder, err)
	}
	magic, err := fileSystemMagic(folder)
	if err != nil {
		return "", fmt.Errorf("%w %s: %w", ErrFolder, folder, err)
	}
	if name := networkFileSystem(magic); name != "" {
		return "", fmt.Errorf("%w: %s lies on %s; use a local disk, or PostgreSQL for several machines", ErrNetworkFolder, folder, name)
	}
	if err := writeMarker(filepath.Join(folder, markerFile)); err != nil {
		return "", fmt.Errorf("%w %s: it cannot be written: %w", ErrFolder, folder, err)
	}
	return folder, nil
}

// writeMarker leaves a word to whoever finds the folder. New files of the store get its
// permissions.
func writeMarker(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return private(path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(marker)
	return errors.Join(err, f.Close())
}

// private takes a file away from everybody but its owner.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(path, 0o600)
}

// guard notices that a file was deleted or replaced under us. SQLite goes on writing into a
// deleted file without an error, and everything acknowledged would be gone.
type guard struct {
	path string
	file os.FileInfo
}

func newGuard(path string) (guard, error) {
	info, err := os.Stat(path)
	return guard{path: path, file: info}, err
}

// check fails when path is no longer the file it was.
func (g guard) check() error {
	switch info, err := os.Stat(g.path); {
	case err != nil:
		return fmt.Errorf("%s was removed while in use: %w", g.path, err)
	case !os.SameFile(g.file, info):
		return fmt.Errorf("%s was replaced while in use", g.path)
	}
	return nil
}
