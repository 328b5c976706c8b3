package shoal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
)

// This file has boards mirror profiles (board.Source): what the durable store holds of a
// profile goes to the boards that mirror its set.

// ErrNotMirrored is a board that mirrors no profiles, so that nothing can refill it.
var ErrNotMirrored = errors.New("shoal: the board mirrors no profiles")

// mirrorProblems reports boards that mirror what they cannot.
func (o *Options) mirrorProblems() (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(o.Boards)) {
		from := o.Boards[name].From
		if from == nil {
			continue
		}
		set, ok := o.Sets[from.Set]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("shoal: options: Boards[%s].From.Set: the name of one of the Sets expected, got %q", name, from.Set))
		case !shows(set):
			errs = append(errs, fmt.Errorf("shoal: options: Boards[%s].From.Set: a live set with its data in the game's form expected, %q is not", name, from.Set))
		}
	}
	return errs
}

// shows tells that boards may mirror a set: it is live, since the boards are the fleet's, and
// its data is in the form that the game knows.
func shows(opts *profile.Options) bool {
	return opts == nil || opts.Mode == profile.Live && !opts.AsStored
}

// setOf is the set whose keys a board ranks: the one that it mirrors, the one that plays its
// season, or the ranked one; "" for none.
func (n *Node) setOf(o Options, board string) string {
	if cfg, ok := n.boards.Config(board); ok && cfg.From != nil {
		return cfg.From.Set
	}
	if season, ok := seasonOf(board); ok {
		return o.Seasons[season].Set
	}
	return o.ranked()
}

// ranked is the name of the set whose keys the boards rank; "" for none.
func (o *Options) ranked() string {
	switch {
	case o.Ranked == "-":
		return ""
	case o.Ranked == "" && len(o.Sets) == 1:
		for name := range o.Sets {
			return name
		}
	}
	return o.Ranked
}

// mirrorTo has the sets tell the boards what is stored. Boards close after the sets, so they
// are told of the last save of every session.
func (n *Node) mirrorTo(boards *board.Service, o Options) {
	n.mirrors = make(map[string]*profile.Set)
	for name, set := range n.sets {
		if set == nil || boards == nil || !shows(o.Sets[name]) {
			continue
		}
		n.mirrors[name] = set
		set.OnStored(func(p profile.Stored) {
			boards.Mirror(name, board.Profile{Key: p.Key, Data: p.Data, Stamp: store.Stamp{Epoch: p.Epoch, Revision: p.Revision}})
		})
		set.OnErase(func(ctx context.Context, _ string) error { return n.outwait(ctx, name, o) })
	}
}

// longestOutwait bounds how long an erasure waits for other nodes' queues.
const longestOutwait = 10 * time.Second

// outwait lets the queues of other nodes be written before an erased key leaves the boards that
// mirror its set: the profile has been taken, so nobody is told anything more of it, but what
// its last holder was told may wait for a window yet, and would bring the entry back. Half of
// the erasure's time is left for the rest of it.
func (n *Node) outwait(ctx context.Context, set string, o Options) error {
	every, most := time.Second, longestOutwait
	if o.Flush != nil && o.Flush.FlushEvery != 0 {
		every = o.Flush.FlushEvery
	}
	if s := o.Sets[set]; s != nil && s.LoadTimeout > 0 {
		most = min(most, s.LoadTimeout/2)
	}
	if every < 0 || !n.hasMirrors(set) {
		return nil
	}
	if err := clock.Sleep(ctx, n.Clock(), min(2*every, most)); err != nil {
		return fmt.Errorf("shoal: erase: wait for what other nodes have to write: %w", err)
	}
	return nil
}

// hasMirrors tells that boards mirror the set.
func (n *Node) hasMirrors(set string) bool {
	return slices.ContainsFunc(n.boards.Boards(), func(name string) bool {
		cfg, ok := n.boards.Config(name)
		return ok && cfg.From != nil && cfg.From.Set == set
	})
}

// Refill tells how far a RefillBoard came.
type Refill struct {
	Profiles int64 // that were read
	Scores   int64 // that they had, and the board was told
	Problems int64 // profiles whose data no load takes, or whose value is no score of the board
	Removed  int64 // entries of profiles that were erased meanwhile
	// First is the first problem. Empty: there was none.
	First string
}

const (
	refillBatch  = 1000            // profiles of one Merge
	refillTries  = 8               // of one call of the store
	refillWait   = time.Second     // between two tries
	refillSettle = 5 * time.Second // after the last batch, until it is looked at once more
)

// RefillBoard tells a mirrored board what the store holds of every profile of its set: for a new
// board in an old game, or one that was lost. It reads the profiles one after the other and
// keeps no more than a few batches of them in memory. It may run while the game does, on any
// node, and as often as one likes: what is written carries the state it was made of, so
// nothing newer is replaced. What is on the board already stays.
//
// A profile that is erased while it runs leaves the board again: each batch is looked at once
// more while the next is read, the last ones 5 s later.
//
// progress, if not nil, is called after each batch. The error is ErrNotMirrored,
// board.ErrUnknownBoard, store.ErrSealed, or another of the store's; then what was done so far stays, and the call may be
// repeated.
func (n *Node) RefillBoard(ctx context.Context, name string, progress func(Refill)) (Refill, error) {
	cfg, ok := n.boards.Config(name)
	if !ok {
		return Refill{}, fmt.Errorf("shoal: refill %s: %w", name, board.ErrUnknownBoard)
	}
	if cfg.From == nil {
		return Refill{}, fmt.Errorf("shoal: refill %s: %w", name, ErrNotMirrored)
	}
	set := n.mirrors[cfg.From.Set]
	if set == nil {
		return Refill{}, fmt.Errorf("shoal: refill %s: the node has no live set %q: %w", name, cfg.From.Set, ErrNotMirrored)
	}
	r := &refill{node: n, set: set, board: name, cfg: cfg, progress: progress}
	if err := r.run(ctx); err != nil {
		return r.out, fmt.Errorf("shoal: refill %s: %w", name, err)
	}
	return r.out, nil
}

