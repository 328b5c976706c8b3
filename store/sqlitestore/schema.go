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
