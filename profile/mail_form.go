package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/form"
)

// mailFormat is the version of the stored form of mail.
const mailFormat = 1

// letter is mail as it lies in a box, under mail/<set>/<key>/<id>.
type letter struct {
	mail   Mail
	sender string // ownerOf the profile that paid for it (Session.SendMail); empty: none
	reply  string // the node that waits to hear that it was dealt with; empty: none
	digest string // of everything but when it was sent, and who waits
	extras []form.Member
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
	w := form.NewWriter(nil, l.extras)
	w.Time("at", m.At)
	if !m.Body.IsNull() {
		w.Value("body", m.Body)
	}
	w.Text("digest", l.digest)
	w.Count("format", mailFormat)
	optional(&w, "from", m.From)
	w.Text("id", m.ID)
	optional(&w, "kind", m.Kind)
	optional(&w, "note", m.Note)
	if len(m.Ops) > 0 {
		w.At("ops")
		var err error
		if w.Out, err = appendOps(w.Out, m.Ops); err != nil {
			return nil, err
		}
	}
	optional(&w, "reply", l.reply)
	optional(&w, "sender", l.sender)
	return w.Close(), nil
}

// optional writes a text that is not empty.
func optional(w *form.Writer, name, s string) {
	if s != "" {
		w.Text(name, s)
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
	f := form.Open(text)
	f.CheckFormat(mailFormat)
	if f.Err() != nil {
		return letter{}, f.Err()
	}
	l := letter{
		mail: Mail{
			ID: f.Word("id"), Kind: f.Text("kind"), From: f.Text("from"), Note: f.Text("note"),
			Body: f.Value("body"), Ops: readOps(f, "ops"), At: f.Time("at"),
		},
		sender: f.Text("sender"), reply: f.Text("reply"), digest: f.Word("digest"),
	}
	if f.Err() != nil {
		return letter{}, f.Err()
	}
	l.extras = f.Rest()
	return l, nil
}

// readOps reads a list of operations.
func readOps(f *form.Reader, name string) []doc.Op {
	v := f.Value(name)
	if f.Err() != nil || v.IsNull() {
		return nil
	}
	if v.Kind() != doc.KindList {
		f.Fail(name, "a list expected, got %.40s", v)
		return nil
	}
	var out []doc.Op
	for i, item := range v.Items() {
		var op doc.Op
		if err := op.UnmarshalJSON(item.Encode()); err != nil {
			f.Fail(fmt.Sprintf("%s[%d]", name, i), "%w", err)
			return nil
		}
		out = append(out, op)
	}
	return out
}
