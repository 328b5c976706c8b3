package profile

import (
	"errors"
	"time"

	"github.com/shoalworks/shoal/store"
)

// reading is what one successful read showed of a record. A failed read is none: it proves
// nothing, least of all that a player is new.
type reading struct {
	version store.Version // 0: missing
	age     time.Duration // by the store's own clock
	value   []byte        // as stored; for quarantine
	record  record        // when it could be read
	problem error         // why it could not be read; see foreign and newer
}

func readingOf(r store.Record) reading {
	out := reading{version: r.Version, age: r.Age, value: r.Value}
	if !r.Missing() {
		out.record, out.problem = decodeRecord(r.Value)
	}
	return out
}

func (r reading) missing() bool { return r.version == 0 }

// idle is how old the holder's last write is: others may have written an ask since.
func (r reading) idle() time.Duration {
	if r.missing() || r.problem != nil || r.record.session == nil {
		return r.age
	}
	return r.age + r.record.session.stood
}

// absent tells that there is no profile: there never was one, or it was erased.
func (r reading) absent() bool {
	return r.missing() || r.problem == nil && !r.record.erased.IsZero()
}

// later tells that a later release wrote it in a form unknown here.
func (r reading) later() bool { return errors.Is(r.problem, errLaterFormat) }

// foreign tells that it is no profile.
func (r reading) foreign() bool { return r.problem != nil && !r.later() }

// holds tells that the record is there and names the session with this token.
func (r reading) holds(token string) bool {
	return !r.missing() && r.problem == nil && r.record.holds(token)
}

// holder is the session token that it names, empty when it names none.
func (r reading) holder() string {
	if r.missing() || r.problem != nil {
		return ""
	}
	return r.record.holder()
}

// journalReading is what one successful read showed of a journal.
type journalReading struct {
	version store.Version
	value   []byte
	journal journal
	problem error
}

func journalReadingOf(r store.Record) journalReading {
	out := journalReading{version: r.Version, value: r.Value}
	if !r.Missing() {
		out.journal, out.problem = decodeJournal(r.Value)
	}
	return out
}

func (j journalReading) missing() bool { return j.version == 0 }
func (j journalReading) later() bool   { return errors.Is(j.problem, errLaterFormat) }
func (j journalReading) foreign() bool { return j.problem != nil && !j.later() }
