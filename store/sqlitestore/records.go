package sqlitestore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"time"

	"github.com/shoalworks/shoal/store"
)

// records is store.Records on one file.
type records struct {
	file      *file
	abilities store.Abilities
	options   Options
	uptime    uptime
}

// now is this moment.
func (r *records) now() moment { return r.uptime.at(r.options.Clock.Now()) }

const selectOne = `SELECT key, version, boot, up, wall, value FROM records WHERE key = ?`

// Get implements store.Records.
func (r *records) Get(ctx context.Context, keys ...string) (found []store.Record, err error) {
	err = r.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		found, err = r.get(ctx, c, keys)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: get %s: %w", firstOf(keys), err)
	}
	return found, nil
}

// get reads key by key: each look-up is a statement, so each key is read as it is then.
func (r *records) get(ctx context.Context, c *conn, keys []string) ([]store.Record, error) {
	found, written := make([]store.Record, len(keys)), make([]moment, len(keys))
	for i, key := range keys {
		row, err := c.first(ctx, selectOne, key)
		if err != nil {
			return nil, err
		}
		found[i].Key = key
		if row != nil {
			found[i], written[i] = scanRecord(row)
		}
	}
	now := r.now()
	for i := range found {
		if !found[i].Missing() {
			found[i].Age = written[i].since(now)
		}
	}
	return found, nil
}

// scanRecord reads a row of selectOne or selectPage; the age is left out.
func scanRecord(row []driver.Value) (store.Record, moment) {
	value := blob(row[5])
	if value == nil {
		value = []byte{} // the driver reads an empty blob as NULL
	}
	return store.Record{Key: text(row[0]), Version: store.Version(integer(row[1])), Value: value},
		moment{boot: integer(row[2]), up: integer(row[3]), wall: integer(row[4])}
}

const (
	selectPage = `SELECT key, version, boot, up, wall, value FROM records WHERE key >= ? AND key < ? ORDER BY key LIMIT ?`

	pageRecords = 256     // a page of a Scan ends after so many records
	pageBytes   = 4 << 20 // or after so many bytes of values
)

// Scan implements store.Records. Each page is a short read transaction of its own, which is
// over when its records are yielded: a long one would keep the log from being copied back.
func (r *records) Scan(ctx context.Context, in store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		left := in.Limit
		for from, more := in.From, true; more; {
			page, last, err := r.page(ctx, store.Range{From: from, To: in.To, Limit: left})
			if err != nil {
				yield(store.Record{}, fmt.Errorf("sqlitestore: scan from %q: %w", from, err))
				return
			}
			for _, record := range page {
				if !yield(record, nil) {
					return
				}
			}
			if more = !last; more {
				from = page[len(page)-1].Key + afterKey
			}
			if left -= len(page); in.Limit > 0 && left <= 0 {
				return
			}
		}
	}
}

// Keys are printable ASCII: no key lies between key and key + afterKey, and none is beyond
// afterAll.
const (
	afterKey = "\x01"
	afterAll = "\x7f"
)

// page reads one page of a Scan; last tells that nothing comes after it.
func (r *records) page(ctx context.Context, in store.Range) (page []store.Record, last bool, err error) {
	if in.To == "" {
		in.To = afterAll
	}
	limit := pageRecords
	if in.Limit > 0 {
		limit = min(limit, in.Limit)
	}
	err = r.file.pool.read(ctx, func(ctx context.Context, c *conn) error {
		page, last = nil, true
		var written []moment
		bytes := 0
		err := c.query(ctx, selectPage, func(row []driver.Value) error {
			record, m := scanRecord(row)
			page, written = append(page, record), append(written, m)
			if bytes += len(record.Value); bytes >= pageBytes || len(page) == limit {
				last = false
				return errStop
			}
			return nil
		}, in.From, in.To, int64(limit))
		now := r.now()
		for i := range page {
			page[i].Age = written[i].since(now)
		}
		return err
	})
	return page, last, err
}

// Now implements store.Records: it is the host's wall clock.
func (r *records) Now(ctx context.Context) (time.Time, error) {
	if ctx.Err() != nil {
		return time.Time{}, fmt.Errorf("sqlitestore: now: %w", ended(ctx))
	}
	if r.file.pool.isClosed() {
		return time.Time{}, fmt.Errorf("sqlitestore: now: %w", store.ErrClosed)
	}
	return r.options.Clock.Now().UTC(), nil
}

// Abilities implements store.Records.
func (r *records) Abilities() store.Abilities { return r.abilities }

// Close implements store.Records.
func (r *records) Close(ctx context.Context) error { return r.file.close(ctx) }

func firstOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}
