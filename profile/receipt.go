package profile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Why a receipt is not there.
var (
	// ErrReceiptTaken: the receipt was granted to another profile. Nothing was applied. Look
	// into it: either ids are not unique, or somebody delivers to the wrong player.
	ErrReceiptTaken = errors.New("receipt was granted to another profile")
	// ErrNoReceipt: nothing was granted for the receipt.
	ErrNoReceipt = errors.New("no such receipt")
)

// Grant is the answer to a receipt.
type Grant struct {
	Revision uint64    // of the profile, with what was granted in it
	Commit   string    // id of the commit that granted
	At       time.Time // when, in fleet time
	// Repeated tells that the receipt was granted before, so that nothing was applied now.
	Repeated bool
}

// Receipt is what is stored of a receipt that was granted.
type Receipt struct {
	ID       string
	Revision uint64    // of the profile, with what was granted in it
	Epoch    uint64    // of the session that granted
	Commit   string    // id of the commit
	At       time.Time // when, in fleet time

	owner, set string
}

// Of tells whether the receipt was granted to the profile with this key.
func (r Receipt) Of(key string) bool { return r.owner == ownerOf(r.set, key) }

// Grant applies operations exactly once for a receipt of the game's payment platform, or
// whatever else is delivered at least once. It returns when commit and receipt are stored in
// the durable store, in one write. A delivery that comes again, here or to a later session of
// the profile, on whatever node, is answered with Repeated, also after the profile's data was
// set back to an older state. The id is like a key: up to 128 letters, digits and ._-:@+=~.
// It stands in for src.ID, which is not used.
//
// ErrReceiptTaken means that another profile has it; an error of the operations, of Validate
// and of what else refuses a transaction, ErrBusy and ErrUnavailable, that nothing was
// granted: the receipt stays open. An ErrUnknown, as when ctx ends first, means that it may
// have been granted, or may be yet: do not confirm it, and deliver it again to find out.
func (s *Session) Grant(ctx context.Context, id string, src Source, ops ...doc.Op) (Grant, error) {
	if err := name.CheckKey("receipt", id); err != nil {
		return Grant{}, fmt.Errorf("profile: grant: %w: %w", store.ErrInvalid, err)
	}
	g, err := s.grantOnce(ctx, id, src, ops)
	if err != nil {
		return Grant{}, fmt.Errorf("profile: grant %s to %s: %w", id, s.key, err)
	}
	return g, nil
}

