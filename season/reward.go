package season

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

const (
	maxRewards   = 32 // of a board
	maxRewardOps = 16 // of a reward
)

// reward is what a place of a board gets by the configuration.
func (b Board) reward(rank int) []doc.Op {
	for _, r := range b.Rewards {
		if rank <= r.To {
			return r.Ops
		}
	}
	return nil
}

// rewardOps are the operations that come with a title: those of the configuration, and then
// the game's. They are part of the transaction that stores the title.
func (s *Service) rewardOps(t Title) []doc.Op {
	var ops []doc.Op
	for _, b := range s.cfg.Boards {
		if b.Name == t.Board && t.Rank > 0 {
			ops = append(ops, b.reward(t.Rank)...)
		}
	}
	if s.deps.Reward != nil {
		ops = append(ops, s.deps.Reward(t)...)
	}
	return ops
}

// checkRewards reports what is wrong with a board's rewards.
func (c Config) checkRewards(p *complaints, field string, list []Reward) {
	if len(list) > maxRewards {
		p.add(field, "at most %d expected, got %d", maxRewards, len(list))
	}
	before := 0
	for i, r := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		if r.To <= before || r.To > c.Top {
			p.add(at+".to", "%d to top (%d) expected, got %d", before+1, c.Top, r.To)
		}
		before = max(before, r.To)
		if len(r.Ops) > maxRewardOps {
			p.add(at+".ops", "at most %d expected, got %d", maxRewardOps, len(r.Ops))
		}
		for j, op := range r.Ops {
			c.checkRewardOp(p, fmt.Sprintf("%s.ops[%d]", at, j), op)
		}
	}
}

// checkRewardOp refuses an operation that no document takes, and one that would reach the
// season's own block: a reward that undoes the title or the mark which it comes with would be
// paid again.
func (c Config) checkRewardOp(p *complaints, field string, op doc.Op) {
	if _, err := op.MarshalJSON(); err != nil {
		p.errs = append(p.errs, fmt.Errorf("%w: %s: %w", ErrConfig, field, err))
		return
	}
	block, err := doc.ParsePath(c.Path)
	if err != nil {
		return // reported with the path
	}
	if op.Path.HasPrefix(block) || block.HasPrefix(op.Path) {
		p.add(field+".path", "a place outside of the season's own (%s) expected, got %q", c.Path, op.Path)
	}
}
