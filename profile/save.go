package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// Save returns when everything committed so far is stored in the durable store. Calls join
// the write that waits, so that any number of them costs two writes at most; an unchanged
// profile is not written. It never changes who holds the session.
//
// An error says whether the data is stored: store.OutcomeOf sorts it. Not done or unknown,
// the session tries again by itself, later and later. When ctx ends first the write may
// still happen, and the error is an ErrUnknown. ErrTooLarge means that the data is over
// HardBytes without a transaction having made it so, and that what was stored is kept.
func (s *Session) Save(ctx context.Context) error {
	s.mu.Lock()
	if err := s.endedLocked(); err != nil {
		s.mu.Unlock()
		return err
	}
	if !s.dirtyLocked() {
		s.mu.Unlock()
		return nil
	}
	t := s.joinLocked()
	s.mu.Unlock()
	select {
	case <-t.done:
		return s.saveError(t.err)
	case <-ctx.Done():
		return s.saveError(fmt.Errorf("%w: %w", context.Cause(ctx), store.ErrUnknown))
	}
}

func (s *Session) saveError(err error) error {
	var ended *EndedError
	if err == nil || errors.As(err, &ended) {
		return err
	}
	return fmt.Errorf("profile: save %s: %w", s.key, err)
}

// joinLocked is the write that will hold everything committed so far.
func (s *Session) joinLocked() *ticket {
	w := &s.mu.write
	if w.flying != nil && w.flying.taken && w.flying.revision == s.mu.revision {
		return w.flying
	}
	if w.waiting == nil {
		w.waiting = newTicket()
	}
	s.queueLocked(urgent)
	return w.waiting
}

// queueLocked puts the session into a lane, once. While a worker is at it, the worker looks
// itself for more when it is done; so does a trade.
func (s *Session) queueLocked(l lane) {
	if s.mu.write.working || s.mu.write.queued[l] || s.mu.reason != 0 || s.mu.trade != nil {
		return
	}
	s.mu.write.queued[l] = true
	s.enterLocked(l)
}

// job is what a worker does next with a session.
type job uint8

const (
	jobNone job = iota
	jobSave
	jobFinal
	jobVerify
)

// jobLocked picks it: a session that may be lost looks first, and then its end goes before
// everything else.
func (s *Session) jobLocked(now time.Time) job {
	w := &s.mu.write
	switch {
	case s.mu.trade != nil: // it has the session's writes to itself, and looks for more in the end
	case w.verify:
		return jobVerify
	case s.mu.leaving != nil && s.mu.leaving.ready && w.mayTry(now):
		return jobFinal
	case s.mu.frozen: // a final save comes first
	case w.owed && w.mayTry(now), w.waiting != nil && s.dirtyLocked():
		return jobSave
	}
	return jobNone
}

// mayTry tells that no back-off stands against another try.
func (w *writing) mayTry(now time.Time) bool { return w.fails == 0 || !now.Before(w.retry) }

