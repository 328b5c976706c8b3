package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// load is one running Load. What is not guarded belongs to the caller's goroutine.
type load struct {
	set   *Set
	slot  *slot
	key   string
	opts  LoadOptions
	begun time.Time

	kick   chan struct{} // something may have changed: look now
	kicked atomic.Bool   // and nobody has looked since
	cancel context.CancelCauseFunc
	early  *node.Note // an ask that came before the session was there; guarded by the set

	tokens  []string                  // all it has used; changed under the set's lock
	sent    map[store.Version]arrival // claims that were sent, by the version they put
	claims  []openClaim               // claims whose outcome is unknown
	asks    []*vigil                  // holders that were asked
	seize   seizure
	from    string // the last holder that was met
	last    reading
	err     error // the last thing that went wrong
	looked  bool  // the first read has been tried
	fails   int
	clashes int // claims that found another version
}

// openClaim is a claim with an unknown outcome: it may land for as long as the record stands
// at the version on which it was conditional.
type openClaim struct {
	token string
	cond  store.Version
}

// arrival is how a claim came about.
type arrival struct {
	how      How
	evidence node.Evidence
}

// Load opens the profile: it returns when this node holds the session exclusively. A new
// player's profile is created from the template. See [LoadOptions] for what happens when
// another node holds it, and this package's errors for what can go wrong. It ends within
// LoadTimeout (or Wait), or soon after ctx; a load that fails gives back what it took.
func (s *Set) Load(ctx context.Context, key string, opts *LoadOptions) (*Session, error) {
	o, err := opts.withDefaults(&s.opts)
	if err != nil {
		return nil, err
	}
	if err := name.CheckKey("key", key); err != nil {
		return nil, fmt.Errorf("profile: load: %w", err)
	}
	sess, err := s.load(ctx, key, o)
	if err != nil {
		s.stats.loadErrors.Add(1)
		if errors.Is(err, ErrOutbid) {
			s.stats.outbid.Add(1)
		}
		return nil, fmt.Errorf("profile: load %s: %w", key, err)
	}
	return sess, nil
}

func (s *Set) load(caller context.Context, key string, o LoadOptions) (*Session, error) {
	ctx, stop := clock.WithTimeout(caller, s.clk, o.Wait)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := s.newLoad(key, o, cancel)
	if err := s.reserve(ctx, l); err != nil {
		return nil, l.reason(caller, err)
	}
	sess, err := l.run(ctx)
	if err == nil {
		err = caller.Err() // nobody is there to use it
	}
	if err != nil {
		err = l.reason(caller, err)
		if l.has(l.last) {
			s.tellRecord(l.key, l.last.record) // it may have been recovered
		}
		l.giveUp()
		return nil, err
	}
	return s.opened(ctx, l, sess)
}

func (s *Set) newLoad(key string, o LoadOptions, cancel context.CancelCauseFunc) *load {
	return &load{
		set: s, key: key, opts: o, begun: s.clk.Now(),
		kick: make(chan struct{}, 1), cancel: cancel, sent: make(map[store.Version]arrival),
		seize: seizure{set: s, key: key, by: s.node.NewToken("seal", key), schema: s.opts.Schema},
	}
}

