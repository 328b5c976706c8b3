package redisstore

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// pending is one write of a Commit on its way.
type pending struct {
	call call
	at   int // whose answer it is
	size int // bytes of its value
}

// Commit implements store.Records. Beats go first, by connections of their own; of the others
// commitTogether or commitBytes are sent in one go.
func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	if err := r.enter(ctx); err != nil {
		for i := range errs {
			errs[i] = fmt.Errorf("redisstore: commit: %w", err)
		}
		return errs
	}
	defer r.leave()
	var beats, rest []pending
	for i, tx := range txs {
		if len(tx) != 1 {
			errs[i] = fmt.Errorf("redisstore: commit %s: one write expected, got %d: %w", firstOf(tx), len(tx), store.ErrUnsupported)
			continue
		}
		p := pending{call: r.callOf(tx[0]), at: i, size: len(tx[0].Value)}
		if r.laneOf(tx[0].Key) == r.beats {
			beats = append(beats, p)
		} else {
			rest = append(rest, p)
		}
	}
	r.commit(ctx, r.beats, beats, txs, errs)
	r.commit(ctx, r.main, rest, txs, errs)
	return errs
}

func firstOf(tx store.Tx) string {
	if len(tx) == 0 {
		return "nothing"
	}
	return tx[0].Key
}

func (r *records) commit(ctx context.Context, l *lane, all []pending, txs []store.Tx, errs []error) {
	for len(all) > 0 {
		some := all[:headOf(all)]
		all = all[len(some):]
		calls := make([]call, len(some))
		for i, p := range some {
			calls[i] = p.call
		}
		for i, a := range l.runAll(ctx, calls) {
			at := some[i].at
			errs[at] = decided(txs[at][0].Key, a)
		}
	}
}

// headOf is how many of the writes are sent in one go.
func headOf(all []pending) int {
	bytes := 0
	for i, p := range all {
		if bytes += p.size; i > 0 && (i == commitTogether || bytes > commitBytes) {
			return i
		}
	}
	return len(all)
}

// decided is the outcome of one write.
func decided(key string, a answer) error {
	if a.err != nil {
		return fmt.Errorf("redisstore: commit %s: %w", key, a.err)
	}
	applied, err := a.message.AsInt64()
	switch {
	case err != nil:
		return fmt.Errorf("redisstore: commit %s: an answer that cannot be read: %w: %w", key, store.ErrUnknown, err)
	case applied == 0:
		return &store.ConflictError{Key: key}
	}
	return nil
}

// callOf is the script of one write. It copies the value: the connection may still read it
// when the call has been given up.
func (r *records) callOf(w store.Write) call {
	f, name, in := familyOf(w.Key)
	c := call{intent: writing}
	if in {
		values, order := r.keys.family(f)
		c.keys, c.args = []string{values, order}, []string{name}
	} else {
		c.keys = []string{r.keys.value(w.Key)}
	}
	c.args = append(c.args, conditionOf(w.If))
	s := r.scripts
	switch w.Op {
	case store.Put:
		c.args = append(c.args, versionBytes(w.Version), string(w.Value))
		c.script = pick(in, s.putIn, s.put)
		if isBeat(w.Key) {
			c.script = s.putBeat
		}
	case store.Delete:
		c.script = pick(in, s.removeIn, s.remove)
	case store.Check:
		c.script = pick(in, s.checkIn, s.check)
	}
	return c
}

func pick(in bool, family, plain *script) *script {
	if in {
		return family
	}
	return plain
}

func conditionOf(c store.Condition) string {
	version, conditional := c.Wants()
	switch {
	case !conditional:
		return "*"
	case version == 0:
		return ""
	}
	return versionBytes(version)
}
