package season

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

const (
	chunkSize   = 1000             // sessions synced at once, and entries of one Merge
	maxBoundary = 10 * time.Second // jitter of the flush at a boundary, at most
	shortAfter  = 5 * time.Second  // after a flush that the budget cut short, at most
)

// flusher is the state of the loop that writes to the boards.
type flusher struct {
	s      *Service
	window time.Time // when the next window is due, by the local clock
	k      int64     // the season at the last step
}

func (s *Service) newFlusher() *flusher {
	return &flusher{s: s, window: s.clock.Now().Add(s.cfg.FlushEvery), k: s.season()}
}

// step sends what waits in the outbox (players who have left), and when a window is due, the
// values of everybody who changed. At a boundary the window comes at once, with jitter, so
// that the close does not race the season's last values.
func (f *flusher) step(ctx context.Context, now time.Time) (next time.Time, err error) {
	s := f.s
	fleet := s.n.Now()
	if k := s.cfg.Season(fleet); k != f.k {
		f.k = k
		if at := now.Add(s.jitter("flush", min(maxBoundary, s.cfg.Grace/4, s.cfg.FlushEvery))); at.Before(f.window) {
			f.window = at
		}
	}
	if now.Before(f.window) {
		err = s.drain(ctx)
	} else {
		f.window = now.Add(s.cfg.FlushEvery)
		err = s.window(ctx, s.players.all())
	}
	next = f.window
	if isShort(err) {
		s.counts.short.Add(1)
		s.log.DebugContext(ctx, "values for the boards wait for the request budget", "waiting", s.outbox.size(), "err", err)
		next, err = s.clock.Now().Add(min(shortAfter, s.cfg.FlushEvery)), nil
		if f.window.Before(next) {
			next = f.window
		}
	}
	if boundary := now.Add(s.cfg.End(f.k).Sub(fleet)); boundary.Before(next) {
		next = boundary
	}
	return next, err
}

// window sends the values of the players who changed, and pays what is settled.
func (s *Service) window(ctx context.Context, list []*player) error {
	s.gather(ctx)
	var errs []error
	short := false
	for len(list) > 0 && ctx.Err() == nil {
		var chunk []*player
		for len(list) > 0 && len(chunk) < chunkSize {
			if list[0].owesBoards() {
				chunk = append(chunk, list[0])
			}
			list = list[1:]
		}
		errs = append(errs, s.collectAll(ctx, chunk))
		if !short {
			errs = append(errs, s.drain(ctx))
			short = isShort(errs[len(errs)-1])
		}
		for _, p := range chunk {
			s.pay(ctx, p)
		}
	}
	if !short {
		errs = append(errs, s.drain(ctx))
	}
	return errors.Join(errs...)
}

// gather forgets sessions that ended without Left, because they were handed over or lost. What
// the store has of their last values goes to the outbox. A newer session may have sent newer
// ones already: the boards tell by the stamp.
func (s *Service) gather(ctx context.Context) {
	for _, p := range s.players.ended() {
		s.players.remove(p)
		if !p.owesBoards() {
			continue
		}
		data, stamp := p.session.Synced()
		parcels, err := s.parcels(p, data)
		for _, parcel := range parcels {
			parcel.stamp = stamp
			err = errors.Join(err, s.outbox.put(parcel))
		}
		if err != nil {
			s.counts.missed.Add(1)
			s.log.WarnContext(ctx, "the last values of a session that ended are sent when the player next loads",
				"key", p.session.Key(), "err", err)
		}
	}
}

// collectAll syncs the players side by side, so that their journals are grouped.
func (s *Service) collectAll(ctx context.Context, chunk []*player) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
		count int
	)
	for _, p := range chunk {
		wg.Go(func() {
			syncCtx, cancel := clock.WithTimeout(ctx, s.clock, syncWait)
			defer cancel()
			// A session that ends meanwhile has its own last write, or nothing more to say.
			if _, err := s.collect(syncCtx, p); err != nil && !p.gone() {
				mu.Lock()
				defer mu.Unlock()
				count++
				if first == nil {
					first = err
				}
			}
		})
	}
	wg.Wait()
	if first != nil {
		return fmt.Errorf("season: %d sessions not collected, the first: %w", count, first)
	}
	return nil
}

// batch is a player's parcels of one collection: when the last is settled, the player owes
// the boards nothing of what was changed until then.
type batch struct {
	player *player
	count  uint64
	left   atomic.Int32
	waited sync.Once
	done   chan struct{} // closed when the last is settled, or nobody needs to wait for it
}

func (b *batch) settled() {
	if b.left.Add(-1) == 0 {
		b.player.sentUpTo(b.count)
		b.release()
	}
}

// release lets go who waits for the batch.
func (b *batch) release() { b.waited.Do(func() { close(b.done) }) }

