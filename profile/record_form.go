package profile

import (
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
)

// errLaterFormat tells that a later release has written the value.
var errLaterFormat = errors.New("written by a later release")

// envelopeRoom is more than a record's bytes beside its data, without extras and lists.
const envelopeRoom = 512

// encode is the stored form: canonical JSON, so that equal records are equal bytes.
func (r record) encode() []byte {
	room := r.data.Size() + envelopeRoom + 128*(len(r.marks)+len(r.handled))
	for _, m := range r.extras {
		room += len(m.name) + len(m.raw) + 4
	}
	w := openWriter(make([]byte, 0, room), r.extras)
	if r.ask != nil {
		w.at("ask")
		w.out = r.ask.append(w.out)
	}
	if len(r.marks) > 0 {
		appendList(&w, "commits", r.marks, appendMark)
	}
	w.time("created", r.created)
	w.value("data", r.data)
	w.count("epoch", r.epoch)
	if !r.erased.IsZero() {
		w.time("erased", r.erased)
	}
	w.count("format", recordFormat)
	if len(r.handled) > 0 {
		appendList(&w, "handled", r.handled, appendHandled)
	}
	w.count("revision", r.revision)
	w.count("schema", uint64(r.schema))
	w.at("session")
	w.out = r.session.append(w.out)
	if !r.tags.IsNull() {
		w.value("tags", r.tags)
	}
	if r.tookFrom != nil {
		w.at("tookFrom")
		w.out = r.tookFrom.append(w.out)
	}
	w.time("updated", r.updated)
	return w.close()
}

func (t *tenure) append(dst []byte) []byte {
	if t == nil {
		return append(dst, "null"...)
	}
	w := openWriter(dst, t.extras)
	w.flag("beating", t.beating)
	w.text("node", t.node)
	w.time("since", t.since)
	w.text("token", t.token)
	return w.close()
}

func (a *asker) append(dst []byte) []byte {
	w := openWriter(dst, a.extras)
	w.text("for", a.target)
	w.text("node", a.node)
	w.text("token", a.token)
	return w.close()
}

func appendMark(dst []byte, m mark) []byte {
	w := openWriter(dst, m.extras)
	if m.digest != "" {
		w.text("digest", m.digest)
	}
	w.text("id", m.id)
	w.count("revision", m.revision)
	return w.close()
}

func appendHandled(dst []byte, h handled) []byte {
	w := openWriter(dst, h.extras)
	w.time("at", h.at)
	w.text("id", h.id)
	if h.refused != "" {
		w.text("refused", h.refused)
	}
	if h.revision != 0 {
		w.count("revision", h.revision)
	}
	return w.close()
}

func (t *takeover) append(dst []byte) []byte {
	w := openWriter(dst, t.extras)
	w.time("at", t.at)
	w.count("epoch", t.epoch)
	w.text("evidence", string(t.evidence))
	w.text("node", t.node)
	w.text("token", t.token)
	return w.close()
}

// checkFormat takes the format of a stored value: errLaterFormat for a later one, another
// error for what is no format at all.
func (f *form) checkFormat(known uint64) {
	if f.err != nil {
		return
	}
	format := f.count("format")
	switch {
	case f.err != nil:
	case format == 0:
		f.fail("format", "a number of at least 1 expected")
	case format > known:
		f.err = fmt.Errorf("format %d, this release knows %d: %w", format, known, errLaterFormat)
	}
}

// decodeRecord reads the stored form. It is strict about what this release knows and keeps
// the rest byte by byte. An error that is not errLaterFormat means a foreign value.
func decodeRecord(text []byte) (record, error) {
	f := openForm(text)
	f.checkFormat(recordFormat)
	if f.err != nil {
		return record{}, f.err
	}
	for _, name := range [...]string{"data", "epoch", "revision", "session"} {
		if !f.has(name) {
			f.fail(name, "is missing")
		}
	}
	r := record{
		data: f.value("data"), revision: f.count("revision"), schema: f.small("schema"),
		created: f.time("created"), updated: f.time("updated"), epoch: f.count("epoch"),
		tags: f.value("tags"), erased: f.time("erased"),
	}
	f.object("session", func(g *form) {
		r.session = &tenure{token: g.word("token"), node: g.word("node"), since: g.time("since"), beating: g.flag("beating"), extras: g.rest()}
	})
	f.object("ask", func(g *form) {
		r.ask = &asker{token: g.word("token"), node: g.word("node"), target: g.word("for"), extras: g.rest()}
	})
	f.object("tookFrom", func(g *form) {
		r.tookFrom = &takeover{
			token: g.word("token"), node: g.word("node"), evidence: node.Evidence(g.word("evidence")),
			epoch: g.count("epoch"), at: g.time("at"), extras: g.rest(),
		}
	})
	f.list("handled", func(g *form) {
		r.handled = append(r.handled, handled{id: g.word("id"), at: g.time("at"), revision: g.count("revision"), refused: g.text("refused"), extras: g.rest()})
	})
	r.marks = f.marks("commits")
	if r.tags.Kind() != doc.KindNull && r.tags.Kind() != doc.KindObject {
		f.fail("tags", "an object expected")
	}
	if f.err != nil {
		return record{}, f.err
	}
	r.extras = f.rest()
	return r, nil
}

// marks reads a list of commit ids.
func (f *form) marks(name string) []mark {
	var out []mark
	f.list(name, func(g *form) {
		out = append(out, mark{id: g.word("id"), revision: g.count("revision"), digest: g.text("digest"), extras: g.rest()})
	})
	return out
}
