package sqlitestore

import "golang.org/x/sys/unix"

// fileSystemMagic is the type number of the file system that holds the folder.
func fileSystemMagic(folder string) (uint32, error) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(folder, &s)
		if err == nil {
			return uint32(s.Type), nil
		}
		if err != unix.EINTR { //nolint:errorlint // a bare errno
			return 0, err
		}
	}
}
