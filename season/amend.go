package season

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/store"
)

// amendTries bounds how often a compare-and-set starts over.
const amendTries = 16

// errKeep ends an amendment that finds nothing to write.
var errKeep = errors.New("season: keep")

// read is one record of the durable store.
func (s *Service) read(ctx context.Context, key string) (store.Record, error) {
	recs, err := s.durable.Get(ctx, key)
	if err != nil {
		return store.Record{}, fmt.Errorf("season: read %s: %w", key, err)
	}
	return recs[0], nil
}

// amend rewrites a record by compare-and-set: next derives the new value from the present one
// (nil when missing), or answers errKeep. It returns the value that is stored in the end. An
// unknown outcome is read back: the version is the writer's own choice, so the read says
// whether the write is there; if it still is on its way, the next round's condition fences it.
func (s *Service) amend(ctx context.Context, key string, next func(now []byte) ([]byte, error)) ([]byte, error) {
	var last error
	for range amendTries {
		rec, err := s.read(ctx, key)
		if err != nil {
			return nil, err
		}
		value, err := next(rec.Value)
		if errors.Is(err, errKeep) {
			return rec.Value, nil
		}
		if err != nil {
			return nil, err
		}
		put := store.Write{Key: key, Op: store.Put, Value: value, If: store.Is(rec.Version), Version: s.n.NewVersion("amend", key)}
		err = s.durable.Commit(ctx, store.Tx{put})[0]
		if err == nil {
			return value, nil
		}
		last = err
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if store.OutcomeOf(err) == store.NotDone {
			break
		}
		if rec, err := s.read(ctx, key); err == nil && rec.Version == put.Version {
			return value, nil
		}
	}
	return nil, fmt.Errorf("season: write %s: %w", key, last)
}

// firstRecord is season/<set>/first: the season in which the set was first used, and the
// calendar by which it was.
type firstRecord struct {
	Format   int       `json:"format"`
	K        int64     `json:"k"`
	Season   string    `json:"season"`
	Epoch    time.Time `json:"epoch"`
	Length   string    `json:"length"`
	PerCycle int       `json:"perCycle"`
}

func newFirst(c Calendar, k int64) firstRecord {
	return firstRecord{1, k, c.ID(k), c.Epoch.UTC(), c.Length.String(), c.PerCycle}
}

// differs tells how another calendar than the stored one is configured. Seasons counted by
// two calendars would mix under the same ids, and resets would come at any time.
func (f firstRecord) differs(c Calendar) error {
	now := newFirst(c, f.K)
	if f.Epoch.Equal(now.Epoch) && f.Length == now.Length && f.PerCycle == now.PerCycle {
		return nil
	}
	return fmt.Errorf("%w: stored are epoch %s, length %s, %d a cycle; configured are %s, %s, %d", ErrCalendar,
		f.Epoch.Format(time.RFC3339Nano), f.Length, f.PerCycle, now.Epoch.Format(time.RFC3339Nano), now.Length, now.PerCycle)
}

// closedRecord is season/<set>/closed: every season from first to Through has a result.
type closedRecord struct {
	Format  int    `json:"format"`
	Through int64  `json:"through"`
	Season  string `json:"season"`
}

// begin answers the progress as last read: first never changes, and closedThrough, which only
// grows, is read again by every pass. The first caller reads it, and records the set's first
// season when there is none yet; the others wait for that one.
func (s *Service) begin(ctx context.Context) (p progress, err error) {
	if p := s.shelf.stored(); p.started {
		return p, nil
	}
	release, err := s.look(ctx)
	if err != nil {
		return progress{}, err
	}
	defer func() { release(err) }()
	if p := s.shelf.stored(); p.started {
		return p, nil
	}
	k := s.season()
	_, err = s.amend(ctx, firstKey(s.set), func(now []byte) ([]byte, error) {
		if now != nil {
			return nil, errKeep
		}
		return json.Marshal(newFirst(s.cfg.Calendar, k))
	})
	if err != nil {
		return progress{}, err
	}
	return s.readProgress(ctx)
}

// readProgress reads first and closedThrough from the store, and the index of corrections along
// with them.
func (s *Service) readProgress(ctx context.Context) (progress, error) {
	at := s.clock.Now()
	recs, err := s.durable.Get(ctx, firstKey(s.set), closedKey(s.set), correctedKey(s.set))
	if err != nil {
		return progress{}, fmt.Errorf("season: read progress of %s: %w", s.set, err)
	}
	if err := s.takeIndex(recs[2].Value, at); err != nil {
		// Seasons are closed all the same; whoever needs the index reads it, and fails.
		s.log.WarnContext(ctx, "the index of corrections cannot be read", "err", err)
	}
	var p progress
	if !recs[0].Missing() {
		var first firstRecord
		if err := json.Unmarshal(recs[0].Value, &first); err != nil {
			return progress{}, fmt.Errorf("season: decode %s: %w", recs[0].Key, err)
		}
		if err := first.differs(s.cfg.Calendar); err != nil {
			s.foreign.Store(true)
			return progress{}, err
		}
		p.started, p.first = true, max(first.K, 0)
	}
	p.through = p.first - 1
	if !recs[1].Missing() {
		var closed closedRecord
		if err := json.Unmarshal(recs[1].Value, &closed); err != nil {
			return progress{}, fmt.Errorf("season: decode %s: %w", recs[1].Key, err)
		}
		p.through = max(p.through, closed.Through)
	}
	s.shelf.know(p)
	return p, nil
}

// moveThrough raises the stored closedThrough; it never lowers it.
func (s *Service) moveThrough(ctx context.Context, through int64) error {
	_, err := s.amend(ctx, closedKey(s.set), func(now []byte) ([]byte, error) {
		var closed closedRecord
		if now != nil {
			if err := json.Unmarshal(now, &closed); err != nil {
				return nil, fmt.Errorf("season: decode %s: %w", closedKey(s.set), err)
			}
			if closed.Through >= through {
				return nil, errKeep
			}
		}
		return json.Marshal(closedRecord{Format: 1, Through: through, Season: s.cfg.ID(through)})
	})
	return err
}
