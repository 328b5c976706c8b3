package season

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
)

// playerOf is the player of a session with a usable key.
func (s *Service) playerOf(session Session) (*player, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	if err := s.ofThisCalendar(); err != nil {
		return nil, err
	}
	if err := name.CheckKey("key", session.Key()); err != nil {
		return nil, fmt.Errorf("season: %w", err)
	}
	return s.players.of(session), nil
}

// ofThisCalendar refuses what would go by a calendar that is not the set's.
func (s *Service) ofThisCalendar() error {
	if s.foreign.Load() {
		return fmt.Errorf("%w: %s", ErrCalendar, s.set)
	}
	return nil
}

// Record counts events of a session, all or none, in one transaction. A block of an earlier
// season is reset first, in the same transaction; its values are owed to that season's boards.
// It never waits for a store.
//
// Errors: ErrUnknownEvent, ErrOverflow, ErrBlock, ErrClosed, and what the session's Change
// answers (a lost session, a guard). Nothing is counted then.
func (s *Service) Record(session Session, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	p, err := s.playerOf(session)
	if err != nil {
		return err
	}
	current := s.season()
	currentID := s.names(current).id
	var evicted []string
	note, ok := s.rules.notes[events[0].Name]
	if !ok {
		note = s.set
	}
	err = session.Change(note, func(data doc.Value) ([]doc.Op, error) {
		t, err := s.rules.record(data, current, currentID, events)
		if err == nil && len(t.ops) == 0 {
			err = errNothing
		}
		evicted = t.evicted
		return t.ops, err
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	p.changed.Add(1)
	s.reportEvicted(p, evicted)
	return nil
}

// named is a season's id and the keys of its boards, by index in the configuration.
type named struct {
	k      int64
	id     string
	boards []string
}

// names answers a season's names; those of the last one asked for are remembered.
func (s *Service) names(k int64) *named {
	if last := s.named.Load(); last != nil && last.k == k {
		return last
	}
	now := s.namesOf(k)
	s.named.Store(now)
	return now
}

// namesOf makes a season's names.
func (s *Service) namesOf(k int64) *named {
	n := &named{k: k, id: s.cfg.ID(k)}
	for _, b := range s.cfg.Boards {
		n.boards = append(n.boards, BoardKey(s.set, b.Name, n.id))
	}
	return n
}

// reportEvicted tells of seasons that left the block because too many were owed, unless their
// boards have answered.
func (s *Service) reportEvicted(p *player, evicted []string) {
	if len(evicted) == 0 {
		return
	}
	settled := p.allSettled()
	for _, id := range evicted {
		k, _ := s.cfg.Parse(id)
		if _, ok := settled[k]; !ok {
			s.report(context.Background(), Refused{Key: p.session.Key(), Season: id, Err: errEvicted})
		}
	}
}

// View is the session's block as it is now. A block of an earlier season is reset by the
// read, as it would be by an event. The titles are those stored so far.
func (s *Service) View(session Session) (Block, error) {
	p, err := s.playerOf(session)
	if err != nil {
		return Block{}, err
	}
	current := s.season()
	if err := s.advance(p, current); err != nil {
		return Block{}, err
	}
	return s.rules.view(session.Data(), current, s.cfg.Season(session.Created()))
}

// ViewOf is the block of a profile that is not open here, as it is now: computed, nothing is
// written. created is when the profile was made.
func (s *Service) ViewOf(data doc.Value, created time.Time) (Block, error) {
	if err := s.ofThisCalendar(); err != nil {
		return Block{}, err
	}
	return s.rules.view(data, s.season(), s.cfg.Season(created))
}

// advance resets a block of an earlier season than current.
func (s *Service) advance(p *player, current int64) error {
	t, err := s.rules.advance(p.session.Data(), current)
	if err != nil || len(t.ops) == 0 {
		return err
	}
	var evicted []string
	err = p.session.Change("season "+s.set+": new season", func(data doc.Value) ([]doc.Op, error) {
		t, err := s.rules.advance(data, current)
		if err == nil && len(t.ops) == 0 {
			err = errNothing
		}
		evicted = t.evicted
		return t.ops, err
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	p.changed.Add(1)
	s.reportEvicted(p, evicted)
	return nil
}

// Joined takes up a session that has just been loaded: its block is brought to the current
// season, its values go to the boards with the next window (in case the last write of an
// earlier session was missed), and closed seasons that are not processed yet grant their
// titles, stored and durable before OnTitle hears of them. It answers the new titles.
//
// At most 50 results are looked up; what is left is processed in the background, as are
// seasons that close while the session is open. An error means that titles come later; the
// session is taken up all the same, unless it is ErrClosed or its key is not usable.
func (s *Service) Joined(ctx context.Context, session Session) ([]Title, error) {
	p, err := s.playerOf(session)
	if err != nil {
		return nil, err
	}
	ctx = as(ctx, node.ClassLoad)
	// A set of another calendar is found out before anything is written; a store that does not
	// answer only delays the titles.
	_, unread := s.begin(ctx)
	if errors.Is(unread, ErrCalendar) {
		return nil, unread
	}
	if err := s.advance(p, s.season()); err != nil { //nolint:contextcheck // a transaction waits for nothing
		return nil, err
	}
	if parcels, err := s.parcels(p, session.Data()); err == nil && len(parcels) > 0 {
		p.changed.Add(1)
	}
	s.warnOfAhead(ctx, session)
	if unread != nil {
		return nil, unread
	}
	titles, _, err := s.grantTo(ctx, p)
	return titles, err
}

// warnOfAhead tells operators of a block that is further ahead of time than clocks explain: it
// stays in its season, because no block ever goes back by itself, and the player is on no board
// until then. An edit of its season brings it back.
func (s *Service) warnOfAhead(ctx context.Context, session Session) {
	current := s.season()
	if b, err := s.rules.view(session.Data(), current, current); err == nil && b.K > current+1 {
		s.log.WarnContext(ctx, "a player's block is of a season that has long to begin; edit its member season to bring it back",
			"key", session.Key(), "season", b.Season, "path", s.cfg.Path)
	}
}

// Left writes a session's last values, and waits for the boards at most 4.5 s; call it before
// the session is released. What the boards have not answered for by then stays in the outbox.
//
// Do not call it for a session that is handed over: somebody waits for it. The next holder
// sends the values when the player has joined there, and the next window here sends what the
// store has of a session that has ended without Left.
func (s *Service) Left(ctx context.Context, session Session) {
	p := s.players.byKey(session.Key())
	if p == nil || p.session.Done() != session.Done() {
		return
	}
	s.players.remove(p)
	if !p.owesBoards() {
		return
	}
	ctx, cancel := clock.WithTimeout(ctx, s.clock, leaveWait)
	defer cancel()
	b, err := s.collect(ctx, p)
	if err != nil {
		s.counts.missed.Add(1)
		s.log.WarnContext(ctx, "the last values of a player were not collected; they are sent when the player next loads",
			"key", session.Key(), "err", err)
		return
	}
	if s.isClosed() {
		return // the closing sends what is in the outbox
	}
	wake(s.flushKick)
	select {
	case <-b.done:
	case <-ctx.Done():
	}
}
