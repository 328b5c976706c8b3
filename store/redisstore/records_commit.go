package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// shipment is one call of a Commit on its way: one write, or several puts in no family.
type shipment struct {
	call call
	at   []int // whose answers it brings
	size int   // bytes of its values
}

// Commit implements store.Records. Beats go first, by connections of their own; of the others
// sentTogether calls or sentBytes are sent in one go.
func (r *records) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	if err := r.enter(ctx); err != nil {
		for i := range errs {
			errs[i] = fmt.Errorf("redisstore: commit: %w", err)
		}
		return errs
	}
	defer r.leave()
	var beats, rest []shipment
	for i, tx := range txs {
		switch {
		case len(tx) != 1:
			errs[i] = fmt.Errorf("redisstore: commit %s: one write expected, got %d: %w", firstOf(tx), len(tx), store.ErrUnsupported)
		case r.laneOf(tx[0].Key) == r.beats:
			beats = r.load(beats, tx[0], i)
		default:
			rest = r.load(rest, tx[0], i)
		}
	}
	r.ship(ctx, r.beats, beats, txs, errs)
	r.ship(ctx, r.main, rest, txs, errs)
	return errs
}

func firstOf(tx store.Tx) string {
	if len(tx) == 0 {
		return "nothing"
	}
	return tx[0].Key
}

// load adds a write to the shipments, to the last one if it fits.
func (r *records) load(all []shipment, w store.Write, at int) []shipment {
	c := r.callOf(w)
	if n := len(all) - 1; n >= 0 && c.script == r.scripts.put && all[n].call.script == c.script &&
		len(all[n].at) < r.puts && all[n].size+len(w.Value) <= putBytes {
		last := &all[n]
		last.call.keys, last.call.args = append(last.call.keys, c.keys...), append(last.call.args, c.args...)
		last.at, last.size = append(last.at, at), last.size+len(w.Value)
		return all
	}
	return append(all, shipment{call: c, at: []int{at}, size: len(w.Value)})
}

// ship sends shipments by a lane, and takes in what was answered.
func (r *records) ship(ctx context.Context, l *lane, all []shipment, txs []store.Tx, errs []error) {
	for len(all) > 0 {
		some := all[:headOf(all)]
		all = all[len(some):]
		calls := make([]call, len(some))
		for i, s := range some {
			calls[i] = s.call
		}
		for i, a := range l.runAll(ctx, calls) {
			some[i].decide(a, txs, errs)
		}
	}
}

// headOf is how many of the shipments are sent in one go.
func headOf(all []shipment) int {
	bytes := 0
	for i, s := range all {
		if bytes += s.size; i > 0 && (i == sentTogether || bytes > sentBytes) {
			return i
		}
	}
	return len(all)
}

// decide takes in the outcome of each write.
func (s shipment) decide(a answer, txs []store.Tx, errs []error) {
	words, err := verdicts(a, len(s.at))
	for i, at := range s.at {
		key := txs[at][0].Key
		switch {
		case err != nil:
			errs[at] = fmt.Errorf("redisstore: commit %s: %w", key, err)
		case words[i] == conflict:
			errs[at] = &store.ConflictError{Key: key}
		case words[i] == foreign:
			errs[at] = fmt.Errorf("redisstore: commit %s: %w: %w", key, store.ErrUnavailable, errFrame)
		}
	}
}

// What the scripts answer of a write; 1 is that it was applied.
const (
	conflict = 0  // its condition did not hold
	foreign  = -1 // what stands there is not ours
)

// verdicts are the answers of a call of n writes.
func verdicts(a answer, n int) ([]int64, error) {
	if a.err != nil {
		return nil, a.err
	}
	words := []rueidis.RedisMessage{a.message}
	if a.message.IsArray() {
		words, _ = a.message.ToArray() // it is one
	}
	if len(words) != n {
		return nil, fmt.Errorf("%w: %d answers to %d writes", store.ErrUnknown, len(words), n)
	}
	out := make([]int64, n)
	for i := range words {
		word, err := words[i].AsInt64()
		if err != nil {
			return nil, fmt.Errorf("%w: an answer that cannot be read: %w", store.ErrUnknown, err)
		}
		out[i] = word
	}
	return out, nil
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
