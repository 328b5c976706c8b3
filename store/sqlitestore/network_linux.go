package sqlitestore

import (
	"errors"

	"golang.org/x/sys/unix"
)

// fileSystemMagic is the type number of the file system that holds the folder.
func fileSystemMagic(folder string) (uint32, error) {
	var s unix.Statfs_t
	for {
		switch err := unix.Statfs(folder, &s); {
		case err == nil:
			return uint32(s.Type), nil
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}
