package engines

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func endWithParent(a *syscall.SysProcAttr, s syscall.Signal) { a.Pdeathsig = s }

// children are the processes that a process has started and that still run.
func children(pid int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil // it has ended
	}
	var out []int
	for field := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// alive tells whether a process has not ended, even if nobody has asked yet how it did.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(text), ") ") // after its name
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// removeSharedMemory removes a segment that a killed server left; one that is gone, or in
// use, is left alone.
func removeSharedMemory(id int) {
	_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
}
