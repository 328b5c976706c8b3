package sqlitestore

// boardsSchema is the schema of boards.db. A board's name is NULL once it is dropped and its
// entries are being removed.
func boardsSchema() schema {
	return schema{name: boardsFile, scripts: []string{boardsTables, boardsWalks}}
}

// boardsTables is boards as they began: boards, their entries, and the counts of those.
const boardsTables = `CREATE TABLE boards (
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
	FROM boards b JOIN entries e ON e.board = b.id WHERE b.name IS NOT NULL`

// boardsWalks adds hidden keys, the logs of walks, and counts that are made anew.
//
// A process of the release before knows none of them. It may have the file open just now;
// without a column that it names it fails instead of writing past them.
const boardsWalks = `ALTER TABLE boards RENAME COLUMN metas TO with_meta;
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
CREATE INDEX moved_shown ON moved (board, log, place, sequence, since) WHERE at = 9223372036854775807`