// collect has the player's changes synced and puts the synced values into the outbox. Boards
// show only what survives the node: else a lost session's points would stay on them for ever.
func (s *Service) collect(ctx context.Context, p *player) (*batch, error) {
	b := &batch{player: p, count: p.changed.Load(), done: make(chan struct{})}
	data, stamp := p.session.Synced()
	if !s.sameBlock(data, p.session.Data()) {
		if err := p.session.Sync(ctx); err != nil {
			return nil, fmt.Errorf("season: sync %s: %w", p.session.Key(), err)
		}
		data, stamp = p.session.Synced()
	}
	parcels, err := s.parcels(p, data)
	if err != nil {
		return nil, err
	}
	b.left.Store(int32(len(parcels) + 1))
	for _, parcel := range parcels {
		parcel.stamp, parcel.batch = stamp, b
		if err := s.outbox.put(parcel); err != nil {
			return nil, err
		}
	}
	b.settled()
	return b, nil
}

// sameBlock tells whether two states of a profile have the same values for the boards.
func (s *Service) sameBlock(a, b doc.Value) bool {
	va, _ := a.Get(s.rules.path)
	vb, _ := b.Get(s.rules.path)
	return va.Equal(vb)
}

// parcels is what a stored profile has for the boards: its season's counters, and what is
// owed and not yet answered for.
func (s *Service) parcels(p *player, data doc.Value) ([]parcel, error) {
	block, err := s.rules.block(data)
	if err != nil {
		return nil, err
	}
	var out []parcel
	name := s.rules.nameIn(data)
	member, _ := block.Member("season")
	id, _ := member.AsString()
	stats, _ := block.Member("stats")
	if k, ok := s.cfg.Parse(id); ok && stats.Len() > 0 {
		out = append(out, parcel{slot: slot{k, p.session.Key()}, stats: stats, meta: name})
	}
	owed, _ := block.Member("owed")
	for id, values := range owed.Members() {
		if k, ok := s.cfg.Parse(id); ok && !p.isSettled(k, values) {
			out = append(out, parcel{slot: slot{k, p.session.Key()}, stats: values, meta: name})
		}
	}
	return out, nil
}

// drain sends the parcels that wait in the outbox, as many as the request budget allows,
// earlier seasons first. What is not answered for stays there.
func (s *Service) drain(ctx context.Context) error {
	var errs []error
	list, patient := s.outbox.pending(), true
	for len(list) > 0 && ctx.Err() == nil {
		n := 1
		for n < len(list) && list[n].k == list[0].k {
			n++
		}
		err := s.deliver(ctx, list[0].k, list[:n], patient)
		errs = append(errs, err)
		if isShort(err) {
			s.outbox.cutShort()
			break
		}
		list, patient = list[n:], false
	}
	return errors.Join(errs...)
}

// deliver sends the parcels of one season, or refuses them when it is over. patient says
// whether it waits for the budget of the first.
func (s *Service) deliver(ctx context.Context, k int64, list []parcel, patient bool) error {
	why, err := s.isOver(ctx, k)
	if err != nil {
		return err
	}
	if why == nil {
		if err := s.openBoards(ctx, k); errors.Is(err, store.ErrSealed) {
			why = err
		} else if err != nil {
			return err
		}
	}
	if why != nil {
		return s.refuse(ctx, k, list, why)
	}
	var errs []error
	for len(list) > 0 {
		now, err := s.afford(ctx, len(list), len(s.cfg.Boards), patient)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		err = s.mergeAll(now.paid.With(ctx), k, list[:now.parcels])
		now.paid.Refund()
		errs = append(errs, err)
		list, patient = list[now.parcels:], false
	}
	return errors.Join(errs...)
}

