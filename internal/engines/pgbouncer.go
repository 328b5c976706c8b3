package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// PgBouncer is a private PgBouncer in transaction mode before a [Postgres].
type PgBouncer struct {
	process

	home *folder
	port int
}

// StartPgBouncer starts a pooler with at most 20 connections to the server. It answers
// [ErrAbsent] where PgBouncer is not installed.
func StartPgBouncer(ctx context.Context, p *Postgres) (*PgBouncer, error) {
	path, err := find("pgbouncer")
	if err != nil {
		return nil, err
	}
	as, err := serverAccount()
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
	b := &PgBouncer{home: home, port: port}
	if err = b.configure(path, as, p.port); err == nil {
		err = b.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *PgBouncer) configure(path string, as *account, server int) error {
	dir, err := b.home.inner("pgbouncer", as)
	if err != nil {
		return err
	}
	file := filepath.Join(b.home.path, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
%[1]s = host=127.0.0.1 port=%[2]d dbname=%[1]s user=%[1]s

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[3]d
unix_socket_dir =
auth_type = any
admin_users = %[1]s
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 20
`, postgresUser, server, b.port)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return fmt.Errorf("engines: configure PgBouncer: %w", err)
	}
	b.program = program{
		path: path, args: []string{file}, folder: dir, as: as,
		stop: signalFast, close: signalStop, orphaned: signalKill,
	}
	return nil
}

// Addr is host:port of the pooler.
func (b *PgBouncer) Addr() string { return loopback(b.port) }

// URL addresses a schema through the pooler, and says that it is one.
func (b *PgBouncer) URL(schema string) string {
	return postgresURL(b.Addr(), schema) + "&pooler=transaction"
}

// Start starts the pooler again.
func (b *PgBouncer) Start(ctx context.Context) error {
	return b.run(ctx, func(ctx context.Context) error {
		return execute(ctx, b.Addr()+"/"+postgresUser+"?sslmode=disable", "SELECT 1")
	})
}

// Stop ends the pooler once its transactions have ended.
func (b *PgBouncer) Stop() error { return b.end(b.stop) }

// Kill ends the pooler at once.
func (b *PgBouncer) Kill() error { return b.kill() }

// Pause holds the pooler until Continue.
func (b *PgBouncer) Pause() error { return b.signal(signalPause) }

// Continue ends a Pause.
func (b *PgBouncer) Continue() error { return b.signal(signalContinue) }

// Close ends the pooler for good. Closed again it does nothing.
func (b *PgBouncer) Close() error { return errors.Join(b.end(b.close), b.home.remove()) }
