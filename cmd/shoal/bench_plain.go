package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// plainFile is the file of the plain table, beside the store.
const plainFile = "plain.db"

// plainTable is the reference of what SQLite can do: the rows of a board in a table of their
// own, with an index on the key and one on the order, and nothing else. It is opened with the
// settings of the store.
type plainTable struct {
	db       *sql.DB
	sequence int64
}

func openPlain(ctx context.Context, file string) (*plainTable, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+
		"&_pragma=wal_autocheckpoint(16000)&_pragma=cache_size(-65536)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	const schema = `CREATE TABLE IF NOT EXISTS entries (
	board INTEGER NOT NULL, key TEXT NOT NULL, place INTEGER NOT NULL, sequence INTEGER NOT NULL, epoch INTEGER NOT NULL, revision INTEGER NOT NULL,
	PRIMARY KEY (board, key)) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS standings ON entries (board, place, sequence)`
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("plain table: %w", err), db.Close())
	}
	return &plainTable{db: db}, nil
}

func (p *plainTable) close() error { return p.db.Close() }

// engine names the engine.
func (p *plainTable) engine(ctx context.Context) (string, error) {
	var version string
	if err := p.db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return "", err
	}
	return "SQLite " + version, nil
}

// upsert writes a window in one transaction.
func (p *plainTable) upsert(ctx context.Context, entries []store.Submission) (err error) {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := p.upsertAll(ctx, tx, entries); err != nil {
		return errors.Join(fmt.Errorf("plain table: %w", err), tx.Rollback())
	}
	return tx.Commit()
}

func (p *plainTable) upsertAll(ctx context.Context, tx *sql.Tx, entries []store.Submission) error {
	stmt, err := tx.PrepareContext(ctx, `INSERT INTO entries (board, key, place, sequence, epoch, revision) VALUES (1, ?, ?, ?, ?, 0)
		ON CONFLICT (board, key) DO UPDATE SET place = excluded.place, sequence = excluded.sequence, epoch = excluded.epoch
		WHERE excluded.epoch > entries.epoch`)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	for _, e := range entries {
		p.sequence++
		if _, err := stmt.ExecContext(ctx, e.Key, ^e.Score, p.sequence, int64(e.Stamp.Epoch)); err != nil {
			return err
		}
	}
	return nil
}
