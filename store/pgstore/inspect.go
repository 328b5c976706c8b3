package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
)

// Inspect implements store.Inspector.
func (r *records) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := r.enter(ctx, "inspect"); err != nil {
		return store.Inspection{}, err
	}
	defer r.leave()
	return r.table.database.inspect(ctx)
}

// Inspect implements store.Inspector.
func (b *bus) Inspect(ctx context.Context) (store.Inspection, error) {
	found, err := b.database.inspect(ctx)
	way := "listen"
	if b.polls.Load() {
		way = "poll every " + b.database.options.PollEvery.String()
	}
	found.Settings = append(found.Settings, store.Setting{Name: "bus", Value: way})
	return found, err
}

// inspected are the server's settings that matter, as a session of ours has them.
func inspected() []string {
	return []string{
		"fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names",
		"default_transaction_isolation", "max_connections", "shared_buffers", "default_toast_compression",
	}
}

const (
	selectServer = `SELECT version(), pg_is_in_recovery(), clock_timestamp(), pg_backend_pid()::bigint`

	selectSettings = `SELECT name, setting, coalesce(unit, '') FROM pg_catalog.pg_settings WHERE name = ANY($1::text[])`

	selectTables = `SELECT c.relname::text, c.relpersistence::text, a.attcompression::text
		FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'value'
		WHERE n.nspname = $1::text AND c.relname IN ('records', 'live')`
)

// serverState is what a server says of itself.
type serverState struct {
	version  string
	recovery bool
	offset   time.Duration // of its clock to ours
	pooler   bool          // somebody stands between
	settings map[string]string
	lz4      bool // for values of the durable records
	unlogged bool // the fast records
	poolSize int
	address  address
}

// inspect asks the server.
func (d *database) inspect(ctx context.Context) (store.Inspection, error) {
	s := serverState{poolSize: d.options.Connections, address: d.address}
	err := d.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		sent := d.options.Clock.Now()
		var now time.Time
		var pid int64
		if err := c.QueryRow(ctx, selectServer).Scan(&s.version, &s.recovery, &now, &pid); err != nil {
			return err
		}
		took := d.options.Clock.Now().Sub(sent)
		s.offset = now.Sub(sent.Add(took / 2))
		s.pooler = pid != int64(c.PgConn().PID())
		var err error
		if s.settings, err = readSettings(ctx, c); err != nil {
			return err
		}
		return s.readTables(ctx, c)
	})
	if err != nil {
		return store.Inspection{}, fmt.Errorf("pgstore: inspect: %w", err)
	}
	return s.inspection(), nil
}

func readSettings(ctx context.Context, c *pgx.Conn) (map[string]string, error) {
	rows, err := c.Query(ctx, selectSettings, inspected())
	if err != nil {
		return nil, err
	}
	settings := make(map[string]string)
	var name, value, unit string
	_, err = pgx.ForEachRow(rows, []any{&name, &value, &unit}, func() error {
		if unit != "" {
			value += " × " + unit
		}
		settings[name] = value
		return nil
	})
	return settings, err
}

// readTables looks how the tables keep their values. An engine that cannot say so is left
// alone.
func (s *serverState) readTables(ctx context.Context, c *pgx.Conn) error {
	s.lz4, s.unlogged = false, false
	rows, err := c.Query(ctx, selectTables, s.address.schema)
	if err != nil {
		return err
	}
	var name, persistence, compression string
	_, err = pgx.ForEachRow(rows, []any{&name, &persistence, &compression}, func() error {
		switch name {
		case "records":
			s.lz4 = compression == "l"
		case "live":
			s.unlogged = persistence == "u"
		}
		return nil
	})
	if err != nil && failureOf(err).code != "" && !uncertain(failureOf(err)) {
		return nil
	}
	return err
}

// engine is the engine's name and version.
func (s *serverState) engine() (name, version string) {
	name, version, _ = strings.Cut(s.version, " ")
	switch {
	case strings.Contains(s.version, "-YB-"):
		name = "YugabyteDB"
	case strings.HasPrefix(s.version, "CockroachDB"):
		name = "CockroachDB"
	}
	return name, version
}

// inspection puts it together.
func (s *serverState) inspection() store.Inspection {
	out := store.Inspection{Place: s.address.place()}
	out.Engine, out.Version = s.engine()
	for _, name := range inspected() {
		if value, ok := s.settings[name]; ok {
			out.Settings = append(out.Settings, store.Setting{Name: name, Value: value})
		}
	}
	pooler := "none"
	switch {
	case s.address.pooler:
		pooler = "transaction"
	case s.pooler:
		pooler = "of an unknown kind"
	}
	out.Settings = append(out.Settings,
		store.Setting{Name: "in_recovery", Value: strconv.FormatBool(s.recovery)},
		store.Setting{Name: "clock_offset", Value: s.offset.Round(time.Millisecond).String()},
		store.Setting{Name: "pooler", Value: pooler},
		store.Setting{Name: "pool_connections", Value: strconv.Itoa(s.poolSize)},
		store.Setting{Name: "records_lz4", Value: strconv.FormatBool(s.lz4)},
		store.Setting{Name: "live_unlogged", Value: strconv.FormatBool(s.unlogged)},
	)
	out.Problems = problems(s)
	return out
}
