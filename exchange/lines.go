package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/shoalworks/shoal/internal/form"
)

const (
	exportVersion = 1
	lineFormat    = 1
	kindExport    = "export"
	kindEnd       = "end"

	// MaxLine is how long a line may be by default, in bytes: a record of the largest size that
	// a store takes, and what is around it.
	MaxLine = 9 << 20
)

// Header is the first line of an export.
type Header struct {
	Set string    // whose profiles they are
	At  time.Time // when the export began
}

func (h Header) encode() []byte {
	out := append([]byte(`{"shoal":"export","version":1,"set":`), encodeText(h.Set)...)
	return append(append(append(out, `,"at":`...), encodeText(form.Stamp(h.At).Format(form.TimeLayout))...), "}\n"...)
}

// end is the last line of an export.
type end struct {
	profiles int
	digest   string
}

func (e end) encode() []byte {
	return fmt.Appendf(nil, "{\"shoal\":\"end\",\"profiles\":%d,\"digest\":%q}\n", e.profiles, e.digest)
}

func encodeText(s string) []byte { return form.AppendText(nil, s) }

// decodeHeader reads the first line.
func decodeHeader(line []byte) (Header, error) {
	f := form.Open(line)
	if f.Err() != nil || f.Text("shoal") != kindExport || f.Err() != nil {
		return Header{}, errors.Join(ErrNoExport, f.Err())
	}
	if v := f.Count("version"); f.Err() == nil && v > exportVersion {
		return Header{}, fmt.Errorf("%w: version %d, this release knows %d", ErrNewerVersion, v, exportVersion)
	}
	h := Header{Set: f.Word("set"), At: f.Time("at")}
	if f.Err() != nil {
		return Header{}, errors.Join(ErrNoExport, f.Err())
	}
	return h, nil
}

// Line is one profile of an export.
type Line struct {
	Number int    // of the line, counted from 1
	Set    string // whose profile it is; empty: that of the header
	Key    string
	// Record is the stored form. It is valid until the next line is read.
	Record []byte
	// Pending are the updates of a Roblox record that nobody has applied (see [Imported]).
	Pending int
	// Held tells that a server of Roblox held the record when it was exported.
	Held bool
}

// decodeLine reads a line that is no header. It is the end when the line says so.
func decodeLine(line []byte) (Line, *end, error) {
	f := form.Open(line)
	if f.Err() == nil && f.Has("shoal") {
		e, err := decodeEnd(f)
		return Line{}, e, err
	}
	f.CheckFormat(lineFormat)
	l := Line{Set: f.Text("set"), Key: f.Word("key"), Record: f.Take("profile")}
	roblox := f.Take("roblox")
	if err := f.Err(); errors.Is(err, form.ErrLater) {
		return Line{}, nil, fmt.Errorf("%w: %w", ErrNewerVersion, err)
	} else if err != nil {
		return Line{}, nil, err
	}
	switch {
	case l.Record == nil && roblox == nil:
		return Line{}, nil, errors.New("profile: is missing")
	case l.Record != nil && roblox != nil:
		return Line{}, nil, errors.New("profile and roblox: one of them expected")
	case l.Record != nil && l.Record[0] != '{':
		return Line{}, nil, errors.New("profile: an object expected")
	case roblox == nil:
		return l, nil, nil
	}
	in, err := FromRoblox(roblox, nil)
	if err != nil {
		return Line{}, nil, err
	}
	l.Record, l.Pending, l.Held = in.Record, len(in.Pending), in.Held
	return l, nil, nil
}

func decodeEnd(f *form.Reader) (*end, error) {
	kind := f.Text("shoal")
	e := &end{profiles: int(f.Count("profiles")), digest: f.Text("digest")}
	if f.Err() != nil {
		return nil, f.Err()
	}
	if kind != kindEnd {
		return nil, fmt.Errorf("shoal: %q expected, got %.40q", kindEnd, kind)
	}
	return e, nil
}

// lineReader reads lines of a bounded length.
type lineReader struct {
	in     *bufio.Reader
	limit  int
	line   []byte
	number int
}

// next is the next line with its newline, valid until the next call. The last one may lack the
// newline. One that is too long is read to its end and answers ErrLineTooLong. take gets all
// bytes that are read.
func (r *lineReader) next(take func([]byte)) ([]byte, error) {
	r.line = r.line[:0]
	r.number++
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		take(part)
		if long = long || len(r.line)+len(part) > r.limit; !long {
			r.line = append(r.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(r.line) == 0 && !long):
			return nil, err
		case long:
			return nil, ErrLineTooLong
		}
		return r.line, nil
	}
}
