package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/shoalworks/shoal/store/internal/standings"
)

// What the tests reach inside for.

var (
	NetworkFileSystem = networkFileSystem
	EncodeFrame       = encodeFrame
	DecodeFrame       = decodeFrame
)

const FrameMost = frameMost

// OpenBooted opens the folder as if the host had booted under this name, with a boot clock
// of its own.
func OpenBooted(ctx context.Context, folder string, o *Options, boot string, since func() time.Duration) (*Engine, error) {
	filled, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	up := uptime{}
	if boot != "" {
		up = uptime{boot: bootNamed(boot), read: func() int64 { return int64(since()) }}
	}
	return open(ctx, folder, filled, up, unsynced())
}

// OpenUnsynced opens the folder without waiting for the disk: what it writes survives every
// process, which is all that a test can see, but not the loss of power.
func OpenUnsynced(ctx context.Context, folder string, o *Options) (*Engine, error) {
	filled, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return open(ctx, folder, filled, hostUptime(), unsynced())
}

func unsynced() []kind {
	all := kinds()
	for i := range all {
		all[i].synchronous = "OFF"
	}
	return all
}

// SizeBoards makes the buckets of boards, and the stretches of walks, so small that tests
// reach their edges.
func (e *Engine) SizeBoards(bucket int64, shelf int) {
	e.boards.sizes.Bucket, e.boards.sizes.Shelf, e.boards.sizes.Stretch = bucket, shelf, 0
}

// Do has the writer of records.db apply f.
func (e *Engine) Do(ctx context.Context, f func(exec func(sql string) error) error) error {
	return e.durable.file.writer.do(ctx, workFunc(f), 1, 0)
}

type workFunc func(exec func(sql string) error) error

func (f workFunc) apply(ctx context.Context, t *transaction) error {
	return f(func(sql string) error { return t.run(ctx, sql) })
}

// QueuedBytes is how much of the queue of records.db is taken.
func (e *Engine) QueuedBytes() (taken int64) {
	q := e.durable.file.writer.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.mu.jobs {
		taken += j.bytes
	}
	return taken
}

// LogPages is the length of the write-ahead log of records.db.
func (e *Engine) LogPages(ctx context.Context) (pages int64, err error) {
	err = e.durable.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		s, err := logLength(ctx, c, "NOOP")
		pages = s.pages
		return err
	})
	return pages, err
}

// CheckCounts compares every bucket of every board with the entries, and answers how many
// buckets and shelves there are.
func (e *Engine) CheckCounts(ctx context.Context) (buckets, shelves int, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		return snapshot(ctx, c, func(ctx context.Context, c *conn) error {
			ids, err := boardIDs(ctx, c)
			if err != nil {
				return err
			}
			for _, id := range ids {
				b, s, err := checkBoard(ctx, c, id)
				if err != nil {
					return fmt.Errorf("board %d: %w", id, err)
				}
				buckets, shelves = buckets+b, shelves+s
			}
			return nil
		})
	})
	return buckets, shelves, err
}

func boardIDs(ctx context.Context, c *conn) (ids []int64, err error) {
	err = c.query(ctx, `SELECT id FROM boards WHERE name IS NOT NULL`, func(row []driver.Value) error {
		ids = append(ids, integer(row[0]))
		return nil
	})
	return ids, err
}

