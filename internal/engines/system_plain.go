//go:build !unix

package engines

import (
	"errors"
	"os"
	"syscall"
)

// Engines run on Unix systems only; here the package compiles, and nothing starts.
const (
	signalKill     = syscall.SIGKILL
	signalStop     = syscall.SIGTERM
	signalFast     = syscall.SIGINT
	signalAtOnce   = syscall.SIGQUIT
	signalPause    = syscall.Signal(-1)
	signalContinue = syscall.Signal(-2)
)

type account struct{ uid, gid uint32 }

var errSystem = errors.New("engines: servers are started on Unix systems only")

func serverAccount() (*account, error) { return nil, errSystem }

func attributes(*account, syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func send(int, syscall.Signal) error { return errSystem }

func lockFile(string, int) (*os.File, error) { return nil, errSystem }

func children(int) []int { return nil }

func alive(int) bool { return false }

func removeSharedMemory(int) {}
