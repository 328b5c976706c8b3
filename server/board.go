package server

import (
	"context"
	"errors"
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
	maxDurable     = 1_000          // of one that waits for the store
	defaultTop     = 10
	defaultAround  = 5
	defaultPage    = 100
)

// boardService answers for shoal.v1.BoardService.
type boardService struct{ s *Server }

// Submit checks all entries, then queues them.
func (b boardService) Submit(ctx context.Context, req *shoalv1.BoardSubmitRequest) (*shoalv1.BoardSubmitResponse, error) {
	list, err := b.submissions(req)
	if err != nil {
		return nil, err
	}
	if req.GetDurable() {
		err = b.submitDurable(ctx, req.GetBoard(), list)
	} else {
		err = b.submit(req.GetBoard(), list)
	}
	if err != nil {
		return nil, err
	}
	return &shoalv1.BoardSubmitResponse{Accepted: int32(len(list))}, nil //nolint:gosec // at most maxSubmissions
}

// submissions are the entries of a request, as far as that can be checked before they are
// queued.
func (b boardService) submissions(req *shoalv1.BoardSubmitRequest) ([]store.Submission, error) {
	if strings.HasPrefix(req.GetBoard(), seasonBoards) {
		return nil, refuse(badField, "board", "boards of seasons are written by seasons only: record an event instead")
	}
	if cfg, _ := b.s.boards.Config(req.GetBoard()); cfg.From != nil {
		return nil, refuse(badField, "board", "the board follows the profiles of the set %q: change those instead", cfg.From.Set)
	}
	most := maxSubmissions
	if req.GetDurable() {
		most = maxDurable
	}
	entries := req.GetEntries()
	if len(entries) == 0 || len(entries) > most {
		return nil, refuse(badField, "entries", "1 to %d entries are expected, got %d", most, len(entries))
	}
	out := make([]store.Submission, len(entries))
	for i, e := range entries {
		score, err := b.score(req.GetBoard(), e)
		if err == nil && len(e.GetMeta()) > store.MaxMeta {
			err = refuse(badField, "meta", "at most %d bytes are expected, got %d", store.MaxMeta, len(e.GetMeta()))
		}
		if err != nil {
			return nil, within(indexed("entries", i), err)
		}
		out[i] = store.Submission{Key: e.GetKey(), Score: score, Meta: e.GetMeta()}
	}
	return out, nil
}

func (b boardService) submit(board string, list []store.Submission) error {
	for i, e := range list {
		if err := b.s.boards.SubmitEntry(board, e); err != nil {
			return partly(i, within(indexed("entries", i), err))
		}
	}
	return nil
}

// submitDurable answers when the store has the entries, or why not.
func (b boardService) submitDurable(ctx context.Context, board string, list []store.Submission) error {
	err := b.s.boards.SubmitDurable(ctx, board, list...)
	switch {
	case err == nil || errors.Is(err, store.ErrUnknown):
		return err
	case len(list) == 1:
		return within(indexed("entries", 0), err)
	}
	field, problem, ok := fieldOf(err)
	if !ok {
		problem = err.Error()
	}
	return &failure{field: field, problem: problem + "; other entries may be stored", outcome: partlyDone, cause: err}
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
