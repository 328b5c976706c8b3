package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/store"
)

// Limits of the boards' calls.
const (
	maxSubmissions = store.MaxMerge // entries of one Submit
	defaultTop     = 10
	defaultAround  = 5
)

// boardService answers for shoal.v1.BoardService.
type boardService struct{ s *Server }

// Submit checks all entries, then queues them.
func (b boardService) Submit(_ context.Context, req *shoalv1.BoardSubmitRequest) (*shoalv1.BoardSubmitResponse, error) {
	if strings.HasPrefix(req.GetBoard(), seasonBoards) {
		return nil, refuse(badField, "board", "boards of seasons are written by seasons only: record an event instead")
	}
	entries := req.GetEntries()
	if len(entries) == 0 || len(entries) > maxSubmissions {
		return nil, refuse(badField, "entries", "1 to %d entries are expected, got %d", maxSubmissions, len(entries))
	}
	scores := make([]int64, len(entries))
	for i, e := range entries {
		score, err := b.score(req.GetBoard(), e)
		if err != nil {
			return nil, within(indexed("entries", i), err)
		}
		scores[i] = score
	}
	for i, e := range entries {
		if err := b.s.boards.Submit(req.GetBoard(), e.GetKey(), scores[i]); err != nil {
			return nil, partly(i, within(indexed("entries", i), err))
		}
	}
	return &shoalv1.BoardSubmitResponse{Accepted: int32(len(entries))}, nil
}

// seasonBoards is how the names of seasons' boards begin.
const seasonBoards = "season/"

// score checks one entry as far as that can be done before it is queued.
func (b boardService) score(name string, e *shoalv1.BoardSubmission) (int64, error) {
	cfg, ok := b.s.boards.Config(name)
	if !ok {
		return 0, b.unknown(name)
	}
	if err := checkKey(e.GetKey()); err != nil {
		return 0, err
	}
	score := e.GetScore()
	switch {
	case e.Score != nil && e.Decimal != nil:
		return 0, refuse(badField, "decimal", "score or decimal is expected, not both")
	case e.Score == nil && e.Decimal == nil:
		return 0, refuse(badField, "score", "is missing; 0 is a score")
	case e.Decimal != nil:
		parsed, err := b.s.boards.ParseScore(name, e.GetDecimal())
		if err != nil {
			return 0, rename(err, "decimal")
		}
		score = parsed
	}
	if cfg.Min != nil && score < *cfg.Min || cfg.Max != nil && score > *cfg.Max {
		return 0, refuse(badField, "score", "%s is expected, got %d", bounds(cfg), score)
	}
	return score, nil
}

func bounds(cfg board.Config) string {
	switch {
	case cfg.Max == nil:
		return fmt.Sprintf("at least %d", *cfg.Min)
	case cfg.Min == nil:
		return fmt.Sprintf("at most %d", *cfg.Max)
	}
	return fmt.Sprintf("%d to %d", *cfg.Min, *cfg.Max)
}

// checkKey refuses what is no player's or entry's key.
func checkKey(key string) error { return name.CheckKey("key", key) }

// Top reads the best entries, from the board's cached page.
func (b boardService) Top(ctx context.Context, req *shoalv1.BoardTopRequest) (*shoalv1.BoardTopResponse, error) {
	cfg, err := b.config(req.GetBoard())
	if err != nil {
		return nil, err
	}
	count, err := countOf(req.Count, defaultTop, cfg.MaxEntries)
	if err != nil {
		return nil, err
	}
	page, err := b.s.boards.Top(ctx, req.GetBoard(), count)
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	return b.s.pages.top(ctx, pageKey{req.GetBoard(), count}, page, b.format(req.GetBoard(), cfg)), nil
}

// Standing reads one entry with its rank.
func (b boardService) Standing(ctx context.Context, req *shoalv1.BoardStandingRequest) (*shoalv1.BoardStandingResponse, error) {
	cfg, err := b.config(req.GetBoard())
	if err != nil {
		return nil, err
	}
	if err := checkKey(req.GetKey()); err != nil {
		return nil, err
	}
	standing, ok, err := b.s.boards.Standing(ctx, req.GetBoard(), req.GetKey())
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	out := &shoalv1.BoardStandingResponse{Found: ok}
	if ok {
		out.Standing = standingForm(standing, b.format(req.GetBoard(), cfg))
	}
	return out, nil
}

