package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/shoalworks/shoal/clock"
)

const (
	// stopWithin bounds an end in order; then the process is killed.
	stopWithin = 20 * time.Second
	// readyWithin bounds how long a server takes to serve.
	readyWithin = 60 * time.Second
	// askEvery is how long a question to a server that is not ready waits for the next.
	askEvery = 15 * time.Millisecond
)

// errEnded says that a process has ended while it was waited for.
var errEnded = errors.New("the process has ended")

// program is what a process is started from.
type program struct {
	path     string
	args     []string
	folder   string         // where it runs
	log      string         // what it says; default: a file beside the folder
	as       *account       // nil: as we do
	stop     syscall.Signal // ends it in order
	close    syscall.Signal // ends it for good, leaving nothing in the system
	orphaned syscall.Signal // what it gets when this process dies
}

// process is a program that has been started, perhaps more than once.
type process struct {
	program

	pid  int           // 0: not running
	done chan struct{} // closed when it has ended
}

// running tells whether the process has not ended.
func (p *process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// start starts the program; its output goes to a log in its folder.
func (p *process) start(ctx context.Context) error {
	if p.running() {
		return fmt.Errorf("engines: %s runs already", filepath.Base(p.path))
	}
	log, err := os.OpenFile(p.logName(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("engines: log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.path, p.args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.folder, environment(), log, log
	cmd.SysProcAttr = attributes(p.as, p.orphaned)
	started, done := make(chan error, 1), make(chan struct{})
	go func() {
		// The kernel takes the end of the thread that started a process for the end of its
		// parent; so this thread stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in the log
		}
		close(done)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("engines: start %s: %w", p.path, err)
	}
	p.pid, p.done = cmd.Process.Pid, done
	return nil
}

// environment is what a server gets: nothing of ours that it could take for its own.
func environment() []string {
	out := []string{"LC_ALL=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	if tz, ok := os.LookupEnv("TZ"); ok {
		out = append(out, "TZ="+tz)
	}
	return out
}

// run starts the program and waits until ask succeeds; a process that is not ready in time is
// killed.
func (p *process) run(ctx context.Context, ask func(context.Context) error) error {
	if err := p.start(ctx); err != nil {
		return err
	}
	err := p.await(ctx, ask)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("engines: %s does not serve: %w\n%s", filepath.Base(p.path), err, p.logTail())
	return errors.Join(err, p.kill())
}

// await asks until the answer is no error, the process has ended, or time is up.
func (p *process) await(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		once, end := context.WithTimeout(ctx, 5*time.Second)
		err := ask(once)
		end()
		if err == nil {
			return nil
		}
		if !p.running() {
			return errEnded
		}
		if clock.Sleep(ctx, clock.System(), askEvery) != nil {
			return err
		}
	}
}

// end sends a signal and waits; what does not end in time is killed. Ended already is no error.
func (p *process) end(s syscall.Signal) error {
	if !p.running() {
		return nil
	}
	if err := errors.Join(p.signal(signalContinue), send(p.pid, s)); err != nil {
		return fmt.Errorf("engines: stop %s: %w", filepath.Base(p.path), err)
	}
	timer := clock.System().NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C():
		return p.kill()
	}
}

// kill ends the process and its children at once.
func (p *process) kill() error {
	if !p.running() {
		return nil
	}
	below := children(p.pid)
	if err := p.signal(signalKill); err != nil {
		return fmt.Errorf("engines: kill %s: %w", filepath.Base(p.path), err)
	}
	<-p.done
	// Its children hold on to what they share until they are gone, which is not at once.
	for range stopWithin / time.Millisecond {
		if !slices.ContainsFunc(below, alive) {
			return nil
		}
		<-clock.System().NewTimer(time.Millisecond).C()
	}
	return fmt.Errorf("engines: kill %s: its children %v stay", filepath.Base(p.path), below)
}

// signal sends a signal to the process, and then to what it has started meanwhile.
func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return fmt.Errorf("engines: %s: %w", filepath.Base(p.path), errEnded)
	}
	below := children(p.pid) // a killed process's children are no longer known as its own
	errs := []error{send(p.pid, s)}
	if s != signalKill {
		below = children(p.pid)
	}
	for _, pid := range below {
		errs = append(errs, send(pid, s))
	}
	return errors.Join(errs...)
}

func (p *process) logName() string {
	if p.log != "" {
		return p.log
	}
	return filepath.Join(filepath.Dir(p.folder), filepath.Base(p.folder)+".log")
}

// logTail is the last of what the process has said.
func (p *process) logTail() string {
	text, err := os.ReadFile(p.logName())
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
