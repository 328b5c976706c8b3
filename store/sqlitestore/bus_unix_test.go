//go:build unix

package sqlitestore_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// longFolder is a folder whose path is too long for a socket's address.
func longFolder(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
}

// Messages reach other processes, also from folders with long paths.
func TestBusBetweenProcesses(t *testing.T) {
	for name, folder := range map[string]string{"short": t.TempDir(), "long": longFolder(t)} {
		t.Run(name, func(t *testing.T) {
			e := open(t, folder, nil)
			back := make(chan string, 100)
			if _, err := e.Bus().Subscribe(t.Context(), "back", func(p []byte) { back <- string(p) }); err != nil {
				t.Fatal(err)
			}
			c := startChild(t, "echo", folder, "")
			c.expect(t, "listening")
			for _, payload := range []string{"", "hello", strings.Repeat("x", store.MaxPayload)} {
				if err := e.Bus().Publish(t.Context(), "to", []byte(payload)); err != nil {
					t.Fatal(err)
				}
				if got := <-back; got != payload {
					t.Fatalf("%d bytes came back, %d were sent", len(got), len(payload))
				}
			}
			c.finish(t)
			waitFor(t, "the child's socket to go", func() bool { return len(sockets(t, folder)) == 1 })
		})
	}
}

func sockets(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "bus", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The socket of a process that was killed is removed by whoever publishes next, and does not
// disturb.
func TestBusBuriesTheDead(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, nil)
	back := make(chan string, 100)
	if _, err := e.Bus().Subscribe(t.Context(), "back", func(p []byte) { back <- string(p) }); err != nil {
		t.Fatal(err)
	}
	dead, living := startChild(t, "echo", folder, ""), startChild(t, "echo", folder, "")
	dead.expect(t, "listening")
	living.expect(t, "listening")
	dead.kill()
	if n := len(sockets(t, folder)); n != 3 {
		t.Fatalf("%d sockets, want 3", n)
	}
	waitFor(t, "the dead socket to go", func() bool {
		if err := e.Bus().Publish(t.Context(), "to", []byte("x")); err != nil {
			t.Fatal(err)
		}
		<-back
		return len(sockets(t, folder)) == 2
	})
}

// A process that is stopped holds up neither publishers nor the others.
func TestBusIgnoresTheStopped(t *testing.T) {
	folder := t.TempDir()
	e := open(t, folder, &sqlitestore.Options{BusQueue: 4})
	back := make(chan string, 10_000)
	if _, err := e.Bus().Subscribe(t.Context(), "back", func(p []byte) { back <- string(p) }); err != nil {
		t.Fatal(err)
	}
	stopped, living := startChild(t, "echo", folder, ""), startChild(t, "echo", folder, "")
	stopped.expect(t, "listening")
	living.expect(t, "listening")
	if err := stopped.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err := e.Bus().Publish(t.Context(), "to", make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the living one to answer", func() bool {
		if err := e.Bus().Publish(t.Context(), "to", []byte("last")); err != nil {
			t.Fatal(err)
		}
		for {
			select {
			case got := <-back:
				if got == "last" {
					return true
				}
			default:
				return false
			}
		}
	})
}
