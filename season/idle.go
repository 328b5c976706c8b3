package season

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/node"
)

// NewIdle is New for tools: a service without its loops. By itself it writes nothing, closes
// nothing and looks after no boards; what it is asked to do it does, CloseDue included. It is
// not for nodes with sessions: their values would reach the boards only when it closes.
func NewIdle(n *node.Node, set string, cfg Config, deps Deps) (*Service, error) {
	s, err := newService(n, set, cfg, deps)
	if err != nil {
		return nil, err
	}
	n.OnClose(node.StageSeasons, "seasons "+set, s.close)
	return s, nil
}

// Look is Status with what the store has of the set's progress read anew. It begins no set. A
// set that was begun with another calendar is ErrCalendar.
func (s *Service) Look(ctx context.Context) (Status, error) {
	if _, err := s.readProgress(ctx); err != nil {
		return Status{}, err
	}
	return s.Status(), nil
}

// maxUnclosed is how many seasons Unclosed tells of.
const maxUnclosed = 64

// Unclosed lists the seasons that are over and have no result, oldest first, at most 64, with
// what keeps each from being closed as far as can be seen from here; Since is when its Grace
// was over. It writes nothing.
func (s *Service) Unclosed(ctx context.Context) ([]Waiting, error) {
	p, err := s.readProgress(ctx)
	if err != nil || !p.started {
		return nil, err
	}
	var ks []int64
	for k := p.through + 1; k < s.season() && len(ks) < maxUnclosed; k++ {
		ks = append(ks, k)
	}
	out := make([]Waiting, 0, len(ks))
	for some := range slices.Chunk(ks, maxLookup) {
		found, err := s.results(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, k := range some {
			if found[k] == nil {
				out = append(out, Waiting{K: k, Season: s.cfg.ID(k), Why: s.whyUnclosed(ctx, k), Since: s.cfg.End(k).Add(s.cfg.Grace)})
			}
		}
	}
	return out, nil
}

// whyUnclosed is what keeps a season from being closed.
func (s *Service) whyUnclosed(ctx context.Context, k int64) string {
	now, fresh := s.n.FleetTime()
	switch {
	case !s.isDue(k, now):
		return fmt.Sprintf("the last values are on their way; it is closed from %s on", s.cfg.End(k).Add(s.cfg.Grace).Format(time.DateTime))
	case !fresh:
		return ErrClock.Error()
	}
	rec, err := s.read(ctx, registerKey(s.set, s.cfg.ID(k)))
	if err != nil {
		return err.Error()
	}
	if rec.Missing() {
		return "it is due, and nobody played it"
	}
	reg, err := decodeRegister(rec.Value)
	if err != nil {
		return err.Error()
	}
	if reg.Unplayed {
		return "it is due, and nobody played it"
	}
	if err := s.define(k); err != nil {
		return err.Error()
	}
	lost, err := s.lostBoards(ctx, reg, s.cfg.Boards)
	switch {
	case err != nil:
		return err.Error()
	case len(lost) > 0:
		return fmt.Sprintf("it is due; the board %s lost its memory and has to be rebuilt from the profiles first", lost[0].Name)
	}
	return "it is due, and no node has closed it yet"
}
