package profile

import (
	"context"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// errand is a call that a wait has made and does not wait for: one at a time.
type errand[T any] struct {
	answer chan T        // nil: none is under way
	at     store.Version // of the record that was known when it began
	late   bool          // it outlasted the round in which it began
}

func (e *errand[T]) running() bool { return e.answer != nil }

// slow tells that one is under way since an earlier round.
func (e *errand[T]) slow() bool { return e.running() && e.late }

// start has do called on a goroutine of the set.
func (e *errand[T]) start(s *Set, do func() T) {
	answer := make(chan T, 1)
	e.answer, e.late = answer, false
	s.tasks.start(func() { answer <- do() })
}

// await waits for the answer, which ends the errand.
func (e *errand[T]) await() T {
	a := <-e.answer
	e.answer = nil
	return a
}

// within is await until over; ok is false when the errand is not under way, or goes on.
func (e *errand[T]) within(over <-chan struct{}) (answer T, ok bool) {
	if e.answer == nil {
		return answer, false
	}
	select {
	case answer = <-e.answer: // an answer that is there goes first
	default:
		select {
		case answer = <-e.answer:
		case <-over:
			e.late = true
			return answer, false
		}
	}
	e.answer = nil
	return answer, true
}

// noteSeen is what a read of the note has shown.
type noteSeen struct {
	note    noteState
	version store.Version
	rival   asker
	answers int // to the own notes, when it began
}

// beatSeen is what a look at the holder's beat, and a read of the journal beside it, have shown.
type beatSeen struct {
	beat    node.Look
	err     error
	journal *journalReading // nil: not read
}

// look is one round: it reads the record and the note, and the beat and the journal when that
// is due, side by side. Only the record is waited for: the others speed things up, and a fast
// store that does not answer must not slow them down. ok is false when the record could not
// be read.
func (v *vigil) look(ctx context.Context, r reading) (next reading, ok bool) {
	if !v.load.opts.Quiet && !v.reading.running() && !v.asking.running() {
		v.reading.at = r.version
		answers := v.answers
		v.reading.start(v.load.set, func() noteSeen { return v.readNote(ctx, answers) })
	}
	if !v.load.set.clk.Now().Before(v.nextLook) {
		v.lookOut(ctx, r)
	}
	next, err := v.load.set.readAs(ctx, node.ClassLoad, v.load.key)
	if err != nil {
		v.load.err, next = err, r
	}
	v.gather(ctx, next)
	return next, err == nil
}

// gather takes in what the errands bring; r is the record as it is known now. Where all began
// in this round it waits for them a little, because a record is read best beside its note.
func (v *vigil) gather(ctx context.Context, r reading) {
	over, cancel := v.patience(ctx)
	defer cancel()
	if a, ok := v.asking.within(over); ok {
		v.hasAsked(ctx, r, a)
	}
	if s, ok := v.reading.within(over); ok {
		v.noted(s)
	}
	stale := v.looking.at != r.version // the record has moved since
	if s, ok := v.looking.within(over); ok {
		v.judge(s, v.looking.at, stale)
	}
}

// patience ends after PollEvery, or at once when an errand of an earlier round is under way:
// the fast store is slow then.
func (v *vigil) patience(ctx context.Context) (over <-chan struct{}, cancel context.CancelFunc) {
	if v.asking.slow() || v.reading.slow() || v.looking.slow() {
		gone := make(chan struct{})
		close(gone)
		return gone, func() {}
	}
	call, cancel := clock.WithTimeout(ctx, v.load.set.clk, v.load.set.opts.PollEvery)
	return call.Done(), cancel
}

// noted takes in a read of the note. One that began before the own note was answered shows
// what stood there before it.
func (v *vigil) noted(s noteSeen) {
	if s.answers != v.answers && s.note != noteMine && s.note != noteAccepted {
		return
	}
	if s.note != noteUnread {
		v.note, v.rival = s.note, s.rival
	}
	if s.note == noteMine || s.note == noteAccepted {
		if s.answers == v.answers { // else an earlier one of this load's was seen
			v.version = s.version
		}
		v.arrive()
	}
	if s.note == noteAccepted && !v.accepted {
		v.accepted, v.landed = true, v.load.set.clk.Now()
	}
}

// judge takes in a look at the beat, with the journal that was read beside it after the record
// had been read at version at. A stale look began before the record as it is now was written:
// it says nothing about the holder of that one.
func (v *vigil) judge(s beatSeen, at store.Version, stale bool) {
	set := v.load.set
	if s.err != nil || stale {
		v.nextLook = set.clk.Now().Add(set.opts.PollEvery)
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
	rules := set.node.Rules()
	if !v.latest.MayJudge {
		return min(rules.Beat, set.opts.PollEvery)
	}
	still := node.StillFor(v.first, v.latest)
	age := rules.DeadAfter - v.latest.Age
	if age < 0 {
		age = rules.Settled() - still // too old already, and seen for too short
	}
	wait := rules.Beat
	for _, left := range []time.Duration{age, rules.DeadAfter - still} {
		if left > 0 {
			wait = min(wait, left+lookSoon)
		}
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

// readNote reads the note that waits for the holder.
func (v *vigil) readNote(ctx context.Context, answers int) noteSeen {
	set := v.load.set
	ctx, cancel := set.within(ctx)
	defer cancel()
	recs, err := set.fast.Get(ctx, node.NoteKey(v.holder, set.name, v.load.key))
	if err != nil {
		return noteSeen{}
	}
	seen := noteSeen{note: noteNone, answers: answers}
	n, err := node.DecodeNote(recs[0])
	if recs[0].Missing() || err != nil { // somebody else's: the ask goes over it
		return seen
	}
	seen.note, seen.version = noteStateOf(n, v.target, v.token), n.Version
	seen.rival = asker{token: n.Token, node: n.Node, target: n.For}
	return seen
}

// lookOut has the beat looked at, and the journal read beside it, unless that is under way.
func (v *vigil) lookOut(ctx context.Context, r reading) {
	if v.looking.running() {
		return
	}
	set := v.load.set
	v.looking.at = r.version
	v.looking.start(set, func() beatSeen {
		call, cancel := set.within(ctx)
		defer cancel()
		var (
			s  beatSeen
			wg sync.WaitGroup
		)
		wg.Go(func() {
			if j, err := set.glimpse(ctx, v.load.key); err == nil {
				s.journal = j
			}
		})
		s.beat, s.err = set.node.Look(call, v.holder)
		wg.Wait()
		return s
	})
}
