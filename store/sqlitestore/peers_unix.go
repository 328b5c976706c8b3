//go:build unix

package sqlitestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shoalworks/shoal/clock"
)

// peers are the other engines on the folder, of this process or of others. Each binds a
// datagram socket in the folder's bus directory, and who publishes sends to every socket
// there but its own. The directory is private, so nobody else can send.
//
// A socket is bound under another name and renamed when it is ready: one that has its final
// name and refuses a connection belongs to a process that has died, and is removed.
type peers struct {
	folder  string // of the sockets
	address string // the same, short enough to be the address of a socket
	own     string // the name of the own socket
	limit   int    // messages that wait for each peer
	deliver func(topic string, payload []byte)
	socket  *net.UnixConn // nil when it could not be bound: no peers then
	handle  *os.File      // what address refers to; nil when it is the folder's own path
	running sync.WaitGroup
	mu      struct {
		sync.Mutex
		links   map[string]*link
		listed  time.Time // the directory's time when it was listed; zero: list it again
		stopped bool
	}
}

const (
	readySocket = ".sock"
	newSocket   = ".new"

	// addressMost is how long the path of the directory may be: an address has at most 103
	// bytes on every system, and a name 31.
	addressMost = 103 - 31

	// sendPatience is how long a message waits, on the peer's own goroutine, for a receiver
	// whose queue in the kernel is full. Then it is lost.
	sendPatience = 100 * time.Millisecond

	// settled is how old a directory's last change must be before the directory's time can
	// be trusted to differ after the next one.
	settled = 100 * time.Millisecond
)

// startPeers joins the peers. Where that cannot be, messages stay within the engine.
func startPeers(ctx context.Context, folder string, o Options, deliver func(topic string, payload []byte)) *peers {
	p := &peers{folder: filepath.Join(folder, busFolder), limit: o.BusQueue, deliver: deliver}
	p.mu.links = make(map[string]*link)
	if err := p.bind(); err != nil {
		o.Logger.WarnContext(ctx, "sqlitestore: no messages between processes", "folder", p.folder, "err", err)
		return p
	}
	p.running.Go(func() { p.receive(ctx, o.Logger) })
	return p
}

// bind makes the own socket.
func (p *peers) bind() (err error) {
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(p.folder, 0o700); err != nil {
		return err
	}
	if err := p.shorten(); err != nil {
		return err
	}
	name := rand.Text()
	p.own = name + readySocket
	unready := filepath.Join(p.folder, name+newSocket)
	socket, err := net.ListenUnixgram("unixgram", p.at(name+newSocket))
	if err != nil {
		return errors.Join(err, p.letGo())
	}
	err = os.Chmod(unready, 0o600)
	if err == nil {
		err = os.Rename(unready, filepath.Join(p.folder, p.own))
	}
	if err != nil {
		return errors.Join(err, socket.Close(), os.Remove(unready), p.letGo())
	}
	p.socket = socket
	return nil
}

// place is where the sockets are, and whether the own one is there.
func (p *peers) place() (folder string, connected bool) { return p.folder, p.socket != nil }

// shorten finds a way to write the folder's path as the address of a socket. On Linux any
// folder has a short name while it is open.
func (p *peers) shorten() error {
	p.address = p.folder
	if len(p.folder) <= addressMost {
		return nil
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a path of at most %d bytes is needed for sockets", addressMost)
	}
	handle, err := os.Open(p.folder)
	if err != nil {
		return err
	}
	p.handle = handle
	p.address = fmt.Sprintf("/proc/self/fd/%d", handle.Fd())
	return nil
}

func (p *peers) letGo() error {
	if p.handle == nil {
		return nil
	}
	return p.handle.Close()
}

func (p *peers) at(name string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixgram", Name: p.address + "/" + name}
}

// receive delivers what comes until the socket is closed.
func (p *peers) receive(ctx context.Context, log *slog.Logger) {
	frame := make([]byte, frameMost)
	for {
		n, err := p.socket.Read(frame)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.WarnContext(ctx, "sqlitestore: no messages from other processes any more", "err", err)
			return
		}
		if topic, payload, ok := decodeFrame(frame[:n]); ok {
			p.deliver(topic, payload)
		}
	}
}

// send queues the frame for every peer. It never waits: a peer that has fallen behind by the
// limit loses it.
func (p *peers) send(frame []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket == nil || p.mu.stopped {
		return
	}
	p.list()
	for name, l := range p.mu.links {
		if l.isDead() {
			delete(p.mu.links, name)
			p.mu.listed = time.Time{} // it may only have failed to connect
			continue
		}
		select {
		case l.queue <- frame:
		default: // lost
		}
	}
}

// list looks for new peers and forgets those that have gone. The lock is held.
func (p *peers) list() {
	info, err := os.Stat(p.folder)
	if err != nil || info.ModTime().Equal(p.mu.listed) {
		return
	}
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return
	}
	if p.mu.listed = info.ModTime(); clock.System().Now().Sub(p.mu.listed) < settled {
		p.mu.listed = time.Time{}
	}
	present := make(map[string]bool, len(entries))
	for _, e := range entries {
		name := e.Name()
		if name == p.own || !strings.HasSuffix(name, readySocket) {
			continue
		}
		if present[name] = true; p.mu.links[name] == nil {
			l := &link{queue: make(chan []byte, p.limit), quit: make(chan struct{}), dead: make(chan struct{})}
			p.mu.links[name] = l
			p.running.Go(func() { l.run(p.at(name), filepath.Join(p.folder, name)) })
		}
	}
	for name, l := range p.mu.links {
		if !present[name] {
			close(l.quit)
			delete(p.mu.links, name)
		}
	}
}

// stop leaves the peers: nothing is sent or delivered any more.
func (p *peers) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.stopped = true
	for _, l := range p.mu.links {
		close(l.quit)
	}
	clear(p.mu.links)
	if p.socket == nil {
		return
	}
	// Neither can matter any more: whoever finds the name finds it dead.
	_ = os.Remove(filepath.Join(p.folder, p.own))
	_ = p.socket.Close()
}

// wait waits for the goroutines after stop.
func (p *peers) wait(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.running.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.letGo()
	p.handle = nil
	return err
}

// link sends to one peer, on a goroutine of its own.
type link struct {
	queue chan []byte
	quit  chan struct{} // closed when nothing more is to be sent
	dead  chan struct{} // closed when nothing more can be sent
}

func (l *link) isDead() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// run sends what is queued until the peer or the engine has gone. path is removed when its
// process turns out to be dead.
func (l *link) run(to *net.UnixAddr, path string) {
	defer close(l.dead)
	socket, err := net.DialUnix("unixgram", nil, to)
	if err != nil {
		bury(path, err)
		return
	}
	defer func() { _ = socket.Close() }()
	_ = socket.SetWriteBuffer(4 * frameMost) // a smaller one still takes smaller messages
	for {
		select {
		case <-l.quit:
			return
		case frame := <-l.queue:
			// A socket's deadline is a time of the system's clock.
			_ = socket.SetWriteDeadline(clock.System().Now().Add(sendPatience))
			if _, err := socket.Write(frame); bury(path, err) {
				return
			}
		}
	}
}

// bury removes the socket of a dead process, and tells that it was one. Any other error has
// lost one message.
func bury(path string, err error) bool {
	if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.ECONNRESET) {
		return false
	}
	_ = os.Remove(path) // somebody else may have been faster
	return true
}
