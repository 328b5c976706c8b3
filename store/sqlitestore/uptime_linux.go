package sqlitestore

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// hostUptime is CLOCK_BOOTTIME, named by the kernel's boot id. The clock's zero differs
// between time namespaces, so the namespace belongs to the name: processes of two
// namespaces judge each other's records by the wall clock.
func hostUptime() uptime {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || bootTime() == 0 {
		return uptime{}
	}
	space, err := os.Readlink("/proc/self/ns/time")
	if err != nil {
		space = "" // a kernel without time namespaces
	}
	return uptime{boot: bootNamed(strings.TrimSpace(string(id)) + " " + space), read: bootTime}
}

func bootTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return t.Nano()
}
