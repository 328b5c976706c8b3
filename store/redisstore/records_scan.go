package redisstore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// Bounds of one page of a Scan.
const (
	scanPage  = 256     // records
	scanBytes = 1 << 20 // bytes of values; the record that reaches it is the last
)

// Scan implements store.Records. A range that is not inside of one family answers
// store.ErrUnsupported: nothing but families can be listed without looking at every key of
// the server.
func (r *records) Scan(ctx context.Context, rng store.Range) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		w, ok := windowOf(rng)
		if !ok {
			yield(store.Record{}, fmt.Errorf("redisstore: scan %q to %q: only the families of the fast store can be listed: %w", rng.From, rng.To, store.ErrUnsupported))
			return
		}
		for left := rng.Limit; ; {
			w.limit = scanPage
			if rng.Limit > 0 {
				w.limit = min(scanPage, left)
			}
			page, err := r.page(ctx, w)
			if err != nil {
				yield(store.Record{}, fmt.Errorf("redisstore: scan %s: %w", rng.From, err))
				return
			}
			for _, rec := range page.records {
				if !yield(rec, nil) {
					return
				}
			}
			if left -= len(page.records); !page.more || rng.Limit > 0 && left <= 0 {
				return
			}
			w.from = "(" + page.last
		}
	}
}

// window is a range of names in a family, as ZRANGEBYLEX takes it.
type window struct {
	family   family
	from, to string
	limit    int
}

// windowOf is the range inside of its family; ok is false when it is not inside of one.
func windowOf(rng store.Range) (w window, ok bool) {
	for _, f := range families() {
		from, inside := strings.CutPrefix(rng.From, f.folder)
		if !inside {
			continue
		}
		if rng.To == store.Prefix(f.folder).To {
			return window{family: f, from: "[" + from, to: "+"}, true
		}
		to, inside := strings.CutPrefix(rng.To, f.folder)
		return window{family: f, from: "[" + from, to: "(" + to}, inside
	}
	return window{}, false
}

// listing is one page of a scan.
type listing struct {
	records []store.Record
	last    string // the last name that was looked at
	more    bool   // there may be others behind it
}

// page reads the next records of a window.
func (r *records) page(ctx context.Context, w window) (listing, error) {
	if err := r.enter(ctx); err != nil {
		return listing{}, err
	}
	defer r.leave()
	values, order := r.keys.family(w.family)
	m, err := r.laneOf(w.family.folder+"x").run(ctx, call{
		script: r.scripts.list, intent: reading, keys: []string{values, order},
		args: []string{w.from, w.to, strconv.Itoa(w.limit), strconv.Itoa(scanBytes)},
	})
	if err != nil {
		return listing{}, err
	}
	now, parts, err := timed(m)
	if err != nil {
		return listing{}, err
	}
	if len(parts)%2 != 1 {
		return listing{}, unreadable(nil)
	}
	early, err := parts[0].AsInt64()
	if err != nil {
		return listing{}, unreadable(err)
	}
	l := listing{more: early == 1 || len(parts)/2 == w.limit}
	return l, l.read(w.family, parts[1:], now)
}

// read takes in names and frames. A name whose value somebody has deleted by hand is no record.
func (l *listing) read(f family, parts []rueidis.RedisMessage, now moment) (err error) {
	l.records = make([]store.Record, 0, len(parts)/2)
	for i := 0; i < len(parts); i += 2 {
		if l.last, err = parts[i].ToString(); err != nil {
			return unreadable(err)
		}
		if parts[i+1].IsNil() {
			continue
		}
		frame, err := parts[i+1].ToString()
		if err != nil {
			return unreadable(err)
		}
		rec, err := decodeFrame(f.folder+l.last, frame, now)
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		l.records = append(l.records, rec)
	}
	return nil
}
