package board

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// EraseKey forgets what moderation knows of a key whose person is erased: what was hidden by
// hand, so that the boards forget the key, and the key's place in the audit log, with the
// reasons given there. mine tells whether the key is that person's on a board, and for "",
// whether it is in general: what a ban is about. Remove the entries first. Cached pages are
// dropped, on other nodes best effort. Sealed boards stay as they are.
//
// A ban stays, because to be erased is no way around it: the key, and when it was banned. Who
// banned it and why is gone. To end it too, call [Service.Unban].
func (s *Service) EraseKey(ctx context.Context, key string, mine func(board string) bool) error {
	if err := errors.Join(s.moderates(""), checkKey("", key)); err != nil {
		return err
	}
	if err := s.eraseModeration(ctx, key, mine); err != nil {
		return fmt.Errorf("board: erase %s: %w", key, err)
	}
	return nil
}

func (s *Service) eraseModeration(ctx context.Context, key string, mine func(board string) bool) error {
	if err := s.eraseRecords(ctx, key, mine); err != nil {
		return err
	}
	_, err := s.follow(ctx, []string{key}, func(in []intent, visit func(string) error) error {
		return s.everyBoard(ctx)(in, func(board string) error {
			if !mine(board) {
				return nil
			}
			return visit(board)
		})
	})
	if err != nil && !errors.Is(err, store.ErrUnsupported) && !errors.Is(err, store.ErrTooLarge) {
		return err
	}
	s.dropPages("")
	s.tell(ctx, message{})
	return s.eraseAudit(ctx, key, mine)
}

// eraseRecords changes the key's records, if they have something to be forgotten. The marks
// that come with it see to the boards, and go within minutes.
func (s *Service) eraseRecords(ctx context.Context, key string, mine func(board string) bool) error {
	intents, err := s.readIntents(ctx, []string{key})
	if err != nil {
		return err
	}
	// What is left is carried out, and the mark is removed one day.
	defer s.look() //nolint:contextcheck // it outlives the call
	for _, e := range []struct {
		kind markKind
		next func(in intent) *store.Write
	}{
		{markHand, func(in intent) *store.Write { return s.erasedHand(key, in, mine) }},
		{markBan, func(in intent) *store.Write { return s.erasedBan(key, in) }},
	} {
		if e.next(intents[0]) == nil || e.kind == markBan && !mine("") {
			continue
		}
		_, err := s.change(ctx, e.kind, []string{key}, func(_ string, in intent) (*store.Write, error) { return e.next(in), nil })
		if err != nil {
			return err
		}
	}
	return nil
}

// erasedHand shows what was hidden by hand on the boards that are mine; nil when nothing was.
func (s *Service) erasedHand(key string, in intent, mine func(board string) bool) *store.Write {
	next, changed := in.hand, false
	for board, h := range in.hand.Boards {
		if h.Hidden && mine(board) {
			next, _ = next.with(board, handHide{At: h.At})
			changed = true
		}
	}
	if !changed {
		return nil
	}
	return s.put(handKey(key), in.handVersion, next)
}

// erasedBan takes out of a ban who made it and why; nil when there is none.
func (s *Service) erasedBan(key string, in intent) *store.Write {
	if !in.banned() || in.ban.Erased {
		return nil
	}
	return s.put(banKey(key), in.banVersion, banForm{Format: formatNow, At: in.ban.At, Erased: true})
}
