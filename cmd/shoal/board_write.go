package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// ruleFlags say how a board is written that is not in the configuration.
type ruleFlags struct {
	Rule  string `placeholder:"RULE" help:"best, last or sum: how scores of one key are combined, on a board that is not in the configuration."`
	Order string `placeholder:"ORDER" help:"descending or ascending: which scores rank first, on a board that is neither in the configuration nor stored."`
}

// boardSubmitCommand submits a score.
type boardSubmitCommand struct {
	Board  string `arg:"" help:"The board's name."`
	Key    string `arg:"" help:"The entry's key."`
	Score  string `arg:"" help:"The score: 500, or 12.345 on a board with decimals. Put -- before a negative one."`
	Meta   string `placeholder:"TEXT" help:"What is kept with the score, at most 256 bytes."`
	DryRun bool   `help:"Show what would become of the entry; change nothing."`
	ruleFlags
	boardFlags
}

// Help is shown by --help.
func (*boardSubmitCommand) Help() string {
	return `Returns when the store has the score. Rule, decimals and limits are those of the configuration (--config). A board that
is not in it needs --rule, and --order and --decimals if it is new; give it what the game's servers have.

  shoal board submit Kills u_42 500
  shoal board submit BestTime u_42 61.25 --meta "car 7"
  shoal board submit Balance u_42 -- -20
  shoal board submit Trial u_42 5 --rule sum --order descending

` + exitCodes
}

// Run submits.
func (c *boardSubmitCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.writable(ctx, c.Board, c.ruleFlags)
		if err != nil {
			return err
		}
		score, err := t.parse(s, c.Score)
		if err != nil {
			return err
		}
		if len(c.Meta) > store.MaxMeta {
			return usage("--meta: at most %d bytes expected, got %d", store.MaxMeta, len(c.Meta))
		}
		before, err := t.entries(ctx, s, []string{c.Key})
		if err != nil {
			return err
		}
		if banned, err := t.isBanned(ctx, c.Key); err != nil || banned {
			return cmp.Or(err, refused("%s is banned: shoal board bans says why", c.Key))
		}
		if c.DryRun {
			return t.wouldSubmit(s, c.Key, score, before)
		}
		if err := t.boards.SubmitDurable(ctx, c.Board, store.Submission{Key: c.Key, Score: score, Meta: []byte(c.Meta)}); err != nil {
			if errors.Is(err, store.ErrUnknown) {
				err = fmt.Errorf("%w\nlook with: shoal board rank %s %s", err, c.Board, c.Key)
			}
			return err
		}
		return t.printSubmitted(ctx, s, c.Key, score, before)
	})
}

// seasonBoards is how the names of seasons' boards begin.
const seasonBoards = "season/"

// writable is a board that scores may be submitted to, known to the node.
func (t *boardTool) writable(ctx context.Context, board string, f ruleFlags) (*shelf, error) {
	if strings.HasPrefix(board, seasonBoards) {
		return nil, refused("boards of seasons are written by seasons only: record an event instead")
	}
	rule, okRule := word(f.Rule, store.Best, store.Last, store.Sum)
	order, okOrder := word(f.Order, store.Descending, store.Ascending)
	switch {
	case !okRule:
		return nil, usage("--rule: best, last or sum expected, got %q", f.Rule)
	case !okOrder:
		return nil, usage("--order: descending or ascending expected, got %q", f.Order)
	}
	s, err := t.look(ctx, board)
	if err != nil {
		return nil, err
	}
	if err := s.settle(rule, order); err != nil {
		return nil, err
	}
	return s, t.define(s)
}

// settle finds out how the board is written, and refuses flags that contradict what is known.
func (s *shelf) settle(rule store.Rule, order store.Order) error {
	known := s.info.Order
	switch {
	case s.config.From != nil:
		return refused("%s follows the profiles of the set %s: change those, or shoal board refill", s.name, s.config.From.Set)
	case s.configured && s.stored && s.config.Order != s.info.Order:
		return refused("%s is %v in the configuration and %v in the store, which cannot change", s.name, s.config.Order, s.info.Order)
	case s.info.Sealed:
		return refused("%s is sealed: it takes no more scores", s.name)
	case s.configured && rule != 0 && rule != s.config.Rule:
		return usage("--rule: %v expected, as the configuration says, got %v", s.config.Rule, rule)
	case known != 0 && order != 0 && order != known:
		return usage("--order: %v expected, as %s has, got %v", known, s.name, order)
	case s.configured:
		return nil
	case rule == 0:
		return usage("%s is not in the configuration: --rule best, last or sum expected, or --config", s.name)
	case known == 0 && order == 0:
		return usage("%s is neither in the configuration nor in the store: --order descending or ascending expected, or --config", s.name)
	case known == 0:
		s.info.Order = order
	}
	s.config = board.Config{Rule: rule}
	return nil
}

