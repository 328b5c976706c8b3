package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// Commit implements store.Records. Each transaction is decided by itself; they share the
// engine's transaction with whatever else is queued.
func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	parts := split(txs, r.options.GroupSize, r.options.GroupBytes)
	jobs := make([]*job, len(parts))
	for i, part := range parts {
		var err error
		if jobs[i], err = r.file.writer.start(ctx, part, len(part.txs), part.bytes); err != nil {
			part.settle(errs, err)
			jobs[i] = nil
		}
	}
	for i, job := range jobs {
		if job != nil {
			parts[i].settle(errs, job.wait(ctx))
		}
	}
	return errs
}

// commit is the part of a Commit that goes into one group.
type commit struct {
	first   int // its place in the call
	txs     []store.Tx
	bytes   int
	refused []error // of each transaction; written by the writer
}

// split makes parts that each fit into a group. The values are copied: a caller that leaves
// early may change its own while the writer is still at work.
func split(txs []store.Tx, maxSize, maxBytes int) []*commit {
	var parts []*commit
	for i, tx := range txs {
		size := 0
		for _, w := range tx {
			size += len(w.Key) + len(w.Value)
		}
		last := len(parts) - 1
		if last < 0 || len(parts[last].txs) >= maxSize || parts[last].bytes+size > maxBytes {
			parts = append(parts, &commit{first: i})
			last++
		}
		parts[last].txs = append(parts[last].txs, ownTx(tx))
		parts[last].bytes += size
	}
	return parts
}

func ownTx(tx store.Tx) store.Tx {
	own := make(store.Tx, len(tx))
	for i, w := range tx {
		own[i] = w
		own[i].Value = bytes.Clone(w.Value)
	}
	return own
}

// settle puts the outcomes where they belong: err is the whole group's.
func (c *commit) settle(errs []error, err error) {
	for i, tx := range c.txs {
		one := err
		if err == nil {
			one = c.refused[i]
		}
		if one != nil {
			errs[c.first+i] = fmt.Errorf("sqlitestore: commit %s: %w", tx[0].Key, one)
		}
	}
}

// apply implements work.
func (c *commit) apply(ctx context.Context, t *transaction) error {
	c.refused = make([]error, len(c.txs))
	for i, tx := range c.txs {
		conflict, err := applyTx(ctx, t, tx)
		if err != nil {
			return err
		}
		if conflict != "" {
			c.refused[i] = &store.ConflictError{Key: conflict}
		}
	}
	return nil
}

// applyTx applies a transaction wholly, or answers the key whose condition did not hold.
// Only one that writes several keys has to look before it writes.
func applyTx(ctx context.Context, t *transaction, tx store.Tx) (conflict string, err error) {
	if len(tx) > 1 {
		for _, w := range tx {
			v, err := currentVersion(ctx, t.conn, w.Key)
			if err != nil {
				return "", err
			}
			if !w.If.Holds(v) {
				return w.Key, nil
			}
		}
	}
	for _, w := range tx {
		held, err := applyWrite(ctx, t, w)
		if err != nil {
			return "", err
		}
		if !held && len(tx) > 1 {
			return "", errors.New("sqlitestore: a condition that held no longer does in the same transaction")
		}
		if !held {
			return w.Key, nil
		}
	}
	return "", nil
}

const selectVersion = `SELECT version FROM records WHERE key = ?`

func currentVersion(ctx context.Context, k *conn, key string) (store.Version, error) {
	row, err := k.first(ctx, selectVersion, key)
	if err != nil || row == nil {
		return 0, err
	}
	return store.Version(integer(row[0])), nil
}

const (
	putAny = `INSERT INTO records (key, version, boot, up, wall, value) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET version = excluded.version, boot = excluded.boot,
			up = excluded.up, wall = excluded.wall, value = excluded.value`
	putAbsent = `INSERT INTO records (key, version, boot, up, wall, value) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (key) DO NOTHING`
	putIs     = `UPDATE records SET version = ?, boot = ?, up = ?, wall = ?, value = ? WHERE key = ? AND version = ?`
	deleteAny = `DELETE FROM records WHERE key = ?`
	deleteIs  = `DELETE FROM records WHERE key = ? AND version = ?`
)

// applyWrite applies one write if its condition holds: in one statement, which looks and
// writes at once.
func applyWrite(ctx context.Context, t *transaction, w store.Write) (held bool, err error) {
	wanted, conditional := w.If.Wants()
	var changed int64
	switch {
	case w.Op == store.Put && !conditional:
		changed, err = t.exec(ctx, putAny, w.Key, int64(w.Version), t.at.boot, t.at.up, t.at.wall, w.Value)
	case w.Op == store.Put && wanted == 0:
		changed, err = t.exec(ctx, putAbsent, w.Key, int64(w.Version), t.at.boot, t.at.up, t.at.wall, w.Value)
	case w.Op == store.Put:
		changed, err = t.exec(ctx, putIs, int64(w.Version), t.at.boot, t.at.up, t.at.wall, w.Value, w.Key, int64(wanted))
	case w.Op == store.Delete && !conditional:
		_, err = t.exec(ctx, deleteAny, w.Key)
		return err == nil, err
	case w.Op == store.Delete && wanted != 0:
		changed, err = t.exec(ctx, deleteIs, w.Key, int64(wanted))
	default: // a Check, or a Delete of what must be absent: nothing to write
		v, err := currentVersion(ctx, t.conn, w.Key)
		return err == nil && w.If.Holds(v), err
	}
	return changed == 1, err
}