// reserve takes the key on this node, so that it has one load or session at most. It waits
// for one that is ending.
func (s *Set) reserve(ctx context.Context, l *load) error {
	for {
		s.mu.Lock()
		if s.refusingLocked() {
			s.mu.Unlock()
			return ErrClosing
		}
		sl := s.mu.slots[l.key]
		if sl == nil {
			l.slot = &slot{key: l.key, load: l, gone: make(chan struct{})}
			s.mu.slots[l.key] = l.slot
			s.mu.Unlock()
			return nil
		}
		over := sl.overLocked()
		s.mu.Unlock()
		if over == nil {
			return ErrOpen
		}
		select {
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// refusingLocked tells that the set takes no more loads.
func (s *Set) refusingLocked() bool {
	if s.mu.closing {
		return true
	}
	select {
	case <-s.node.Closing():
		return true
	default:
		return false
	}
}

// overLocked is closed when what is ending under the key has ended; nil when nothing is.
func (sl *slot) overLocked() <-chan struct{} {
	if sl.session != nil && sl.session.errand {
		return sl.gone
	}
	if sl.session != nil {
		return sl.session.over()
	}
	if sl.load == nil || sl.load.opts.errand {
		return sl.gone // giving back what it took, or soon free
	}
	return nil
}

// reason puts the error of a load into the caller's terms: what was found, who ended it, or
// what went wrong until the deadline.
func (l *load) reason(caller context.Context, err error) error {
	for _, found := range [...]error{
		ErrClosing, ErrOutbid, ErrHeld, ErrInUse, ErrOpen, ErrForeign, ErrNewerSchema, ErrMigration, ErrSchema,
	} {
		if errors.Is(err, found) {
			return err
		}
	}
	switch {
	case caller.Err() != nil:
		return context.Cause(caller)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w after %v: %w", ErrTimeout, l.opts.Wait, errors.Join(l.err, err))
	}
	return err
}

// run goes from reading to reading until the session is this load's.
func (l *load) run(ctx context.Context) (*Session, error) {
	r, err := l.read(ctx)
	for err == nil {
		l.last = r
		if (l.set.opts.AsStored || l.opts.errand) && r.absent() {
			return nil, ErrNoProfile
		}
		switch readStep(r, l.claimant()) {
		case stepLoaded:
			return l.open(r)
		case stepCreate:
			r, err = l.put(ctx, r, created(l.claim(), l.set.node.Now()), arrival{how: Created})
		case stepClaim:
			r, err = l.put(ctx, r, claimed(r.record, l.claim(), l.set.node.Now()), arrival{how: Free})
		case stepHeld:
			l.from = r.record.session.node
			r, err = l.wait(ctx, r)
		case stepOrphan:
			r, err = l.takeOver(ctx, r, node.EvidenceOrphan, nil)
		case stepLater:
			err = l.later(r)
		case stepForeign:
			err = l.foreign(ctx, r)
		}
	}
	return nil, err
}

func (l *load) later(r reading) error {
	if r.problem != nil {
		return fmt.Errorf("%w: %w", ErrNewerSchema, r.problem)
	}
	return fmt.Errorf("%w: schema %d, this release knows %d", ErrNewerSchema, r.record.schema, l.set.opts.Schema)
}

// foreign leaves what is no profile as it is, and copies it.
func (l *load) foreign(ctx context.Context, r reading) error {
	err := fmt.Errorf("%w: %w", ErrForeign, r.problem)
	return errors.Join(err, l.set.quarantine(ctx, quarantineKey(l.set.name, l.key), r.value))
}

func (l *load) claimant() claimant {
	return claimant{
		mine: l.tokens, node: l.set.node.ID(), beating: l.set.node.Beating(),
		schema: l.set.opts.Schema, fresh: l.set.opts.Template,
	}
}

// claim is the claimant of one claim, with a token of its own.
func (l *load) claim() claimant {
	token := l.newToken()
	me := l.claimant()
	me.token = token
	me.fresh, me.schema, _ = l.set.lowered(me.fresh) // the template survives it, as New has found
	return me
}

// newToken is a token that the set knows as this load's.
func (l *load) newToken() string {
	token := l.set.node.NewToken("session", l.key)
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	l.tokens = append(l.tokens, token)
	l.set.mu.tokens[token] = l.slot
	return token
}

// has tells that the record names a session of this load.
func (l *load) has(r reading) bool { return slices.Contains(l.tokens, r.holder()) }

// read reads the record until it succeeds or the load ends.
func (l *load) read(ctx context.Context) (reading, error) {
	for {
		r, err := l.look(ctx)
		if err == nil {
			l.fails = 0
			return r, nil
		}
		if err := l.pause(ctx, err); err != nil {
			return reading{}, err
		}
	}
}

// pause waits a while after a failure, longer each time; an error ends the load.
func (l *load) pause(ctx context.Context, because error) error {
	if errors.Is(because, node.ErrBudget) {
		l.err = because // it names what the load has waited for
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.err = because
	if hopeless(because) {
		return because
	}
	l.fails++
	if err := clock.Sleep(ctx, l.set.clk, min(time.Second, backoff(l.fails, l.set.node.Random("load retry", l.key)))); err != nil {
		return err
	}
	if !speaksOfAnOutage(because) {
		return nil
	}
	select {
	case <-l.set.down():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// put sends a claim, and answers what the record is afterwards.
func (l *load) put(ctx context.Context, from reading, rec record, a arrival) (reading, error) {
	if err := l.afford(ctx); err != nil {
		return reading{}, err
	}
	v := l.set.node.NewVersion("claim", l.key)
	l.sent[v] = a
	call, cancel := l.set.afterwards(ctx)
	tx, rows := l.set.putTx(l.key, rec, from.version, v), l.beside(a)
	err := l.set.commit(call, slices.Concat(tx, rows))
	if unstorable(err) && len(rows) > 0 { // what goes beside it is no reason not to
		err = l.set.commit(call, tx)
	}
	cancel()
	switch claimStepOf(store.OutcomeOf(err)) {
	case claimLanded:
		return reading{version: v, record: rec}, nil
	case claimReadBack:
		l.claims = append(l.claims, openClaim{rec.holder(), from.version})
		l.err = err
	case claimAgain:
		if l.clashes++; isConflict(err) && l.clashes%4 != 0 {
			break // somebody else came first: look what it was
		}
		if err := l.pause(ctx, err); err != nil {
			return reading{}, err
		}
	}
	return l.read(ctx)
}

// beside is what goes with a claim.
func (l *load) beside(a arrival) []store.Write {
	if a.how != Recovered {
		return nil
	}
	return l.seize.beside
}

// takeOver seals, replays and claims (T2 to T4). j is a reading of the journal made after r,
// or nil.
func (l *load) takeOver(ctx context.Context, r reading, evidence node.Evidence, j *journalReading) (reading, error) {
	rec, recovered, err := l.seize.seal(ctx, r, j)
	switch {
	case errors.Is(err, ErrNewerSchema):
		return reading{}, err
	case err != nil:
		if l.clashes++; errors.Is(err, errStartOver) && l.clashes%4 != 0 {
			return l.read(ctx)
		}
		if err := l.pause(ctx, err); err != nil {
			return reading{}, err
		}
		return l.read(ctx)
	}
	a := arrival{how: TakenOver, evidence: evidence}
	if recovered {
		a.how = Recovered
	}
	old := *r.record.session
	l.seize.from, l.seize.token = old.node, old.token
	next, err := l.put(ctx, r, taken(rec, l.claim(), evidence, l.set.node.Now()), a)
	if err == nil && l.has(next) && old.node != l.set.node.ID() {
		n := l.set.noteTaken(l.key, next.holder(), old.token)
		l.set.tasks.start(func() { l.set.tellTaken(old.node, n) })
	}
	return next, err
}

// wake has a waiting load look at once.
func (l *load) wake() {
	l.kicked.Store(true)
	select {
	case l.kick <- struct{}{}:
	default:
	}
}
