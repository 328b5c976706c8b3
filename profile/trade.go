package profile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// MaxParties is how many profiles one trade may change.
const MaxParties = 16

// Party is one side of a trade: what is to be done with its profile.
type Party struct {
	Session *Session
	Ops     []doc.Op // none: the profile only remembers the trade
}

// Traded is a trade that is stored.
type Traded struct {
	// ID is Source.ID, or the one that was made for the trade. It is set with every error
	// too: with the same id and the same content a trade is safe to repeat.
	ID string
	// Commits are what the parties have committed, in the order of the call. Those of a
	// repeated trade have a revision at most, and none where the profile has forgotten it.
	Commits []Commit
	// Repeated tells that the id was known, so nothing was applied now.
	Repeated bool
}

// PartyError tells whose profile a trade was refused for. It wraps the reason.
type PartyError struct {
	Party int // in the order of the call, from 0
	Set   string
	Key   string
	Err   error
}

// Error names the party and the reason.
func (e *PartyError) Error() string {
	return fmt.Sprintf("party %d (%s/%s): %v", e.Party, e.Set, e.Key, e.Err)
}

// Unwrap is the reason.
func (e *PartyError) Unwrap() error { return e.Err }

// Trade applies operations to several profiles that are open on this node, of one set or of
// several live ones: all or none, whatever dies when. It returns when all of them are stored, together
// with everything that was committed before, in one write. It takes 2 to MaxParties profiles,
// and a store that writes several keys at once (store.ErrUnsupported).
//
// The parties are frozen meanwhile: Transact answers ErrBusy, saves wait, and so does a
// hand-over. Another trade of one of them waits for its turn, until ctx ends.
//
// An ErrUnknown means that the trade may be stored, or may still be: the parties stay frozen
// until that is known, without the caller; ask again with the same id. Every other error means
// that this call has changed nothing: a *PartyError with what Transact would say, ErrBusy for a party that is about to leave,
// ErrLost for one that another node has taken, or the error of the store. A known Source.ID
// answers Repeated; with other content it is an ErrRepeated.
func Trade(ctx context.Context, src Source, parties ...Party) (Traded, error) {
	sessions, ops := make([]*Session, len(parties)), make([][]doc.Op, len(parties))
	for i, p := range parties {
		sessions[i], ops[i] = p.Session, p.Ops
	}
	return trading(ctx, src, sessions, ops, func([]doc.Value) ([][]doc.Op, error) { return ops, nil })
}

// TradeFunc is Trade with operations that depend on the data of all parties: fn gets what is
// there, in the order of the sessions, and answers what to do with each; nothing else commits
// in between. fn must be pure and quick, and must not call the sessions. An error of fn is
// returned, and nothing was changed. With Source.ID the id and the parties decide whether the
// trade is known.
func TradeFunc(ctx context.Context, src Source, fn func(data []doc.Value) ([][]doc.Op, error), sessions ...*Session) (Traded, error) {
	return trading(ctx, src, sessions, nil, fn)
}

// trade is one trade under way.
type trade struct {
	src     Source
	digest  string // of the request
	parties []*party
	order   []*party // by set and key: the order in which sessions are locked
	wanted  func() bool
	over    chan struct{} // closed when the parties are free again

	decided chan struct{} // closed when the outcome is known
	told    chan struct{} // closed when the listeners have been told
	err     error         // read it when decided is closed
}

// party is a session's part in a trade. The session points to it while it is frozen.
type party struct {
	trade   *trade
	session *Session
	index   int

	// What the trade makes of it; set before it is sent.
	commit  Commit
	marks   []mark
	rec     record
	beside  beside
	attempt attempt
	hold    hold // when it was sent

	// Guarded by the session.
	open    bool          // the answer was lost: the journal goes on meanwhile
	quiet   chan struct{} // closed when no worker is at the session; nil: nobody waits for it
	leaving *leaving      // an end that has begun meanwhile, and waits
}

func (p *party) refuse(err error) error {
	return &PartyError{Party: p.index, Set: p.session.set.name, Key: p.session.key, Err: err}
}

func (p *party) recordKey() string { return recordKey(p.session.set.name, p.session.key) }

func trading(ctx context.Context, src Source, sessions []*Session, ops [][]doc.Op, fn func([]doc.Value) ([][]doc.Op, error)) (Traded, error) {
	t, err := newTrade(ctx, src, sessions, ops)
	if err != nil {
		return Traded{ID: src.ID}, fmt.Errorf("profile: trade: %w", err)
	}
	out, err := t.trade(ctx, fn)
	if err != nil {
		t.parties[0].session.set.stats.refused.Add(1)
		return Traded{ID: t.src.ID}, fmt.Errorf("profile: trade %s: %w", t.src.ID, err)
	}
	return out, nil
}

