//go:build unix

package sqlitestore_test

import "syscall"

// stopSignal stops a process without ending it.
const stopSignal = syscall.SIGSTOP
