package pgstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	goosedb "github.com/pressly/goose/v3/database"
)

// versionsTable names the migrations that a schema has.
const versionsTable = "migrations"

// versions is goose's memory of a schema. Unlike goose's own it names the schema itself, and a
// version is in it once: of two processes that migrate at once one fails.
type versions struct{ schema string }

func (v *versions) sql(text string) string {
	return strings.ReplaceAll(text, "{m}", `"`+v.schema+`".`+versionsTable)
}

// Tablename implements goosedb.Store.
func (v *versions) Tablename() string { return v.schema + "." + versionsTable }

// CreateVersionTable implements goosedb.Store.
func (v *versions) CreateVersionTable(ctx context.Context, db goosedb.DBTxConn) error {
	for _, text := range v.made() {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// made are the statements that make the schema and this memory.
func (v *versions) made() []string {
	return []string{
		`CREATE SCHEMA IF NOT EXISTS "` + v.schema + `"`,
		v.sql(`CREATE TABLE IF NOT EXISTS {m} (version bigint NOT NULL PRIMARY KEY, applied timestamptz NOT NULL)`),
	}
}

// mark is the statement that remembers a version.
func (v *versions) mark(version int64) string {
	return v.sql(fmt.Sprintf("INSERT INTO {m} (version, applied) VALUES (%d, clock_timestamp());\n", version))
}

// Insert implements goosedb.Store.
func (v *versions) Insert(ctx context.Context, db goosedb.DBTxConn, r goosedb.InsertRequest) error {
	_, err := db.ExecContext(ctx, v.sql(`INSERT INTO {m} (version, applied) VALUES ($1, clock_timestamp())`), r.Version)
	return err
}

// Delete implements goosedb.Store.
func (v *versions) Delete(ctx context.Context, db goosedb.DBTxConn, version int64) error {
	_, err := db.ExecContext(ctx, v.sql(`DELETE FROM {m} WHERE version = $1`), version)
	return err
}

// GetMigration implements goosedb.Store.
func (v *versions) GetMigration(ctx context.Context, db goosedb.DBTxConn, version int64) (*goosedb.GetMigrationResult, error) {
	r := &goosedb.GetMigrationResult{IsApplied: true}
	err := db.QueryRowContext(ctx, v.sql(`SELECT applied FROM {m} WHERE version = $1`), version).Scan(&r.Timestamp)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, goosedb.ErrVersionNotFound
	}
	return r, err
}

// GetLatestVersion implements goosedb.Store.
func (v *versions) GetLatestVersion(ctx context.Context, db goosedb.DBTxConn) (int64, error) {
	var latest sql.NullInt64
	if err := db.QueryRowContext(ctx, v.sql(`SELECT max(version) FROM {m}`)).Scan(&latest); err != nil {
		return 0, err
	}
	if !latest.Valid {
		return 0, goosedb.ErrVersionNotFound
	}
	return latest.Int64, nil
}

// ListMigrations implements goosedb.Store.
func (v *versions) ListMigrations(ctx context.Context, db goosedb.DBTxConn) ([]*goosedb.ListMigrationsResult, error) {
	rows, err := db.QueryContext(ctx, v.sql(`SELECT version FROM {m} ORDER BY version DESC`))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []*goosedb.ListMigrationsResult
	for rows.Next() {
		one := &goosedb.ListMigrationsResult{IsApplied: true}
		if err := rows.Scan(&one.Version); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// TableExists implements goosedb.StoreExtender.
func (v *versions) TableExists(ctx context.Context, db goosedb.DBTxConn) (exists bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT count(*) > 0 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = $2`,
		v.schema, versionsTable).Scan(&exists)
	return exists, err
}