// newTrade checks what can be checked without looking at the sessions.
func newTrade(ctx context.Context, src Source, sessions []*Session, ops [][]doc.Op) (*trade, error) {
	if n := len(sessions); n < 2 || n > MaxParties {
		return nil, fmt.Errorf("%w: 2 to %d parties expected, got %d", store.ErrInvalid, MaxParties, n)
	}
	t := &trade{
		src: src, wanted: func() bool { return ctx.Err() == nil },
		over: make(chan struct{}), decided: make(chan struct{}), told: make(chan struct{}),
	}
	for i, s := range sessions {
		if s == nil {
			return nil, fmt.Errorf("%w: party %d has no session", store.ErrInvalid, i)
		}
		if s.set.node != sessions[0].set.node || s.set.durable != sessions[0].set.durable {
			return nil, fmt.Errorf("%w: party %d (%s/%s) is open on another node, or in another mode", store.ErrInvalid, i, s.set.name, s.key)
		}
		t.parties = append(t.parties, &party{trade: t, session: s, index: i})
	}
	t.order = slices.SortedFunc(slices.Values(t.parties), func(a, b *party) int {
		return cmp.Or(strings.Compare(a.session.set.name, b.session.set.name), strings.Compare(a.session.key, b.session.key))
	})
	for i, p := range t.order[1:] {
		if p.recordKey() == t.order[i].recordKey() {
			return nil, p.refuse(fmt.Errorf("%w: it is party %d too", store.ErrInvalid, t.order[i].index))
		}
	}
	if set := sessions[0].set; !set.durable.Abilities().MultiKey {
		return nil, fmt.Errorf("the store writes one key a transaction: %w", store.ErrUnsupported)
	}
	if t.src.ID == "" {
		t.src.ID = sessions[0].set.node.NewToken("trade", sessions[0].key)
	}
	if t.src.Kind == "" {
		t.src.Kind = SourceGame
	}
	var err error
	t.digest, err = t.requestDigest(ops)
	return t, err
}

// requestDigest stands for the parties of the trade and what is to be done with each, in
// whatever order they were named.
func (t *trade) requestDigest(ops [][]doc.Op) (string, error) {
	h := sha256.New()
	for _, p := range t.order {
		what := "whatever a function says"
		if ops != nil {
			var err error
			if what, err = doc.OpsDigest(ops[p.index]); err != nil {
				return "", p.refuse(err)
			}
		}
		_, _ = io.WriteString(h, p.recordKey()+" "+what+"\n")
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// trade freezes the parties, stages, and sends. What is sent is seen through without the
// caller.
func (t *trade) trade(ctx context.Context, fn func([]doc.Value) ([][]doc.Op, error)) (Traded, error) {
	if err := t.pay(ctx); err != nil {
		return Traded{}, notDone(err)
	}
	known, err := t.freeze(ctx)
	if err != nil || known != nil {
		return deref(known), err
	}
	sent := false
	defer func() {
		if !sent {
			t.thaw()
		}
	}()
	if err := t.await(ctx); err != nil {
		return Traded{}, err
	}
	if err := t.stage(fn); err != nil {
		return Traded{}, err
	}
	sent = true
	t.parties[0].session.set.tasks.start(t.run)
	select {
	case <-t.told:
	case <-ctx.Done():
		select {
		case <-t.decided:
		default:
			return Traded{}, fmt.Errorf("%w: %w", context.Cause(ctx), store.ErrUnknown)
		}
	}
	return t.traded(), t.err
}

func deref(t *Traded) Traded {
	if t == nil {
		return Traded{}
	}
	return *t
}

func (t *trade) traded() Traded {
	out := Traded{ID: t.src.ID, Commits: make([]Commit, len(t.parties))}
	for i, p := range t.parties {
		out.Commits[i] = p.commit
	}
	return out
}

// pay waits for the budget of the write, which counts once for each record.
func (t *trade) pay(ctx context.Context) error {
	for _, p := range t.parties {
		if err := p.session.set.node.Pass(ctx, node.ClassSave, node.KindWrite); err != nil {
			return fmt.Errorf("wait for budget: %w", err)
		}
	}
	return nil
}

// notDone puts an error of the time before anything was sent into words of which nobody takes
// the outcome for unknown.
func notDone(err error) error {
	if store.OutcomeOf(err) == store.NotDone {
		return err
	}
	var ended *EndedError
	if errors.As(err, &ended) {
		return err
	}
	return fmt.Errorf("%w: nothing was sent: %v", store.ErrUnavailable, err) //nolint:errorlint // it may carry an ErrUnknown
}

// stage makes the commits of all parties, in memory: all or none.
func (t *trade) stage(fn func([]doc.Value) ([][]doc.Op, error)) error {
	data, err := t.data()
	if err != nil {
		return err
	}
	ops, err := fn(slices.Clone(data))
	if err != nil {
		return err
	}
	if len(ops) != len(t.parties) {
		return fmt.Errorf("%w: operations for %d parties expected, got %d", store.ErrInvalid, len(t.parties), len(ops))
	}
	for i, p := range t.parties {
		st, err := p.session.set.stage(data[i], t.src, ops[i])
		if err != nil {
			return p.refuse(err)
		}
		p.commit = Commit{
			ID: t.src.ID, Time: p.session.set.node.Now(), Source: t.src, Edits: st.edits, Data: st.after,
			Claim: "trade/" + t.src.ID, Reports: st.reports,
		}
	}
	return nil
}

// data is what the parties have, unless one of them cannot trade any more.
func (t *trade) data() ([]doc.Value, error) {
	t.lock()
	defer t.unlock()
	out := make([]doc.Value, len(t.parties))
	for i, p := range t.parties {
		if err := p.session.mayTradeLocked(); err != nil {
			return nil, p.refuse(err)
		}
		out[i] = p.session.mu.data
	}
	return out, nil
}