// parse reads a score of the board.
func (t *boardTool) parse(s *shelf, text string) (int64, error) {
	score, err := t.boards.ParseScore(s.name, text)
	var bad *board.RefusedError
	if !errors.As(err, &bad) {
		return score, err
	}
	if errors.Is(err, board.ErrInexact) && !s.configured {
		return 0, usage("SCORE: %s; --decimals says how many the board has", bad.Problem)
	}
	return 0, usage("SCORE: %s", bad.Problem)
}

// would is what a submission makes of a stored score. An overflow is told by ok.
func would(s *shelf, stored []store.Standing, score int64) (after int64, ok bool) {
	if len(stored) == 0 {
		return score, true
	}
	old := stored[0].Score
	switch s.config.Rule {
	case store.Best:
		if s.info.Order.Better(old, score) {
			return old, true
		}
		return score, true
	case store.Last:
		return score, true
	case store.Sum:
		sum := old + score
		return sum, (sum > old) == (score > 0) || score == 0
	}
	return score, true
}

// submitted is what --json prints of a submission.
type submitted struct {
	Board     string  `json:"board"`
	Key       string  `json:"key"`
	Submitted int64   `json:"submitted"`
	Before    *int64  `json:"before,omitempty"`
	Score     *int64  `json:"score,omitempty"`
	Decimal   string  `json:"decimal,omitempty"`
	Rank      int64   `json:"rank,omitempty"`
	Total     int64   `json:"total,omitempty"`
	Top       float64 `json:"top,omitempty"`
	DryRun    bool    `json:"dryRun,omitempty"`
}

func (t *boardTool) submittedForm(s *shelf, key string, score int64, before []store.Standing) submitted {
	out := submitted{Board: s.name, Key: key, Submitted: score}
	if len(before) > 0 {
		out.Before = &before[0].Score
	}
	return out
}

// wouldSubmit shows what would become of an entry.
func (t *boardTool) wouldSubmit(s *shelf, key string, score int64, before []store.Standing) error {
	if low, high := s.config.Min, s.config.Max; low != nil && score < *low || high != nil && score > *high {
		return refused("%s expected, got %s", t.limits(s), t.score(s, score))
	}
	after, ok := would(s, before, score)
	if !ok {
		return refused("the sum would leave the range of 64 bits")
	}
	form := t.submittedForm(s, key, score, before)
	form.Score, form.Decimal, form.DryRun = &after, t.decimal(s, after), true
	return t.print(form, func() {
		fmt.Fprintf(t.out, "%s: %s; it would be %s. Nothing was changed.\n", key, t.wasText(s, before), t.score(s, after))
	})
}

// wasText says what an entry had before.
func (t *boardTool) wasText(s *shelf, before []store.Standing) string {
	if len(before) == 0 {
		return "has no entry"
	}
	return "has " + t.score(s, before[0].Score)
}

// printSubmitted shows what became of an entry.
func (t *boardTool) printSubmitted(ctx context.Context, s *shelf, key string, score int64, before []store.Standing) error {
	form := t.submittedForm(s, key, score, before)
	st, ok, err := t.boards.Standing(ctx, s.name, key)
	if err != nil {
		return fmt.Errorf("the score is stored; where it stands: %w", err)
	}
	if !ok { // hidden, or removed since
		return t.print(form, func() { fmt.Fprintf(t.out, "%s: %s is stored; the key has no rank\n", key, t.score(s, score)) })
	}
	p, _, err := t.boards.Percentile(ctx, s.name, key)
	if err != nil {
		return fmt.Errorf("the score is stored; where it stands: %w", err)
	}
	form.Score, form.Decimal, form.Rank, form.Total, form.Top = &st.Score, t.decimal(s, st.Score), st.Rank, p.Total, p.Top
	return t.print(form, func() {
		fmt.Fprintf(t.out, "%s: %s%s, rank %s of %s\n", key, t.score(s, st.Score), t.keptText(s, st.Score, score), humanize.Comma(st.Rank), humanize.Comma(p.Total))
	})
}

// keptText says why what is stored is not what was submitted.
func (t *boardTool) keptText(s *shelf, stored, score int64) string {
	switch {
	case s.config.Rule == store.Sum || stored == score:
		return ""
	case s.config.Rule == store.Best:
		return " is stored, which stays before " + t.score(s, score)
	}
	return " is stored, which is newer than " + t.score(s, score)
}
