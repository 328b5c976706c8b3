package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/shoalworks/shoal/clock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema to this release's version, or refuses one of a newer release. Any
// number of processes may do so at once: each migration is a transaction that names its
// version in a unique row, so one of them lands and the others look again. What has to wait for a
// table in use gives way, and tries again after pauses, some ten seconds in all.
func (d *database) migrate(ctx context.Context) error {
	files := d.renderedMigrations(ctx)
	pause := 10 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := d.migrateOnce(ctx, files)
		if err != nil && failureOf(err).code == codeLocked {
			err = fmt.Errorf("%w; a long transaction holds a table (a backup?): start again when it is over", err)
		}
		if err == nil || attempt == 10 || !errors.Is(err, ErrSchema) || !racing(failureOf(err)) {
			return err
		}
		d.options.Logger.DebugContext(ctx, "migration repeated", "schema", d.address.schema, "attempt", attempt, "err", err)
		if clock.Sleep(ctx, d.options.Clock, pause) != nil {
			return err
		}
		pause *= 2
	}
}

func (d *database) migrateOnce(ctx context.Context, files fs.FS) error {
	db := stdlib.OpenDBFromPool(d.pool)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectCustom, db, files,
		goose.WithStore(&versions{schema: d.address.schema}), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	known := provider.ListSources()[len(provider.ListSources())-1].Version
	has, err := d.schemaVersion(ctx)
	switch {
	case err != nil:
		return err
	case has > known:
		return fmt.Errorf("%w: %s is at version %d, this release knows %d: upgrade it", ErrNewerSchema, d.address.schema, has, known)
	case has == known:
		return nil
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSchema, err)
	}
	for _, r := range results {
		d.options.Logger.InfoContext(ctx, "schema migrated", "schema", d.address.schema, "version", r.Source.Version, "took", r.Duration)
	}
	if len(results) > 0 {
		d.addExtras(ctx)
	}
	return nil
}

// schemaVersion is 0 when there is no schema yet.
func (d *database) schemaVersion(ctx context.Context) (version int64, err error) {
	err = d.pool.QueryRow(ctx, `SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2`,
		d.address.schema, versionsTable).Scan(&version)
	if err != nil || version == 0 {
		return 0, serverError(err)
	}
	err = d.pool.QueryRow(ctx, d.sql(`SELECT coalesce(max(version), 0) FROM {s}.`+versionsTable)).Scan(&version)
	return version, serverError(err)
}

func serverError(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.Contains(e.Message, "unsupported startup parameter") {
		return fmt.Errorf("%w: a pooler stands before it, say pooler=transaction in the address: %w", ErrServer, err)
	}
	return fmt.Errorf("%w: %w", ErrServer, advise(err))
}
