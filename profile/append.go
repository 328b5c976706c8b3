package profile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// journaling is the state of a session's journal: one append at a time.
type journaling struct {
	hold   journalHold
	tracks tracks
	digest digestOf // of what the last acknowledged save stored

	safe    doc.Value // at revision safeRev: the newest that the journal is known to hold
	safeRev uint64

	listed  bool    // in the journaler's list
	working bool    // an append is under way
	waiting *ticket // joined by those whose commits the next append will hold
	flying  *ticket // of the append under way, or of the opening one that waits for its save

	last   time.Time     // when the last append was sent
	since  time.Time     // since when there are commits that neither a save nor the journal holds; zero: none
	fails  int           // appends in a row that did not land
	tries  int           // appends in a row that found something else
	retry  time.Time     // not before, after a failed append
	over   bool          // larger than JournalBytes: until a save has landed
	marked bool          // a marker was sent, by which other nodes know where to look
	marker store.Version // of the marker as it is known to stand; 0: not known
	strays time.Time     // until then a write of unknown outcome may land
	tidy   tidy          // what to remove when the append under way has been answered
}

// digestOf remembers the digest of the data of one revision.
type digestOf struct {
	revision uint64
	text     string
}

// draft is one append before it is sent.
type draft struct {
	session *Session
	sent    appended
	cond    store.Version
	value   journal
	data    doc.Value // that it leads to
	stored  doc.Value // of base
	opening bool
	marker  store.Version // that the marker gets; 0: it stands already
	text    []byte
}

// strayFor is how long a write of unknown outcome is looked for before it is taken to be lost.
const strayFor = 30 * time.Second

// maxFails is how many appends may fail in a row before the session saves instead.
const maxFails = 2

// dirtiedLocked notes that there is something to journal.
func (s *Session) dirtiedLocked() {
	j := &s.mu.journal
	if j.since.IsZero() {
		j.since = s.set.clk.Now()
	}
	s.listLocked()
}

// journalableLocked is what may be journaled: everything, or what was there before a claim.
func (s *Session) journalableLocked() (doc.Value, uint64, []mark) {
	if len(s.mu.cuts) > 0 {
		c := s.mu.cuts[0]
		return c.before, c.revision - 1, c.marks
	}
	return s.mu.data, s.mu.revision, s.mu.marks
}

// desk is where drafts are made, one after the other. What is sent is never on it.
type desk struct {
	effects doc.Effects
	text    []byte
}

// draft takes what is to be journaled now. ok is false when nothing is. Its effects stay on the
// desk, until the next draft.
func (s *Session) draft(k *desk) (d *draft, ok bool) {
	now := s.set.clk.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.mu.journal
	data, revision, known := s.journalableLocked()
	f := appendFacts{
		revision: revision, base: s.mu.rec.revision, limit: s.set.opts.JournalBytes,
		frozen: s.heldUpLocked() || s.mu.reason != 0, refused: s.mu.write.fails > 0,
	}
	if j.working || j.over || !j.tracks.cover(f.base) || appendStartOf(j.hold, f) != appendSend {
		return nil, false
	}
	if len(s.mu.cuts) == 0 {
		j.tracks.follow(data)
	}
	var marks []mark
	for _, m := range known {
		if m.revision > f.base && m.revision <= revision {
			marks = append(marks, m)
		}
	}
	j.tracks.effectsInto(&k.effects, data, revision)
	d = &draft{
		session: s, sent: appended{version: s.set.node.NewVersion("append", s.key), rev: revision}, cond: j.hold.version,
		data: data, stored: s.mu.rec.data, opening: j.hold.state == journalClosed,
		value: journal{
			epoch: s.epoch, token: s.token, base: f.base, schema: s.mu.schema, rev: revision,
			effects: k.effects, marks: marks, audited: s.auditedLocked(revision),
		},
	}
	if j.digest.revision == f.base {
		d.value.baseDigest = j.digest.text
	}
	j.working, j.last = true, now
	if d.opening || j.marker == 0 {
		d.marker, j.marked, j.marker = s.set.node.NewVersion("marker", s.key), true, 0
	}
	if j.flying == nil {
		j.flying, j.waiting = j.waiting, nil
	}
	if j.flying != nil {
		j.flying.taken, j.flying.revision = true, revision
	}
	return d, true
}

