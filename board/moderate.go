package board

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shoalworks/shoal/store"
)

// Hide takes keys, 1 to store.MaxPage of them, off a board without deleting their entries,
// and answers how many of them were not hidden before. Scores that come are kept, unseen. A
// key without an entry is hidden when one comes. The board need not be defined; one that is
// missing answers store.ErrNoBoard, a sealed one store.ErrSealed, one with too many hidden
// keys store.ErrTooLarge.
//
// What is hidden by hand is written down in the durable records first, and stays hidden
// however the key is banned and unbanned, until [Service.Show], or until the board is made
// anew. After an error call it again; a call that was cut off is carried out within
// minutes, or not at all. Cached pages of the board are dropped here, and on other nodes, at
// the latest when they are CacheFor old.
func (s *Service) Hide(ctx context.Context, by Moderator, board string, keys ...string) (int, error) {
	return s.moderate(ctx, by, ActionHide, board, keys)
}

// Show ends what [Service.Hide] began: the entries stand where their scores and their old
// sequences put them. A banned key stays hidden, now by its ban alone. It answers how many
// keys were shown.
func (s *Service) Show(ctx context.Context, by Moderator, board string, keys ...string) (int, error) {
	return s.moderate(ctx, by, ActionShow, board, keys)
}

func (s *Service) moderate(ctx context.Context, by Moderator, action Action, board string, keys []string) (int, error) {
	keys, err := s.moderating(by, board, keys)
	if err != nil {
		return 0, err
	}
	info, err := s.infoOf(ctx, board)
	if err == nil && info.Sealed {
		err = store.ErrSealed
	}
	if err != nil {
		return 0, directError(string(action), board, err)
	}
	if _, err := s.audit(ctx, by, AuditEntry{Action: action, Board: board, Keys: keys}); err != nil {
		return 0, directError(string(action), board, err)
	}
	h := handHide{Hidden: action == ActionHide, Generation: info.Generation, At: s.host.now().UTC()}
	// What is left is carried out, and the mark is removed one day.
	defer s.look() //nolint:contextcheck // it outlives the call
	marks, err := s.change(ctx, markHand, keys, func(key string, in intent) (*store.Write, error) { return s.decideHand(board, key, in, h) })
	if err != nil {
		return 0, directError(string(action), board, err)
	}
	f, err := s.follow(ctx, keys, theBoard(board))
	s.dropPages(board)
	s.tell(ctx, message{Board: board})
	if err == nil && f.sealed > 0 {
		err = store.ErrSealed
	}
	if err != nil {
		return f.changed, directError(string(action), board, err)
	}
	s.marksDone(ctx, markHand, marks)
	return f.changed, nil
}

// decideHand is the write of a word about a key on a board, nil when it was said already.
func (s *Service) decideHand(board, key string, in intent, h handHide) (*store.Write, error) {
	was, ok := in.hand.Boards[board]
	if ok && was.Hidden == h.Hidden && was.Generation == h.Generation {
		return nil, nil //nolint:nilnil // nothing to be changed
	}
	next, fits := in.hand.with(board, h)
	if !fits {
		rest, _ := in.hand.settled()
		next, fits = rest.with(board, h)
	}
	if !fits {
		return nil, &RefusedError{Board: board, Field: "key", Problem: fmt.Sprintf("%s is hidden by hand on %d boards already: ban it", key, mostHides), Reason: ErrFull}
	}
	return s.put(handKey(key), in.handVersion, next), nil
}

// Hidden are the hidden keys of a board, by hand and by bans, in byte order after the key
// after, at most limit (1 to store.MaxPage; 0: 100), read from the store.
func (s *Service) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	if err := s.direct(board); err != nil {
		return nil, err
	}
	limit, err := pageLimit(board, limit)
	if err != nil {
		return nil, err
	}
	if after != "" {
		if err := checkKey(board, after); err != nil {
			return nil, err
		}
	}
	if err := s.enter(ctx, board); err != nil {
		return nil, readError("hidden", board, "", err)
	}
	defer s.leave()
	list, err := s.host.boards.Hidden(ctx, board, after, limit)
	return list, readError("hidden", board, "", err)
}