func checkBoard(ctx context.Context, c *conn, id int64) (buckets, shelves int, err error) {
	d, err := openDirectory(ctx, c, boardRow{id: id}, standings.DefaultSizes())
	if err != nil {
		return 0, 0, err
	}
	var all []standings.Bucket
	var total int64
	for _, s := range d.Shelves {
		if err := d.Fetch(s); err != nil {
			return 0, 0, err
		}
		if stored, err := c.number(ctx, `SELECT coalesce(sum(entries), 0) FROM shelves WHERE board = ? AND place = ? AND sequence = ?`,
			id, s.From().Place, s.From().Sequence); err != nil || stored != s.Entries() {
			return 0, 0, fmt.Errorf("a shelf says %d, its buckets %d (%w)", stored, s.Entries(), err)
		}
		all = append(all, s.Buckets...)
	}
	for i, b := range all {
		total += b.Entries
		sql, args := `SELECT count(*) FROM entries WHERE board = ? AND (place, sequence) >= (?, ?)`, []any{id, b.From.Place, b.From.Sequence}
		if i+1 < len(all) {
			sql += ` AND (place, sequence) < (?, ?)`
			args = append(args, all[i+1].From.Place, all[i+1].From.Sequence)
		}
		if n, err := c.number(ctx, sql, args...); err != nil || n != b.Entries {
			return 0, 0, fmt.Errorf("bucket %d counts %d, there are %d (%w)", i, b.Entries, n, err)
		}
	}
	if n, err := c.number(ctx, `SELECT count FROM boards WHERE id = ?`, id); err != nil || n != total {
		return 0, 0, fmt.Errorf("the board says %d, its buckets %d (%w)", n, total, err)
	}
	return len(all), len(d.Shelves), nil
}

// Leftovers is how many rows of dropped boards are left.
func (e *Engine) Leftovers(ctx context.Context) (n int64, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		n, err = c.number(ctx, `SELECT
			(SELECT count(*) FROM boards WHERE name IS NULL) +
			(SELECT count(*) FROM entries WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL)) +
			(SELECT count(*) FROM hidden WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL)) +
			(SELECT count(*) FROM moved WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL)) +
			(SELECT count(*) FROM shelves WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL)) +
			(SELECT count(*) FROM sources WHERE board NOT IN (SELECT id FROM boards WHERE name IS NOT NULL))`)
		return err
	})
	return n, err
}

// Sources is how many sources of sums the boards know.
func (e *Engine) Sources(ctx context.Context) (n int64, err error) {
	err = e.boards.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		n, err = c.number(ctx, `SELECT count(*) FROM sources`)
		return err
	})
	return n, err
}

// StopSweeper lets dropped boards lie, as a crash would.
func (e *Engine) StopSweeper(ctx context.Context) error { return e.boards.sweeper.close(ctx) }

// PushSources makes so many sources, as if each had sent a batch of sums.
func (e *Engine) PushSources(ctx context.Context, n int) error {
	return e.boards.file.writer.do(ctx, workFunc(func(exec func(string) error) error {
		return exec(fmt.Sprintf(`INSERT INTO sources (board, source, n, used)
			SELECT boards.id, format('source-%%06d', value), 1, value FROM boards,
				(WITH RECURSIVE c (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM c WHERE value < %d) SELECT value FROM c)`, n))
	}), 1, 0)
}

// SourcesMost is how many sources a board remembers.
const SourcesMost = standings.SourcesMost

