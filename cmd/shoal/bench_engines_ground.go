package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/redisstore"
)

// ground is what a bench has of its own on running engines: a schema and a prefix that are new
// and go at its end, and ways to the servers without our drivers.
type ground struct {
	name            string // of the schema, and the prefix
	postgres, redis string // addresses for our drivers
	plainAddress    string // for others
	plain           *pgxpool.Pool
	commands        rueidis.Client

	versions, settings string
	connections        int  // that PostgreSQL allows
	local              bool // PostgreSQL runs on this machine
}

// openGround looks at the servers, and makes nothing on them yet.
func openGround(ctx context.Context, postgres, redis string) (g *ground, err error) {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	g = &ground{name: "shoal_bench_" + hex.EncodeToString(random[:])}
	if err := g.address(postgres, redis); err != nil {
		return nil, err
	}
	if g.plain, err = g.pool(ctx, 4); err != nil {
		return nil, err
	}
	if g.commands, err = g.client(redis); err == nil {
		err = g.look(ctx)
	}
	if err != nil {
		g.disconnect()
		return nil, err
	}
	return g, nil
}

// address makes the addresses of the ground from those of the servers.
func (g *ground) address(postgres, redis string) error {
	p, err := url.Parse(postgres)
	if err != nil {
		return err
	}
	r, err := url.Parse(redis)
	if err != nil {
		return err
	}
	q := p.Query()
	if q.Get("pooler") == "transaction" {
		return errors.New("pooler=transaction: the server itself is measured: name its own address")
	}
	q.Set("schema", g.name)
	q.Del("pool_max_conns")
	g.postgres = with(p, q)
	for _, ours := range []string{"schema", "pooler", "live"} {
		q.Del(ours)
	}
	g.plainAddress = with(p, q)
	q = r.Query()
	q.Set("prefix", g.name)
	g.redis = with(r, q)
	return nil
}

// with is an address with other parameters.
func with(u *url.URL, q url.Values) string {
	other := *u
	other.RawQuery = q.Encode()
	return other.String()
}

// pool is a pool of plain connections.
func (g *ground) pool(ctx context.Context, connections int) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(g.plainAddress)
	if err != nil {
		return nil, err
	}
	c.MaxConns = int32(min(connections, 1000)) //nolint:gosec // bounded
	return pgxpool.NewWithConfig(ctx, c)
}

// client is a client with the settings of our driver.
func (g *ground) client(address string) (rueidis.Client, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Del("prefix")
	o, err := rueidis.ParseURL(with(u, q))
	if err != nil {
		return nil, err
	}
	o.DisableCache, o.ForceSingleClient, o.AlwaysPipelining = true, true, true
	return rueidis.NewClient(o)
}

// look asks the servers what they are.
func (g *ground) look(ctx context.Context) error {
	var version, settings string
	err := g.plain.QueryRow(ctx, `SELECT split_part(current_setting('server_version'), ' ', 1),
		format('fsync %s, synchronous_commit %s, shared_buffers %s', current_setting('fsync'), current_setting('synchronous_commit'), current_setting('shared_buffers')),
		current_setting('max_connections')::int - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int,
		COALESCE(inet_server_addr() <<= '127.0.0.0/8'::inet OR inet_server_addr() = '::1'::inet, true)`).Scan(&version, &settings, &g.connections, &g.local)
	if err != nil {
		return fmt.Errorf("look at PostgreSQL: %w", err)
	}
	info, err := g.info(ctx, "server")
	if err != nil {
		return err
	}
	g.versions, g.settings = "PostgreSQL "+version+", Redis "+info["redis_version"], settings
	return nil
}

// info is a section of what Redis says of itself.
func (g *ground) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := g.commands.Do(ctx, g.commands.B().Info().Section(section).Build()).ToString()
	if err != nil {
		return nil, fmt.Errorf("look at Redis: %w", err)
	}
	out := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = value
		}
	}
	return out, nil
}