// work does one job. Only one worker is at a session at a time.
func (s *Session) work(l lane) {
	s.mu.Lock()
	s.mu.write.queued[l] = false
	if s.mu.write.working || s.mu.reason != 0 {
		s.mu.Unlock()
		return
	}
	s.mu.write.working = true
	j := s.jobLocked(s.set.clk.Now())
	s.mu.Unlock()

	switch j {
	case jobFinal:
		s.write(true)
	case jobSave:
		s.write(false)
	case jobVerify:
		s.verify()
	case jobNone:
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.write.working = false
	s.mu.trade.restLocked()
	if s.mu.reason != 0 {
		return
	}
	s.answerLocked()
	if s.jobLocked(s.set.clk.Now()) != jobNone {
		s.queueLocked(urgent)
	} else {
		s.mu.write.paid = false
	}
	s.planLocked()
}

// answerLocked answers those who wait for what is stored already.
func (s *Session) answerLocked() {
	if t := s.mu.write.waiting; t != nil && !s.dirtyLocked() {
		s.mu.write.waiting = nil
		t.finish(nil)
	}
}

// maxTries bounds how often a write is sent again on what a read-back showed.
const maxTries = 8

// write stores a snapshot, and ends the session if it is the final one (rule H2).
func (s *Session) write(final bool) {
	var err error
	for range maxTries {
		if err = s.pay(); err != nil {
			s.unpaid(final, err)
			return
		}
		sent := s.set.clk.Now()
		d, ok := s.compose(final)
		if !ok {
			return
		}
		rec, a := d.rec, d.attempt
		if !d.renewal {
			rec = s.set.asStored(s.key, rec)
		}
		err = s.set.put(s.key, rec, d.cond, a.version, append(d.beside.writes(s.set, s.key), d.rows...)...)
		step := s.settle(a, err)
		switch {
		case !unstorable(err):
		case !d.beside.empty():
			s.forgoBeside(err)
			step = saveAgain
		case len(d.rows) > 0: // it may be the claim that can never be stored
			s.void(err)
			step = saveAgain
		}
		if step == saveReadBack {
			step, err = s.readBack(a, err)
		}
		switch step {
		case saveDone:
			s.landed(rec, a, sent)
			return
		case saveLost:
			s.end(Lost)
			return
		case saveRefused, saveReadBack:
			s.failed(a, err, step == saveRefused)
			return
		case saveAgain:
		}
	}
	s.failed(attempt{final: final}, fmt.Errorf("%d writes in a row found another version: %w", maxTries, errors.Join(err, store.ErrUnknown)), false)
}

// composed is one save before it is sent.
type composed struct {
	attempt
	rec     record // with live data, unless it is a renewal
	renewal bool   // it keeps what is stored
	cond    store.Version
	rows    []store.Write // of a claim
	beside  beside
}

// compose takes the snapshot and makes the next record of it. ok is false when there is
// nothing left to do.
func (s *Session) compose(final bool) (d composed, ok bool) {
	now, beating, version := s.set.node.Now(), s.set.node.Beating(), s.set.node.NewVersion("save", s.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	lv := s.mu.leaving
	if s.mu.reason != 0 || final && lv == nil || !final && s.mu.frozen {
		return composed{}, false
	}
	snap := snapshot{data: s.mu.data, revision: s.mu.revision, schema: s.mu.schema, marks: s.mu.marks, handled: s.mu.handled, beating: beating}
	rec, a := saved(s.mu.rec, snap, now), attempt{version: version, revision: snap.revision, final: final}
	a.opened = s.mu.journal.hold.opened()
	a.live = snap.data.Size()
	rows := s.rowsLocked()
	if d.renewal = s.mu.rec.revision > snap.revision || s.keepsStoredLocked(); d.renewal {
		rec, a.revision, a.live, rows = renewed(s.mu.rec, snap, now), s.mu.rec.revision, 0, nil
	} else {
		s.mu.journal.tracks.cut(snap.data, snap.revision)
		d.beside, rec = s.besideLocked(rec, now)
	}
	if final {
		s.mu.frozen = true
		rec = lv.last(rec, now)
	}
	w := &s.mu.write
	if w.flying == nil {
		w.flying, w.waiting = w.waiting, nil
	}
	if w.flying == nil { // for whom comes from now on, and has committed nothing more
		w.flying = newTicket()
	}
	w.flying.taken, w.flying.revision = true, snap.revision
	return composed{attempt: a, rec: rec, renewal: d.renewal, cond: s.mu.hold.version, rows: rows, beside: d.beside}, true
}

// settle takes in the answer to a write.
func (s *Session) settle(a attempt, err error) saveStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, step := answered(s.mu.hold, a, err)
	s.mu.hold = h
	if h.bound() {
		s.listLocked()
	}
	return step
}

// readBack reads the record after a conflict or a lost answer. A failed read leaves open
// what happened: saveReadBack, with an error that is an ErrUnknown unless the write was
// certainly not done.
func (s *Session) readBack(a attempt, because error) (saveStep, error) {
	taken, err := s.rowTaken()
	if err != nil {
		return saveReadBack, errors.Join(because, err)
	}
	r, err := s.set.readAs(s.set.life(), node.ClassSave, s.key)
	if err != nil {
		return saveReadBack, errors.Join(because, err)
	}
	s.mu.Lock()
	h, step := readBack(s.mu.hold, a, r)
	s.mu.hold = h
	if step == saveAgain {
		s.mu.rec = r.record // what was written is taken in by landed
		s.savedLocked(0)
		if taken != nil {
			s.refuseLocked(taken)
		}
	}
	s.mu.Unlock()
	if step == saveAgain { // it may hold an earlier write whose answer was lost
		s.tellStored()
	}
	if ask, ok := r.record.asked(s.token); ok && step == saveAgain && r.age <= s.set.opts.LoadTimeout {
		s.leave(HandedOver, &ask)
	}
	return step, because
}

// landed takes in a write that is stored.
func (s *Session) landed(rec record, a attempt, sent time.Time) {
	s.set.stats.saves.Add(1)
	beating := s.set.node.Beating()
	s.mu.Lock()
	renewal := a.revision == s.mu.rec.revision
	s.mu.rec = rec
	if a.live > 0 {
		s.mu.gain = max(0, a.live-rec.data.Size())
	}
	w := &s.mu.write
	w.last, w.anchor, w.fails = sent, sent, 0
	w.owed = rec.session != nil && rec.session.beating != beating
	if a.opened != 0 { // it stands for the autosave that would have come next
		w.anchor = sent.Add(s.set.opts.Autosave + spread(s.key, s.set.opts.Autosave/2))
	}
	s.savedLocked(a.opened)
	w.owed = w.owed || s.mu.journal.hold.opened() != 0 // it landed while this save was under way
	t, lv := w.flying, s.mu.leaving
	w.flying = nil
	err := s.keptLocked(rec)
	if a.final {
		s.mu.unstored = keptError(err)
	}
	s.mu.Unlock()
	if renewal {
		s.set.stats.renewals.Add(1)
	}
	if err != nil {
		s.set.stats.overHard.Add(1)
		s.set.log.ErrorContext(s.set.life(), "data over the budget: what was stored is kept", "key", s.key, "err", err)
	}
	s.tellStored()
	if t != nil {
		t.finish(err)
	}
	if a.final {
		s.left(lv)
	}
}

// keptError says what became of the last commits.
func keptError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("what was stored is kept: %w", err)
}

