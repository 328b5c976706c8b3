package profile

import (
	"bytes"
	"fmt"

	"github.com/shoalworks/shoal/doc"
)

// This file holds the rules of import: pure, without I/O, clock or chance.

// Overwrite is what an import does about profiles that are there. The zero Overwrite is Skip.
// None of them touches a profile that somebody holds, or that was erased.
type Overwrite uint8

// The policies.
const (
	Skip         Overwrite = iota // leave them as they are
	ReplaceOlder                  // replace those that have seen less than the imported one
	Replace                       // replace them, whatever they are
)

// String is "skip", "replace older" or "replace".
func (o Overwrite) String() string {
	switch o {
	case Skip:
		return "skip"
	case ReplaceOlder:
		return "replace older"
	case Replace:
		return "replace"
	}
	return "no policy"
}

// importable is the record that an import stores for one that was exported: nobody holds it,
// and what was of the moment is gone.
func importable(text []byte, o *Options) (record, error) {
	r := readingOfText(text)
	switch {
	case r.later():
		return record{}, fmt.Errorf("%w: %w", ErrNewerSchema, r.problem)
	case r.foreign():
		return record{}, fmt.Errorf("%w: %w", ErrForeign, r.problem)
	}
	rec := r.record
	if !rec.erased.IsZero() {
		return record{}, fmt.Errorf("%w: it was erased", ErrNoProfile)
	}
	if rec.data.Kind() != doc.KindObject {
		return record{}, fmt.Errorf("%w: data: an object expected, got %.40s", ErrForeign, rec.data)
	}
	if size := rec.data.Size(); size > o.HardBytes {
		at, _ := doc.Growth(doc.MustObject(nil), rec.data)
		return record{}, &SizeError{Path: at, Size: size, Limit: o.HardBytes}
	}
	if rec.schema > o.Schema {
		return record{}, fmt.Errorf("%w: schema %d, this release has %d", ErrNewerSchema, rec.schema, o.Schema)
	}
	rec.session, rec.ask = nil, nil
	return rec, nil
}

// readingOfText is a reading of a value that is in no store.
func readingOfText(text []byte) reading {
	r := reading{value: text}
	r.record, r.problem = decodeRecord(text)
	return r
}

// importStep is what an import does about a profile.
type importStep uint8

const (
	importWrite   importStep = iota + 1 // there is none: write it
	importReplace                       // write it in place of what is there
	importSame                          // it is there already
	importSkip                          // leave what is there
	importHeld                          // leave it: somebody holds it
	importErased                        // leave it: the person's data was erased
	importAlien                         // leave it: it is no profile that this release knows
)

// importPlan decides about a record and what was found under its key; next is what to write.
func importPlan(rec record, found reading, policy Overwrite) (step importStep, next record) {
	if found.missing() {
		return importWrite, rec
	}
	there := found.record
	switch {
	case found.problem != nil:
		return importAlien, record{}
	case !there.erased.IsZero():
		return importErased, record{}
	case there.session != nil:
		return importHeld, record{}
	case sameProfile(rec, there):
		return importSame, record{}
	case policy == Skip, policy == ReplaceOlder && !older(there, rec):
		return importSkip, record{}
	}
	rec.epoch = max(rec.epoch, there.epoch) + 1
	if rec.revision <= there.revision { // neither goes back: rows beside the record go by them
		rec.revision = there.revision + 1
	}
	return importReplace, rec
}

// sameProfile tells that an import has been here before: nothing differs but the epoch, and
// the revision, which are raised where one replaces another. A save would show in updated.
func sameProfile(a, b record) bool {
	if a.revision > b.revision || !a.updated.Equal(b.updated) || !a.data.Equal(b.data) {
		return false
	}
	b.epoch, b.revision = a.epoch, a.revision
	return bytes.Equal(a.encode(), b.encode())
}

// older tells that a has seen less than b: fewer sessions, or fewer commits in as many.
func older(a, b record) bool {
	return a.epoch < b.epoch || a.epoch == b.epoch && a.revision < b.revision
}
