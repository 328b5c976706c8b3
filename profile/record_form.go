package profile

import (
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
	"github.com/shoalworks/shoal/node"
)

// errLaterFormat tells that a later release has written the value.
var errLaterFormat = form.ErrLater

// envelopeRoom is more than a record's bytes beside its data, without extras and lists.
const envelopeRoom = 512

// encode is the stored form: canonical JSON, so that equal records are equal bytes.
func (r record) encode() []byte {
	room := r.data.Size() + envelopeRoom + 128*(len(r.marks)+len(r.handled))
	for _, m := range r.extras {
		room += len(m.Name) + len(m.Raw) + 4
	}
	w := form.NewWriter(make([]byte, 0, room), r.extras)
	if r.ask != nil {
		w.At("ask")
		w.Out = r.ask.append(w.Out)
	}
	if len(r.marks) > 0 {
		form.AppendList(&w, "commits", r.marks, appendMark)
	}
	w.Time("created", r.created)
	w.Value("data", r.data)
	w.Count("epoch", r.epoch)
	if !r.erased.IsZero() {
		w.Time("erased", r.erased)
	}
	w.Count("format", recordFormat)
	if len(r.handled) > 0 {
		form.AppendList(&w, "handled", r.handled, appendHandled)
	}
	if !r.kept.IsZero() {
		w.Time("kept", r.kept)
	}
	w.Count("revision", r.revision)
	w.Count("schema", uint64(r.schema))
	w.At("session")
	w.Out = r.session.append(w.Out)
	if !r.tags.IsNull() {
		w.Value("tags", r.tags)
	}
	if r.tookFrom != nil {
		w.At("tookFrom")
		w.Out = r.tookFrom.append(w.Out)
	}
	w.Time("updated", r.updated)
	return w.Close()
}

func (t *tenure) append(dst []byte) []byte {
	if t == nil {
		return append(dst, "null"...)
	}
	w := form.NewWriter(dst, t.extras)
	w.Flag("beating", t.beating)
	w.Text("node", t.node)
	w.Time("since", t.since)
	if t.stood != 0 {
		w.Count("stoodMs", uint64(t.stood.Milliseconds()))
	}
	w.Text("token", t.token)
	return w.Close()
}

func (a *asker) append(dst []byte) []byte {
	w := form.NewWriter(dst, a.extras)
	w.Text("for", a.target)
	w.Text("node", a.node)
	w.Text("token", a.token)
	return w.Close()
}

func appendMark(dst []byte, m mark) []byte {
	w := form.NewWriter(dst, m.extras)
	if m.digest != "" {
		w.Text("digest", m.digest)
	}
	w.Text("id", m.id)
	w.Count("revision", m.revision)
	return w.Close()
}

func appendHandled(dst []byte, h handled) []byte {
	w := form.NewWriter(dst, h.extras)
	w.Time("at", h.at)
	w.Text("id", h.id)
	if h.refused != "" {
		w.Text("refused", h.refused)
	}
	if h.revision != 0 {
		w.Count("revision", h.revision)
	}
	return w.Close()
}

func (t *takeover) append(dst []byte) []byte {
	w := form.NewWriter(dst, t.extras)
	w.Time("at", t.at)
	w.Count("epoch", t.epoch)
	w.Text("evidence", string(t.evidence))
	w.Text("node", t.node)
	w.Text("token", t.token)
	return w.Close()
}

// decodeRecord reads the stored form. It is strict about what this release knows and keeps
// the rest byte by byte. An error that is not errLaterFormat means a foreign value.
func decodeRecord(text []byte) (record, error) { return recordOf(form.Open(text)) }

func recordOf(f *form.Reader) (record, error) {
	f.CheckFormat(recordFormat)
	if f.Err() != nil {
		return record{}, f.Err()
	}
	for _, name := range [...]string{"data", "epoch", "revision", "session"} {
		if !f.Has(name) {
			f.Fail(name, "is missing")
		}
	}
	r := record{
		data: f.Value("data"), revision: f.Count("revision"), schema: f.Small("schema"),
		created: f.Time("created"), updated: f.Time("updated"), epoch: f.Count("epoch"),
		tags: f.Value("tags"), erased: f.Time("erased"), kept: f.Time("kept"),
	}
	f.Object("session", func(g *form.Reader) {
		r.session = &tenure{token: g.Word("token"), node: g.Word("node"), since: g.Time("since"), beating: g.Flag("beating"), stood: time.Duration(g.Small("stoodMs")) * time.Millisecond, extras: g.Rest()}
	})
	f.Object("ask", func(g *form.Reader) {
		r.ask = &asker{token: g.Word("token"), node: g.Word("node"), target: g.Word("for"), extras: g.Rest()}
	})
	f.Object("tookFrom", func(g *form.Reader) {
		r.tookFrom = &takeover{
			token: g.Word("token"), node: g.Word("node"), evidence: node.Evidence(g.Word("evidence")),
			epoch: g.Count("epoch"), at: g.Time("at"), extras: g.Rest(),
		}
	})
	f.List("handled", func(g *form.Reader) {
		r.handled = append(r.handled, handled{id: g.Word("id"), at: g.Time("at"), revision: g.Count("revision"), refused: g.Text("refused"), extras: g.Rest()})
	})
	r.marks = readMarks(f, "commits")
	if r.tags.Kind() != doc.KindNull && r.tags.Kind() != doc.KindObject {
		f.Fail("tags", "an object expected")
	}
	if f.Err() != nil {
		return record{}, f.Err()
	}
	r.extras = f.Rest()
	return r, nil
}

// readMarks reads a list of commit ids.
func readMarks(f *form.Reader, name string) []mark {
	var out []mark
	f.List(name, func(g *form.Reader) {
		out = append(out, mark{id: g.Word("id"), revision: g.Count("revision"), digest: g.Text("digest"), extras: g.Rest()})
	})
	return out
}
