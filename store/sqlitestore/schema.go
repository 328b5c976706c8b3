package sqlitestore

import (
	"context"
	"fmt"
)

// applicationID marks our files ("SHOL"), https://www.sqlite.org/pragma.html#pragma_application_id.
const applicationID = 0x53484F4C

// schema is what one kind of file holds: the scripts that lead from each version of it to
// the next. A file's version is the number of scripts it has seen; scripts are only ever
// appended.
//
// The version is kept in user_version, next to the application id, and a file moves forward
// in one exclusive transaction. A migration library was rejected: those at hand keep a table
// of their own and take no lock between processes on SQLite, and two processes that start at
// once on a new folder are the normal case here.
type schema struct {
	name    string
	scripts []string
}

// identity is what tells whose file it is.
type identity struct {
	application, version, tables int64
}

// identify must run inside a transaction.
func identify(ctx context.Context, c *conn) (id identity, err error) {
	for sql, field := range map[string]*int64{
		"PRAGMA application_id":              &id.application,
		"PRAGMA user_version":                &id.version,
		"SELECT count(*) FROM sqlite_schema": &id.tables,
	} {
		if *field, err = c.number(ctx, sql); err != nil {
			return id, err
		}
	}
	return id, nil
}

// judge decides whether a file may be used: new, ours, or refused. It does no I/O.
func (s schema) judge(id identity) (fresh bool, err error) {
	switch {
	case id == identity{}:
		return true, nil
	case id.application != applicationID:
		return false, fmt.Errorf("%w: an SQLite database of another program, move it away or choose another folder", ErrForeign)
	case id.version > int64(len(s.scripts)):
		return false, fmt.Errorf("%w: schema %d of %s, this release knows %d; update it, or use another folder", ErrNewerSchema, id.version, s.name, len(s.scripts))
	}
	return false, nil
}

// migrate brings a file to the newest version. Any error of it leaves the file as it was.
func (s schema) migrate(ctx context.Context, c *conn) error {
	var id identity
	err := snapshot(ctx, c, func(ctx context.Context, c *conn) (err error) { // another process may be at it
		id, err = identify(ctx, c)
		return err
	})
	if err != nil {
		return err
	}
	fresh, err := s.judge(id)
	if err != nil {
		return err
	}
	if fresh {
		if err := c.run(ctx, "PRAGMA journal_mode=WAL"); err != nil {
			return err
		}
	}
	if id.version == int64(len(s.scripts)) {
		return nil
	}
	if _, err := c.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := s.upgrade(ctx, c); err != nil {
		_ = c.run(ctx, "ROLLBACK") // the first error counts; closing the connection rolls back too
		return err
	}
	_, err = c.exec(ctx, "COMMIT")
	return err
}

// upgrade runs, inside a transaction, the scripts that the file has not seen. Another
// process may have been faster.
func (s schema) upgrade(ctx context.Context, c *conn) error {
	id, err := identify(ctx, c)
	if err != nil {
		return err
	}
	if _, err := s.judge(id); err != nil {
		return err
	}
	for _, script := range s.scripts[id.version:] {
		if err := c.run(ctx, script); err != nil {
			return fmt.Errorf("sqlitestore: migrate %s: %w", s.name, err)
		}
	}
	return c.run(ctx, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, len(s.scripts)))
}

// recordsSchema is the schema of records.db. The view is for people with the sqlite3 tool.
func recordsSchema() schema {
	return schema{name: recordsFile, scripts: []string{recordsTable + `;
CREATE VIEW profiles AS
	SELECT substr(key, 9) AS profile, CAST(value AS TEXT) AS json,
		version, datetime(wall / 1000000000, 'unixepoch') AS written
	FROM records WHERE key >= 'profile/' AND key < 'profile0'`}}
}

// liveSchema is the schema of live.db.
func liveSchema() schema { return schema{name: liveFile, scripts: []string{recordsTable}} }

// recordsTable holds one row a record. The small columns come first, so that reading a
// version does not touch the pages that a large value overflows to.
const recordsTable = `CREATE TABLE records (
	key     TEXT PRIMARY KEY NOT NULL,
	version INTEGER NOT NULL,
	boot    INTEGER NOT NULL, -- names the boot that up counts from
	up      INTEGER NOT NULL, -- nanoseconds of the boot clock
	wall    INTEGER NOT NULL, -- nanoseconds since 1970
	value   BLOB    NOT NULL
) STRICT`

