package board

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// BanRecord is a banned key.
type BanRecord struct {
	Key    string
	ID     string    // of the audit entry of the call that banned it
	At     time.Time // fleet time
	Actor  string    // empty when the person was erased since
	Reason string
	Erased bool // the person was erased; the ban stays
}

// Ban hides keys on every board of the store, those of seasons included, and has every
// service of the fleet refuse their scores, with [ErrBanned]: 1 to store.MaxPage keys. What
// waits in a queue is taken out and reported to the listeners of [Service.OnRefused]; what is
// under way is written, hidden. Sealed boards stay as they are. A key that is banned already
// stays so, with the record it has.
//
// The record of the ban is stored first, then the boards follow. When Ban answers an error
// the keys may be banned; call it again until it answers nil, or leave it: what is stored
// is carried out within minutes by any service that writes, or has heard of it. An error that
// is a store.ErrTooLarge names a board that holds store.MaxHidden hidden keys already: on that
// one the keys stay as they are.
//
// A Backend cannot hide: what it has of the keys stays, but gets no more scores.
//
// Other services know within a minute, mostly at once. A board that is made later does not
// need to hide the key: nobody writes it there who has not read the list of bans after the
// board was made.
func (s *Service) Ban(ctx context.Context, by Moderator, keys ...string) error {
	keys, err := s.moderating(by, "", keys)
	if err != nil {
		return err
	}
	if err := s.roomForBans(ctx, keys); err != nil {
		return banError("ban", keys, err)
	}
	id, err := s.audit(ctx, by, AuditEntry{Action: ActionBan, Keys: keys})
	if err != nil {
		return banError("ban", keys, err)
	}
	at := s.host.now().UTC()
	err = s.changeBans(ctx, keys, func(key string, in intent) (*store.Write, error) {
		if in.banned() {
			return nil, nil //nolint:nilnil // nothing to be changed
		}
		return s.put(banKey(key), in.banVersion, banForm{Format: formatNow, ID: id, At: at, Actor: by.Actor, Reason: by.Reason}), nil
	})
	return banError("ban", keys, err)
}

// Unban ends the bans of keys, 1 to store.MaxPage of them: their scores are taken again, and
// what the boards have kept of them is shown, but for what was hidden by hand ([Service.Hide]).
// A key that is not banned stays so. What Ban says of errors holds here too.
func (s *Service) Unban(ctx context.Context, by Moderator, keys ...string) error {
	keys, err := s.moderating(by, "", keys)
	if err != nil {
		return err
	}
	id, err := s.audit(ctx, by, AuditEntry{Action: ActionUnban, Keys: keys})
	if err != nil {
		return banError("unban", keys, err)
	}
	at := s.host.now().UTC()
	err = s.changeBans(ctx, keys, func(key string, in intent) (*store.Write, error) {
		if !in.banned() {
			return nil, nil //nolint:nilnil // nothing to be changed
		}
		return s.put(banKey(key), in.banVersion, banForm{Format: formatNow, ID: id, At: at, Lifted: true}), nil
	})
	return banError("unban", keys, err)
}

// changeBans changes the records and has everybody follow.
func (s *Service) changeBans(ctx context.Context, keys []string, decide func(key string, in intent) (*store.Write, error)) error {
	// What is left is carried out, and the marks are removed one day.
	defer s.look() //nolint:contextcheck // it outlives the call
	marks, err := s.change(ctx, markBan, keys, decide)
	s.tell(ctx, message{Bans: true}) // it may have been stored, whatever the answer
	if err != nil {
		return err
	}
	if err := s.refreshBans(ctx); err != nil {
		return err
	}
	f, err := s.follow(ctx, keys, s.everyBoard(ctx))
	if s.backend != nil && errors.Is(err, store.ErrUnsupported) {
		err = nil // it shows what it has
	}
	s.dropPages("")
	s.tell(ctx, message{Bans: true})
	if err != nil {
		return fmt.Errorf("it is stored, the boards will follow: %w", err)
	}
	s.marksDone(ctx, markBan, marks)
	s.host.logger.InfoContext(ctx, "bans changed", "keys", len(keys), "entries", f.changed, "sealedBoards", f.sealed)
	return nil
}

