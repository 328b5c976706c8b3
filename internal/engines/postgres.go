package engines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresUser is the owner, the database and the only account of a private PostgreSQL.
const postgresUser = "shoal"

// PostgresOptions are the settings of a private PostgreSQL.
type PostgresOptions struct {
	// Durable makes commits wait for the disk (fsync), as one does who keeps the data. A server
	// that is killed loses nothing without it either; a machine that fails does. Default false.
	Durable bool
	// Settings are further settings by name, for example max_connections. Default none.
	Settings map[string]string
	// TLS makes the server take connections with TLS only. Default: it takes those without.
	TLS *TLS
}

// Postgres is a private PostgreSQL with the database shoal, whose owner, a superuser, is shoal
// without a password. The default collation is a language's and not C, so that a statement
// that forgot COLLATE "C" is noticed.
type Postgres struct {
	process

	home    *folder
	data    string
	port    int
	durable bool
	ssl     url.Values // parameters of our own connections
}

// StartPostgres makes a database cluster in a temporary folder and serves it on a port of
// loopback. It answers [ErrAbsent] where PostgreSQL is not installed.
func StartPostgres(ctx context.Context, o *PostgresOptions) (*Postgres, error) {
	if o == nil {
		o = &PostgresOptions{}
	}
	p, err := newPostgres(ctx, o)
	if err != nil {
		return nil, err
	}
	if err = p.initialize(ctx, o); err == nil {
		err = p.Start(ctx)
	}
	if err == nil {
		err = p.exec(ctx, "postgres", "CREATE DATABASE "+postgresUser)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// newPostgres is a server that has a folder and a port, and no data.
func newPostgres(ctx context.Context, o *PostgresOptions) (*Postgres, error) {
	path, err := findPostgres("postgres")
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
	data, err := home.inner("postgres", as)
	if err != nil {
		return nil, errors.Join(err, home.remove())
	}
	return &Postgres{
		process: process{program: program{
			path: path, args: []string{"-D", data}, folder: data, as: as,
			stop: signalFast, close: signalAtOnce, orphaned: signalAtOnce,
		}},
		home: home, data: data, port: port, durable: o.Durable, ssl: url.Values{"sslmode": {"disable"}},
	}, nil
}

// initialize makes the data folder.
func (p *Postgres) initialize(ctx context.Context, o *PostgresOptions) error {
	common := []string{"-D", p.data, "-U", postgresUser, "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"}
	err := p.tool(ctx, "initdb", append(common, "--locale-provider=icu", "--icu-locale=en-US")...)
	if err != nil { // a build without ICU
		err = p.tool(ctx, "initdb", common...)
	}
	if err != nil {
		return err
	}
	secure, err := p.secure(o.TLS)
	if err != nil {
		return err
	}
	return p.configure(o.Settings, secure)
}

// configure appends this server's settings to its configuration; the last one of a name holds.
func (p *Postgres) configure(more ...map[string]string) error {
	settings := map[string]string{
		"listen_addresses": "127.0.0.1", "port": strconv.Itoa(p.port), "unix_socket_directories": "",
		"max_connections": "200", "dynamic_shared_memory_type": "mmap", "shared_buffers": "64MB",
		"log_min_messages": "warning", "max_wal_size": "256MB", "min_wal_size": "64MB",
	}
	if !p.durable {
		settings["fsync"], settings["full_page_writes"] = "off", "off"
	}
	for _, m := range more {
		maps.Copy(settings, m)
	}
	var text strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	f, err := os.OpenFile(filepath.Join(p.data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("engines: configure PostgreSQL: %w", err)
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}

// tool runs one of PostgreSQL's programs as the server's account.
func (p *Postgres) tool(ctx context.Context, name string, args ...string) error {
	path, err := findPostgres(name)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = p.data, environment()
	cmd.SysProcAttr = attributes(p.as, signalKill)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("engines: %s: %w\n%s", name, err, out)
	}
	return nil
}

// Addr is host:port of the server.
func (p *Postgres) Addr() string { return loopback(p.port) }

// URL addresses a schema of the server, in the form that shoal's --store takes.
func (p *Postgres) URL(schema string) string { return p.URLAt(p.Addr(), schema) }

// URLAt is URL with another address, for example that of a [Proxy] before the server.
func (p *Postgres) URLAt(addr, schema string) string { return postgresURL(addr, schema) }

func postgresURL(addr, schema string) string {
	u := url.URL{Scheme: "postgres", User: url.User(postgresUser), Host: addr, Path: "/" + postgresUser}
	u.RawQuery = url.Values{"sslmode": {"disable"}, "schema": {schema}}.Encode()
	return u.String()
}

// Exec runs SQL, perhaps of several statements, on a connection of its own, and drops what it
// answers.
func (p *Postgres) Exec(ctx context.Context, sql string) error { return p.exec(ctx, postgresUser, sql) }

func (p *Postgres) exec(ctx context.Context, database, sql string) error {
	return execute(ctx, p.Addr()+"/"+database+"?"+p.ssl.Encode(), sql)
}

// execute runs SQL through a server or a pooler, at host:port/database?parameters.
func execute(ctx context.Context, at, sql string) error {
	c, err := pgconn.Connect(ctx, "postgres://"+postgresUser+"@"+at)
	if err != nil {
		return fmt.Errorf("engines: PostgreSQL: %w", err)
	}
	_, err = c.Exec(ctx, sql).ReadAll()
	if err = errors.Join(err, c.Close(ctx)); err != nil {
		return fmt.Errorf("engines: PostgreSQL: %w", err)
	}
	return nil
}

// Start starts the server again, and answers when it takes statements. One that was killed
// recovers first.
func (p *Postgres) Start(ctx context.Context) error {
	return p.run(ctx, func(ctx context.Context) error { return p.exec(ctx, "postgres", "SELECT 1") })
}

// Stop ends sessions and then the server, in order.
func (p *Postgres) Stop() error { return p.end(p.stop) }

// Kill ends all of the server's processes at once. What was committed is there after Start.
func (p *Postgres) Kill() error { return p.kill() }

// Pause holds all of the server's processes, and their sessions, until Continue.
func (p *Postgres) Pause() error { return p.signal(signalPause) }

// Continue ends a Pause.
func (p *Postgres) Continue() error { return p.signal(signalContinue) }

// Close ends the server and removes its data. Closed again it does nothing.
func (p *Postgres) Close() error {
	err := p.end(p.close)
	if id, ok := sharedMemory(filepath.Join(p.data, "postmaster.pid")); ok {
		removeSharedMemory(id)
	}
	return errors.Join(err, p.home.remove())
}

// sharedMemory is the segment that a server which was killed has noted and left.
func sharedMemory(file string) (int, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false // it ended in order
	}
	lines := strings.Split(string(text), "\n")
	const line = 6 // key and id
	if len(lines) <= line {
		return 0, false
	}
	fields := strings.Fields(lines[line])
	if len(fields) != 2 {
		return 0, false
	}
	id, err := strconv.Atoi(fields[1])
	return id, err == nil
}
