package board

import (
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/store"
)

// Submit puts a score into the board's queue and never waits for the store. Under
// [store.Best] the better one of what waits and score stays, under [store.Last] the newer,
// under [store.Sum] they add up. The key is kept until the score is written.
//
// Under [store.Last] the score gets a stamp of epoch 0 whose revision is fleet time in
// nanoseconds, growing with each submit of this service: what one node submits later counts,
// and between nodes what was submitted later but for the error of fleet time. Every stamp of
// [Service.SubmitLast] with an epoch counts as newer, so use one of the two for a board.
//
// The error is a [RefusedError]: unknown or sealed board, closed service, bad key, score out
// of the board's limits, a sum out of range, queue full. What waited before is unchanged then.
func (s *Service) Submit(board, key string, score int64) error {
	return s.submit(board, &submission{key: key, value: value{score: score}, own: true})
}

// SubmitLast is Submit for a board of [store.Last], with a stamp of the caller, such as
// (epoch, revision) of a profile: the largest stamp counts, whatever arrives when.
func (s *Service) SubmitLast(board, key string, score int64, stamp store.Stamp) error {
	return s.submit(board, &submission{key: key, value: value{score: score, stamp: stamp}})
}

// SubmitDecimal is Submit for a number as text, such as 12.345 on a board with 3 decimals.
// What does not fit exactly is refused, never rounded, and so is an empty text: a score that
// is absent is not zero.
func (s *Service) SubmitDecimal(board, key, score string) error {
	b, err := s.board(board)
	if err != nil {
		s.strays.Add(1)
		return err
	}
	n, err := parseDecimal(score, b.cfg.Decimals)
	if err != nil {
		return s.refuseNumber(b, err)
	}
	return s.Submit(board, key, n)
}

// SubmitFloat is Submit for a float64: a whole one is taken as it is, another for the shortest
// decimal number that reads back as the same float. It is refused when that number has more decimals than the board or when
// the float is too large to tell which number with these decimals it is; NaN and infinities
// are refused.
func (s *Service) SubmitFloat(board, key string, score float64) error {
	b, err := s.board(board)
	if err != nil {
		s.strays.Add(1)
		return err
	}
	n, err := floatScore(score, b.cfg.Decimals)
	if err != nil {
		return s.refuseNumber(b, err)
	}
	return s.Submit(board, key, n)
}

// ParseScore reads a decimal number as a score of the board, exactly or not at all.
func (s *Service) ParseScore(board, text string) (int64, error) {
	b, err := s.board(board)
	if err != nil {
		return 0, err
	}
	score, err := parseDecimal(text, b.cfg.Decimals)
	return score, numberError(b, err)
}

// FormatScore writes a score of the board with all its decimals, as ParseScore reads it.
func (s *Service) FormatScore(board string, score int64) (string, error) {
	b, err := s.board(board)
	if err != nil {
		return "", err
	}
	return formatDecimal(score, b.cfg.Decimals), nil
}

func (s *Service) submit(name string, sub *submission) error {
	b, err := s.board(name)
	if err != nil {
		s.strays.Add(1)
		return err
	}
	err = s.barred(name, sub.key)
	if err == nil {
		err = b.admit(sub)
	}
	if err != nil {
		b.counts.refused.Add(1)
		return err
	}
	if !s.armed.Load() || s.opts.FlushEvery < 0 {
		s.readClocks()
	}
	if sub.own {
		sub.stamp.Revision = uint64(max(0, int64(s.uptime())+s.fleet.Load()))
	}
	sub.since = time.Duration(s.arrival.Load())
	if err := b.queue.submit(name, sub); err != nil {
		b.counts.refused.Add(1)
		return b.refusal(sub, err)
	}
	s.arm()
	return nil
}

// arm wakes the writing goroutine when a first value waits.
func (s *Service) arm() {
	if s.armed.Load() || !s.armed.CompareAndSwap(false, true) {
		return
	}
	s.kick()
}

