package profile

import (
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// journalFormat is the version of the stored form of a journal.
const journalFormat = 1

// journal is what is stored under journal/<set>/<key>: the effects of a session's commits
// above its last acknowledged save. It is a value, as record is.
type journal struct {
	epoch      uint64 // of the session
	token      string // of the session
	base       uint64 // revision of the last acknowledged save
	baseDigest string // of the data that this save stored
	schema     int
	rev        uint64 // the effects lead to this revision
	effects    doc.Effects
	marks      []mark // commits above base that came with an id
	audited    uint64 // the last of these commits that the audit log would have kept; 0: none
	sealedBy   string // token of the load that is taking the session over; empty: not sealed

	extras []member
}

// sealed is the journal with the seal of a load; its entries stay.
func (j journal) sealed(by string) journal {
	j.sealedBy = by
	return j
}

// encode is the stored form: canonical JSON.
func (j journal) encode() []byte {
	return j.appendTo(make([]byte, 0, j.effects.Size()+envelopeRoom+128*len(j.marks)))
}

// appendTo appends the stored form.
func (j journal) appendTo(dst []byte) []byte {
	w := form.NewWriter(dst, j.extras)
	if j.audited != 0 {
		w.Count("audited", j.audited)
	}
	w.Count("base", j.base)
	w.Text("baseDigest", j.baseDigest)
	if len(j.marks) > 0 {
		form.AppendList(&w, "commits", j.marks, appendMark)
	}
	w.At("effects")
	w.Out = j.effects.AppendJSON(w.Out)
	w.Count("epoch", j.epoch)
	w.Count("format", journalFormat)
	w.Count("rev", j.rev)
	w.Count("schema", uint64(j.schema))
	if j.sealedBy != "" {
		w.Text("sealedBy", j.sealedBy)
	}
	w.Text("token", j.token)
	return w.Close()
}

// decodeJournal reads the stored form as decodeRecord does: errLaterFormat is an unknown
// format, which is never ignored (rule J3); any other error is a foreign value.
func decodeJournal(text []byte) (journal, error) {
	f := form.Open(text)
	f.CheckFormat(journalFormat)
	if f.Err() != nil {
		return journal{}, f.Err()
	}
	j := journal{
		epoch: f.Count("epoch"), token: f.Word("token"), base: f.Count("base"), baseDigest: f.Text("baseDigest"),
		schema: f.Small("schema"), rev: f.Count("rev"), sealedBy: f.Text("sealedBy"), audited: f.Count("audited"),
	}
	if raw := f.Take("effects"); raw != nil && f.Err() == nil {
		if err := j.effects.UnmarshalJSON(raw); err != nil {
			f.Fail("effects", "%w", err)
		}
	}
	j.marks = readMarks(f, "commits")
	if f.Err() != nil {
		return journal{}, f.Err()
	}
	j.extras = f.Rest()
	return j, nil
}
