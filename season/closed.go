package season

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// CloseRecord is who closed a season, when, and what the boards came to.
type CloseRecord struct {
	Season string
	Node   string
	Time   time.Time // fleet time
	// Boards are the results' digests (see [BoardResult].Digest), by board.
	Boards map[string]string
	// Waiver is what the season was closed without; its Boards are empty in the usual case.
	Waiver Waiver
}

// closeRecord is season/<set>/<id>/close: who closed the season. It is written together with the
// result and never read by what decides anything.
type closeRecord struct {
	Format int               `json:"format"`
	Season string            `json:"season"`
	Node   string            `json:"node"`
	Time   time.Time         `json:"time"` // fleet time
	Boards map[string]string `json:"boards"`
	Waiver *Waiver           `json:"waiver,omitempty"`
}

const closeFormat = 1

// signature is the close record of a result that this node is about to store.
func (s *Service) signature(res *Result, w Waiver) ([]byte, error) {
	rec := closeRecord{
		Format: closeFormat, Season: res.Season, Node: s.n.ID(), Time: s.n.Now().Round(0).UTC(), Boards: digests(res),
	}
	if len(w.Boards) > 0 {
		rec.Waiver = &w
	}
	return encodePlain("close record", rec)
}

func digests(res *Result) map[string]string {
	out := make(map[string]string, len(res.Boards))
	for _, b := range res.Boards {
		out[b.Board] = b.Digest
	}
	return out
}

func decodeCloseRecord(id string, data []byte) (CloseRecord, error) {
	var rec closeRecord
	if err := json.Unmarshal(data, &rec); err != nil {
		return CloseRecord{}, fmt.Errorf("season: decode close record: %w", err)
	}
	if rec.Format > closeFormat {
		return CloseRecord{}, fmt.Errorf("%w: close record of format %d", ErrNewerFormat, rec.Format)
	}
	if rec.Format < 1 || rec.Season != id {
		return CloseRecord{}, fmt.Errorf("season: decode close record: format %d, season %q", rec.Format, shown(rec.Season))
	}
	out := CloseRecord{Season: rec.Season, Node: rec.Node, Time: rec.Time, Boards: rec.Boards}
	if rec.Waiver != nil {
		out.Waiver = *rec.Waiver
	}
	return out, nil
}

// ClosedBy tells who closed a season, when and without what, from memory after the first read.
// Errors are those of [Service.Result]. A result without a record (somebody took it away) has
// its digests and no node.
func (s *Service) ClosedBy(ctx context.Context, id string) (CloseRecord, error) {
	res, err := s.Result(ctx, id)
	if err != nil {
		return CloseRecord{}, err
	}
	if rec, ok := s.docket.signature(id); ok {
		return rec, nil
	}
	stored, err := s.read(ctx, closeKey(s.set, id))
	if err != nil {
		return CloseRecord{}, err
	}
	if stored.Missing() {
		return CloseRecord{Season: id, Boards: digests(res)}, nil
	}
	rec, err := decodeCloseRecord(id, stored.Value)
	if err != nil {
		return CloseRecord{}, fmt.Errorf("season: read %s: %w", stored.Key, err)
	}
	s.docket.sign(rec)
	return rec, nil
}

// signature is a close record in memory.
func (d *docket) signature(id string) (CloseRecord, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rec, ok := d.mu.signed[id]
	return rec, ok
}

// sign keeps a close record, which never changes. When there are too many all are forgotten.
func (d *docket) sign(rec CloseRecord) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.mu.signed) >= MaxResults {
		clear(d.mu.signed)
	}
	d.mu.signed[rec.Season] = rec
}

// begun is the set's progress without beginning it: one read for all who ask, until it has begun.
func (s *Service) begun(ctx context.Context) (p progress, err error) {
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
	return s.readProgress(ctx)
}

// Results lists the results of closed seasons, the newest first: those before the season with
// the id before ("": from the newest on), at most limit, which is brought into 1 to 50. A season
// that is not closed is passed over; one that another node closed in the last 30 s may be. Less
// than limit means that there are no more, or that a long gap has none: [Result].K of the last
// says where it ended. An id that is none is ErrNoSeason.
func (s *Service) Results(ctx context.Context, before string, limit int) ([]*Result, error) {
	k := s.season() - 1
	if before != "" {
		at, ok := s.cfg.Parse(before)
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrNoSeason, shown(before))
		}
		k = min(k, at-1)
	}
	p, err := s.begun(ctx)
	if err != nil || !p.started {
		return nil, err
	}
	limit = min(max(limit, 1), maxLookup)
	var out []*Result
	for last := max(p.first, k-maxWalk); k >= last && len(out) < limit; {
		var ks []int64
		for ; k >= last && len(ks) < limit-len(out); k-- {
			ks = append(ks, k)
		}
		found, err := s.results(ctx, ks)
		if err != nil {
			return nil, err
		}
		for _, k := range ks {
			if found[k] != nil {
				out = append(out, found[k])
			}
		}
	}
	return out, nil
}