// Around reads one entry and its neighbours.
func (b boardService) Around(ctx context.Context, req *shoalv1.BoardAroundRequest) (*shoalv1.BoardAroundResponse, error) {
	cfg, err := b.config(req.GetBoard())
	if err != nil {
		return nil, err
	}
	if err := checkKey(req.GetKey()); err != nil {
		return nil, err
	}
	count, err := countOf(req.Count, defaultAround, (store.MaxPage-1)/2)
	if err != nil {
		return nil, err
	}
	page, err := b.s.boards.Around(ctx, req.GetBoard(), req.GetKey(), count)
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	return &shoalv1.BoardAroundResponse{Entries: standingForms(page.Entries, b.format(req.GetBoard(), cfg)), Total: page.Total}, nil
}

// Scores reads the entries of chosen keys.
func (b boardService) Scores(ctx context.Context, req *shoalv1.BoardScoresRequest) (*shoalv1.BoardScoresResponse, error) {
	cfg, err := b.config(req.GetBoard())
	if err != nil {
		return nil, err
	}
	keys := req.GetKeys()
	if len(keys) == 0 || len(keys) > store.MaxPage {
		return nil, refuse(badField, "keys", "1 to %d keys are expected, got %d", store.MaxPage, len(keys))
	}
	seen := make(map[string]struct{}, len(keys))
	for i, key := range keys {
		field := indexed("keys", i)
		if err := name.CheckKey(field, key); err != nil {
			return nil, err
		}
		if _, twice := seen[key]; twice {
			return nil, refuse(badField, field, "%q comes twice", key)
		}
		seen[key] = struct{}{}
	}
	found, err := b.s.boards.Scores(ctx, req.GetBoard(), keys...)
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	out := &shoalv1.BoardScoresResponse{}
	format := b.format(req.GetBoard(), cfg)
	for _, key := range keys {
		if e, ok := found[key]; ok {
			out.Entries = append(out.Entries, &shoalv1.BoardEntry{Key: key, Score: e.Score, Decimal: format.text(e.Score)})
		}
	}
	return out, nil
}

func (b boardService) config(name string) (board.Config, error) {
	cfg, ok := b.s.boards.Config(name)
	if !ok {
		return cfg, b.unknown(name)
	}
	return cfg, nil
}

// format is how the scores of a board are written beside the number itself.
func (b boardService) format(name string, cfg board.Config) scoreFormat {
	if cfg.Decimals == 0 {
		return scoreFormat{}
	}
	return scoreFormat{b.s.boards, name}
}

// unknown refuses a board that is not defined, and says which are.
func (b boardService) unknown(board string) error {
	own := b.s.ownBoards()
	if len(own) == 0 {
		return refuse(unknownBoard, "board", "there is no board %q: the daemon has none", board)
	}
	return refuse(unknownBoard, "board", "there is no board %q; there are %s", board, someOf(own))
}

// ownBoards are the boards of the configuration, without those that seasons bring.
func (s *Server) ownBoards() []string {
	return slices.DeleteFunc(s.boards.Boards(), func(name string) bool { return strings.HasPrefix(name, seasonBoards) })
}

// countOf is how many entries are wanted.
func countOf(count *int32, otherwise, most int) (int, error) {
	return limitOf("count", count, otherwise, most)
}

// scoreFormat writes scores with their decimals; the zero one writes none.
type scoreFormat struct {
	boards *board.Service
	board  string
}

// text is a score as text, nil on a board without decimals.
func (f scoreFormat) text(score int64) *string {
	if f.boards == nil {
		return nil
	}
	text, err := f.boards.FormatScore(f.board, score)
	if err != nil {
		return nil // the board is not defined any more
	}
	return &text
}

func standingForm(s store.Standing, f scoreFormat) *shoalv1.BoardStanding {
	return &shoalv1.BoardStanding{Rank: s.Rank, Key: s.Key, Score: s.Score, Decimal: f.text(s.Score)}
}

func standingForms(list []store.Standing, f scoreFormat) []*shoalv1.BoardStanding {
	out := make([]*shoalv1.BoardStanding, len(list))
	for i, s := range list {
		out[i] = standingForm(s, f)
	}
	return out
}