// ForeignKeys has the writer of records.db check foreign keys. It must be used between two
// groups.
func (e *Engine) ForeignKeys(ctx context.Context) error {
	// Inside a transaction the pragma does nothing, so the transaction is left for it.
	return e.Do(ctx, func(exec func(string) error) error {
		for _, sql := range []string{"COMMIT", "PRAGMA foreign_keys = 1", "BEGIN IMMEDIATE"} {
			if err := exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// Turnstile is the turnstile of one process.
type Turnstile struct{ turnstile }

// NewTurnstile opens the turnstile at path, as one more process.
func NewTurnstile(path string) (*Turnstile, error) {
	lock, err := newTryLock(path)
	return &Turnstile{turnstile{lock: lock}}, err
}

func (t *Turnstile) Enter()       { t.enter() }
func (t *Turnstile) Leave()       { t.leave() }
func (t *Turnstile) Open() bool   { return t.open() }
func (t *Turnstile) Close() error { return t.lock.close() }

// FailEntries has the engine fail when an entry of this key is written.
func (e *Engine) FailEntries(ctx context.Context, key string) error {
	return e.boards.file.writer.do(ctx, workFunc(func(exec func(string) error) error {
		return exec(`CREATE TRIGGER fail BEFORE INSERT ON entries WHEN new.key = '` + key + `'
			BEGIN SELECT raise(ABORT, 'it fails'); END`)
	}), 1, 0)
}

// Sentinel is what a primary result code means, before COMMIT or during it.
func Sentinel(code int, committing bool) error {
	if committing {
		return sentinel(code, duringCommit)
	}
	return sentinel(code, beforeCommit)
}

// Plans is how the engine runs the statements of a file ("records" or "boards").
func (e *Engine) Plans(ctx context.Context, file string) (map[string][]string, error) {
	statements, from := map[string]string{
		"selectOne": selectOne, "selectPage": selectPage, "selectVersion": selectVersion,
		"putAny": putAny, "putAbsent": putAbsent, "putIs": putIs, "deleteAny": deleteAny, "deleteIs": deleteIs,
	}, e.durable.file
	if file == "boards" {
		from = e.boards.file
		statements = map[string]string{
			"selectBoard": selectBoard, "updateBoard": updateBoard, "sealBoard": sealBoard, "dropBoard": dropBoard,
			"selectNames": selectNames, "selectEntry": selectEntry, "updateEntry": updateEntry, "updateStamp": updateStamp,
			"deleteEntry": deleteEntry, "selectWhole": selectWhole, "selectShelves": selectShelves, "selectShelf": selectShelf,
			"upsertShelf": upsertShelf, "deleteShelf": deleteShelf, "selectNth": selectNth, "selectOwnShelf": selectOwnShelf,
			"sumShelves": sumShelves, "countInside": countInside, "selectStandings": selectStandings,
			"selectStandingsMeta": selectStandingsMeta, "selectShelfCounts": selectShelfCounts,
			"selectSource": selectSource, "upsertSource": upsertSource, "forgetSources": forgetSources,
			"selectDropped": selectDropped, "sweepEntry": sweepEntry, "deleteShelves": deleteShelves,
			"sweepSources": sweepSources, "sweepBoard": sweepBoard, "sweepHidden": sweepHidden,
			"selectBoardID": selectBoardID, "selectStale": selectStale, "selectLogged": selectLogged,
			"selectRecount": selectRecount, "selectMovedEnd": selectMovedEnd, "sweepMoved": sweepMoved,
			"sweepAllMoved": sweepAllMoved, "updateLog": updateLog, "updateCounted": updateCounted,
			"selectHidden": selectHidden, "selectHiddens": selectHiddens, "hideEntry": hideEntry, "hideKey": hideKey,
			"showEntry": showEntry, "showKey": showKey, "updateHidden": updateHidden, "stampHidden": stampHidden,
			"clearHidden": clearHidden, "selectWalk": selectWalk, "selectWalkMeta": selectWalkMeta,
			"selectMoved": selectMoved, "skipEntries": skipEntries, "skipMoved": skipMoved, "selectShown": selectShown, "insertMoved": insertMoved,
			"insertShown": insertShown, "closeShown": closeShown, "jumpPlaces": jumpPlaces, "scanPlaces": scanPlaces,
			"selectShelfAt": selectShelfAt, "selectShelfAfter": selectShelfAfter, "countBetween": countBetween,
			"sumAllShelves": sumAllShelves, "lookHidden": lookHidden, "countBoth": countBoth,
			"hideBoth": hideBoth, "rankNoHidden": rankNoHidden,
		}
	}
	plans := make(map[string][]string)
	err := from.pool.read(ctx, func(ctx context.Context, c *conn) error {
		for name, sql := range statements {
			args := make([]any, max(strings.Count(sql, "?"), 7))
			err := c.query(ctx, "EXPLAIN QUERY PLAN "+sql, func(row []driver.Value) error {
				plans[name] = append(plans[name], text(row[3]))
				return nil
			}, args...)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return plans, err
}
