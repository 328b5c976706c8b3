package profile

import (
	"context"
	"errors"
	"fmt"
	"sync"
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

	version  store.Version // of the own note as last written or seen; 0: none
	landed   time.Time     // when the ask landed, or was accepted; zero: not yet
	accepted bool
	nextAsk  time.Time
	fails    int           // asks that could not be left
	inRecord store.Version // of the record that carries the ask; 0: none does
	withAsk  record

	note  noteState
	rival asker // whose ask stands in place of this load's

	first, latest node.Look
	nextLook      time.Time
	journal       *journalReading // read after the record had been read at journalAt
	journalAt     store.Version
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
			v.askAgain(ctx, r)
		case waitOn:
		}
		if err := v.rest(ctx, r); err != nil {
			return r, err
		}
		next, ok := v.look(ctx, r)
		switch {
		case !ok:
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
	var wg sync.WaitGroup
	if !v.load.opts.Quiet && v.version == 0 {
		wg.Go(func() { v.tell(ctx) })
		wg.Go(func() { v.ask(ctx, r) })
	}
	var s sighting
	if v.latest.At.IsZero() {
		wg.Go(func() { s.lookAt(ctx, v) })
	}
	wg.Wait()
	v.judge(s, r.version)
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
	if a, ok := r.record.asked(v.target); ok && v.inRecord != 0 {
		f.bidden = a.token != v.token
	}
	if !v.latest.At.IsZero() {
		f.verdict, f.evidence = node.Judge(node.Held{Beating: beating, Age: r.age}, v.first, v.latest, v.load.set.node.Rules())
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

// ask leaves the note; when the fast store does not take it twice, the record carries it.
func (v *vigil) ask(ctx context.Context, r reading) {
	s := v.load.set
	v.nextAsk = s.clk.Now().Add(s.node.Options().AskEvery)
	call, cancel := s.within(ctx)
	version, err := s.node.LeaveNote(call, v.holder, v.noteFor())
	cancel()
	v.version = version
	if err == nil {
		s.stats.asks.Add(1)
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

// askInRecord puts the ask into the record, session untouched: the holder meets it at its
// next save.
func (v *vigil) askInRecord(r reading) {
	s := v.load.set
	if a, ok := r.record.asked(v.target); ok && a.token == v.token {
		return
	}
	version := s.node.NewVersion()
	rec := withAsk(r.record, asker{token: v.token, node: s.node.ID(), target: v.target})
	if err := s.putAs(node.ClassLoad, v.load.key, rec, r.version, version); err != nil {
		return // the next round reads what came of it
	}
	s.stats.asks.Add(1)
	v.inRecord, v.withAsk = version, rec
	v.arrive()
}

// askAgain leaves the ask once more when it is gone or never landed, not more often than the
// holder reads.
func (v *vigil) askAgain(ctx context.Context, r reading) {
	if !v.load.set.clk.Now().Before(v.nextAsk) {
		v.ask(ctx, r)
	}
}

// sleep waits for the next look, or a kick.
func (v *vigil) sleep(ctx context.Context, r reading) error {
	now := v.load.set.clk.Now()
	next := now.Add(v.pollEvery(now))
	next = earlier(next, v.nextLook)
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
	return lazy - time.Duration(v.load.set.node.Random()%uint64(lazy/4))
}

// sighting is what one look at everything has shown.
type sighting struct {
	record  reading
	err     error // the record could not be read
	note    noteState
	version store.Version
	rival   asker
	beat    node.Look
	tried   bool // to look at the beat
	looked  bool // and did
	journal *journalReading
}

// look reads the record and the note, and the beat and the journal when that is due, side by
// side. ok is false when the record could not be read.
func (v *vigil) look(ctx context.Context, r reading) (next reading, ok bool) {
	var (
		s  sighting
		wg sync.WaitGroup
	)
	wg.Go(func() { s.readRecord(ctx, v) })
	if !v.load.opts.Quiet {
		wg.Go(func() { s.readNote(ctx, v) })
	}
	if !v.load.set.clk.Now().Before(v.nextLook) {
		wg.Go(func() { s.lookAt(ctx, v) })
	}
	wg.Wait()
	v.judge(s, r.version)
	if s.note != noteUnread {
		v.note, v.rival = s.note, s.rival
	}
	if s.note == noteMine || s.note == noteAccepted {
		v.version = s.version
		v.arrive()
	}
	if s.note == noteAccepted && !v.accepted {
		v.accepted, v.landed = true, v.load.set.clk.Now()
	}
	if s.err != nil {
		v.load.err = s.err
		return r, false
	}
	return s.record, true
}

// judge takes in a look at the beat. at is the version of the record that was read before.
func (v *vigil) judge(s sighting, at store.Version) {
	set := v.load.set
	if !s.looked {
		if s.tried {
			v.nextLook = set.clk.Now().Add(set.opts.PollEvery)
		}
		return
	}
	v.first, v.latest = node.FirstLook(v.first, s.beat), s.beat
	if s.journal != nil {
		v.journal, v.journalAt = s.journal, at
	}
	v.nextLook = s.beat.At.Add(v.lookAgain())
}

// lookAgain is how long after the latest look the next one may tell more: at once when the
// node could not judge by it, and else when the beat would be too old, or would have stood
// still for long enough; but every beat, since a holder may say that it is closed.
func (v *vigil) lookAgain() time.Duration {
	set := v.load.set
	wait, dead := set.node.Options().Beat, set.node.Rules().DeadAfter
	if !v.latest.MayJudge {
		return min(wait, set.opts.PollEvery)
	}
	if left := dead - v.latest.Age; v.latest.Present && left > 0 {
		wait = min(wait, left+lookSoon)
	}
	if left := dead - v.latest.At.Sub(v.first.At); left > 0 {
		wait = min(wait, left+lookSoon)
	}
	return wait
}

// prefetched is the journal, if it was read after the record had been read as it is now.
func (v *vigil) prefetched(r reading) *journalReading {
	if v.journalAt != r.version {
		return nil
	}
	j := v.journal
	v.journal, v.journalAt = nil, 0 // once: a takeover that starts over reads it again
	return j
}

func (s *sighting) readRecord(ctx context.Context, v *vigil) {
	s.record, s.err = v.load.set.readAs(ctx, node.ClassLoad, v.load.key)
}

func (s *sighting) readNote(ctx context.Context, v *vigil) {
	set := v.load.set
	ctx, cancel := set.within(ctx)
	defer cancel()
	recs, err := set.fast.Get(ctx, node.NoteKey(v.holder, set.name, v.load.key))
	if err != nil {
		return
	}
	s.note = noteNone
	if recs[0].Missing() {
		return
	}
	n, err := node.DecodeNote(recs[0])
	if err != nil {
		return // somebody else's: the ask goes over it
	}
	s.note, s.version = noteStateOf(n, v.target, v.token), n.Version
	s.rival = asker{token: n.Token, node: n.Node, target: n.For}
}

func (s *sighting) lookAt(ctx context.Context, v *vigil) {
	s.tried = true
	call, cancel := v.load.set.within(ctx)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if j, err := v.load.set.glimpse(ctx, v.load.key); err == nil {
			s.journal = j
		}
	})
	beat, err := v.load.set.node.Look(call, v.holder)
	s.beat, s.looked = beat, err == nil
	wg.Wait()
}

// passOn gives the session, which was granted to this load although a newer one had asked,
// to that one. If it cannot be stored, giving up frees the profile.
func (v *vigil) passOn(r reading) error {
	s, l := v.load.set, v.load
	l.last = r
	version := s.node.NewVersion()
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
	n := v.noteFor()
	n.Version, v.version = v.version, 0
	rec, at := v.withAsk, v.inRecord
	v.inRecord = 0
	if n.Version != 0 && v.note != noteOther {
		s.discard(v.holder, n)
	}
	if at != 0 {
		s.tasks.start(func() {
			if err := s.putAs(node.ClassBackground, v.load.key, withoutAsk(rec), at, s.node.NewVersion()); err != nil {
				s.log.Debug("ask left in the record", "key", v.load.key, "err", err)
			}
		})
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
