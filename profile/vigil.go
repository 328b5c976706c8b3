package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// vigil is a load's wait for one session of another node: its ask, and what it has seen.
type vigil struct {
	load   *load
	token  string // of the session that is asked for
	target string // token of the session that stands in the way
	holder string // its node
	begun  time.Time

	version   store.Version // of the own note as last written or seen; 0: none
	landed    time.Time     // when the ask landed, or was accepted; zero: not yet
	accepted  bool
	nextAsk   time.Time
	fails     int           // asks that could not be left
	answers   int           // to notes that were left
	unsure    bool          // the last one may still land
	inRecord  store.Version // of the record that carries the ask; 0: none does
	withAsk   record
	written   time.Time     // when it was
	blind     store.Version // of the record that says the holder may not read its notes, once that was dealt with
	inPlaceOf store.Version // of the record that was read before: what it says is older

	note  noteState
	rival asker // whose ask stands in place of this load's

	first, latest node.Look
	nextLook      time.Time
	journal       *journalReading // read after the record had been read at journalAt
	journalAt     store.Version

	// Calls to the fast store that are under way: at most one of each.
	asking  errand[asked]
	reading errand[noteSeen]
	looking errand[beatSeen]
}

const (
	eagerFor  = 15 * time.Second // polls come every PollEvery for so long
	firstLazy = time.Second      // then they become rarer, from here
	lastLazy  = 5 * time.Second  // to here
	lookSoon  = 5 * time.Millisecond
)

// vigilFor is the load's wait for the session that the record names; one session is waited
// for once, however often the load starts over.
func (l *load) vigilFor(r reading) *vigil {
	for _, v := range l.asks {
		if v.target == r.holder() {
			return v
		}
	}
	v := &vigil{load: l, token: l.newToken(), target: r.holder(), holder: r.record.session.node, begun: l.set.clk.Now()}
	l.asks = append(l.asks, v)
	return v
}

// wait asks the holder and watches, until the record is another or the session may be taken.
func (l *load) wait(ctx context.Context, r reading) (reading, error) {
	for _, v := range l.asks {
		if v.target != r.holder() {
			v.withdraw()
		}
	}
	v := l.vigilFor(r)
	v.start(ctx, r)
	for {
		step, evidence := waitStepOf(v.facts(r))
		switch step {
		case waitOutbid:
			return r, ErrOutbid
		case waitInUse:
			return r, fmt.Errorf("%w by node %s", ErrInUse, v.holder)
		case waitHeld:
			return r, fmt.Errorf("%w: node %s", ErrHeld, v.holder)
		case waitTakeOver:
			return l.takeOver(ctx, r, evidence, v.prefetched(r))
		case waitAsk:
			v.askAgain(ctx)
		case waitOn:
		}
		v.askBlind(ctx, r)
		if err := v.rest(ctx, r); err != nil {
			return r, err
		}
		next, ok := v.look(ctx, r)
		switch {
		case !ok:
			v.sitOut(ctx)
		case l.has(next) && v.note == noteOther:
			return next, v.passOn(next)
		case outbid(v.note, next):
			return next, ErrOutbid
		case next.holder() != v.target:
			return next, nil
		default:
			r = next
		}
	}
}

// start leaves the ask and takes the first look, side by side. A wait that goes on after
// the load has started over begins with what it knows.
func (v *vigil) start(ctx context.Context, r reading) {
	if !v.load.opts.Quiet && v.version == 0 && !v.asking.running() {
		v.load.set.tasks.start(func() { v.tell(ctx) })
		v.ask(ctx)
	}
	if v.latest.At.IsZero() {
		v.lookOut(ctx, r)
	}
	v.gather(ctx, r)
}

