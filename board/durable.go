package board

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// OpenError is the answer of SubmitDurable for entries of which it does not know whether they
// are, or will be, stored: the caller's context ended, and they stay in the queue, or the
// service closed before their write was acknowledged. It is a store.ErrUnknown. Under
// [store.Best], and under [store.Last] with a stamp of the caller, to submit again is
// harmless; under [store.Sum] it may count twice.
type OpenError struct {
	Board string
	Keys  []string
	Cause error // the cause of the context's end, or ErrClosed
}

// Error names the board, the first key and the cause.
func (e *OpenError) Error() string {
	more := ""
	if len(e.Keys) > 1 {
		more = fmt.Sprintf(" and %d more", len(e.Keys)-1)
	}
	stays := "it stays in the queue"
	if errors.Is(e.Cause, ErrClosed) {
		stays = "it may not be written"
	}
	return fmt.Sprintf("board: submit %s %s%s: not acknowledged, %s: %v", clip(e.Board), clip(e.Keys[0]), more, stays, e.Cause)
}

// Unwrap is store.ErrUnknown and the cause.
func (e *OpenError) Unwrap() []error { return []error{store.ErrUnknown, e.Cause} }

// SubmitEntry is Submit for an entry with metadata, at most store.MaxMeta bytes, which are
// stored when its score is: they belong to the score that wins, and for a sum they are those
// of the newest that adds something. An entry without metadata takes away what was stored
// with a score that it replaces. A Stamp is for [store.Last] only, as in
// [Service.SubmitLast]; without one the entry gets a stamp as in Submit.
func (s *Service) SubmitEntry(board string, e store.Submission) error {
	sub := submissionOf(e)
	if len(e.Meta) <= store.MaxMeta {
		sub.meta = string(e.Meta)
	} else if _, err := s.board(board); err == nil {
		return s.refuseMeta(board, len(e.Meta))
	}
	return s.submit(board, &sub)
}

// SubmitDurable puts entries into the queue as SubmitEntry does, all of them before it waits,
// brings the window forward, and answers when the store has acknowledged writes that cover
// them: under [store.Best] what is stored is as good or better, under [store.Last] as new,
// under [store.Sum] each was counted once. Callers share windows: what comes while one is
// being written is in the next. A failed write is repeated as for Submit, and waited for.
//
// Each entry that is not stored has an error, joined with the others: a [RefusedError], whose
// field begins with "entries[3]." when there are several; the reason of a [Refusal] as told to
// OnRefused (with store.ErrUnknown when an earlier write of it had an unknown outcome);
// [ErrRemoved] when Remove or Drop came first; or an [OpenError].
//
// With a negative FlushEvery it waits until somebody calls FlushNow or Close.
func (s *Service) SubmitDurable(ctx context.Context, board string, entries ...store.Submission) error {
	if s.writes(ctx) {
		return fmt.Errorf("board: submit: called from inside a write: %w", ErrPending)
	}
	b, err := s.board(board)
	if err != nil {
		s.strays.Add(uint64(len(entries)))
		return err
	}
	p := newPromise(b, entries)
	for i, e := range entries {
		if err := s.submitAwaited(b, e, p.ticket(i)); err != nil {
			p.settle(i, ofEntry(err, i, len(entries)))
		}
	}
	s.hasten()
	select {
	case <-p.done:
		return p.result(nil)
	case <-ctx.Done():
		return p.leave(context.Cause(ctx))
	case <-s.drain.over:
		return p.result(ErrClosed)
	}
}

func (s *Service) submitAwaited(b *board, e store.Submission, t *tickets) error {
	if len(e.Meta) > store.MaxMeta {
		return s.refuseMeta(b.name, len(e.Meta))
	}
	sub := submissionOf(e)
	sub.meta, sub.awaits = string(e.Meta), t
	return s.submit(b.name, &sub)
}

func submissionOf(e store.Submission) submission {
	return submission{key: e.Key, value: value{score: e.Score, stamp: e.Stamp}, own: e.Stamp == store.Stamp{}}
}

func (s *Service) refuseMeta(board string, n int) error {
	if b, err := s.board(board); err == nil {
		b.counts.refused.Add(1)
	}
	return &RefusedError{Board: board, Field: "meta", Problem: fmt.Sprintf("at most %d bytes expected, got %d", store.MaxMeta, n), Reason: store.ErrTooLarge}
}

// ofEntry says which of several entries was refused.
func ofEntry(err error, i, of int) error {
	var bad *RefusedError
	if of == 1 || !errors.As(err, &bad) {
		return err
	}
	named := *bad
	named.Field = fmt.Sprintf("entries[%d].%s", i, bad.Field)
	return &named
}

// hasten has the next window run at once, and all that comes until then share it.
func (s *Service) hasten() {
	if s.opts.FlushEvery < 0 {
		return
	}
	s.hasty.Store(true)
	s.kick()
}

// awaited tells that somebody waits for a score that the next window could write: then it
// need not wait for its time.
func (s *Service) awaited() bool {
	now := s.host.clock.Now()
	for _, b := range s.boards.Load().sorted {
		if b.promised.Load() == 0 {
			continue
		}
		if n, retryAt := b.waiting(); n > 0 && !now.Before(retryAt) {
			return true
		}
	}
	return false
}
