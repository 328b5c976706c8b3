package storecopy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/shoalworks/shoal/store"
)

// ledger is what was copied into the target, kept there: chunk after chunk, each written before
// the records that it names. The next chunk says that they have landed, and so does the state at
// the end of a pass.
type ledger struct {
	target *target
	random func() uint64
	seed   maphash.Seed

	last    map[uint64]store.Version   // by the hash of the key: the version that was copied last, 0 when the key was pruned
	older   map[uint64][]store.Version // those before it that may still be there
	loose   map[uint64]struct{}        // keys of the last chunk, of which nobody knows whether they have landed
	chunks  uint64                     // that are written
	state   ledgerState
	version store.Version // of the state
}

// ledgerState is the stored state.
type ledgerState struct {
	Format  int    `json:"format"`
	Source  string `json:"source"`  // the identity of the source
	Settled uint64 `json:"settled"` // all chunks up to this one have landed
}

// ledgerChunk is a stored chunk: keys, and the versions that they are about to get. An empty
// version is that of a key that is about to be removed.
type ledgerChunk struct {
	Format int         `json:"format"`
	Keys   [][2]string `json:"keys"`
}

const (
	ledgerFormat = 1
	stateKey     = ledgerFolder + "state"
	chunkFolder  = ledgerFolder + "chunk/"
	sourceKey    = ledgerFolder + "source"
)

// ErrTaken tells that another copier writes into the target, or the target was copied from another source.
var ErrTaken = errors.New("storecopy: the target is another copier's")

func chunkKey(n uint64) string { return fmt.Sprintf("%s%012d", chunkFolder, n) }

// openLedger reads what earlier passes have copied.
func openLedger(ctx context.Context, to *target, random func() uint64) (*ledger, error) {
	l := &ledger{
		target: to, random: random, seed: maphash.MakeSeed(),
		last: make(map[uint64]store.Version), older: make(map[uint64][]store.Version), loose: make(map[uint64]struct{}),
	}
	found, err := to.records.Get(ctx, stateKey)
	if err != nil {
		return nil, err
	}
	if l.version = found[0].Version; l.version != 0 {
		if err := decode(stateKey, found[0].Value, &l.state); err != nil {
			return nil, err
		}
	}
	for rec, err := range to.records.Scan(ctx, store.Prefix(chunkFolder)) {
		if err != nil {
			return nil, err
		}
		var c ledgerChunk
		if err := decode(rec.Key, rec.Value, &c); err != nil {
			return nil, err
		}
		l.chunks++
		if rec.Key != chunkKey(l.chunks) {
			return nil, fmt.Errorf("storecopy: the ledger of the target is not whole: %s expected, got %s", chunkKey(l.chunks), rec.Key)
		}
		if err := l.learn(c); err != nil {
			return nil, err
		}
	}
	if l.state.Settled >= l.chunks {
		clear(l.loose)
	}
	return l, nil
}

func decode(key string, value []byte, into any) error {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(value, &head); err != nil {
		return fmt.Errorf("storecopy: %s of the target: %w", key, err)
	}
	if head.Format > ledgerFormat {
		return fmt.Errorf("storecopy: %s of the target is of a newer release", key)
	}
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("storecopy: %s of the target: %w", key, err)
	}
	return nil
}

// learn takes in a chunk: those before it have landed.
func (l *ledger) learn(c ledgerChunk) error {
	clear(l.loose)
	for _, pair := range c.Keys {
		var v uint64
		if pair[1] != "" {
			var err error
			if v, err = strconv.ParseUint(pair[1], 36, 64); err != nil {
				return fmt.Errorf("storecopy: the ledger of the target: %s: %w", pair[0], err)
			}
		}
		h := l.hash(pair[0])
		if before := l.last[h]; before != 0 {
			l.older[h] = append(l.older[h], before)
		}
		l.last[h] = store.Version(v)
		l.loose[h] = struct{}{}
	}
	return nil
}

func (l *ledger) hash(key string) uint64 { return maphash.String(l.seed, key) }

// knows is what the ledger says of a key at this version in the target.
func (l *ledger) knows(key string, target store.Version) known {
	h := l.hash(key)
	last, has := l.last[h]
	_, loose := l.loose[h]
	k := known{settled: has && last != 0 && !loose}
	if target == 0 {
		return k
	}
	k.ours = last == target
	for _, v := range l.older[h] {
		k.ours = k.ours || v == target
	}
	return k
}

// intend writes down what is about to be written. Every write of before has landed.
func (l *ledger) intend(ctx context.Context, writes []store.Write) error {
	c := ledgerChunk{Format: ledgerFormat}
	for _, w := range writes {
		version := ""
		if w.Op == store.Put {
			version = w.Version.String()
		}
		c.Keys = append(c.Keys, [2]string{w.Key, version})
	}
	if err := l.put(ctx, chunkKey(l.chunks+1), c, store.Absent(), new(store.Version)); err != nil {
		return err
	}
	l.chunks++
	return l.learn(c)
}

// settle writes down that all that was intended has landed.
func (l *ledger) settle(ctx context.Context) error {
	if l.version != 0 && l.state.Settled == l.chunks {
		return nil
	}
	l.state.Format, l.state.Settled = ledgerFormat, l.chunks
	if err := l.put(ctx, stateKey, l.state, store.Is(l.version), &l.version); err != nil {
		return err
	}
	clear(l.loose)
	return nil
}

// belong makes the target that of the source with this identity, or fails when it is another's.
func (l *ledger) belong(ctx context.Context, source string) error {
	if l.state.Source == source {
		return nil
	}
	if l.state.Source != "" {
		return fmt.Errorf("%w: it was copied from another store", ErrTaken)
	}
	l.state.Format, l.state.Source = ledgerFormat, source
	return l.put(ctx, stateKey, l.state, store.Is(l.version), &l.version)
}

// put writes a record of the ledger; a conflict is another copier.
func (l *ledger) put(ctx context.Context, key string, value any, c store.Condition, version *store.Version) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("storecopy: %s: %w", key, err)
	}
	v := store.VersionFrom(l.random())
	w := store.Write{Key: key, Op: store.Put, Value: text, If: c, Version: v}
	done, err := l.target.write(ctx, []store.Write{w})
	if err != nil {
		return err
	}
	if !done[0] {
		return fmt.Errorf("%w: %s was written meanwhile", ErrTaken, key)
	}
	*version = v
	return nil
}