// close removes what the bench has made, and disconnects.
func (g *ground) close(ctx context.Context) error {
	defer g.disconnect()
	_, err := g.plain.Exec(ctx, "DROP SCHEMA IF EXISTS "+g.name+" CASCADE")
	return errors.Join(err, g.forget(ctx))
}

func (g *ground) disconnect() {
	if g.plain != nil {
		g.plain.Close()
	}
	if g.commands != nil {
		g.commands.Close()
	}
}

// forget removes the keys with the prefix.
func (g *ground) forget(ctx context.Context) error {
	for cursor := uint64(0); ; {
		some, err := g.commands.Do(ctx, g.commands.B().Scan().Cursor(cursor).Match(g.name+":*").Count(10_000).Build()).AsScanEntry()
		if err != nil {
			return fmt.Errorf("remove keys: %w", err)
		}
		if len(some.Elements) > 0 {
			if err := g.commands.Do(ctx, g.commands.B().Unlink().Key(some.Elements...).Build()).Error(); err != nil {
				return fmt.Errorf("remove keys: %w", err)
			}
		}
		if cursor = some.Cursor; cursor == 0 {
			return nil
		}
	}
}

// engines are handles of both engines, as one process has them.
type engines struct {
	postgres *pgstore.Engine
	redis    *redisstore.Engine
}

// open opens handles of both engines. Nil options are the defaults.
func (g *ground) open(ctx context.Context, p *pgstore.Options, r *redisstore.Options) (e engines, err error) {
	if e.postgres, err = pgstore.Open(ctx, g.postgres, p); err != nil {
		return e, err
	}
	if e.redis, err = redisstore.Open(ctx, g.redis, r); err != nil {
		return e, errors.Join(err, e.postgres.Close(context.WithoutCancel(ctx)))
	}
	return e, nil
}

// parts is what the two play together.
func (e engines) parts() store.Parts {
	return store.Parts{Durable: e.postgres.Durable(), Fast: e.redis.Fast(), Boards: e.redis.Boards(), Bus: e.redis.Bus()}
}

func (e engines) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	return errors.Join(e.redis.Close(ctx), e.postgres.Close(ctx))
}

// serverTimes is the time of a processor that the servers have used.
type serverTimes struct{ postgres, redis time.Duration }

func (t serverTimes) plus(o serverTimes) serverTimes {
	return serverTimes{t.postgres + o.postgres, t.redis + o.redis}
}

// minus is 0 where a process of the server has ended meanwhile.
func (t serverTimes) minus(o serverTimes) serverTimes {
	return serverTimes{max(0, t.postgres-o.postgres), max(0, t.redis-o.redis)}
}

// times asks how much the servers have used since they began. PostgreSQL does not say it: the
// system is asked, where that is the same machine.
func (g *ground) times(ctx context.Context) (t serverTimes, err error) {
	info, err := g.info(ctx, "cpu")
	if err != nil {
		return t, err
	}
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info[name], 64)
		if err != nil {
			return t, fmt.Errorf("look at Redis: %s: %w", name, err)
		}
		t.redis += time.Duration(seconds * float64(time.Second))
	}
	if !g.local {
		return t, nil
	}
	rows, err := g.plain.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE pid IS NOT NULL")
	if err != nil {
		return t, fmt.Errorf("look at PostgreSQL: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			return t, fmt.Errorf("look at PostgreSQL: %w", err)
		}
		t.postgres += timeOf(pid)
	}
	return t, rows.Err()
}

// timeOf is the time of a processor that a process of PostgreSQL has used, as Linux tells it;
// 0 when there is none, or another one.
func timeOf(pid int) time.Duration {
	const tick = time.Second / 100 // by which Linux counts it, on every machine
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	head, rest, _ := strings.Cut(string(text), ") ") // the fields after the name, from the third on
	fields := strings.Fields(rest)
	if !strings.Contains(head, "(postgres") || len(fields) < 13 {
		return 0
	}
	var used time.Duration
	for _, f := range fields[11:13] {
		n, _ := strconv.Atoi(f) // the system wrote it
		used += time.Duration(n) * tick
	}
	return used
}
