package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// Bounds of what one command carries. A server answers nobody else meanwhile.
const (
	keysTogether = 16        // keys of one read of records in no family
	putsTogether = 64        // records in no family that one script writes
	putBytes     = 256 << 10 // bytes of values that one such script writes, or one value
	getFamily    = 256       // names of one read in a family
	sentTogether = 256       // calls that are sent in one go
	sentBytes    = 8 << 20   // bytes of values that are sent in one go, or one call
)

// records is store.Records of the fast role.
type records struct {
	gate
	main, beats *lane
	keys        keys
	scripts     *recordScripts
	together    int // keys of one read: 1 on a cluster, where each has a slot of its own
	puts        int // and of one write
	inspect     func(context.Context) (store.Inspection, error)
}

func newRecords(e *Engine, k keys) *records {
	r := &records{main: e.main, beats: e.beats, keys: k, scripts: newRecordScripts(), together: keysTogether, puts: putsTogether, inspect: e.inspect}
	if e.address.topology == cluster {
		r.together, r.puts = 1, 1
	}
	return r
}

// Abilities implements store.Records. Only the families of doc.go can be scanned, and a Tx
// writes one key: on a cluster each key is on a server of its own.
func (r *records) Abilities() store.Abilities { return store.Abilities{Shared: true} }

// Close implements store.Records.
func (r *records) Close(ctx context.Context) error {
	if err := r.close(ctx); err != nil {
		return fmt.Errorf("redisstore: close the records: %w", err)
	}
	return nil
}

// Inspect implements store.Inspector.
func (r *records) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := r.enter(ctx); err != nil {
		return store.Inspection{}, fmt.Errorf("redisstore: inspect: %w", err)
	}
	defer r.leave()
	return r.inspect(ctx)
}

// Now implements store.Records: it is the clock that judges beats.
func (r *records) Now(ctx context.Context) (time.Time, error) {
	if err := r.enter(ctx); err != nil {
		return time.Time{}, fmt.Errorf("redisstore: now: %w", err)
	}
	defer r.leave()
	values, _ := r.keys.family(families()[0])
	m, err := r.beats.run(ctx, call{script: r.scripts.now, intent: reading, keys: []string{values}})
	if err != nil {
		return time.Time{}, fmt.Errorf("redisstore: now: %w", err)
	}
	now, _, err := timed(m)
	if err != nil {
		return time.Time{}, fmt.Errorf("redisstore: now: %w", err)
	}
	return now.utc(), nil
}

// timed splits an answer into the server's time and what came with it.
func timed(m rueidis.RedisMessage) (now moment, rest []rueidis.RedisMessage, err error) {
	parts, err := m.ToArray()
	if err != nil || len(parts) < 2 {
		return 0, nil, unreadable(err)
	}
	seconds, err := parts[0].AsInt64()
	if err != nil {
		return 0, nil, unreadable(err)
	}
	micros, err := parts[1].AsInt64()
	if err != nil {
		return 0, nil, unreadable(err)
	}
	return momentOf(seconds, micros), parts[2:], nil
}

// unreadable is an answer that is none of our scripts'.
func unreadable(err error) error {
	if err == nil {
		err = errFrame
	}
	return fmt.Errorf("%w: an answer that cannot be read: %w", store.ErrUnavailable, err)
}

// laneOf is the lane that a key goes by.
func (r *records) laneOf(key string) *lane {
	if isBeat(key) {
		return r.beats
	}
	return r.main
}

// lookup is one call of a Get, and whose answers it brings.
type lookup struct {
	call call
	lane *lane
	at   []int // where its records go
}

// Get implements store.Records. Keys of one family, or of none, are read together; each is
// read at the server that takes writes.
func (r *records) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	if err := r.enter(ctx); err != nil {
		return nil, fmt.Errorf("redisstore: get: %w", err)
	}
	defer r.leave()
	found := make([]store.Record, len(keys))
	lookups := r.lookups(keys)
	for _, l := range []*lane{r.beats, r.main} {
		var calls []call
		var places [][]int
		for _, u := range lookups {
			if u.lane == l {
				calls, places = append(calls, u.call), append(places, u.at)
			}
		}
		if len(calls) == 0 {
			continue
		}
		for i, a := range l.runAll(ctx, calls) {
			if err := takeIn(found, keys, places[i], a); err != nil {
				return nil, fmt.Errorf("redisstore: get %s: %w", keys[places[i][0]], err)
			}
		}
	}
	return found, nil
}

// lookups sorts keys into calls.
func (r *records) lookups(keys []string) []*lookup {
	var all []*lookup
	open := make(map[family]*lookup) // to which more may be added
	for i, key := range keys {
		f, name, in := familyOf(key)
		limit := r.together
		if in {
			limit = getFamily
		}
		u := open[f]
		if u == nil || len(u.at) == limit {
			u = &lookup{lane: r.laneOf(key), call: call{script: r.scripts.get, intent: reading}}
			if in {
				values, _ := r.keys.family(f)
				u.call.script, u.call.keys = r.scripts.getIn, []string{values}
			}
			open[f], all = u, append(all, u)
		}
		if u.at = append(u.at, i); in {
			u.call.args = append(u.call.args, name)
		} else {
			u.call.keys = append(u.call.keys, r.keys.value(key))
		}
	}
	return all
}

// takeIn puts the records of one answer into their places.
func takeIn(found []store.Record, keys []string, at []int, a answer) error {
	if a.err != nil {
		return a.err
	}
	now, frames, err := timed(a.message)
	if err != nil {
		return err
	}
	if len(frames) != len(at) {
		return unreadable(nil)
	}
	for n, i := range at {
		if frames[n].IsNil() {
			found[i].Key = keys[i]
			continue
		}
		frame, err := frames[n].ToString()
		if err != nil {
			return unreadable(err)
		}
		if found[i], err = decodeFrame(keys[i], frame, now); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
	}
	return nil
}
