package profile

import (
	"slices"

	"github.com/shoalworks/shoal/store"
)

// This file holds the rules of a holder's journal (PROTOCOL.md J1, H3 to H5, B5): pure,
// without I/O, clock or chance.

// journalHold is what a holder knows of its journal. Only the record decides whether the
// session is lost; the journal at most makes the holder look, or let go.
type journalHold struct {
	token string
	epoch uint64
	state journalState
	// version is the journal's, as last written or adopted; the next append is conditional on
	// it. While the journal is closed it is what the opening append goes on: what was seen
	// there, 0 for nothing.
	version store.Version
	// opening is the version of the opening append, while it waits for its save.
	opening store.Version
	// sent are the appends with an unknown outcome that were conditional on version.
	sent []store.Version
	// rev is the revision through which the journal holds the session's commits, acknowledged
	// or about to be by the opening save; 0 while nothing is known to stand there.
	rev uint64
}

// journalState tells how far an append can be trusted.
type journalState uint8

const (
	// journalClosed: nothing of this session is known to be there. The next append opens.
	journalClosed journalState = iota
	// journalOpening: the opening append has landed. It counts for nothing until a save that
	// was sent afterwards has landed too: somebody may have taken the session over on a
	// reading of the journal from before.
	journalOpening
	// journalOpen: what lands is acknowledged. Whoever claims the record from now on has read
	// the journal after it was opened, or is refused by the record's version.
	journalOpen
	// journalBarred: what stands there is not understood, or is newer than the record says.
	// It is left alone, and the session saves instead.
	journalBarred
)

// appended is an append that was sent.
type appended struct {
	version store.Version // that the journal gets
	rev     uint64        // the effects in it lead there
}

// appendStep is what follows.
type appendStep uint8

const (
	appendDone     appendStep = iota + 1 // acknowledged through the hold's rev
	appendSave                           // it opened: send a save, which acknowledges when it lands
	appendRefused                        // not done for certain: try later, or save
	appendReadBack                       // read the journal
	appendAgain                          // write again, on what was adopted
	appendLetGo                          // sealed: a final save that clears the session (H3)
	appendVerify                         // another session's: the record tells whether mine is lost (H2)
	appendBarred                         // save instead, from now on
)

// appendAnswered decides from the outcome of an append that was sent.
func appendAnswered(h journalHold, a appended, err error) (journalHold, appendStep) {
	switch store.OutcomeOf(err) {
	case store.Done:
		return h.landed(a)
	case store.Unknown:
		h.sent = append(slices.Clip(h.sent), a.version)
		return h, appendReadBack
	case store.NotDone:
	}
	if isConflict(err) {
		return h, appendReadBack
	}
	return h, appendRefused
}

// landed takes in an append that is known to stand in the store.
func (h journalHold) landed(a appended) (journalHold, appendStep) {
	h.version, h.sent = a.version, nil
	switch h.state {
	case journalClosed, journalBarred:
		h.state, h.opening, h.rev = journalOpening, a.version, a.rev
		return h, appendSave
	case journalOpening, journalOpen:
	}
	h.rev = max(h.rev, a.rev)
	return h, appendDone
}

// appendReadBackStep decides from a reading of the journal that followed a conflict or an
// unknown outcome.
func appendReadBackStep(h journalHold, j journalReading) (journalHold, appendStep) {
	switch {
	case j.missing():
		return h.reopened(0)
	case j.problem != nil:
		h.state = journalBarred
		return h, appendBarred
	case j.journal.epoch < h.epoch:
		return h.reopened(j.version)
	case j.journal.epoch > h.epoch, j.journal.token != h.token:
		return h, appendVerify
	case j.journal.sealedBy != "":
		return h, appendLetGo
	case slices.Contains(h.sent, j.version):
		return h.landed(appended{version: j.version, rev: j.journal.rev})
	case h.state != journalClosed && j.version == h.version:
		return h, appendAgain // what was sent was not applied, or not yet
	}
	return h.reopened(j.version) // mine, but from before what I last knew to be there
}

// reopened makes the next append an opening one, on what was seen.
func (h journalHold) reopened(seen store.Version) (journalHold, appendStep) {
	h.state, h.version, h.opening, h.sent, h.rev = journalClosed, seen, 0, nil, 0
	return h, appendAgain
}

// chained takes in a save that has landed and that was sent after the opening append with this
// version had: from then on what lands is acknowledged, and so is what has landed meanwhile.
// Whoever claims the record after that save has read the journal after it was opened.
func (h journalHold) chained(opened store.Version) journalHold {
	if h.state == journalOpening && h.opening == opened {
		h.state, h.opening = journalOpen, 0
	}
	return h
}

// opened is the version of an opening append that waits for its save; 0 when none does. A
// save that is sent now takes it along.
func (h journalHold) opened() store.Version { return h.opening }

// appendFacts are what a session knows when it may have something to journal.
type appendFacts struct {
	revision uint64 // of what may be journaled: the last commit before a claim (B5)
	base     uint64 // revision of the last acknowledged save
	size     int    // of the effects above base, in bytes
	limit    int    // JournalBytes
	frozen   bool   // a final save is under way
	refused  bool   // the last save did not land
}

// appendStart is whether to append.
type appendStart uint8

const (
	appendNothing appendStart = iota + 1 // all of it is stored, or a save is about to
	appendSend                           // send an append
	appendOver                           // too large, or barred: save instead
)

// appendStartOf decides. While an opening append waits for its save nothing is appended, since
// the save holds more; unless saves do not land: then the journal is all there is, though it
// acknowledges nothing.
func appendStartOf(h journalHold, f appendFacts) appendStart {
	switch {
	case f.frozen, f.revision <= f.base, f.revision <= h.rev, h.state == journalOpening && !f.refused:
		return appendNothing
	case h.state == journalBarred, f.size > f.limit:
		return appendOver
	}
	return appendSend
}

// synced tells that everything up to a revision survives this node: it is saved, or stands in
// a journal that is open.
func (h journalHold) synced(base, revision uint64) bool {
	return revision <= base || h.state == journalOpen && revision <= h.rev
}