func (s *Service) kick() {
	select {
	case s.kicks <- struct{}{}:
	default: // one is on its way
	}
}

// readClocks takes the readings that submits use until the next window: a submit reads a
// clock only where it must.
func (s *Service) readClocks() {
	now := s.uptime()
	s.arrival.Store(int64(now))
	s.fleet.Store(s.host.now().UnixNano() - int64(now))
}

// maxStamp is the largest epoch and revision that every store keeps.
const maxStamp = 1<<63 - 1

// admit checks a submission against what is known of the board. It takes the own stamp from
// a rule that has none.
func (b *board) admit(sub *submission) error {
	if b.sealed.Load() {
		return &RefusedError{Board: b.name, Field: "board", Problem: "is sealed", Reason: store.ErrSealed}
	}
	if from := b.cfg.From; from != nil && !sub.mirrored {
		return &RefusedError{Board: b.name, Field: "From", Problem: "mirrors the profiles of " + from.Set + " and takes no submits", Reason: ErrRule}
	}
	if err := b.withinLimits(sub.score); err != nil {
		return err
	}
	if !sub.own && b.cfg.Rule != store.Last {
		return &RefusedError{Board: b.name, Field: "stamp", Problem: fmt.Sprintf("the rule is %v, which has no stamps", b.cfg.Rule), Reason: ErrRule}
	}
	if sub.stamp.Epoch > maxStamp || sub.stamp.Revision > maxStamp {
		return &RefusedError{Board: b.name, Field: "stamp", Problem: fmt.Sprintf("epoch and revision of 63 bits expected, got %+v", sub.stamp), Reason: ErrLimit}
	}
	if sub.meta != "" && b.keyed {
		return &RefusedError{Board: b.name, Field: "meta", Problem: "a Backend stores scores only", Reason: store.ErrUnsupported}
	}
	sub.own = sub.own && b.cfg.Rule == store.Last
	return nil
}

// withinLimits refuses a score outside the board's Min and Max.
func (b *board) withinLimits(score int64) error {
	if low := b.cfg.Min; low != nil && score < *low {
		return b.limitError(score, "at least", *low)
	}
	if high := b.cfg.Max; high != nil && score > *high {
		return b.limitError(score, "at most", *high)
	}
	return nil
}

func (b *board) limitError(score int64, which string, limit int64) error {
	d := b.cfg.Decimals
	return &RefusedError{
		Board: b.name, Field: "score",
		Problem: fmt.Sprintf("%s %s expected, got %s", which, formatDecimal(limit, d), formatDecimal(score, d)),
		Reason:  ErrLimit,
	}
}

// refusal is what the queue's error means to the caller.
func (b *board) refusal(sub *submission, err error) error {
	switch {
	case errors.Is(err, ErrFull):
		return &RefusedError{Board: b.name, Field: "key", Problem: fmt.Sprintf("%d keys wait already", b.queue.limit), Reason: ErrFull}
	case errors.Is(err, ErrOverflow):
		return &RefusedError{Board: b.name, Field: "score", Problem: fmt.Sprintf("adding %d to what waits leaves 64 bits", sub.score), Reason: ErrOverflow}
	case errors.Is(err, ErrClosed):
		return closedError(b.name)
	case errors.Is(err, ErrUnknownBoard):
		return unknownError(b.name)
	}
	return err
}

// refuseNumber counts a number that is no score of the board. The first one with too many
// decimals is logged: it is usually every score of that game.
func (s *Service) refuseNumber(b *board, err error) error {
	b.counts.refused.Add(1)
	if errors.Is(err, ErrInexact) && !b.warned.Swap(true) {
		s.host.logger.Warn("scores with too many decimals are refused", "board", b.name, "decimals", b.cfg.Decimals, "problem", err.Error())
	}
	return numberError(b, err)
}

func numberError(b *board, err error) error {
	var bad *scoreError
	if !errors.As(err, &bad) {
		return err
	}
	return &RefusedError{Board: b.name, Field: "score", Problem: bad.problem, Reason: bad.reason}
}