// markedBy takes in the answer to a marker. Until one is known to stand it goes with each
// append.
func (s *Session) markedBy(v store.Version, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strayLocked(err)
	if err == nil {
		s.mu.journal.marker = v
	}
}

// strayLocked notes that a write may still land, whatever lands before it.
func (s *Session) strayLocked(err error) {
	if store.OutcomeOf(err) == store.Unknown {
		s.mu.journal.strays = s.set.clk.Now().Add(strayFor)
	}
}

// encode makes the stored form, off the session's lock, once what was drafted before has been
// encoded. It tells whether it is small enough.
func (d *draft) encode(k *desk) bool {
	if d.value.baseDigest == "" {
		d.value.baseDigest = d.stored.Digest()
	}
	k.text = d.value.appendTo(k.text[:0])
	d.value.effects = doc.Effects{}
	if len(k.text) > d.session.set.opts.JournalBytes {
		return false
	}
	d.text = slices.Clone(k.text) // which whoever sends it may read for longer than the call takes
	return true
}

// write is the append as it is sent.
func (d *draft) write() store.Write {
	return store.Write{
		Key: journalKey(d.session.set.name, d.session.key), Op: store.Put, Value: d.text,
		If: store.Is(d.cond), Version: d.sent.version,
	}
}

// tooLarge has the session saved, since the journal does not take so much.
func (s *Session) tooLarge() {
	s.set.stats.journalOver.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.mu.journal
	j.working, j.over = false, true
	s.tidiedLocked()
	s.refuseSyncsLocked(errUnjournaled)
	s.planLocked()
}

