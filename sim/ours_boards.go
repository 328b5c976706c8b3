package sim

import (
	"context"
	"errors"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// ourLadder is the boards of a server of our library.
type ourLadder struct {
	*board.Service
	p *Process
}

func newLadder(n *node.Node, p *Process, s Settings) (*ourLadder, error) {
	svc, err := board.New(n, &board.Options{Boards: s.Boards, FlushEvery: s.Window})
	if err != nil {
		return nil, err
	}
	return &ourLadder{svc, p}, nil
}

// Ladder implements Ranking.
func (h *ourHost) Ladder() Ladder {
	if h.ladder == nil {
		return nil
	}
	return h.ladder
}

// Submit implements Ladder.
func (o *ourLadder) Submit(name string, s store.Submission) error {
	if cfg, _ := o.Config(name); cfg.Rule == store.Last && s.Stamp != (store.Stamp{}) {
		return o.SubmitLast(name, s.Key, s.Score, s.Stamp)
	}
	return o.Service.Submit(name, s.Key, s.Score)
}

// Durable implements Ladder.
func (o *ourLadder) Durable(ctx context.Context, name string, s store.Submission) Answer {
	var refused *board.RefusedError
	switch err := o.SubmitDurable(ctx, name, s); {
	case err == nil:
		return Done
	case errors.As(err, &refused):
		return Undone
	}
	return Unsure // what was given up or removed meanwhile is told apart by other means
}

// Flush implements Ladder.
func (o *ourLadder) Flush(ctx context.Context) error { return o.FlushNow(ctx) }

// Remove implements Ladder.
func (o *ourLadder) Remove(ctx context.Context, name string, keys ...string) Answer {
	_, err := o.Service.Remove(ctx, name, keys...)
	return boardAnswer(err)
}

// Seal implements Ladder.
func (o *ourLadder) Seal(ctx context.Context, name string) Answer {
	_, err := o.Service.Seal(ctx, name)
	return boardAnswer(err)
}

// Look implements Ladder.
func (o *ourLadder) Look(ctx context.Context, name, key string) error {
	s, ok, err := o.Standing(ctx, name, key)
	if err == nil && ok {
		_, err = o.Page(ctx, name, s.Rank-1, 5)
	}
	_, around := o.Around(ctx, name, key, 2)
	return errors.Join(err, around)
}

// OnRefused implements Ladder.
func (o *ourLadder) OnRefused(fn func(name string, values []store.Submission, unknown bool)) {
	o.Service.OnRefused(func(r board.Refusal) {
		if !o.p.Gone() {
			fn(r.Board, r.Values, r.Unknown)
		}
	})
}

// Left implements Ladder.
func (o *ourLadder) Left() int {
	r, _ := o.Close(context.Background()) // its node has closed it: this is the report
	return r.Remaining
}

// boardAnswer sorts the error of a write to a board.
func boardAnswer(err error) Answer {
	switch store.OutcomeOf(err) {
	case store.Done:
		return Done
	case store.NotDone:
		return Undone
	case store.Unknown:
	}
	return Unsure
}
