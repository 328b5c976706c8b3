package profile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// retained is what is kept of a profile for a while only.
type retained uint8

const (
	auditRows retained = iota
	versionRows
)

// trimEvery is after how many new rows of a session old ones are looked for: at its first one,
// and then again and again.
var trimEvery = [...]int{auditRows: 64, versionRows: 8} //nolint:gochecknoglobals // an immutable table

const (
	// maxTrims bounds the profiles whose rows wait to be looked through; more are left to the
	// next time that they get new ones.
	maxTrims = 1024
	// maxTrimmed bounds what one look removes.
	maxTrimmed = 256
	// maxTrimRows bounds the rows that one look remembers.
	maxTrimRows = 1 << 16
)

// trims removes rows that are too old, or too many, in the background: one profile after the
// other. It is best effort: what it does not get to, the next session that writes rows does.
type trims struct {
	mu struct {
		sync.Mutex
		queue []trim
		busy  bool
		ended bool
		stop  context.CancelFunc // ends the look that is under way; nil: there is none
	}
}

type trim struct {
	key string
	of  retained
}

// add has the rows of a profile looked through.
func (t *trims) add(s *Set, key string, of retained) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.ended || len(t.mu.queue) >= maxTrims {
		return
	}
	t.mu.queue = append(t.mu.queue, trim{key, of})
	if !t.mu.busy {
		t.mu.busy = true
		ctx, stop := context.WithCancel(s.life())
		t.mu.stop = stop
		s.tasks.start(func() { t.work(ctx, s) })
	}
}

func (t *trims) work(ctx context.Context, s *Set) {
	for {
		t.mu.Lock()
		if len(t.mu.queue) == 0 || t.mu.ended {
			t.mu.queue, t.mu.busy = nil, false
			t.mu.stop()
			t.mu.stop = nil
			t.mu.Unlock()
			return
		}
		next := t.mu.queue[0]
		t.mu.queue = t.mu.queue[1:]
		t.mu.Unlock()
		if err := s.trim(ctx, next); err != nil && ctx.Err() == nil {
			s.log.DebugContext(ctx, "old rows not removed", "key", next.key, "err", err)
		}
	}
}

// end ends it for good.
func (t *trims) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.ended = true
	if t.mu.stop != nil {
		t.mu.stop()
	}
}

// bounds are where the rows are, for how long they are kept, and how many; negative is without
// bound.
func (s *Set) bounds(t trim) (prefix string, age time.Duration, keep int) {
	if t.of == auditRows {
		return auditPrefix(s.name, t.key), s.opts.AuditFor, s.opts.AuditKeep
	}
	return versionPrefix(s.name, t.key), s.opts.VersionFor, s.opts.VersionKeep
}

// trim looks through the rows of one profile, and removes the oldest beyond the bounds.
func (s *Set) trim(ctx context.Context, t trim) error {
	prefix, age, keep := s.bounds(t)
	if age < 0 && keep < 0 {
		return nil
	}
	ctx, cancel := clock.WithTimeout(ctx, s.clk, s.opts.CallTimeout+s.node.Options().Limits.BackgroundWait)
	defer cancel()
	rows := s.leisurely()
	old, err := s.surplus(ctx, rows, prefix, age, keep)
	if err != nil {
		return err
	}
	together := max(1, len(old))
	if s.node.Limited() { // each counts
		together = 1
	}
	for txs := range slices.Chunk(old, together) {
		for _, err := range rows.Commit(ctx, txs...) {
			if err != nil && !isConflict(err) {
				return fmt.Errorf("remove old rows: %w", err)
			}
			s.stats.trimmed.Add(1)
		}
	}
	return nil
}

// surplus are the removals of what is beyond the bounds, each if it is still that row.
func (s *Set) surplus(ctx context.Context, rows store.Records, prefix string, age time.Duration, keep int) (out []store.Tx, err error) {
	var all []store.Record
	for rec, err := range rows.Scan(ctx, store.Prefix(prefix)) {
		if err != nil {
			return nil, fmt.Errorf("list rows: %w", err)
		}
		rec.Value = nil
		if all = append(all, rec); len(all) == maxTrimRows {
			break
		}
	}
	for i, rec := range all {
		if len(out) == maxTrimmed {
			break
		}
		if tooOld := age >= 0 && rec.Age > age; tooOld || keep >= 0 && len(all)-i > keep {
			out = append(out, store.Tx{{Key: rec.Key, Op: store.Delete, If: store.Is(rec.Version)}})
		}
	}
	return out, nil
}
