//go:build unix

package engines

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

const (
	signalKill     = syscall.SIGKILL
	signalStop     = syscall.SIGTERM
	signalFast     = syscall.SIGINT  // PostgreSQL: end sessions, write a checkpoint, exit
	signalAtOnce   = syscall.SIGQUIT // PostgreSQL: exit at once, but leave no shared memory
	signalPause    = syscall.SIGSTOP
	signalContinue = syscall.SIGCONT
)

// account is the system's user that a server runs as; nil is this process's own.
type account struct {
	uid, gid uint32
}

// serverAccount is an account that servers accept which refuse to run as root: nil when this
// process is not root.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("engines: account %s: %w", name, err)
		}
		return &account{uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("engines: this is root, and there is neither a user postgres nor nobody to run a server as")
}

// attributes are those of a server's process: a group of its own, so that a terminal's Ctrl-C
// reaches only us, and an end with this process.
func attributes(as *account, orphaned syscall.Signal) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if as != nil {
		a.Credential = &syscall.Credential{Uid: as.uid, Gid: as.gid}
	}
	endWithParent(a, orphaned)
	return a
}

// send sends a signal to a process; one that has ended is no error.
func send(pid int, s syscall.Signal) error {
	err := syscall.Kill(pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// lockFile opens a file and locks it, or says that another holds it. The lock ends with the
// process; its children do not inherit it.
func lockFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
