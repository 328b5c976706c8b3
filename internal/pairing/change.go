package pairing

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// ErrAlive tells that processes are alive that a change would leave behind.
var ErrAlive = errors.New("pairing: processes of the fleet are alive")

// ErrTaken tells that the fast part belongs to another store.
var ErrTaken = errors.New("pairing: the fast part belongs to another store")

// State is how a store and what was given for it are.
type State struct {
	// Mark is nil when the store was never opened.
	Mark *Mark
	// Signed tells that the fast part that was given says of itself whose it is.
	Signed bool
	// Problem is an [ErrRefused] when an opening would be refused; nil when it would not.
	Problem error
	// Lost tells that the sign is missing, or an old one, and would be written again.
	Lost bool
	// Foreign tells that the fast part that was given belongs to another store.
	Foreign bool
	// Change is what a change would do, for people; "" for nothing.
	Change string
	// Quiet tells that nothing but the way of messages would change, so that processes may be
	// alive meanwhile.
	Quiet bool
}

// Look finds out how a store is, and writes nothing.
func Look(ctx context.Context, p Parts, g Given) (State, error) {
	now, err := p.read(ctx)
	if err != nil {
		return State{}, fmt.Errorf("pairing: %w", err)
	}
	return stateOf(now, g), nil
}

// Change makes the parts belong together as they are given, whatever they were before, once
// nobody is alive who plays by that; all processes of the fleet must have ended. It asks those who are alive, for
// Patience, when the store had a fast part of its own; what lives on the durable engine's own live part the
// caller sees by its beats. take allows it to take the fast part over from another store. It answers
// the mark, an [ErrAlive] or an [ErrTaken], for which nothing was changed, or an error of the
// store; then it may be repeated.
func Change(ctx context.Context, p Parts, g Given, take bool) (Mark, error) {
	x := p.settling(g)
	var agreed Mark
	err := x.again(ctx, func(ctx context.Context) (bool, error) {
		now, err := x.read(ctx)
		if err != nil {
			return false, err
		}
		s := stateOf(now, g)
		switch {
		case s.Change == "":
			agreed = *now.mark
			return true, nil
		case now.mark != nil && x.mine[now.mark.ID]: // the second half of this change
			return false, x.sign(ctx, now)
		case s.Foreign && !take:
			return false, ErrTaken
		}
		return false, x.change(ctx, now, s)
	})
	return agreed, err
}

// change writes the next mark.
func (x *settling) change(ctx context.Context, now seen, s State) error {
	next, err := x.nextOf(ctx, now.mark)
	if err != nil {
		return err
	}
	if s.Quiet {
		next.ID, next.Before = now.mark.ID, now.mark.Before
	}
	w := x.put(markKey, next, now.markVersion)
	if s.Quiet || now.mark == nil || !now.mark.Apart {
		return x.Durable.Commit(ctx, store.Tx{w})[0]
	}
	q := x.question(true)
	switch heard, err := q.await(ctx, now); {
	case err != nil || heard == changed:
		return err
	case heard == reply:
		return fmt.Errorf("%w: one answered whose fast part is %s", ErrAlive, q.by)
	}
	return q.decide(ctx, w)
}
