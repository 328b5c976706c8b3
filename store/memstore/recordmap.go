package memstore

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// scanPage is how many records one page of a Scan holds.
const scanPage = 256

// stored is a record as the memory holds it. Its value is never changed, only replaced.
type stored struct {
	value   []byte
	version store.Version
	written time.Time // by the map's own clock
}

// recordMap is the memory behind all handles on one map of records.
type recordMap struct {
	clock clock.Clock
	mu    struct {
		sync.RWMutex
		skew    time.Duration // how far the map's clock is from the machine's
		records map[string]stored
		order   blocks[string]
	}
}

func newRecordMap(c clock.Clock) *recordMap {
	m := &recordMap{clock: c}
	m.emptyLocked()
	return m
}

func (m *recordMap) emptyLocked() {
	m.mu.records = make(map[string]stored)
	m.mu.order = blocks[string]{compare: strings.Compare}
}

func (m *recordMap) nowLocked() time.Time { return m.clock.Now().Add(m.mu.skew) }

// now is the wall clock of the machine that holds the map.
func (m *recordMap) now() time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.nowLocked().Round(0).UTC()
}

// get is one state of all the keys. The values are the memory's own.
func (m *recordMap) get(keys []string) []store.Record {
	found := make([]store.Record, len(keys))
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.nowLocked()
	for i, key := range keys {
		found[i] = m.recordLocked(key, now)
	}
	return found
}

func (m *recordMap) recordLocked(key string, now time.Time) store.Record {
	s, ok := m.mu.records[key]
	if !ok {
		return store.Record{Key: key}
	}
	return store.Record{Key: key, Value: s.value, Version: s.version, Age: max(0, now.Sub(s.written))}
}

// page is the first records of [from, to), at most limit. The values are the memory's own.
func (m *recordMap) page(from, to string, limit int) []store.Record {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now, found := m.nowLocked(), make([]store.Record, 0, min(limit, m.mu.order.size))
	for key := range m.mu.order.from(m.mu.order.position(from)) {
		if len(found) == limit || to != "" && key >= to {
			break
		}
		found = append(found, m.recordLocked(key, now))
	}
	return found
}

// apply applies the whole transaction, or nothing and names the key that was in the way.
func (m *recordMap) apply(tx store.Tx) error {
	values := make([][]byte, len(tx))
	for i, w := range tx {
		values[i] = bytes.Clone(w.Value)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range tx {
		if !w.If.Holds(m.mu.records[w.Key].version) {
			return &store.ConflictError{Key: w.Key}
		}
	}
	now := m.nowLocked()
	for i, w := range tx {
		switch w.Op {
		case store.Put:
			m.mu.order.insert(w.Key)
			m.mu.records[w.Key] = stored{value: values[i], version: w.Version, written: now}
		case store.Delete:
			m.mu.order.remove(w.Key)
			delete(m.mu.records, w.Key)
		case store.Check:
		}
	}
	return nil
}

func (m *recordMap) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emptyLocked()
}

func (m *recordMap) snapshot() map[string]stored {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.mu.records)
}

func (m *recordMap) restore(records map[string]stored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emptyLocked()
	m.mu.records = maps.Clone(records)
	for _, key := range slices.Sorted(maps.Keys(records)) {
		m.mu.order.insert(key)
	}
}

func (m *recordMap) stepClock(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.skew += d
}