// facts are what waitStepOf needs.
func (v *vigil) facts(r reading) waitFacts {
	o, now := &v.load.opts, v.load.set.clk.Now()
	beating := r.record.session.beating
	f := waitFacts{
		policy: o.Policy, quiet: o.Quiet, vouches: beating, verdict: node.Undecided, note: v.note,
		landed: !v.landed.IsZero(), stealAfter: patience(o.StealAfter, v.load.set.opts.FallbackSave, beating),
	}
	if f.landed {
		f.waited = now.Sub(v.landed)
	}
	if a, ok := r.record.asked(v.target); ok && v.inRecord != 0 && r.version != v.inPlaceOf {
		f.bidden = a.token != v.token
	}
	if !v.latest.At.IsZero() {
		f.verdict, f.evidence = node.Judge(node.Held{Beating: beating, Age: r.idle()}, v.first, v.latest, v.load.set.node.Rules())
	}
	return f
}

func (v *vigil) noteFor() node.Note {
	return node.Note{
		Kind: node.NoteAsk, Set: v.load.set.name, Key: v.load.key,
		Token: v.token, Node: v.load.set.node.ID(), For: v.target,
	}
}

// tell sends the ask on the bus.
func (v *vigil) tell(ctx context.Context) {
	ctx, cancel := v.load.set.within(ctx)
	defer cancel()
	if err := v.load.set.node.Tell(ctx, v.holder, v.noteFor()); err != nil {
		v.load.set.log.DebugContext(ctx, "ask not told", "key", v.load.key, "holder", v.holder, "err", err)
	}
}

// asked is what came of leaving the note.
type asked struct {
	version store.Version
	err     error
}

// ask has the note left, which takes as long as it takes.
func (v *vigil) ask(ctx context.Context) {
	s := v.load.set
	v.nextAsk = s.clk.Now().Add(s.node.Options().AskEvery)
	v.asking.start(s, func() asked {
		call, cancel := s.afterwards(ctx) // the load's end must not make it unknown at once
		defer cancel()
		version, err := s.leaveNote(call, v.holder, v.noteFor())
		return asked{version, err}
	})
}

// hasAsked takes in what came of it; when the fast store does not take the note twice, the
// record carries the ask.
func (v *vigil) hasAsked(ctx context.Context, r reading, a asked) {
	v.answers++
	v.version, v.unsure = a.version, store.OutcomeOf(a.err) == store.Unknown
	if a.err == nil {
		v.load.set.stats.asks.Add(1)
		v.fails, v.note = 0, noteMine
		v.arrive()
		return
	}
	v.fails++
	if v.fails >= 2 && ctx.Err() == nil {
		v.askInRecord(r)
	}
}

func (v *vigil) arrive() {
	if v.landed.IsZero() {
		v.landed = v.load.set.clk.Now()
	}
}

// askBlind puts the ask into the record too when the record says that the holder's beats do not
// land: such a holder may be cut off from the fast store, and not read its notes.
func (v *vigil) askBlind(ctx context.Context, r reading) {
	t := r.record.session
	if v.load.opts.Quiet || ctx.Err() != nil || t == nil || t.beating || v.landed.IsZero() {
		return
	}
	if _, ok := r.record.asked(v.target); ok || r.version == v.blind || r.version == v.inPlaceOf {
		return
	}
	v.blind = r.version
	v.askInRecord(r)
}

// askInRecord puts the ask into the record, session untouched: the holder meets it at its
// next save.
func (v *vigil) askInRecord(r reading) {
	s := v.load.set
	if r.holder() != v.target {
		return
	}
	if a, ok := r.record.asked(v.target); ok && a.token == v.token { // an answer was lost
		v.inRecord, v.withAsk, v.written = r.version, r.record, s.clk.Now().Add(-r.age)
		v.arrive()
		return
	}
	version := s.node.NewVersion("ask", v.load.key)
	rec := withAsk(r.record, asker{token: v.token, node: s.node.ID(), target: v.target}, r.age)
	if err := s.putAs(node.ClassLoad, v.load.key, rec, r.version, version); err != nil {
		return // the next round reads what came of it
	}
	s.stats.asks.Add(1)
	v.inRecord, v.withAsk, v.inPlaceOf, v.written = version, rec, r.version, s.clk.Now()
	v.arrive()
}

// askAgain leaves the ask once more when it is gone or never landed, not more often than the
// holder reads.
func (v *vigil) askAgain(ctx context.Context) {
	if !v.asking.running() && !v.load.set.clk.Now().Before(v.nextAsk) {
		v.ask(ctx)
	}
}

