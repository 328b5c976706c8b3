package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Writer writes an export. It is not safe for concurrent use. It does not buffer: each line is
// one Write.
type Writer struct {
	out      io.Writer
	digest   hash.Hash
	prefix   []byte // of every line, up to the key
	line     []byte
	profiles int
	err      error // the first; later calls answer it
}

// NewWriter begins an export: it writes the first line.
func NewWriter(out io.Writer, h Header) (*Writer, error) {
	w := newWriter(out, h)
	w.write(h.encode())
	return w, w.err
}

func newWriter(out io.Writer, h Header) *Writer {
	prefix := append([]byte(`{"format":1,"set":`), encodeText(h.Set)...)
	return &Writer{out: out, digest: sha256.New(), prefix: append(prefix, `,"key":`...)}
}

// Profile writes the line of one profile: its key and its stored record, a JSON object. Line
// breaks between the members of the record become spaces.
func (w *Writer) Profile(key string, record []byte) error {
	w.line = AppendLine(w.line[:0], w.prefix, key, record)
	w.write(w.line)
	if w.err == nil {
		w.profiles++
	}
	return w.err
}

// Prefix is what [AppendLine] puts before every key.
func (w *Writer) Prefix() []byte { return w.prefix }

// Lines writes lines that [AppendLine] has made, so that making them can be another
// goroutine's work.
func (w *Writer) Lines(lines []byte, profiles int) error {
	w.write(lines)
	if w.err == nil {
		w.profiles += profiles
	}
	return w.err
}

// AppendLine appends the line of one profile to dst; prefix is [Writer.Prefix].
func AppendLine(dst, prefix []byte, key string, record []byte) []byte {
	dst = append(append(dst, prefix...), encodeText(key)...)
	dst = append(dst, `,"profile":`...)
	at := len(dst)
	dst = append(dst, record...)
	if bytes.ContainsAny(record, "\r\n") {
		for i := at; i < len(dst); i++ {
			if dst[i] == '\n' || dst[i] == '\r' {
				dst[i] = ' '
			}
		}
	}
	return append(dst, "}\n"...)
}

// Profiles is how many profiles were written.
func (w *Writer) Profiles() int { return w.profiles }

// Close writes the last line. It does not close what is below.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if _, err := w.out.Write(end{w.profiles, hex.EncodeToString(w.digest.Sum(nil))}.encode()); err != nil {
		w.err = err
		return err
	}
	w.err = errClosed
	return nil
}

var errClosed = errors.New("exchange: the export has its last line already")

func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	w.digest.Write(p)
	if _, err := w.out.Write(p); err != nil {
		w.err = err
	}
}

// Resume reads an export that was broken off, and answers a [Writer] that goes on behind its
// last whole line, and the key of that line (empty: there is none). Whatever comes behind that
// line is overwritten; cut the file there before, when it can be: at is its length up to there.
// A complete export is ErrComplete.
func Resume(file io.ReadWriteSeeker) (w *Writer, after string, at int64, err error) {
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return nil, "", 0, err
	}
	r, err := NewReader(file, nil)
	if err != nil {
		return nil, "", 0, err
	}
	if r.cut {
		return nil, "", 0, fmt.Errorf("%w: not even its first line is whole", ErrNoExport)
	}
	w = newWriter(file, r.Header())
	for {
		at = r.whole
		line, err := r.Next()
		if errors.Is(err, ErrTruncated) {
			break
		}
		if errors.Is(err, io.EOF) {
			return nil, "", 0, ErrComplete
		}
		if broken := new(LineError); errors.As(err, &broken) && r.cut {
			break
		}
		if err != nil {
			return nil, "", 0, fmt.Errorf("exchange: resume: %w", err)
		}
		if r.cut {
			break // whole by chance, but for its newline
		}
		after = line.Key
		w.profiles++
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return nil, "", 0, err
	}
	if _, err = io.CopyN(w.digest, file, at); err != nil {
		return nil, "", 0, err
	}
	return w, after, at, nil
}
