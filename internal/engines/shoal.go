package engines

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// BuildShoal builds the daemon of this module at a path, with build tags (comma-separated;
// empty: none). It needs the Go toolchain, and a working directory within the module.
func BuildShoal(ctx context.Context, path, tags string) error {
	out, err := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", path, "github.com/shoalworks/shoal/cmd/shoal").CombinedOutput()
	if err != nil {
		return fmt.Errorf("engines: go build: %w\n%s", err, out)
	}
	return nil
}

// ShoalOptions are how a daemon is started. Binary and Store are needed.
type ShoalOptions struct {
	// Binary is the path of the program, see [BuildShoal].
	Binary string
	// Store is the address of the store, and Fast that of the fast one. Default: no fast one.
	Store, Fast string
	// Name is the readable part of the node's id. Default: the daemon's.
	Name string
	// Config is the text of the configuration file. Default: none.
	Config string
	// Flags are further flags of every start. Default: none.
	Flags []string
	// Log is a file that the daemon's log is appended to. Default: one that goes with Close.
	Log string
}

// Shoal is a daemon, a process of `shoal serve`.
type Shoal struct {
	process

	home *folder
	port int
	base []string
}

// NewShoal prepares a daemon on a port of loopback, which Start starts.
func NewShoal(ctx context.Context, o ShoalOptions) (*Shoal, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	home, err := newFolder()
	if err != nil {
		return nil, err
	}
	s := &Shoal{home: home, port: port}
	if err := s.configure(o); err != nil {
		return nil, errors.Join(err, home.remove())
	}
	return s, nil
}

func (s *Shoal) configure(o ShoalOptions) error {
	dir, err := s.home.inner("shoal", nil)
	if err != nil {
		return err
	}
	s.base = []string{"serve", "--store", o.Store, "--listen", loopback(s.port)}
	if o.Fast != "" {
		s.base = append(s.base, "--fast", o.Fast)
	}
	if o.Name != "" {
		s.base = append(s.base, "--name", o.Name)
	}
	if o.Config != "" {
		file := filepath.Join(dir, "shoal.yaml")
		if err := os.WriteFile(file, []byte(o.Config), 0o600); err != nil {
			return fmt.Errorf("engines: configure shoal: %w", err)
		}
		s.base = append(s.base, "--config", file)
	}
	s.base = append(s.base, o.Flags...)
	s.program = program{
		path: o.Binary, folder: dir, log: o.Log, stop: signalStop, close: signalKill, orphaned: signalKill,
	}
	return nil
}

// URL is http://host:port of the daemon.
func (s *Shoal) URL() string { return "http://" + loopback(s.port) }

// Start starts the daemon, with further flags for this time, and answers when it is ready. A
// daemon that ends meanwhile, perhaps because its store is down, is an error.
func (s *Shoal) Start(ctx context.Context, flags ...string) error {
	s.args = slices.Concat(s.base, flags)
	return s.run(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/readyz", nil)
		if err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz: status %d", res.StatusCode)
		}
		return nil
	})
}

// Running tells whether the daemon's process has not ended.
func (s *Shoal) Running() bool { return s.running() }

// Stop ends the daemon in order: sessions are saved and given up.
func (s *Shoal) Stop() error { return s.end(s.stop) }

// Kill ends the daemon at once.
func (s *Shoal) Kill() error { return s.kill() }

// Pause holds the daemon until Continue, as a machine does that sleeps.
func (s *Shoal) Pause() error { return s.signal(signalPause) }

// Continue ends a Pause.
func (s *Shoal) Continue() error { return s.signal(signalContinue) }

// Dump ends the daemon, which writes what all of its goroutines do to its log first.
func (s *Shoal) Dump() error { return s.end(signalAtOnce) }

// Close ends the daemon at once and removes its folder.
func (s *Shoal) Close() error { return errors.Join(s.end(s.close), s.home.remove()) }