// Bans are the banned keys in byte order, after the key after, at most limit (1 to
// store.MaxPage; 0: 100).
func (s *Service) Bans(ctx context.Context, after string, limit int) ([]BanRecord, error) {
	if err := s.moderates(""); err != nil {
		return nil, err
	}
	limit, err := pageLimit("", limit)
	if err != nil {
		return nil, err
	}
	r, err := behind(banFolder, after)
	if err != nil {
		return nil, err
	}
	out := []BanRecord{}
	for rec, err := range s.host.records.Scan(ctx, r) {
		if err != nil {
			return nil, fmt.Errorf("board: bans: %w", err)
		}
		in, err := readIntent(rec, store.Record{})
		if err != nil {
			return nil, fmt.Errorf("board: bans: %w", err)
		}
		if !in.banned() {
			continue
		}
		f := in.ban
		out = append(out, BanRecord{Key: rec.Key[len(banFolder):], ID: f.ID, At: f.At, Actor: f.Actor, Reason: f.Reason, Erased: f.Erased})
		if len(out) == limit {
			break
		}
	}
	return out, nil
}

// roomForBans refuses bans beyond MaxBans.
func (s *Service) roomForBans(ctx context.Context, keys []string) error {
	if err := s.refreshBans(ctx); err != nil {
		return err
	}
	l := &s.moderation.list
	more := len(*l.keys.Load())
	for _, key := range keys {
		if !l.has(key) {
			more++
		}
	}
	if most := s.moderation.maxBans; more > most && more > len(*l.keys.Load()) {
		return &RefusedError{Field: "keys", Problem: fmt.Sprintf("at most %d keys are banned", most), Reason: ErrFull}
	}
	return nil
}

// barred refuses the scores of a banned key.
func (s *Service) barred(board, key string) error {
	if !s.moderation.list.has(key) {
		return nil
	}
	s.moderation.refused.Add(1)
	return &RefusedError{Board: board, Field: "key", Problem: "is banned", Reason: ErrBanned}
}

// barredFromBackend keeps from a Backend, which cannot hide, the scores of keys that were
// banned while they waited, and that purge has not taken out.
func (s *Service) barredFromBackend(c batch) error {
	if s.backend == nil {
		return nil
	}
	for _, v := range c.values {
		if s.moderation.list.has(v.key) {
			return fmt.Errorf("%s: %w", v.key, ErrBanned)
		}
	}
	return nil
}

// expel reports a value that barredFromBackend has kept back.
func (s *Service) expel(ctx context.Context, b *board, f *flight, c batch, a answer) bool {
	if !b.keyed || a.sent || !errors.Is(a.err, ErrBanned) {
		return false
	}
	b.settle(f, batch{})
	s.moderation.purged.Add(uint64(len(c.values)))
	s.report(ctx, b, c, ErrBanned)
	return true
}

// purge takes out of the queues what waits for keys that were newly banned, and reports it.
// The writing goroutine calls it before a window.
func (s *Service) purge(ctx context.Context) {
	keys := s.moderation.list.takeFresh()
	if len(keys) == 0 {
		return
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return !s.moderation.list.has(key) })
	for _, b := range s.boards.Load().sorted {
		if b.queue.depth.Load() == 0 {
			continue
		}
		if taken := b.takeQueued(keys); len(taken) > 0 {
			s.moderation.purged.Add(uint64(len(taken)))
			s.report(ctx, b, batch{values: taken}, ErrBanned)
		}
	}
}

// takeQueued takes what waits for the keys out of the queue.
func (b *board) takeQueued(keys []string) []pending {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.take(keys)
}

func banError(op string, keys []string, err error) error {
	if err == nil {
		return nil
	}
	return readError(op, keys[0], "", err)
}
