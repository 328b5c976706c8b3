package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/shoal/v1/shoalv1connect"
	"github.com/shoalworks/shoal/store"
)

// Limits of the boards' calls.
const (
	maxSubmissions = store.MaxMerge // entries of one Submit
	maxDurable     = 1_000          // of one that waits for the store
	defaultTop     = 10
	defaultAround  = 5
	defaultPage    = 100
)

// boardService answers for shoal.v1.BoardService.
type boardService struct {
	shoalv1connect.UnimplementedBoardServiceHandler

	s *Server
}

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

func (b boardService) config(name string) (board.Config, error) {
	cfg, ok := b.s.boards.Config(name)
	if !ok {
		return cfg, b.unknown(name)
	}
	return cfg, nil
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

