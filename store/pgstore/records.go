package pgstore

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/shoalworks/shoal/store"
)

// table is a table of records, and the connections that it is used through.
type table struct {
	database *database
	name     string
	texts    sync.Map // statements as they are written here → as they are sent
}

// sql is a statement with the names of the schema and the table filled in.
func (t *table) sql(text string) string {
	if sent, ok := t.texts.Load(text); ok {
		return sent.(string)
	}
	sent := strings.ReplaceAll(t.database.sql(text), "{t}", t.name)
	t.texts.Store(text, sent)
	return sent
}

// records is store.Records on a table.
type records struct {
	closing
	table     *table
	abilities store.Abilities
	lane      *lane
	urgent    *urgent // nil when nothing is urgent here
}

// newRecords starts the writers of a table.
func newRecords(ctx context.Context, d *database, name string, a store.Abilities) *records {
	t := &table{database: d, name: name}
	return &records{table: t, abilities: a, lane: startLane(ctx, t, d.options.Writers, d.options.GroupSize)}
}

// urgently gives beats a lane on the reserved connections.
func (r *records) urgently(ctx context.Context, reserved *database) *records {
	t := &table{database: reserved, name: r.table.name}
	r.urgent = &urgent{prefix: beats, table: t, lane: startLane(ctx, t, 1, beatGroup)}
	return r
}

const (
	// beats is the prefix of the keys by which nodes judge each other: a beat that waits
	// behind a big journal makes its node look dead.
	beats = "node/"
	// beatGroup is how many of them one statement takes.
	beatGroup = 32
)

// urgent is what goes on connections of its own, so that nothing else holds it up.
type urgent struct {
	prefix string
	table  *table
	lane   *lane
}

// tableOf is where the keys are read: on the reserved connections when all are urgent.
func (r *records) tableOf(keys ...string) *table {
	if r.urgent == nil || len(keys) == 0 {
		return r.table
	}
	for _, key := range keys {
		if !strings.HasPrefix(key, r.urgent.prefix) {
			return r.table
		}
	}
	return r.urgent.table
}

// laneOf is where the key is written.
func (r *records) laneOf(key string) *lane {
	if r.urgent != nil && strings.HasPrefix(key, r.urgent.prefix) {
		return r.urgent.lane
	}
	return r.lane
}

// Get implements store.Records: one statement, hence one snapshot.
func (r *records) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	if err := r.enter(ctx, "get"); err != nil {
		return nil, err
	}
	defer r.leave()
	found, err := r.tableOf(keys...).get(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("pgstore: get %s: %w", firstOf(keys), err)
	}
	return found, nil
}

func (t *table) get(ctx context.Context, keys []string) (found []store.Record, err error) {
	err = t.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		text, argument := selectMany, any(keys)
		if len(keys) == 1 {
			text, argument = selectOne, keys[0]
		}
		rows, err := c.Query(ctx, t.sql(text), argument)
		if err != nil {
			return err
		}
		found, err = inOrder(rows, keys)
		return err
	})
	return found, err
}

// inOrder puts rows in the order of the keys; what is not among them is missing.
func inOrder(rows pgx.Rows, keys []string) ([]store.Record, error) {
	all, err := pgx.CollectRows(rows, scanRecord)
	if err != nil {
		return nil, err
	}
	byKey := make(map[string]store.Record, len(all))
	for _, record := range all {
		byKey[record.Key] = record
	}
	found := make([]store.Record, len(keys))
	for i, key := range keys {
		found[i] = byKey[key]
		found[i].Key = key
	}
	return found, nil
}

// scanRecord reads a row of selectOne, selectMany or selectPage.
func scanRecord(row pgx.CollectableRow) (store.Record, error) {
	var record store.Record
	var version int64
	var written, now time.Time
	if err := row.Scan(&record.Key, &version, &written, &now, &record.Value); err != nil {
		return store.Record{}, err
	}
	record.Version = store.Version(version) //nolint:gosec // versions have 63 bits
	record.Age = max(0, now.Sub(written))
	if record.Value == nil {
		record.Value = []byte{}
	}
	return record, nil
}

// A page of a Scan ends after so many records, or so many bytes of values.
const (
	pageRecords = 256
	pageBytes   = 4 << 20
)

// Scan implements store.Records. Each page is a statement of its own, which is over when its
// records are yielded.
func (r *records) Scan(ctx context.Context, in store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		from, to, left := bound(in.From), upper(in.To), in.Limit
		for {
			limit := pageRecords
			if in.Limit > 0 {
				limit = min(limit, left)
			}
			page, err := r.page(ctx, from, to, limit)
			if err != nil {
				yield(store.Record{}, fmt.Errorf("pgstore: scan from %q: %w", from, err))
				return
			}
			for _, record := range page {
				if !yield(record, nil) {
					return
				}
			}
			if left -= len(page); len(page) == 0 || in.Limit > 0 && left <= 0 {
				return
			}
			from = page[len(page)-1].Key + afterKey
		}
	}
}

// page reads one page of a Scan, empty at the end.
func (r *records) page(ctx context.Context, from, to string, limit int) (page []store.Record, err error) {
	if err := r.enter(ctx, "scan"); err != nil {
		return nil, err
	}
	defer r.leave()
	t := r.tableOf(from)
	err = t.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		rows, err := c.Query(ctx, t.sql(selectPage), from, to, int64(limit), int64(pageBytes))
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, scanRecord)
		return err
	})
	return page, err
}

// Now implements store.Records: it is the server's wall clock.
func (r *records) Now(ctx context.Context) (now time.Time, err error) {
	if err := r.enter(ctx, "now"); err != nil {
		return time.Time{}, err
	}
	defer r.leave()
	err = r.table.database.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, selectNow).Scan(&now)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("pgstore: now: %w", err)
	}
	return now.UTC(), nil
}

// Abilities implements store.Records.
func (r *records) Abilities() store.Abilities { return r.abilities }

func firstOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}
