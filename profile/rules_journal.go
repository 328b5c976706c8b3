package profile

import "fmt"

// This file holds the rules by which a journal belongs to a record and is replayed
// (PROTOCOL.md J1 to J3): pure, without I/O, clock or chance.

// fit is what rule J2 says of a journal beside a record.
type fit uint8

const (
	fitApplies  fit = iota + 1 // its effects are newer than the record
	fitNothing                 // of another session, or all of it is in the record already
	fitStale                   // the record read is older than the journal's base: read it again
	fitMismatch                // made for other data than the record holds
)

// fits applies rule J2.
func fits(j journal, r record) fit {
	switch {
	case !r.holds(j.token), j.rev <= r.revision:
		return fitNothing
	case j.base > r.revision:
		return fitStale
	case j.base == r.revision && j.baseDigest != r.data.Digest():
		return fitMismatch
	}
	return fitApplies
}

// replay is the record with the journal's effects in it. It must fit. Effects that the data
// does not take were made for other data: the record comes back as it was, with the reason.
func replay(j journal, r record) (record, error) {
	data, err := j.effects.Apply(r.data)
	if err != nil {
		return r, fmt.Errorf("replay revisions %d to %d on %d: %w", j.base, j.rev, r.revision, err)
	}
	r.data, r.revision, r.schema = data, j.rev, j.schema
	r.marks = r.withMarks(j.marks...)
	return r, nil
}
