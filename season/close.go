package season

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

const (
	closePerPass = 16               // seasons that one pass closes at most
	earlyLook    = 1000             // seasons that one pass looks at for results of others
	retryAfter   = 30 * time.Second // after a pass that left a season waiting, at most
	soon         = time.Second      // after a pass that was cut short
	maxCloseJit  = 10 * time.Second // jitter of the pass after a boundary, at most
	closeTries   = 4                // how often one close starts over when others move things
)

// closer is the state of the loop that closes seasons.
type closer struct {
	s     *Service
	known bool      // progress has been read once, and with it whether the calendar is the set's
	next  time.Time // when the next pass is due, by the local clock
	jit   time.Duration
	k     int64 // the season that jit was drawn for
}

func (s *Service) newCloser() *closer {
	return &closer{s: s, next: s.clock.Now().Add(s.cfg.FirstClose), k: -1}
}

// step closes what is due, looks after the boards of the running season, and hands out titles
// to those who are online. It comes back after CloseEvery, just after the next season's Grace,
// or sooner when something is left.
func (c *closer) step(ctx context.Context, now time.Time) (next time.Time, err error) {
	s := c.s
	if !c.known {
		if _, err = s.readProgress(ctx); err != nil {
			return now.Add(5 * soon), err
		}
		c.known = true
	}
	var out passed
	if !now.Before(c.next) { // else it was kicked
		every := s.cfg.CloseEvery
		if every < 0 { // it closes nothing, and looks at what others close as often as by default
			every = defaultCloseEvery
		}
		c.next = now.Add(every)
		if s.cfg.CloseEvery < 0 {
			_, err = s.readProgress(ctx) // others close; what they closed is looked at here too
		} else {
			out, err = s.pass(ctx)
		}
		now = s.clock.Now() // it may have waited for the request budget
		if retry := min(retryAfter, every); err != nil || out.waiting {
			c.sooner(now.Add(retry/2 + s.jitter("close retry", retry/2)))
		}
		c.sooner(c.afterGrace(now))
	}
	lookErr := s.lookAgain(ctx)
	s.announceAll(ctx)
	more, sweepErr := s.sweep(ctx)
	inspectErr := s.inspect(ctx)
	if more || out.more {
		c.sooner(now.Add(soon))
	}
	err = errors.Join(err, lookErr, sweepErr, inspectErr)
	if isShort(err) {
		c.sooner(s.clock.Now().Add(retryAfter/2 + s.jitter("close sweep", retryAfter/2)))
	}
	return c.next, err
}

func (c *closer) sooner(at time.Time) {
	if at.Before(c.next) {
		c.next = at
	}
}

// afterGrace is when the next season is due to be closed, by the local clock, with jitter.
func (c *closer) afterGrace(now time.Time) time.Time {
	s := c.s
	fleet := s.n.Now()
	k := s.cfg.Season(fleet)
	due := s.cfg.Start(k).Add(s.cfg.Grace)
	if k == 0 || !fleet.Before(due) {
		k++
		due = s.cfg.Start(k).Add(s.cfg.Grace)
	}
	if k != c.k {
		c.k, c.jit = k, 50*time.Millisecond+s.jitter("close", min(maxCloseJit, s.cfg.Grace/10))
	}
	return now.Add(due.Sub(fleet) + c.jit)
}

// passed is what a pass left.
type passed struct {
	closed  []Closed
	waiting bool // a season is due and could not be closed
	more    bool // the pass was cut short
}

// CloseDue closes every season that is due, as the loop does (also where the loop does not,
// because CloseEvery is negative), and answers those that this call
// found closed for the first time. A season that cannot be closed yet is in [Status] with the
// reason. Passes of one node come one at a time.
func (s *Service) CloseDue(ctx context.Context) ([]Closed, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	ctx = inBackground(ctx)
	var closed []Closed
	for {
		out, err := s.pass(ctx)
		closed = append(closed, out.closed...)
		if err != nil || !out.more {
			return closed, err
		}
	}
}

// pass looks once from closedThrough to the season before the current.
func (s *Service) pass(ctx context.Context) (passed, error) {
	select {
	case s.passing <- struct{}{}:
	case <-ctx.Done():
		return passed{}, fmt.Errorf("season: close %s: %w", s.set, context.Cause(ctx))
	}
	defer func() { <-s.passing }()
	prog, err := s.readProgress(ctx)
	if err != nil {
		return s.unread(err)
	}
	if !prog.started {
		return passed{}, nil
	}
	if fleet, fresh := s.n.FleetTime(); !fresh {
		if next := prog.through + 1; s.isDue(next, fleet) {
			return passed{waiting: true}, s.wait(next, ErrClock)
		}
		return passed{}, nil
	}
	now, err := s.durable.Now(ctx)
	if err != nil {
		return passed{}, fmt.Errorf("season: the store's clock: %w", err)
	}
	return s.closeUntil(ctx, prog, now)
}

