package profile

import (
	"slices"
	"time"

	"github.com/shoalworks/shoal/store"
)

// This file holds the rules of a holder's saves (PROTOCOL.md H2, H6): pure, without I/O,
// clock or chance.

// hold is what a holder knows of its record.
type hold struct {
	token   string
	epoch   uint64
	version store.Version // of the record, as last written or adopted
	base    uint64        // revision of the last acknowledged save
	// finals are the final saves whose outcome is unknown: each may be applied, or not, or
	// may still be.
	finals []store.Version
	// loose tells that saves of unknown outcome, final or not, may still be applied: none of
	// them can be as soon as the record has left the version on which they are conditional.
	loose bool
}

// attempt is a save that was sent.
type attempt struct {
	version  store.Version // that the record gets
	revision uint64        // of the data in it
	live     int           // size of that data in the game's form; 0: it keeps what is stored
	final    bool          // it ends the session: the session is cleared, or granted
	opened   store.Version // of the journal's opening append that had landed before, if it waits for a save
}

// saveStep is what follows.
type saveStep uint8

const (
	saveDone     saveStep = iota + 1 // acknowledged through the attempt's revision
	saveRefused                      // not done for certain: try later
	saveReadBack                     // read the record
	saveAgain                        // the record is still mine: write again on what was adopted
	saveLost                         // another has the session: only this step decides so
)

// answered decides from the outcome of a save that was sent.
func answered(h hold, a attempt, err error) (hold, saveStep) {
	switch store.OutcomeOf(err) {
	case store.Done:
		h.version, h.base, h.finals, h.loose = a.version, max(h.base, a.revision), nil, false
		return h, saveDone
	case store.Unknown:
		h.loose = true
		if a.final {
			h.finals = append(slices.Clip(h.finals), a.version)
		}
		return h, saveReadBack
	case store.NotDone:
	}
	if isConflict(err) {
		return h, saveReadBack
	}
	return h, saveRefused
}

// readBack decides from a read that followed a conflict or an unknown outcome. The record
// being mine, its version is adopted, and the base is what it holds at least.
func readBack(h hold, a attempt, r reading) (hold, saveStep) {
	if h.mine(r) {
		if r.version != h.version {
			h.finals, h.loose = nil, false // they were conditional on versions that are gone
		}
		h.version = r.version
		h.base = max(h.base, r.record.revision)
		if !a.final && r.version == a.version {
			return h, saveDone
		}
		return h, saveAgain
	}
	if a.final && ended(h, a, r) {
		h.base = max(h.base, a.revision)
		return h, saveDone
	}
	return h, saveLost
}

// mine tells that the record names my session. A token is used once; the epoch is compared
// all the same, because everything hangs on this line.
func (h hold) mine(r reading) bool { return r.holds(h.token) && r.record.epoch == h.epoch }

// ended tells whether a record that is no longer mine proves that one of my final saves has
// landed. It does when it carries the version of one, or when nothing was taken over since
// my epoch: nobody but me clears or grants my session otherwise.
func ended(h hold, a attempt, r reading) bool {
	if r.missing() || r.problem != nil {
		return false
	}
	if r.version == a.version || slices.Contains(h.finals, r.version) {
		return true
	}
	if len(h.finals) == 0 || r.record.epoch < h.epoch {
		return false
	}
	return r.record.tookFrom == nil || r.record.tookFrom.epoch < h.epoch
}

// bound tells that a final save may still land, so the session must stay frozen.
func (h hold) bound() bool { return len(h.finals) > 0 }

// saved is the record with a snapshot of the session in it.
func saved(r record, snap snapshot, now time.Time) record {
	r.data, r.revision, r.schema, r.marks = snap.data, snap.revision, snap.schema, snap.marks
	r.handled = snap.handled
	r.session = withBeating(r.session, snap.beating)
	r.updated = stamp(now)
	return r
}

// renewed is the record with what it stores already, and the session's bookkeeping.
func renewed(r record, snap snapshot, now time.Time) record {
	r.session = withBeating(r.session, snap.beating)
	r.updated = stamp(now)
	return r
}

// withBeating is the session in a record that its holder writes.
func withBeating(t *tenure, beating bool) *tenure {
	if t == nil || t.beating == beating && t.stood == 0 {
		return t
	}
	c := *t
	c.beating, c.stood = beating, 0
	return &c
}