// keptLocked is the error of a save that kept what was stored, nil of one that did not.
func (s *Session) keptLocked(rec record) error {
	if !s.keepsStoredLocked() {
		return nil
	}
	return overHard(rec.data, s.mu.data, s.set.opts.HardBytes)
}

// keepsStoredLocked tells that a save keeps what is stored. The journal must not acknowledge
// then what the save at the end would drop.
func (s *Session) keepsStoredLocked() bool {
	return s.wouldKeepLocked(s.mu.data)
}

// wouldKeepLocked tells that a save of this data would keep what is stored. Sizes are compared
// in the game's form: the stored one may be shorter.
func (s *Session) wouldKeepLocked(data doc.Value) bool {
	size, limit := data.Size(), s.set.opts.HardBytes
	return size > limit && keepStored(s.mu.rec.data.Size()+s.mu.gain, size, limit)
}

// failed takes in a write that was refused for certain, or whose outcome stays open. A final
// save that was refused un-freezes the session, unless an earlier one may still land.
func (s *Session) failed(a attempt, err error, certain bool) {
	s.set.stats.saveErrors.Add(1)
	now := s.set.clk.Now()
	s.mu.Lock()
	w := &s.mu.write
	w.fails++
	w.retry = now.Add(backoff(w.fails, s.set.node.Random("save retry", s.key)))
	t := w.flying
	w.flying = nil
	if a.final && certain && !s.mu.hold.bound() && !s.mu.void {
		s.mu.frozen = false
		s.giveUpLocked(now)
	}
	w.owed = w.owed || len(s.mu.cuts) > 0                                     // everything waits for it
	if len(s.mu.cuts) > 0 || s.mu.frozen || s.mu.journal.hold.opened() != 0 { // a save is what they wait for
		s.refuseSyncsLocked(errUnjournaled)
	}
	s.listLocked()
	open := !certain || s.mu.hold.loose // an earlier one may still land
	s.mu.Unlock()
	s.set.log.WarnContext(s.set.life(), "save did not land", "key", s.key, "final", a.final, "certain", certain, "err", err)
	if t != nil {
		if open {
			err = fmt.Errorf("%w: %w", store.ErrUnknown, err)
		}
		t.finish(err)
	}
}

// verify reads the record because somebody says that the session was taken. Only the record
// decides. When it cannot be read, the note that is still there says so again; a final save
// that may have landed finds out by itself what the record means.
func (s *Session) verify() {
	r, err := s.set.readAs(s.set.life(), node.ClassSave, s.key)
	s.mu.Lock()
	s.mu.write.verify = false
	if err != nil {
		s.mu.write.verified = ""
	}
	gone := !s.mu.hold.mine(r) && !s.mu.hold.bound()
	if err == nil && !gone && s.mu.write.bar {
		s.barLocked()
	}
	s.mu.write.bar = false
	s.mu.Unlock()
	if err == nil && gone {
		s.end(Lost)
	}
}

const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second
)

// backoff is how long to wait after so many failures: doubling, from firstBackoff to
// lastBackoff, the upper half of it at random.
func backoff(fails int, random uint64) time.Duration {
	d := lastBackoff
	if fails < 8 {
		d = min(lastBackoff, firstBackoff<<(fails-1))
	}
	return d/2 + time.Duration(random%uint64(d/2+1))
}
