package profile

import (
	"github.com/shoalworks/shoal/doc"
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
	w := openWriter(make([]byte, 0, j.effects.Size()+envelopeRoom+128*len(j.marks)), j.extras)
	w.count("base", j.base)
	w.text("baseDigest", j.baseDigest)
	if len(j.marks) > 0 {
		appendList(&w, "commits", j.marks, appendMark)
	}
	w.at("effects")
	w.out = append(w.out, encodeEffects(j.effects)...)
	w.count("epoch", j.epoch)
	w.count("format", journalFormat)
	w.count("rev", j.rev)
	w.count("schema", uint64(j.schema))
	if j.sealedBy != "" {
		w.text("sealedBy", j.sealedBy)
	}
	w.text("token", j.token)
	return w.close()
}

func encodeEffects(e doc.Effects) []byte {
	text, err := e.MarshalJSON()
	if err != nil {
		panic("profile: effects of valid values do not encode: " + err.Error())
	}
	return text
}

// decodeJournal reads the stored form as decodeRecord does: errLaterFormat is an unknown
// format, which is never ignored (rule J3); any other error is a foreign value.
func decodeJournal(text []byte) (journal, error) {
	f := openForm(text)
	f.checkFormat(journalFormat)
	if f.err != nil {
		return journal{}, f.err
	}
	j := journal{
		epoch: f.count("epoch"), token: f.word("token"), base: f.count("base"), baseDigest: f.text("baseDigest"),
		schema: f.small("schema"), rev: f.count("rev"), sealedBy: f.text("sealedBy"),
	}
	if raw := f.take("effects"); raw != nil && f.err == nil {
		if err := j.effects.UnmarshalJSON(raw); err != nil {
			f.fail("effects", "%w", err)
		}
	}
	j.marks = f.marks("commits")
	if f.err != nil {
		return journal{}, f.err
	}
	j.extras = f.rest()
	return j, nil
}
