//go:build unix

package sqlitestore_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this process has used of processors.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
