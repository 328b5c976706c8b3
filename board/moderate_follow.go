package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file has the boards follow the records: after each change, by the one who made it, and
// later once more by somebody else, in case that one did not come to the end.

// followRounds is how often the boards are written when the records keep changing.
const followRounds = 5

// readIntents reads what the records say of the keys, in their order.
func (s *Service) readIntents(ctx context.Context, keys []string) ([]intent, error) {
	names := make([]string, 0, 2*len(keys))
	for _, key := range keys {
		names = append(names, banKey(key), handKey(key))
	}
	recs, err := s.get(ctx, names...)
	if err != nil {
		return nil, err
	}
	out := make([]intent, len(keys))
	for i := range keys {
		if out[i], err = readIntent(recs[2*i], recs[2*i+1]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// change stores what decide makes of each key's intent, together with a mark, and answers the
// marks. decide answers nil when nothing is to be changed; the key is marked all the same, so
// that the boards follow what they may not have followed before. A write whose outcome is
// unknown is found by the next reading, or conflicts with the next write.
func (s *Service) change(ctx context.Context, kind markKind, keys []string, decide func(key string, in intent) (*store.Write, error)) (marks map[string]store.Version, err error) {
	marks = make(map[string]store.Version, len(keys))
	left := keys
	for range followRounds {
		var intents []intent
		if intents, err = s.readIntents(ctx, left); err != nil {
			return nil, err
		}
		changes := make([]marked, len(left))
		for i, key := range left {
			changes[i] = marked{key: key, mark: s.mark(kind, key)}
			if changes[i].write, err = decide(key, intents[i]); err != nil {
				return nil, err
			}
		}
		errs := s.writeMarked(ctx, kind, changes)
		if left, err = settleMarked(changes, errs, marks); len(left) == 0 {
			return marks, nil
		}
		if !errors.Is(err, store.ErrConflict) && store.OutcomeOf(err) == store.NotDone {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: %s is being changed: %w", store.ErrUnavailable, left[0], err)
}

// marked is a change of a key's record, nil for none, and the mark that comes with it.
type marked struct {
	key   string
	write *store.Write
	mark  store.Write
}

// writeMarked writes each key's record together with its mark. A store that cannot write
// them together gets a mark before and one after.
func (s *Service) writeMarked(ctx context.Context, kind markKind, changes []marked) []error {
	together := s.host.records.Abilities().MultiKey
	txs := make([]store.Tx, len(changes))
	before := make([]store.Tx, len(changes))
	for i, c := range changes {
		before[i] = store.Tx{s.mark(kind, c.key)}
		if txs[i] = (store.Tx{c.mark}); c.write != nil {
			txs[i] = store.Tx{*c.write, c.mark}
		}
	}
	if together {
		return s.commit(ctx, txs...)
	}
	errs := s.commit(ctx, before...)
	for _, part := range []func(store.Tx) store.Tx{
		func(tx store.Tx) store.Tx { return tx[:len(tx)-1] },
		func(tx store.Tx) store.Tx { return tx[len(tx)-1:] },
	} {
		for i, tx := range txs {
			if errs[i] == nil && len(part(tx)) > 0 {
				errs[i] = s.commit(ctx, part(tx))[0]
			}
		}
	}
	return errs
}

// settleMarked notes the marks of the changes that were written; left are the other keys, and
// err is what is worst about them: one that was refused for good before one to be repeated.
func settleMarked(changes []marked, errs []error, marks map[string]store.Version) (left []string, err error) {
	for i, e := range errs {
		if e == nil {
			marks[changes[i].key] = changes[i].mark.Version
			continue
		}
		left = append(left, changes[i].key)
		if err == nil || !errors.Is(e, store.ErrConflict) && store.OutcomeOf(e) == store.NotDone {
			err = e
		}
	}
	return left, err
}

func (s *Service) mark(kind markKind, key string) store.Write {
	return store.Write{Key: kind.of(key), Op: store.Put, Value: form(markForm{}), Version: s.version("mark", key)}
}

// put is a write of a record of a key, on the condition that it is as it was read.
func (s *Service) put(key string, was store.Version, f any) *store.Write {
	return &store.Write{Key: key, Op: store.Put, Value: form(f), If: store.Is(was), Version: s.version("moderate", key)}
}

// follow has boards show and hide the keys as the records say, until the records stay the
// same meanwhile: so whoever changes them last has the last word, however the calls of others
// fall between. changed is what Hide answered, sealed how many boards would not change.
func (s *Service) follow(ctx context.Context, keys []string, boards func(intents []intent, visit func(board string) error) error) (f followed, err error) {
	for range followRounds {
		intents, err := s.readIntents(ctx, keys)
		if err != nil {
			return f, err
		}
		f.sealed = 0
		if err := boards(intents, func(board string) error { return s.followOn(ctx, board, keys, intents, &f) }); err != nil {
			return f, err
		}
		again, err := s.readIntents(ctx, keys)
		if err != nil {
			return f, err
		}
		var moved []string
		for i, key := range keys {
			if !intents[i].same(again[i]) {
				moved = append(moved, key)
			}
		}
		if len(moved) == 0 {
			return f, f.full
		}
		keys = moved
	}
	return f, fmt.Errorf("%w: %s is being changed", store.ErrUnavailable, keys[0])
}

// followed is how following went.
type followed struct {
	changed int
	sealed  int   // boards
	full    error // a board that holds no more hidden keys
}

// followOn has one board follow.
func (s *Service) followOn(ctx context.Context, board string, keys []string, intents []intent, f *followed) error {
	generation := ""
	if slices.ContainsFunc(intents, func(in intent) bool { return in.depends(board) }) {
		info, err := s.infoOf(ctx, board)
		if err != nil {
			return f.tolerate(board, err)
		}
		generation = info.Generation
	}
	var hide, show []string
	for i, key := range keys {
		if intents[i].hidden(board, generation) {
			hide = append(hide, key)
		} else {
			show = append(show, key)
		}
	}
	n, err := s.hideOn(ctx, board, true, hide)
	f.changed += n
	if err := f.tolerate(board, err); err != nil {
		return err
	}
	n, err = s.hideOn(ctx, board, false, show)
	f.changed += n
	return f.tolerate(board, err)
}

// tolerate notes what one board refuses for good, so that the others follow all the same.
func (f *followed) tolerate(board string, err error) error {
	switch {
	case errors.Is(err, store.ErrSealed):
		f.sealed++
	case errors.Is(err, store.ErrNoBoard): // dropped
	case errors.Is(err, store.ErrTooLarge):
		f.full = fmt.Errorf("%s: %w", board, err)
	case err != nil:
		return fmt.Errorf("%s: %w", board, err)
	}
	return nil
}

// beyond tells that there is nothing to be hidden on a board any more.
func beyond(err error) bool {
	return errors.Is(err, store.ErrSealed) || errors.Is(err, store.ErrNoBoard)
}

func (s *Service) infoOf(ctx context.Context, board string) (store.BoardInfo, error) {
	ctx, cancel := s.bounded(s.inside(ctx))
	defer cancel()
	return s.host.boards.Info(ctx, board)
}

// hideOn hides or shows keys on a board, and drops its pages here. Where not all of them fit,
// as many as do are hidden.
func (s *Service) hideOn(ctx context.Context, board string, hidden bool, keys []string) (changed int, err error) {
	for part := range slices.Chunk(keys, store.MaxPage) {
		n, err := s.hideCall(ctx, board, hidden, part)
		if errors.Is(err, store.ErrTooLarge) && len(part) > 1 {
			half := len(part) / 2
			var first, second error
			var m int
			n, first = s.hideOn(ctx, board, hidden, part[:half])
			m, second = s.hideOn(ctx, board, hidden, part[half:])
			n, err = n+m, errors.Join(first, second)
		}
		changed += n
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

func (s *Service) hideCall(ctx context.Context, board string, hidden bool, keys []string) (int, error) {
	ctx, cancel := s.bounded(s.inside(ctx))
	defer cancel()
	n, err := s.host.boards.Hide(ctx, board, hidden, keys...)
	if b := s.boards.Load().byName[board]; b != nil && (n > 0 || store.OutcomeOf(err) == store.Unknown) {
		b.wrote.Add(1)
		b.cache.drop()
	}
	return n, err
}

// everyBoard visits all boards of the store.
func (s *Service) everyBoard(ctx context.Context) func([]intent, func(string) error) error {
	return func(_ []intent, visit func(string) error) error {
		for after := ""; ; {
			callCtx, cancel := s.bounded(ctx)
			names, err := s.host.boards.List(callCtx, "", after, store.MaxPage)
			cancel()
			if err != nil {
				return fmt.Errorf("list boards: %w", err)
			}
			for _, name := range names {
				if err := visit(name); err != nil {
					return err
				}
				after = name
			}
			if len(names) < store.MaxPage {
				return nil
			}
		}
	}
}

// theBoard visits one.
func theBoard(name string) func([]intent, func(string) error) error {
	return func(_ []intent, visit func(string) error) error { return visit(name) }
}

// theirBoards visits those that the keys were hidden or shown on by hand.
func theirBoards(intents []intent, visit func(string) error) error {
	names := make(map[string]struct{})
	for _, in := range intents {
		for board := range in.hand.Boards {
			names[board] = struct{}{}
		}
	}
	for _, board := range slices.Sorted(maps.Keys(names)) {
		if err := visit(board); err != nil {
			return err
		}
	}
	return nil
}

// readMarks reads the marks of a kind, at most maxMarks.
func (s *Service) readMarks(ctx context.Context, kind markKind) (marks []store.Record, err error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	r := store.Prefix(kind.folder())
	r.Limit = maxMarks
	for rec, err := range s.host.records.Scan(ctx, r) {
		if err != nil {
			return nil, err
		}
		marks = append(marks, rec)
	}
	return marks, nil
}

// see notes which marks there are, and since when they have stood.
func (s *Service) see(kind markKind, marks []store.Record) {
	m := &s.moderation
	now := s.uptime()
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.mu.sights[kind.index()]
	next := make(map[string]sight, len(marks))
	for _, rec := range marks {
		key := kind.marked(rec.Key)
		v, ok := before[key]
		if !ok || v.version != rec.Version {
			var f markForm
			_ = json.Unmarshal(rec.Value, &f) // one that cannot be read is not done
			v = sight{version: rec.Version, since: now, done: f.Done}
		}
		next[key] = v
	}
	m.mu.sights[kind.index()] = next
}

func (k markKind) index() int {
	if k == markBan {
		return 0
	}
	return 1
}

// dueMarks are the keys whose boards are to follow now, and their marks, at most
// store.MaxPage: those that go then, and those that were not done yet.
func (m *moderation) dueMarks(kind markKind, now time.Duration) (keys []string, last, done map[string]store.Version) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, done = make(map[string]store.Version), make(map[string]store.Version)
	for key, v := range m.mu.sights[kind.index()] {
		follow, goes := v.due(now)
		if !follow || len(keys) == store.MaxPage {
			continue
		}
		if keys = append(keys, key); goes {
			last[key] = v.version
		} else {
			done[key] = v.version
		}
	}
	slices.Sort(keys)
	return keys, last, done
}

// sweep carries out what others have left, and removes old marks.
func (s *Service) sweep(ctx context.Context) error {
	marks, err := s.readMarks(ctx, markHand)
	if err != nil {
		if errors.Is(err, store.ErrUnsupported) {
			return nil
		}
		return fmt.Errorf("marks: %w", err)
	}
	s.see(markHand, marks)
	var errs []error
	for _, kind := range []markKind{markBan, markHand} {
		where := theirBoards
		if kind == markBan {
			where = s.everyBoard(ctx)
		}
		keys, last, done := s.moderation.dueMarks(kind, s.uptime())
		if len(keys) == 0 {
			continue
		}
		if _, err := s.follow(ctx, keys, where); err != nil && !s.forGood(err) {
			errs = append(errs, err)
			continue
		}
		for key, version := range last {
			errs = append(errs, s.forgetMark(ctx, kind, key, version))
		}
		s.marksDone(ctx, kind, done)
	}
	return errors.Join(errs...)
}

// forGood tells that a board cannot follow, however often it is tried.
func (s *Service) forGood(err error) bool {
	return errors.Is(err, store.ErrTooLarge) || s.backend != nil && errors.Is(err, store.ErrUnsupported)
}

// marksDone notes that the boards have followed.
func (s *Service) marksDone(ctx context.Context, kind markKind, marks map[string]store.Version) {
	keys := slices.Sorted(maps.Keys(marks))
	txs := make([]store.Tx, len(keys))
	for i, key := range keys {
		txs[i] = store.Tx{*s.put(kind.of(key), marks[key], markForm{Done: true})}
	}
	if err := errors.Join(s.commit(ctx, txs...)...); err != nil {
		s.host.logger.DebugContext(ctx, "the boards will follow once more", "keys", len(keys), "err", err)
	}
}

// forgetMark removes an old mark, and with it, or before it, what its key's record still says
// only for the sake of late writes.
func (s *Service) forgetMark(ctx context.Context, kind markKind, key string, was store.Version) error {
	intents, err := s.readIntents(ctx, []string{key})
	if err != nil {
		return err
	}
	tx := store.Tx{{Key: kind.of(key), Op: store.Delete, If: store.Is(was)}}
	if w := s.tidied(kind, key, intents[0]); w != nil {
		if s.host.records.Abilities().MultiKey {
			tx = append(tx, *w)
		} else if err := s.commit(ctx, store.Tx{*w})[0]; err != nil {
			return ignoreConflict(err)
		}
	}
	return ignoreConflict(s.commit(ctx, tx)[0])
}

// tidied is the write that takes out of a record what it says for the sake of late writes, or
// nil.
func (s *Service) tidied(kind markKind, key string, in intent) *store.Write {
	switch {
	case kind == markBan && in.banVersion != 0 && in.ban.Lifted:
		return &store.Write{Key: banKey(key), Op: store.Delete, If: store.Is(in.banVersion)}
	case kind == markHand && in.handVersion != 0:
		rest, empty := in.hand.settled()
		if empty {
			return &store.Write{Key: handKey(key), Op: store.Delete, If: store.Is(in.handVersion)}
		}
		if len(rest.Boards) < len(in.hand.Boards) {
			return s.put(handKey(key), in.handVersion, rest)
		}
	}
	return nil
}

// ignoreConflict leaves to others what they have changed.
func ignoreConflict(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
