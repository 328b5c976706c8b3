package shared

import (
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
	"github.com/shoalworks/shoal/store"
)

const (
	recordFormat = 1 // the version of the stored form

	maxNamed     = 64 // ids of callers that a document remembers
	maxAnonymous = 32 // revisions for which it remembers the ids of changes without one
)

// record is what is stored under shared/<set>/<key>. It is a value: rules make a new one from
// an old one, and whatever it refers to is never changed in place.
type record struct {
	data     doc.Value
	revision uint64 // changes ever accepted that are in data
	created  time.Time
	updated  time.Time
	deleted  time.Time // zero: it is there
	marks    []mark    // the last changes
	by       author    // of the last change

	extras []form.Member // members of a later release, byte by byte
}

// mark remembers a change.
type mark struct {
	id       string
	revision uint64
	digest   string // of the request; empty: the id alone decides
	own      bool   // the id was drawn here: the change came without one

	extras []form.Member
}

// author is who made a change, and why.
type author struct {
	actor, note string
}

// marked finds the change with this id.
func (r record) marked(id string) (mark, bool) {
	for i := len(r.marks) - 1; i >= 0; i-- {
		if r.marks[i].id == id {
			return r.marks[i], true
		}
	}
	return mark{}, false
}

// remembering are the marks of r and one more, without those that are to be forgotten.
func (r record) remembering(m mark) []mark {
	named := 0
	if !m.own {
		named++
	}
	keep := make([]bool, len(r.marks))
	for i := len(r.marks) - 1; i >= 0; i-- {
		old := r.marks[i]
		if old.own {
			keep[i] = old.revision+maxAnonymous > m.revision
			continue
		}
		named++
		keep[i] = named <= maxNamed
	}
	out := make([]mark, 0, len(r.marks)+1)
	for i, old := range r.marks {
		if keep[i] {
			out = append(out, old)
		}
	}
	return append(out, m)
}

// encode is the stored form: canonical JSON.
func (r record) encode() []byte {
	w := form.NewWriter(make([]byte, 0, r.data.Size()+512+96*len(r.marks)), r.extras)
	if r.by != (author{}) {
		w.At("by")
		inner := form.NewWriter(w.Out, nil)
		inner.Text("actor", r.by.actor)
		inner.Text("note", r.by.note)
		w.Out = inner.Close()
	}
	if len(r.marks) > 0 {
		form.AppendList(&w, "commits", r.marks, appendMark)
	}
	w.Time("created", r.created)
	w.Value("data", r.data)
	if !r.deleted.IsZero() {
		w.Time("deleted", r.deleted)
	}
	w.Count("format", recordFormat)
	w.Count("revision", r.revision)
	w.Time("updated", r.updated)
	return w.Close()
}

func appendMark(dst []byte, m mark) []byte {
	w := form.NewWriter(dst, m.extras)
	if m.digest != "" {
		w.Text("digest", m.digest)
	}
	w.Text("id", m.id)
	if m.own {
		w.Flag("own", true)
	}
	w.Count("revision", m.revision)
	return w.Close()
}

// decodeRecord reads the stored form. It is strict about what this release knows and keeps
// the rest byte by byte.
func decodeRecord(text []byte) (record, error) {
	f := form.Open(text)
	f.CheckFormat(recordFormat)
	if f.Err() != nil {
		return record{}, f.Err()
	}
	for _, name := range [...]string{"data", "revision"} {
		if !f.Has(name) {
			f.Fail(name, "is missing")
		}
	}
	r := record{
		data: f.Value("data"), revision: f.Count("revision"),
		created: f.Time("created"), updated: f.Time("updated"), deleted: f.Time("deleted"),
	}
	f.Object("by", func(g *form.Reader) { r.by = author{actor: g.Text("actor"), note: g.Text("note")} })
	f.List("commits", func(g *form.Reader) {
		r.marks = append(r.marks, mark{id: g.Word("id"), revision: g.Count("revision"), digest: g.Text("digest"), own: g.Flag("own"), extras: g.Rest()})
	})
	if f.Err() != nil {
		return record{}, f.Err()
	}
	r.extras = f.Rest()
	return r, nil
}

// reading is a record as it was found.
type reading struct {
	version store.Version // 0: missing
	record  record
	problem error // why it is no document; wraps ErrForeign or ErrNewerFormat
}

func readingOf(rec store.Record) reading {
	r := reading{version: rec.Version}
	if rec.Missing() {
		return r
	}
	var err error
	switch r.record, err = decodeRecord(rec.Value); {
	case err == nil:
	case errors.Is(err, form.ErrLater):
		r.problem = fmt.Errorf("%w: %w", ErrNewerFormat, err)
	default:
		r.problem = fmt.Errorf("%w: %w", ErrForeign, err)
	}
	return r
}

// there tells that there is a document.
func (r reading) there() bool { return r.version != 0 && r.problem == nil && r.record.deleted.IsZero() }

func recordPrefix(set string) string   { return "shared/" + set + "/" }
func recordKey(set, key string) string { return recordPrefix(set) + key }
func topicOf(set string) string        { return "shared/" + set }
