package profile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/shoalworks/shoal/doc"
)

// mailFormat is the version of the stored form of mail.
const mailFormat = 1

// letter is mail as it lies in a box, under mail/<set>/<key>/<id>.
type letter struct {
	mail   Mail
	sender string // ownerOf the profile that paid for it (Session.SendMail); empty: none
	reply  string // the node that waits to hear that it was dealt with; empty: none
	digest string // of everything but when it was sent, and who waits
	extras []member
}

func boxPrefix(set, key string) string   { return "mail/" + set + "/" + key + "/" }
func mailKey(set, key, id string) string { return boxPrefix(set, key) + id }

// sealed is the letter with its digest.
func (l letter) sealed() (letter, error) {
	plain := l
	plain.mail.At, plain.reply, plain.digest = time.Time{}, "", ""
	text, err := plain.encode()
	if err != nil {
		return letter{}, err
	}
	sum := sha256.Sum256(text)
	l.digest = hex.EncodeToString(sum[:16])
	return l, nil
}

// encode is the stored form: canonical JSON. The error is that of a malformed operation.
func (l letter) encode() ([]byte, error) {
	m := l.mail
	w := openWriter(nil, l.extras)
	w.time("at", m.At)
	if !m.Body.IsNull() {
		w.value("body", m.Body)
	}
	w.text("digest", l.digest)
	w.count("format", mailFormat)
	w.optional("from", m.From)
	w.text("id", m.ID)
	w.optional("kind", m.Kind)
	w.optional("note", m.Note)
	if len(m.Ops) > 0 {
		w.at("ops")
		var err error
		if w.out, err = appendOps(w.out, m.Ops); err != nil {
			return nil, err
		}
	}
	w.optional("reply", l.reply)
	w.optional("sender", l.sender)
	return w.close(), nil
}

// optional writes a text that is not empty.
func (w *writer) optional(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func appendOps(dst []byte, ops []doc.Op) ([]byte, error) {
	dst = append(dst, '[')
	for i, op := range ops {
		text, err := op.MarshalJSON()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, text...)
	}
	return append(dst, ']'), nil
}

// decodeLetter reads the stored form.
func decodeLetter(text []byte) (letter, error) {
	f := openForm(text)
	f.checkFormat(mailFormat)
	if f.err != nil {
		return letter{}, f.err
	}
	l := letter{
		mail: Mail{
			ID: f.word("id"), Kind: f.text("kind"), From: f.text("from"), Note: f.text("note"),
			Body: f.value("body"), Ops: f.ops("ops"), At: f.time("at"),
		},
		sender: f.text("sender"), reply: f.text("reply"), digest: f.word("digest"),
	}
	if f.err != nil {
		return letter{}, f.err
	}
	l.extras = f.rest()
	return l, nil
}

// ops reads a list of operations.
func (f *form) ops(name string) []doc.Op {
	raw := f.take(name)
	if raw == nil || f.err != nil {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		f.fail(name, "a list expected, got %.40s", raw)
		return nil
	}
	var out []doc.Op
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		var op doc.Op
		if err == nil {
			err = op.UnmarshalJSON(item)
		}
		if err != nil {
			f.fail(name, "%w", err)
			return nil
		}
		out = append(out, op)
	}
	return out
}
