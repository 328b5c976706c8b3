package profile

import (
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
	"github.com/shoalworks/shoal/node"
)

// recordFormat is the version of the stored form of a profile.
const recordFormat = 1

// maxMarks is how many commit ids the envelope keeps.
const maxMarks = 64

// record is the envelope that is stored under profile/<set>/<key>. It is a value: rules make
// a new one from an old one, and whatever it refers to is never changed in place.
type record struct {
	data     doc.Value
	revision uint64 // commits ever accepted that are in data
	schema   int    // the version of the form of data
	created  time.Time
	updated  time.Time
	epoch    uint64    // sessions this profile has ever had; the fencing number
	session  *tenure   // nil: free
	ask      *asker    // left here while the fast store is down
	handled  []handled // mail that is in data already
	marks    []mark    // the last commits that came with an id
	tags     doc.Value // an object, or null
	tookFrom *takeover // the last takeover this profile has seen
	kept     time.Time // when a version of it was last kept; zero: never
	erased   time.Time // when the person's data was erased; only the epoch lives on. Zero: not

	extras []member // envelope fields of a later release, byte by byte
}

// member is a member of a stored object in its encoded form.
type member = form.Member

// tenure is a session as the record names it.
type tenure struct {
	token   string // random, one per load
	node    string
	since   time.Time
	beating bool // the holder vouches for its beat
	// stood is how old the holder's last write was when somebody else wrote the record: an
	// ask must not make the holder look younger.
	stood  time.Duration
	extras []member
}

// asker is a load that asks for a session.
type asker struct {
	token  string // of the asking load
	node   string
	target string // the session token that is asked for
	extras []member
}

// handled is a mail that the profile has dealt with: its effect is in data, or it was refused.
type handled struct {
	id       string
	at       time.Time
	revision uint64 // of the commit that dealt with it
	refused  string // why it had no effect; empty: it had
	extras   []member
}

// mark remembers a commit that came with an id of the caller's.
type mark struct {
	id       string
	revision uint64
	digest   string // of the request; empty: the id alone decides
	extras   []member
}

// takeover tells from whom a session was taken, and why.
type takeover struct {
	token    string // the session that was ended
	node     string
	evidence node.Evidence
	epoch    uint64 // of the session that was ended
	at       time.Time
	extras   []member
}

// holds tells that the record names the session with this token.
func (r record) holds(token string) bool { return r.session != nil && r.session.token == token }

// holder is the token of the session that the record names, empty when it is free.
func (r record) holder() string {
	if r.session == nil {
		return ""
	}
	return r.session.token
}

// asked is the ask that the record carries for the session with this token.
func (r record) asked(token string) (asker, bool) {
	if r.ask == nil || r.ask.target != token {
		return asker{}, false
	}
	return *r.ask, true
}

// marked finds the commit with this id.
func (r record) marked(id string) (mark, bool) {
	for i := len(r.marks) - 1; i >= 0; i-- {
		if r.marks[i].id == id {
			return r.marks[i], true
		}
	}
	return mark{}, false
}

// withMarks are the marks of r followed by more, the last maxMarks of them, each id once.
func (r record) withMarks(more ...mark) []mark {
	if len(more) == 0 {
		return r.marks
	}
	out := make([]mark, 0, len(r.marks)+len(more))
	for _, m := range r.marks {
		if !containsMark(more, m.id) {
			out = append(out, m)
		}
	}
	out = append(out, more...)
	return out[max(0, len(out)-maxMarks):]
}

func containsMark(marks []mark, id string) bool {
	for i := range marks {
		if marks[i].id == id {
			return true
		}
	}
	return false
}

// stamp is a time as records keep it.
func stamp(t time.Time) time.Time { return form.Stamp(t) }

// Keys of the records in the store.

func recordPrefix(set string) string       { return "profile/" + set + "/" }
func recordKey(set, key string) string     { return recordPrefix(set) + key }
func journalKey(set, key string) string    { return "journal/" + set + "/" + key }
func quarantineKey(set, key string) string { return "quarantine/" + set + "/" + key }

// A player's key has no slash, so this one is never that of a quarantined profile.
func journalQuarantineKey(set, key string) string { return "quarantine/journal/" + set + "/" + key }