// unread ends a pass that could not read the progress: a season that is due by what is known of
// it waits for that.
func (s *Service) unread(why error) (passed, error) {
	next := s.shelf.stored().through + 1
	if fleet, fresh := s.n.FleetTime(); isShort(why) && fresh && s.shelf.stored().started && s.isDue(next, fleet) {
		return passed{waiting: true}, s.wait(next, why)
	}
	return passed{}, why
}

// closeUntil closes the seasons that ended Grace before now, the durable store's clock as read
// in this pass.
func (s *Service) closeUntil(ctx context.Context, prog progress, now time.Time) (passed, error) {
	var out passed
	var errs []error
	through, gap, work := prog.through, false, 0
	for k := prog.through + 1; k <= prog.through+earlyLook; k++ {
		if !s.isDue(k, now) {
			break
		}
		known := s.shelf.isClosed(k)
		if !known && work == closePerPass {
			out.more = !out.waiting
			break
		}
		if !known {
			work++
			c, err := s.closeOne(ctx, k)
			if err != nil {
				errs, gap, out.waiting = append(errs, s.wait(k, err)), true, true
				continue
			}
			out.closed = append(out.closed, c)
		}
		s.waits.clear(k)
		if !gap {
			through = k
		}
	}
	if through > prog.through {
		err := s.eraseLate(ctx, prog.through+1, through)
		if err == nil {
			err = s.moveThrough(ctx, through)
		}
		if err != nil {
			errs = append(errs, err)
		} else {
			s.shelf.know(progress{started: true, first: prog.first, through: through})
		}
	}
	return out, errors.Join(errs...)
}

// isDue tells whether season k ended Grace before now.
func (s *Service) isDue(k int64, now time.Time) bool {
	return !now.Before(s.cfg.End(k).Add(s.cfg.Grace))
}

// wait notes why a season is not closed, and answers why.
func (s *Service) wait(k int64, why error) error {
	s.waits.note(Waiting{K: k, Season: s.cfg.ID(k), Why: why.Error(), Since: s.n.Now()})
	return &WaitingError{K: k, Season: s.cfg.ID(k), Err: why}
}

// errAgain starts a close over, because another node has moved things.
var errAgain = errors.New("season: moved by another node")

// closeOne closes one season that is due: another node's result is read; else the boards are
// checked, rebuilt if they lost their memory, sealed and read, and the result is created.
func (s *Service) closeOne(ctx context.Context, k int64) (Closed, error) {
	var err error
	for range closeTries {
		var res *Result
		var here bool
		epoch := s.shelf.epoch()
		res, here, err = s.tryClose(ctx, k)
		if errors.Is(err, errAgain) {
			continue
		}
		if err != nil {
			return Closed{}, err
		}
		s.shelf.put(res, epoch)
		s.announce(ctx, res, here)
		if here {
			s.log.InfoContext(ctx, "season closed", "season", res.Season, "unplayed", res.Unplayed)
		}
		return Closed{K: k, ID: res.Season, Here: here}, nil
	}
	return Closed{}, err
}

func (s *Service) tryClose(ctx context.Context, k int64) (res *Result, here bool, err error) {
	id := s.cfg.ID(k)
	recs, err := s.durable.Get(ctx, resultKey(s.set, id))
	if err != nil {
		return nil, false, fmt.Errorf("read result: %w", err)
	}
	if !recs[0].Missing() {
		res, err := s.resultOf(k, recs[0])
		return res, false, err
	}
	// The register is read after the result was found missing, in this very try.
	reg, err := s.amendRegister(ctx, k, func(reg register) (register, error) {
		if reg.Format != 0 {
			return reg, errKeep
		}
		reg = newRegister(id)
		reg.Unplayed = true
		return reg, nil
	})
	if err != nil {
		return nil, false, err
	}
	if res, err = s.compute(ctx, k, reg, nil); err != nil {
		return nil, false, err
	}
	return s.create(ctx, res, Waiver{})
}

