package engines

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// RedisOptions are the settings of a private Redis.
type RedisOptions struct {
	// AppendOnly keeps every write in a file before it is answered, so that Kill and Start lose
	// nothing. Default false: what was not kept by Snapshot is gone with the process.
	AppendOnly bool
	// Settings are further settings by name, for example maxmemory. Default none.
	Settings map[string]string
	// TLS makes the server speak TLS, too. Default: it does not.
	TLS *TLS
}

// Redis is a private Redis server.
type Redis struct {
	process

	home    *folder
	port    int
	tlsPort int // 0: none
	secured map[string]string
}

// StartRedis starts a server on a port of loopback. It answers [ErrAbsent] where Redis is not
// installed.
func StartRedis(ctx context.Context, o *RedisOptions) (*Redis, error) {
	if o == nil {
		o = &RedisOptions{}
	}
	r, err := newRedis(ctx, o, "redis")
	if err != nil {
		return nil, err
	}
	if err := r.Start(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// newRedis is a server that has a folder, a port and a configuration.
func newRedis(ctx context.Context, o *RedisOptions, name string) (*Redis, error) {
	path, err := find("redis-server")
	if err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	home, err := newFolder()
	if err != nil {
		return nil, err
	}
	r := &Redis{home: home, port: port}
	secure, err := r.secure(ctx, o.TLS)
	if err == nil {
		err = r.configure(path, name, o.withTLS(secure))
	}
	if err != nil {
		return nil, errors.Join(err, home.remove())
	}
	return r, nil
}

func (r *Redis) configure(path, name string, o *RedisOptions) error {
	dir, err := r.home.inner(name, nil)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "bind 127.0.0.1\nport %d\ndir %s\nsave \"\"\ndaemonize no\n", r.port, dir)
	if o.AppendOnly {
		text.WriteString("appendonly yes\nappendfsync always\n")
	}
	for name, value := range o.Settings {
		fmt.Fprintf(&text, "%s %s\n", name, value)
	}
	file := filepath.Join(dir, "redis.conf") // the server rewrites it when its role changes
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("engines: configure Redis: %w", err)
	}
	r.program = program{
		path: path, args: []string{file}, folder: dir,
		stop: signalStop, close: signalKill, orphaned: signalKill,
	}
	return nil
}

// Addr is host:port of the server.
func (r *Redis) Addr() string { return loopback(r.port) }

// URL addresses the server with a prefix of keys, in the form that shoal's --fast takes.
func (r *Redis) URL(prefix string) string { return r.URLAt(r.Addr(), prefix) }

// URLAt is URL with another address, for example that of a [Proxy] before the server.
func (r *Redis) URLAt(addr, prefix string) string {
	return redisURL("redis", addr, "", prefix)
}

func redisURL(scheme, addrs, path, prefix string) string {
	return scheme + "://" + addrs + path + "?prefix=" + url.QueryEscape(prefix)
}

// Do sends a command, on a connection of its own. The answer is a string, an int64, nil, or a
// slice of these; an error that the server answers is a [RedisError].
func (r *Redis) Do(ctx context.Context, args ...string) (any, error) {
	return ask(ctx, r.Addr(), args...)
}

// Start starts the server again, and answers when it has loaded what it kept.
func (r *Redis) Start(ctx context.Context) error {
	return r.run(ctx, func(ctx context.Context) error {
		_, err := r.Do(ctx, "PING")
		return err
	})
}

// Stop ends the server in order. That alone keeps nothing either: see Snapshot.
func (r *Redis) Stop() error { return r.end(r.stop) }

// Kill ends the server at once.
func (r *Redis) Kill() error { return r.kill() }

// Pause holds the server until Continue.
func (r *Redis) Pause() error { return r.signal(signalPause) }

// Continue ends a Pause.
func (r *Redis) Continue() error { return r.signal(signalContinue) }

// Snapshot keeps what the server holds now. From then on it comes back with that after Kill
// and Start, which is how a fail-over to a replica that lagged looks.
func (r *Redis) Snapshot(ctx context.Context) error {
	_, err := r.Do(ctx, "SAVE")
	return err
}

// Forget drops the snapshot: after Kill and Start the server is empty.
func (r *Redis) Forget() error {
	err := os.Remove(filepath.Join(r.folder, "dump.rdb"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Close ends the server for good. Closed again it does nothing.
func (r *Redis) Close() error {
	err := r.end(r.close)
	return errors.Join(err, r.home.remove())
}
