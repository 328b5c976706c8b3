package profile

import (
	"fmt"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// auditFormat is the version of the stored form of a row of the audit log.
const auditFormat = 1

// encodeAudit is the stored form of a row: canonical JSON.
func encodeAudit(entries []AuditEntry) []byte {
	room := envelopeRoom
	for i := range entries {
		room += entries[i].size()
	}
	w := form.NewWriter(make([]byte, 0, room), nil)
	form.AppendList(&w, "entries", entries, appendAuditEntry)
	w.Count("format", auditFormat)
	return w.Close()
}

func appendAuditEntry(dst []byte, e AuditEntry) []byte {
	w := form.NewWriter(dst, nil)
	text := func(name, s string) {
		if s != "" {
			w.Text(name, s)
		}
	}
	text("actor", e.Source.Actor)
	w.Time("at", e.Time)
	text("claim", e.Claim)
	if e.Commits > 1 {
		w.Count("commits", uint64(e.Commits))
	}
	if len(e.Edits) > 0 {
		form.AppendList(&w, "edits", e.Edits, appendEdit)
	}
	text("id", e.ID)
	text("kind", string(e.Source.Kind))
	if e.More > 0 {
		w.Count("more", uint64(e.More))
	}
	text("note", e.Source.Note)
	if len(e.Paths) > 0 {
		form.AppendList(&w, "paths", e.Paths, func(dst []byte, p doc.Path) []byte { return form.AppendText(dst, p.String()) })
	}
	w.Count("revision", e.Revision)
	if e.Through != e.Revision {
		w.Count("through", e.Through)
	}
	return w.Close()
}

func appendEdit(dst []byte, e doc.Edit) []byte {
	text, err := e.MarshalJSON()
	if err != nil {
		panic("profile: an edit of valid values does not encode: " + err.Error())
	}
	return append(dst, text...)
}

// decodeAudit reads the stored form of a row. What a later release has added is left out.
func decodeAudit(text []byte) ([]AuditEntry, error) {
	f := form.Open(text)
	f.CheckFormat(auditFormat)
	var out []AuditEntry
	f.List("entries", func(g *form.Reader) {
		e := AuditEntry{
			Revision: g.Count("revision"), Through: g.Count("through"), Commits: g.Small("commits"), ID: g.Text("id"), Time: g.Time("at"),
			Source: Source{Kind: SourceKind(g.Text("kind")), Actor: g.Text("actor"), Note: g.Text("note")},
			Claim:  g.Text("claim"), More: g.Small("more"),
		}
		e.Through, e.Commits = max(e.Through, e.Revision), max(e.Commits, 1)
		readEdits(g, &e)
		out = append(out, e)
	})
	return out, f.Err()
}

func readEdits(g *form.Reader, e *AuditEntry) {
	for _, v := range g.Value("edits").Items() {
		var edit doc.Edit
		if err := edit.UnmarshalJSON(v.Encode()); err != nil {
			g.Fail("edits", "%w", err)
			return
		}
		e.Edits = append(e.Edits, edit)
	}
	for _, v := range g.Value("paths").Items() {
		text, _ := v.AsString()
		at, err := doc.ParsePath(text)
		if err != nil {
			g.Fail("paths", "%w", err)
			return
		}
		e.Paths = append(e.Paths, at)
	}
}

// Keys of the audit log. What is no commit stands behind the commits that were there then.

func auditPrefix(set, key string) string { return "audit/" + set + "/" + key + "/" }

func auditKey(set, key string, first uint64) string {
	return fmt.Sprintf("%s%020d", auditPrefix(set, key), first)
}

func actKey(set, key string, revision, epoch uint64) string {
	return fmt.Sprintf("%s%020d~%d", auditPrefix(set, key), revision, epoch)
}