// boardsSchema is the schema of boards.db. A board's name is NULL once it is dropped and its
// entries are being removed.
func boardsSchema() schema {
	return schema{name: boardsFile, scripts: []string{`CREATE TABLE boards (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	name       TEXT UNIQUE,
	ascending  INTEGER NOT NULL,
	generation TEXT    NOT NULL,
	count      INTEGER NOT NULL,
	sequence   INTEGER NOT NULL,
	sealed     INTEGER NOT NULL,
	metas      INTEGER NOT NULL  -- some entry has had metadata
) STRICT;
CREATE TABLE entries (
	board    INTEGER NOT NULL,
	key      TEXT    NOT NULL,
	place    INTEGER NOT NULL, -- the score, or its complement: smaller is better
	sequence INTEGER NOT NULL,
	epoch    INTEGER NOT NULL, -- with revision, the stamp of the last write under "last"
	revision INTEGER NOT NULL,
	meta     BLOB,
	PRIMARY KEY (board, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX standings ON entries (board, place, sequence);
CREATE TABLE shelves (
	board    INTEGER NOT NULL,
	place    INTEGER NOT NULL, -- with sequence, where the first bucket starts
	sequence INTEGER NOT NULL,
	entries  INTEGER NOT NULL,
	buckets  BLOB    NOT NULL,
	PRIMARY KEY (board, place, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX shelf_counts ON shelves (board, place, sequence, entries); -- few pages to sum
CREATE TABLE sources (
	board  INTEGER NOT NULL,
	source TEXT    NOT NULL,
	n      INTEGER NOT NULL,
	used   INTEGER NOT NULL, -- counts the batches of the board
	PRIMARY KEY (board, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX source_use ON sources (board, used);
CREATE VIEW standing AS
	SELECT b.name AS board, e.key,
		CASE b.ascending WHEN 1 THEN e.place ELSE ~e.place END AS score, e.sequence, e.meta
	FROM boards b JOIN entries e ON e.board = b.id WHERE b.name IS NOT NULL`, `-- A process of the release before knows neither hidden entries nor walks. It may have the
-- file open just now; without a column that it names it fails instead of writing past them.
ALTER TABLE boards RENAME COLUMN metas TO with_meta;
ALTER TABLE boards ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
-- The log of what walks need: its number, the versions that it is complete for and is kept
-- for (0: there is none), its rows, those of entries that were shown, and the last call.
ALTER TABLE boards ADD COLUMN log       INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN log_from  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN log_upto  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN log_rows  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN log_shown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN log_boot  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN log_up    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN log_wall  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN stale     INTEGER NOT NULL DEFAULT 0; -- rows of ended logs are left
-- Where the bucket counts end while they are made anew, else NULL.
ALTER TABLE boards ADD COLUMN counted_place    INTEGER;
ALTER TABLE boards ADD COLUMN counted_sequence INTEGER;
CREATE INDEX boards_logged ON boards (id) WHERE log_from > 0;
CREATE INDEX boards_stale ON boards (id) WHERE stale = 1;
CREATE INDEX boards_recounted ON boards (id) WHERE counted_place IS NOT NULL;
CREATE TABLE hidden (
	board    INTEGER NOT NULL,
	key      TEXT    NOT NULL, -- never in entries
	scored   INTEGER NOT NULL, -- the rest is that of its entry; else all 0
	place    INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	epoch    INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	meta     BLOB,
	PRIMARY KEY (board, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE moved ( -- an entry stood here in the versions from since to before at
	board    INTEGER NOT NULL,
	log      INTEGER NOT NULL,
	place    INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	at       INTEGER NOT NULL, -- 9223372036854775807: it still does
	since    INTEGER NOT NULL,
	key      TEXT    NOT NULL,
	meta     BLOB,
	PRIMARY KEY (board, log, place, sequence, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX moved_shown ON moved (board, log, place, sequence, since) WHERE at = 9223372036854775807`}}
}
