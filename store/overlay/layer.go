package overlay

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// stored is a record of the overlay's own. Its value is never changed, only replaced.
type stored struct {
	value   []byte
	version store.Version // 0: known to be missing
	written time.Time
}

// layer is the overlay's own records.
type layer struct {
	clock clock.Clock
	mu    struct {
		sync.RWMutex
		records map[string]stored
	}
}

// get is what the layer knows of a key.
func (l *layer) get(key string) (rec store.Record, known bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s, known := l.mu.records[key]
	return l.recordOf(key, s), known
}

func (l *layer) recordOf(key string, s stored) store.Record {
	if s.version == 0 {
		return store.Record{Key: key}
	}
	return store.Record{Key: key, Value: bytes.Clone(s.value), Version: s.version, Age: max(0, l.clock.Now().Sub(s.written))}
}

// unknown are the keys that the layer knows nothing of.
func (l *layer) unknown(keys []string) []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []string
	for _, key := range keys {
		if _, known := l.mu.records[key]; !known {
			out = append(out, key)
		}
	}
	return out
}

// adopt takes copies in, but for keys that have become known meanwhile.
func (l *layer) adopt(recs []store.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	for _, rec := range recs {
		if _, known := l.mu.records[rec.Key]; !known {
			l.mu.records[rec.Key] = stored{value: rec.Value, version: rec.Version, written: now.Add(-rec.Age)}
		}
	}
}

// apply applies the whole transaction, or nothing and names the key that was in the way. Where
// there is something under the layer, all keys are known.
func (l *layer) apply(tx store.Tx) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range tx {
		if !w.If.Holds(l.mu.records[w.Key].version) {
			return &store.ConflictError{Key: w.Key}
		}
	}
	now := l.clock.Now()
	for _, w := range tx {
		switch w.Op {
		case store.Put:
			l.mu.records[w.Key] = stored{value: bytes.Clone(w.Value), version: w.Version, written: now}
		case store.Delete:
			l.mu.records[w.Key] = stored{} // what is under it stays hidden
		case store.Check:
		}
	}
	return nil
}

// keys are the known keys of a range, missing ones too, in byte order.
func (l *layer) keys(r store.Range) []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []string
	for key := range l.mu.records {
		if key >= r.From && (r.To == "" || key < r.To) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