// mergeAll merges parcels into every board of the season and settles those that all boards
// have answered for. A sealed board refuses.
func (s *Service) mergeAll(ctx context.Context, k int64, list []parcel) error {
	var sealed error
	var errs []error
	for _, err := range s.mergeEach(ctx, k, list) {
		switch {
		case err == nil:
		case errors.Is(err, store.ErrSealed):
			sealed = err
		default:
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if sealed != nil {
		return s.refuse(ctx, k, list, sealed)
	}
	for _, p := range list {
		s.settle(p)
	}
	return nil
}

// mergeEach merges parcels into every board of the season side by side, so that they wait for the
// store together, and answers each board's error. The first time they come one after the other:
// before its first write a board has to read what another may be reading just then.
func (s *Service) mergeEach(ctx context.Context, k int64, list []parcel) []error {
	errs := make([]error, len(s.cfg.Boards))
	together := s.opened.written(k) == len(s.cfg.Boards)
	var wg sync.WaitGroup
	for i, b := range s.cfg.Boards {
		if together {
			wg.Go(func() { errs[i] = s.merge(ctx, k, b, list) })
		} else {
			errs[i] = s.merge(ctx, k, b, list)
		}
	}
	wg.Wait()
	return errs
}

// merge sends a board's entries. The values are absolute and stamped with the profile's
// (epoch, revision), so that repeating them after an unknown outcome is harmless. A missing
// board has lost its memory: it is opened again, and the merge repeated, once.
func (s *Service) merge(ctx context.Context, k int64, b Board, list []parcel) error {
	entries := make([]store.Submission, 0, len(list))
	for _, p := range list {
		if score, ok := number(p.stats, b.Stat); ok {
			entries = append(entries, store.Submission{Key: p.key, Score: score, Stamp: p.stamp, Meta: p.meta})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	id := s.cfg.ID(k)
	key := BoardKey(s.set, b.Name, id)
	batch := store.Batch{Rule: store.Last, Entries: entries}
	_, err := s.boards.Merge(ctx, key, batch)
	if errors.Is(err, store.ErrNoBoard) {
		s.opened.close(k)
		if err := s.openBoards(ctx, k); err != nil {
			return err
		}
		_, err = s.boards.Merge(ctx, key, batch)
	}
	if err != nil {
		return fmt.Errorf("season: write board %s of %s: %w", b.Name, id, err)
	}
	s.opened.wrote(k, b.Name)
	return nil
}

// settle ends a parcel's way: the boards have answered for it.
func (s *Service) settle(p parcel) {
	s.outbox.settle(p)
	if p.batch != nil {
		p.batch.player.settle(p.k, p.stats)
		p.batch.settled()
	}
}

// refuse ends the way of parcels that come too late. What the board holds already is no loss;
// anything else is reported to the game, never silently dropped. A sealed board of a season
// without a result decides nothing: it may still lose its memory, and be rebuilt with them. Then
// they stay, and nobody who leaves waits for that, since it may take as long as a board cannot
// be read.
func (s *Service) refuse(ctx context.Context, k int64, list []parcel, why error) error {
	decided, err := s.isDecided(ctx, k, why)
	if err != nil {
		return err
	}
	if !decided {
		for _, p := range list {
			if p.batch != nil {
				p.batch.release()
			}
		}
		return nil
	}
	if err := s.define(k); err != nil {
		return err
	}
	for _, b := range s.cfg.Boards {
		for from := 0; from < len(list); from += chunkSize {
			part := list[from:min(from+chunkSize, len(list))]
			if err := s.refuseOn(ctx, k, b, part, why); err != nil {
				return err
			}
		}
	}
	for _, p := range list {
		s.settle(p)
	}
	return nil
}

func (s *Service) refuseOn(ctx context.Context, k int64, b Board, list []parcel, why error) error {
	if s.isMissing(k, b.Name) {
		s.refuseMissing(ctx, k, b, list)
		return nil
	}
	id := s.cfg.ID(k)
	counted, known, err := s.counted(ctx, id, b, list)
	if err != nil {
		return err
	}
	if !known {
		return s.refuseByResult(ctx, k, b, list, why)
	}
	for _, p := range list {
		score, ok := number(p.stats, b.Stat)
		e, has := counted[p.key]
		if !ok || has && e.Score == score {
			continue
		}
		s.report(ctx, Refused{
			Key: p.key, Season: id, Board: b.Name, Score: score, Counted: e.Score, Has: has, Err: why,
		})
	}
	return nil
}

// report tells operator and game of a value that was not counted.
func (s *Service) report(ctx context.Context, r Refused) {
	s.counts.refused.Add(1)
	s.log.WarnContext(ctx, "a season's value came too late and is not counted", "key", r.Key,
		"season", r.Season, "board", r.Board, "score", r.Score, "counted", r.Counted, "has", r.Has, "err", r.Err)
	if s.deps.OnRefused != nil {
		s.tellGame(ctx, "OnRefused", func() { s.deps.OnRefused(r) })
	}
}

// pay removes what the boards have answered for from the profile, once the season has its
// result: until then the profile is what a lost board would be rebuilt from.
func (s *Service) pay(ctx context.Context, p *player) {
	settled := p.allSettled()
	var ks []int64
	for _, k := range slices.Sorted(maps.Keys(settled)) {
		if s.rules.isIn(p.session.Data(), k) {
			delete(settled, k) // answered for already, and to be owed when the block moves on
			continue
		}
		if why, err := s.isOver(ctx, k); err != nil || why == nil {
			delete(settled, k)
			continue
		}
		ks = append(ks, k)
	}
	if len(settled) == 0 {
		return
	}
	ops, err := s.rules.pay(p.session.Data(), settled)
	if err != nil {
		return
	}
	if len(ops) > 0 {
		err = p.session.Change("season "+s.set+": settled", func(data doc.Value) ([]doc.Op, error) {
			ops, err := s.rules.pay(data, settled)
			if err == nil && len(ops) == 0 {
				err = errNothing
			}
			return ops, err
		})
	}
	if err == nil || errors.Is(err, errNothing) {
		p.forget(ks)
	}
}