// sleep waits for the next look, or a kick.
func (v *vigil) sleep(ctx context.Context, r reading) error {
	now := v.load.set.clk.Now()
	next := now.Add(v.pollEvery(now))
	if !v.looking.running() {
		next = earlier(next, v.nextLook)
	}
	if !v.landed.IsZero() {
		f := v.facts(r)
		if at := v.landed.Add(f.stealAfter); at.After(now) {
			next = earlier(next, at)
		}
	}
	t := v.load.set.clk.NewTimer(max(next.Sub(now), time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C():
	case <-v.load.kick:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// pollEvery is PollEvery at first, and 1 to 5 s with some chance in it later on.
func (v *vigil) pollEvery(now time.Time) time.Duration {
	waited := now.Sub(v.begun)
	if waited < eagerFor {
		return v.load.set.opts.PollEvery
	}
	lazy := min(lastLazy, firstLazy+(waited-eagerFor)/10)
	return lazy - time.Duration(v.load.set.node.Random("poll", v.load.key)%uint64(lazy/4))
}

// passOn gives the session, which was granted to this load although a newer one had asked,
// to that one. If it cannot be stored, giving up frees the profile.
func (v *vigil) passOn(r reading) error {
	s, l := v.load.set, v.load
	l.last = r
	version := s.node.NewVersion("pass on", l.key)
	rec := passedOn(r.record, v.rival, s.node.Now())
	err := s.putAs(node.ClassSave, l.key, rec, r.version, version)
	if err == nil {
		l.last = reading{version: version, record: rec}
		s.tasks.start(func() { s.tellGrantee(l.key, rec.session, r.holder()) })
		return ErrOutbid
	}
	return errors.Join(ErrOutbid, err)
}

// withdraw takes the ask away, in the background: the note if it is still this load's, and
// the ask in the record if nobody has written it since.
func (v *vigil) withdraw() {
	s := v.load.set
	if late := v.asking; late.running() {
		v.asking = errand[asked]{}
		s.tasks.start(func() { v.withdrawLate(late) })
	}
	n := v.noteFor()
	n.Version, v.version = v.version, 0
	rec, at, age := v.withAsk, v.inRecord, s.clk.Now().Sub(v.written)
	v.inRecord = 0
	if n.Version != 0 && v.note != noteOther {
		s.discardAsk(v.holder, n, v.unsure)
	}
	if at != 0 {
		s.tasks.start(func() {
			if err := s.putAs(node.ClassBackground, v.load.key, withoutAsk(rec, age), at, s.node.NewVersion("take ask back", v.load.key)); err != nil {
				s.log.Debug("ask left in the record", "key", v.load.key, "err", err)
			}
		})
	}
}

// withdrawLate takes away the note that was on its way when it was to be withdrawn.
func (v *vigil) withdrawLate(asking errand[asked]) {
	n, a := v.noteFor(), asking.await()
	n.Version = a.version
	v.load.set.discardAsk(v.holder, n, store.OutcomeOf(a.err) == store.Unknown)
}

// discardAsk removes an ask that nobody waits for any more, and looks again later for one that
// may still land: its holder would let go for nobody.
func (s *Set) discardAsk(holder string, n node.Note, unsure bool) {
	s.discard(holder, n)
	if unsure {
		half := s.node.Options().AskEvery / 2 // before the holder reads its notes again, if it can be
		for _, times := range [...]int{1, 2, 3, 4, 5, 6, 10, 20} {
			s.discardAt(holder, n, s.clk.Now().Add(time.Duration(times)*half))
		}
	}
}

// grace is how long a claim that is under way may still take when its load has ended: an
// answer is worth more than a lost one.
const grace = time.Second

// afterwards is a context that ends grace after ctx, and with the set.
func (s *Set) afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	call, cancel := s.call()
	stop := context.AfterFunc(ctx, func() {
		_ = clock.Sleep(call, s.clk, grace)
		cancel()
	})
	return call, func() { stop(); cancel() }
}