// refill is one running RefillBoard.
type refill struct {
	node     *Node
	set      *profile.Set
	board    string
	cfg      board.Config
	progress func(Refill)

	out     Refill
	batch   []store.Submission
	written [][]string // keys of the last batches, which are to be looked at once more
}

func (r *refill) run(ctx context.Context) error {
	if err := r.create(ctx); err != nil {
		return err
	}
	err := r.set.Scan(ctx, func(v profile.View) error {
		if err := r.take(v); err != nil || len(r.batch) < refillBatch {
			return err
		}
		return r.flush(ctx)
	})
	if err != nil {
		return err
	}
	if err := r.flush(ctx); err != nil || len(r.written) == 0 {
		return err
	}
	if err := clock.Sleep(ctx, r.node.Clock(), refillSettle); err != nil {
		return err
	}
	for _, keys := range r.written {
		if err := r.recheck(ctx, keys); err != nil {
			return err
		}
	}
	r.tell()
	return nil
}

// take adds what the board has of a profile to the batch. Its error is that the board takes
// nothing any more.
func (r *refill) take(v profile.View) error {
	r.out.Profiles++
	data, err := r.set.Raise(v)
	var e store.Submission
	var ok bool
	if err == nil {
		p := board.Profile{Key: v.Key, Data: data, Stamp: store.Stamp{Epoch: v.Epoch, Revision: v.Revision}}
		e, ok, err = r.node.boards.Mirrored(r.board, p)
	}
	switch {
	case errors.Is(err, store.ErrSealed):
		return err
	case err != nil:
		if r.out.Problems++; r.out.First == "" {
			r.out.First = fmt.Sprintf("%s: %v", v.Key, err)
		}
	case ok:
		r.batch = append(r.batch, e)
	}
	return nil
}

// flush writes the batch, and looks at one of the batches before once more.
func (r *refill) flush(ctx context.Context) error {
	if len(r.batch) > 0 {
		if err := r.merge(ctx); err != nil {
			return err
		}
		keys := make([]string, len(r.batch))
		for i, e := range r.batch {
			keys[i] = e.Key
		}
		r.out.Scores += int64(len(r.batch))
		r.batch = r.batch[:0]
		r.written = append(r.written, keys)
	}
	if len(r.written) > 2 {
		if err := r.recheck(ctx, r.written[0]); err != nil {
			return err
		}
		r.written = r.written[1:]
	}
	r.tell()
	return nil
}

func (r *refill) tell() {
	if r.progress != nil {
		r.progress(r.out)
	}
}

// merge writes the batch. A board that is missing has lost its memory, and is made anew.
func (r *refill) merge(ctx context.Context) error {
	return r.insist(ctx, func() error {
		_, err := r.node.boards.Merge(ctx, r.board, store.Batch{Rule: r.cfg.Rule, Entries: r.batch})
		if !errors.Is(err, store.ErrNoBoard) {
			return err
		}
		return errors.Join(err, r.create(ctx))
	})
}

func (r *refill) create(ctx context.Context) error {
	return r.insist(ctx, func() error {
		_, err := r.node.boards.Create(ctx, r.board, store.BoardSpec{Order: r.cfg.Order, Generation: r.node.NewToken("generation", r.board)})
		return err
	})
}

// recheck removes the entries of profiles that are gone.
func (r *refill) recheck(ctx context.Context, keys []string) error {
	var gone []string
	err := r.insist(ctx, func() (err error) {
		gone, err = r.gone(ctx, keys)
		return err
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return r.insist(ctx, func() error {
		removed, err := r.node.boards.Remove(ctx, r.board, gone...)
		r.out.Removed += int64(removed)
		return err
	})
}

// gone are the keys that have no profile.
func (r *refill) gone(ctx context.Context, keys []string) (gone []string, err error) {
	there, err := r.set.ReadMany(ctx, keys...)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, ok := there[key]; ok {
			continue
		}
		_, err := r.set.Read(ctx, key) // it may be there in a form that is not known
		switch {
		case errors.Is(err, profile.ErrNoProfile):
			gone = append(gone, key)
		case err == nil, errors.Is(err, profile.ErrForeign), errors.Is(err, profile.ErrNewerSchema):
		default:
			return nil, err
		}
	}
	return gone, nil
}

// insist repeats a call that the store did not take, or did not tell of. All of them may be
// repeated.
func (r *refill) insist(ctx context.Context, call func() error) error {
	for try := 1; ; try++ {
		err := call()
		if err == nil || try == refillTries || hopeless(err) {
			return err
		}
		if clock.Sleep(ctx, r.node.Clock(), refillWait) != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// hopeless tells that a call will never be taken.
func hopeless(err error) bool {
	for _, final := range []error{store.ErrSealed, store.ErrInvalid, store.ErrTooLarge, store.ErrUnsupported, store.ErrClosed, board.ErrClosed} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}