// RemoveBy is [Service.Remove] with an entry in the audit log, which holds what the keys had,
// but for what was hidden. It takes 1 to store.MaxPage keys. Pages of other nodes are dropped
// too, best effort.
func (s *Service) RemoveBy(ctx context.Context, by Moderator, board string, keys ...string) (int, error) {
	keys, err := s.moderating(by, board, keys)
	if err != nil {
		return 0, err
	}
	had, err := s.host.boards.Scores(ctx, board, keys...)
	if err := orMissing(err); err != nil {
		return 0, directError("remove", board, err)
	}
	e := AuditEntry{Action: ActionRemove, Board: board, Keys: keys}
	for _, key := range keys {
		if was, ok := had[key]; ok {
			e.Entries = append(e.Entries, AuditedEntry{Key: key, Score: was.Score, Sequence: was.Sequence, Meta: was.Meta})
		}
	}
	if _, err := s.audit(ctx, by, e); err != nil {
		return 0, directError("remove", board, err)
	}
	n, err := s.Remove(ctx, board, keys...)
	s.tell(ctx, message{Board: board, Lost: true})
	return n, err
}

// SealBy is [Service.Seal] with an entry in the audit log.
func (s *Service) SealBy(ctx context.Context, by Moderator, board string) (store.BoardInfo, error) {
	if err := s.moderatingBoard(ctx, by, ActionSeal, board); err != nil {
		return store.BoardInfo{}, err
	}
	info, err := s.Seal(ctx, board)
	s.tell(ctx, message{Board: board})
	return info, err
}

// DropBy is [Service.Drop] with an entry in the audit log.
func (s *Service) DropBy(ctx context.Context, by Moderator, board string) error {
	if err := s.moderatingBoard(ctx, by, ActionDrop, board); err != nil {
		return err
	}
	err := s.Drop(ctx, board)
	s.tell(ctx, message{Board: board, Lost: true})
	return err
}

func (s *Service) moderatingBoard(ctx context.Context, by Moderator, action Action, board string) error {
	if err := errors.Join(s.moderates(board), checkBoard(board), by.check(board)); err != nil {
		return err
	}
	_, err := s.audit(ctx, by, AuditEntry{Action: action, Board: board})
	return directError(string(action), board, err)
}

// moderates admits a call that moderates a board, or all ("").
func (s *Service) moderates(board string) error {
	if s.drain.hasBegun() {
		return closedError(board)
	}
	if !s.moderated() {
		return fmt.Errorf("board: moderation needs durable records: %w", store.ErrUnsupported)
	}
	return nil
}

// moderating checks a call that moderates keys, and answers each of them once, in order.
func (s *Service) moderating(by Moderator, board string, keys []string) ([]string, error) {
	if err := errors.Join(s.moderates(board), by.check(board)); err != nil {
		return nil, err
	}
	if board != "" {
		if err := checkBoard(board); err != nil {
			return nil, err
		}
	}
	if len(keys) < 1 || len(keys) > store.MaxPage {
		return nil, &RefusedError{Board: board, Field: "keys", Problem: fmt.Sprintf("1 to %d expected, got %d", store.MaxPage, len(keys)), Reason: ErrCount}
	}
	for _, key := range keys {
		if err := checkKey(board, key); err != nil {
			return nil, err
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(keys))), nil
}

// pageLimit is the limit of a listing.
func pageLimit(board string, limit int) (int, error) {
	if limit == 0 {
		return defaultPage, nil
	}
	if limit < 1 {
		limit = store.MaxPage + 1
	}
	return limit, checkCount(board, "count", limit, store.MaxPage)
}

// behind is the range of a folder after a key.
func behind(folder, after string) (store.Range, error) {
	r := store.Prefix(folder)
	if after != "" {
		if err := checkKey("", after); err != nil {
			return r, err
		}
		r.From = folder + after + "!" // sorts before whatever a longer key goes on with
	}
	return r, nil
}

// ModerationStats are the numbers of a service's moderation since it began.
type ModerationStats struct {
	Bans    int    // banned keys that it knows
	Refused uint64 // submits for banned keys
	Purged  uint64 // values of banned keys that were taken out of the queue
	Audited uint64 // entries of the audit log
	Marks   int    // changes that are young, or not carried out on all boards yet
	Looks   uint64 // how often it has looked for what others have changed
	Failed  uint64 // how many of them failed
}

// Moderation are the numbers as of now.
func (s *Service) Moderation() ModerationStats {
	m := &s.moderation
	out := ModerationStats{
		Refused: m.refused.Load(), Purged: m.purged.Load(), Audited: m.audited.Load(),
		Looks: m.looks.Load(), Failed: m.failed.Load(),
	}
	if keys := m.list.keys.Load(); keys != nil {
		out.Bans = len(*keys)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out.Marks = len(m.mu.sights[0]) + len(m.mu.sights[1])
	return out
}
