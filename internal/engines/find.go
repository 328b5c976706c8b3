package engines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// ErrAbsent says that a server's binary is not installed.
var ErrAbsent = errors.New("engines: not installed")

// postgresFolders match where packages put PostgreSQL's server binaries, which are not on PATH.
const postgresFolders = "/usr/lib/postgresql/*/bin"

// find is the path of a binary: on PATH, or in a system folder that is often missing there.
func find(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if os.Getenv("PATH") != "" { // an empty PATH means: find nothing
		for _, folder := range []string{"/usr/sbin", "/usr/local/bin", "/usr/local/sbin"} {
			if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %s", ErrAbsent, name)
}

// findPostgres is the path of one of PostgreSQL's server binaries, of the newest version.
func findPostgres(name string) (string, error) {
	if os.Getenv("PATH") == "" {
		return "", fmt.Errorf("%w: %s", ErrAbsent, name)
	}
	folders, err := filepath.Glob(postgresFolders)
	if err != nil {
		return "", fmt.Errorf("engines: glob %s: %w", postgresFolders, err)
	}
	for _, folder := range newestFirst(folders) {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path, nil
		}
	}
	return find(name)
}

// newestFirst sorts …/<version>/bin by version, the highest first.
func newestFirst(folders []string) []string {
	version := func(folder string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder))) // an odd name sorts last
		return n
	}
	sorted := slices.Clone(folders)
	slices.SortFunc(sorted, func(a, b string) int { return version(b) - version(a) })
	return sorted
}