// appended takes in the answer to an append, and tells what is left to do.
func (s *Session) appended(d *draft, err error) appendStep {
	s.set.count(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.mu.journal
	j.digest = digestOf{d.value.base, d.value.baseDigest}
	var step appendStep
	j.hold, step = appendAnswered(j.hold, d.sent, err)
	s.strayLocked(err)
	s.safeLocked(d, step)
	return s.stepLocked(step, err)
}

// found takes in a reading of the journal that followed.
func (s *Session) found(d *draft, r journalReading, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.mu.journal
	if err != nil {
		s.failedLocked(err)
		return
	}
	var step appendStep
	j.hold, step = appendReadBackStep(j.hold, r)
	if r.version == d.sent.version {
		s.safeLocked(d, step)
	}
	s.stepLocked(step, nil)
}

// safeLocked remembers what an append that landed leads to.
func (s *Session) safeLocked(d *draft, step appendStep) {
	if j := &s.mu.journal; (step == appendDone || step == appendSave) && d.sent.rev > j.safeRev {
		j.safe, j.safeRev = d.data, d.sent.rev
	}
}

// stepLocked does what the rules say. Only appendReadBack is left to the caller.
func (s *Session) stepLocked(step appendStep, err error) appendStep {
	j := &s.mu.journal
	if step == appendReadBack {
		return step
	}
	j.working = false
	s.tidiedLocked()
	switch step {
	case appendDone:
		s.set.stats.appends.Add(1)
		j.fails, j.tries = 0, 0
		s.coveredLocked()
	case appendSave:
		s.set.stats.appends.Add(1)
		j.fails, j.tries = 0, 0
		s.mu.write.owed = true
		s.queueLocked(urgent)
	case appendAgain:
		if j.tries++; j.tries >= maxTries {
			s.failedLocked(fmt.Errorf("%d appends in a row found another version: %w", maxTries, store.ErrUnknown))
			break
		}
		s.set.journaler.hurry(s)
	case appendLetGo:
		s.set.stats.sealed.Add(1)
		s.set.tasks.start(func() {
			s.leave(HandedOver, nil)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.refuseSyncsLocked(errUnjournaled) // they join the final save
		})
	case appendVerify:
		j.tries = 0
		s.mu.write.verify, s.mu.write.bar = true, true
		s.refuseSyncsLocked(errUnjournaled)
		s.queueLocked(urgent)
	case appendBarred:
		s.barLocked()
	case appendRefused:
		s.failedLocked(err)
	case appendReadBack:
	}
	return step
}

// barLocked has the session save from now on, since what stands in its journal's place must
// be left alone.
func (s *Session) barLocked() {
	s.mu.journal.hold.state = journalBarred
	s.set.log.ErrorContext(s.set.life(), "another's journal stands in this session's place: it saves instead", "key", s.key, "epoch", s.epoch)
	s.refuseSyncsLocked(errUnjournaled)
	s.planLocked()
}

// failedLocked takes in an append that did not land. After two in a row the session saves,
// and goes on saving every FallbackSave until one lands.
func (s *Session) failedLocked(err error) {
	j := &s.mu.journal
	s.set.stats.appendErrors.Add(1)
	j.working, j.tries = false, 0
	s.tidiedLocked()
	j.fails++
	j.retry = s.set.clk.Now().Add(backoff(j.fails, s.set.node.Random("append retry", s.key)))
	s.refuseSyncsLocked(errUnjournaled)
	if j.fails == maxFails && s.dirtyLocked() {
		s.set.log.WarnContext(s.set.life(), "journal not stored: saving instead", "key", s.key, "err", err)
		s.mu.write.owed = true
		s.queueLocked(plain)
	}
	s.listLocked()
	s.planLocked()
}

// coveredLocked takes in that more is journaled or saved than before.
func (s *Session) coveredLocked() {
	j := &s.mu.journal
	if s.syncedLocked(s.mu.revision) {
		j.since = time.Time{}
	} else if !j.since.IsZero() {
		j.since = latest(j.since, j.last)
	}
	s.answerSyncsLocked()
	if j.waiting != nil && !j.working {
		s.set.journaler.hurry(s)
	}
	s.listLocked()
}

// savedLocked takes in a save that has landed: the record at revision base holds more, and an
// opening append that it was sent after counts from now on.
func (s *Session) savedLocked(opened store.Version) {
	j := &s.mu.journal
	j.hold = j.hold.chained(opened)
	j.tracks.settle(s.mu.rec.revision)
	j.over = false
	s.settleCutsLocked()
	s.settleBesideLocked()
	s.coveredLocked()
}

// listLocked enters the session into the journaler's list, once, when there is something to
// journal that may be.
func (s *Session) listLocked() {
	j := &s.mu.journal
	if j.listed || !s.mayAppendLocked() {
		return
	}
	j.listed = true
	s.set.journaler.add(s)
}

// mayAppendLocked tells that there is something to journal, now or later, without a save
// having to come first.
func (s *Session) mayAppendLocked() bool {
	j := &s.mu.journal
	return s.set.opts.JournalEvery > 0 && s.mu.reason == 0 && !j.over && j.hold.state != journalBarred &&
		!s.syncedLocked(s.mu.revision) && !s.keepsStoredLocked()
}

// heldUpLocked tells that a final save, or a trade, is under way, which will hold everything. When its
// answer was lost, or the node closes, the journal takes what it can all the same: the process
// may end before the durable store has it.
func (s *Session) heldUpLocked() bool {
	if s.mu.trade.holdsUpLocked() {
		return true
	}
	closing := s.mu.leaving != nil && s.mu.leaving.why == Closed
	return s.mu.frozen && !closing && s.mu.write.fails == 0 && !s.mu.hold.bound()
}

// dueAppend tells whether to append now. A session that came from the list goes back there
// (again) if its time has not come.
func (s *Session) dueAppend(now time.Time, listed bool) (ready, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.mu.journal
	if listed {
		j.listed = false
	}
	if !s.mayAppendLocked() {
		return false, false
	}
	due := j.last.Add(s.set.opts.JournalEvery)
	switch {
	case j.waiting != nil, j.tries > 0:
		due = now
	case j.fails > 0:
		due = j.retry
	}
	waits := j.hold.state == journalOpening && s.mu.write.fails == 0
	if due.After(now) || j.working || waits || s.heldUpLocked() {
		j.listed = j.listed || listed
		return false, listed
	}
	return true, false
}

// readJournals reads the journals of some sessions in one call.
func (s *Set) readJournals(ctx context.Context, drafts []*draft) ([]journalReading, error) {
	keys := make([]string, len(drafts))
	for i, d := range drafts {
		keys[i] = journalKey(s.name, d.session.key)
	}
	recs, err := s.fast.Get(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("read journals: %w", err)
	}
	out := make([]journalReading, len(recs))
	for i, r := range recs {
		out[i] = journalReadingOf(r)
	}
	return out, nil
}