func (s *Session) grantOnce(ctx context.Context, id string, src Source, ops []doc.Op) (Grant, error) {
	leave, err := s.set.receipts.enter(ctx, id)
	if err != nil { // the delivery under way may grant it
		return Grant{}, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	defer leave()
	row := receiptKey(s.set.name, id)
	if c, t := s.pending(row); t != nil { // by an earlier delivery that did not wait
		return Grant{Revision: c.Revision, Commit: c.ID, At: c.Time, Repeated: true}, s.claimed(ctx, row, t, ErrReceiptTaken)
	}
	r, err := s.set.readReceipt(ctx, id)
	if err != nil {
		return Grant{}, err
	}
	switch receiptStepOf(r, ownerOf(s.set.name, s.key)) {
	case receiptKnown:
		return Grant{Revision: r.receipt.revision, Commit: r.receipt.commit, At: r.receipt.at, Repeated: true}, nil
	case receiptTaken:
		return Grant{}, ErrReceiptTaken
	case receiptOpaque:
		return Grant{}, unreadable(r.problem)
	case receiptGrant:
	}
	c := &claim{name: row, sign: s.signReceipt, stored: newTicket(), rows: []store.Write{{
		Key: row, Op: store.Put, Value: s.signReceipt(Commit{}), If: store.Absent(), Version: s.set.node.NewVersion("receipt", row),
	}}}
	src.ID = ""
	out, err := s.transact(proposal{src: src, claim: c, fn: func(doc.Value) ([]doc.Op, error) { return ops, nil }})
	if err != nil {
		return Grant{}, err
	}
	return Grant{Revision: out.Revision, Commit: out.ID, At: out.Time}, s.claimed(ctx, row, c.stored, ErrReceiptTaken)
}

// signReceipt is the receipt of a commit.
func (s *Session) signReceipt(c Commit) []byte {
	return receipt{
		owner: ownerOf(s.set.name, s.key), revision: c.Revision, epoch: s.epoch, at: c.Time, commit: c.ID,
	}.encode()
}

// claimed waits for a claim that puts a row, and tells when it was that row that was taken:
// by another profile, in the moment since it was looked up.
func (s *Session) claimed(ctx context.Context, row string, t *ticket, taken error) error {
	err := s.settled(ctx, t)
	var conflict *store.ConflictError
	if errors.Is(err, errVoid) {
		if errors.As(err, &conflict) && conflict.Key == row {
			return fmt.Errorf("%w: %w: %w", taken, &EndedError{Key: s.key, Reason: Lost}, err)
		}
		return fmt.Errorf("%w: %w", &EndedError{Key: s.key, Reason: Lost}, err)
	}
	return err
}

// unreadable is the error of a row that is there and cannot be read.
func unreadable(problem error) error {
	if errors.Is(problem, errLaterFormat) {
		return fmt.Errorf("%w: %w", ErrNewerSchema, problem)
	}
	return fmt.Errorf("%w: %w", ErrForeign, problem)
}

// Receipt reads a receipt: ErrNoReceipt means that nothing was granted for it, or not yet.
func (s *Set) Receipt(ctx context.Context, id string) (Receipt, error) {
	if err := name.CheckKey("receipt", id); err != nil {
		return Receipt{}, fmt.Errorf("profile: %w: %w", store.ErrInvalid, err)
	}
	r, err := s.readReceipt(ctx, id)
	switch {
	case err != nil:
	case r.version == 0:
		err = ErrNoReceipt
	case r.problem != nil:
		err = unreadable(r.problem)
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("profile: receipt %s: %w", id, err)
	}
	return Receipt{
		ID: id, Revision: r.receipt.revision, Epoch: r.receipt.epoch, Commit: r.receipt.commit, At: r.receipt.at,
		owner: r.receipt.owner, set: s.name,
	}, nil
}

func (s *Set) readReceipt(ctx context.Context, id string) (receiptReading, error) {
	recs, err := s.readRows(ctx, receiptKey(s.name, id))
	if err != nil {
		return receiptReading{}, err
	}
	return receiptReadingOf(recs[0]), nil
}

// readRows reads records of the durable store for somebody who waits. A failure says that
// nothing was done: nothing is in its favour or against it.
func (s *Set) readRows(ctx context.Context, keys ...string) ([]store.Record, error) {
	err := s.node.Pass(ctx, node.ClassSave, node.KindRead)
	if err == nil {
		call, cancel := s.within(ctx)
		defer cancel()
		var recs []store.Record
		if recs, err = s.durable.Get(call, keys...); err == nil {
			return recs, nil
		}
	}
	return nil, fmt.Errorf("read %s: %w: %w", keys[0], store.ErrUnavailable, err)
}

// turns lets those who are at one thing go one after the other. There are as many as
// there are callers.
type turns struct {
	mu struct {
		sync.Mutex
		taken map[string]chan struct{} // closed when the next may go
	}
}

// enter waits until nobody else is at it; leave lets the next one go.
func (g *turns) enter(ctx context.Context, what string) (leave func(), err error) {
	for {
		g.mu.Lock()
		over := g.mu.taken[what]
		if over == nil {
			over = make(chan struct{})
			if g.mu.taken == nil {
				g.mu.taken = make(map[string]chan struct{})
			}
			g.mu.taken[what] = over
			g.mu.Unlock()
			return func() {
				g.mu.Lock()
				defer g.mu.Unlock()
				delete(g.mu.taken, what)
				close(over)
			}, nil
		}
		g.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