// compute is the result of a season from its boards, which are valid, sealed and read whole.
// The boards without are missing in it.
func (s *Service) compute(ctx context.Context, k int64, reg register, without []string) (*Result, error) {
	res := &Result{
		Format: resultFormat, Season: s.cfg.ID(k), K: k, Number: s.cfg.Number(k),
		Unplayed: reg.Unplayed, Boards: []BoardResult{},
	}
	if reg.Unplayed {
		for _, b := range s.cfg.Boards {
			res.Boards = append(res.Boards, boardResult(b, store.Page{}, s.cfg.Top))
		}
		return res, nil
	}
	if err := s.define(k); err != nil {
		return nil, err
	}
	waived := func(b Board) bool { return slices.Contains(without, b.Name) }
	boards := slices.DeleteFunc(slices.Clone(s.cfg.Boards), waived)
	lost, err := s.lostBoards(ctx, reg, boards)
	if err != nil {
		return nil, err
	}
	if len(lost) > 0 {
		if err := s.rebuild(ctx, k, lost); err != nil {
			return nil, err
		}
		return nil, errAgain
	}
	for _, b := range boards {
		if err := s.seal(ctx, res.Season, b); err != nil {
			return nil, err
		}
	}
	for _, b := range s.cfg.Boards {
		if waived(b) {
			none := boardResult(b, store.Page{}, s.cfg.Top)
			none.Missing = true
			res.Boards = append(res.Boards, none)
			continue
		}
		page, err := s.sealedPage(ctx, reg, b)
		if err != nil {
			return nil, err
		}
		res.Boards = append(res.Boards, boardResult(b, page, s.cfg.Top))
	}
	return res, nil
}

func (s *Service) seal(ctx context.Context, id string, b Board) error {
	if _, err := s.boards.Seal(ctx, BoardKey(s.set, b.Name, id)); err != nil {
		return fmt.Errorf("seal board %s: %w", b.Name, err)
	}
	return nil
}

// sealedPage is what the result has of a board. The page itself says which life of the board it
// is of: this is the line that keeps a board that lost its memory out of every result.
func (s *Service) sealedPage(ctx context.Context, reg register, b Board) (store.Page, error) {
	page, err := s.boards.Page(ctx, BoardKey(s.set, b.Name, reg.Season), 0, s.cfg.Keep)
	if err == nil && (!reg.valid(b.Name, page.Info.Generation) || !page.Info.Sealed) {
		err = ErrMemory
	}
	if err != nil {
		return store.Page{}, fmt.Errorf("read board %s: %w", b.Name, err)
	}
	return page, nil
}

// create stores the result unless there is one, and answers the one there is. Racing closers
// carry the same bytes; what is compared holds no time and no node. Who closed it goes along in
// the same transaction, so that the record is the winner's; a store without such transactions
// gets it afterwards, if all goes well.
func (s *Service) create(ctx context.Context, res *Result, w Waiver) (stored *Result, here bool, err error) {
	data, err := res.encode()
	if err != nil {
		return nil, false, err
	}
	signed, err := s.signature(res, w)
	if err != nil {
		return nil, false, err
	}
	key := resultKey(s.set, res.Season)
	put := store.Write{Key: key, Op: store.Put, Value: data, If: store.Absent(), Version: s.n.NewVersion("result", key)}
	signKey := closeKey(s.set, res.Season)
	sign := store.Write{Key: signKey, Op: store.Put, Value: signed, Version: s.n.NewVersion("close", signKey)}
	tx, together := store.Tx{put, sign}, s.durable.Abilities().MultiKey
	if !together {
		tx = store.Tx{put}
	}
	err = s.durable.Commit(ctx, tx)[0]
	if err == nil {
		if !together {
			_ = s.durable.Commit(ctx, store.Tx{sign}) // nothing depends on it
		}
		stored, err = decodeResult(data)
		return stored, true, err
	}
	rec, readErr := s.read(ctx, key)
	if readErr != nil {
		return nil, false, errors.Join(fmt.Errorf("write result: %w", err), readErr)
	}
	if rec.Missing() {
		// Not done, or unknown and not there: then it may still come, with these same bytes.
		return nil, false, fmt.Errorf("write result: %w", err)
	}
	stored, err = s.resultOf(res.K, rec)
	return stored, rec.Version == put.Version, err
}

// announce tells the game of a close, once.
func (s *Service) announce(ctx context.Context, res *Result, here bool) {
	if s.shelf.announced(res.K) && s.deps.OnClosed != nil {
		s.tellGame(ctx, "OnClosed", func() { s.deps.OnClosed(Closed{K: res.K, ID: res.Season, Here: here}, res) })
	}
}

// announceAll tells the game of seasons that other nodes have closed.
func (s *Service) announceAll(ctx context.Context) {
	ks := s.shelf.unheard(closePerPass)
	found, err := s.results(ctx, ks)
	if err != nil {
		return // the next step comes back to them
	}
	for _, k := range ks {
		if res := found[k]; res != nil {
			s.announce(ctx, res, false)
		}
	}
}

// within bounds a context by the node's clock.
func (s *Service) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return clock.WithTimeout(ctx, s.clock, d)
}
