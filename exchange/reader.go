package exchange

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// ReaderOptions of a [Reader]. Nil is fine, zero is the default.
type ReaderOptions struct {
	// MaxLine bounds a line, in bytes. Default [MaxLine].
	MaxLine int
}

// Reader reads an export. It is not safe for concurrent use.
type Reader struct {
	lines  lineReader
	header Header
	digest hash.Hash
	sum    []byte // the digest of all lines before the current one
	seen   int    // lines that are profiles, broken ones included
	whole  int64  // bytes up to the end of the last line
	read   int64
	cut    bool // the current line has no newline
	done   error
}

// NewReader reads the first line.
func NewReader(in io.Reader, o *ReaderOptions) (*Reader, error) {
	r := &Reader{digest: sha256.New()}
	r.lines = lineReader{in: bufio.NewReaderSize(in, 1<<16), limit: MaxLine}
	if o != nil && o.MaxLine > 0 {
		r.lines.limit = o.MaxLine
	}
	line, err := r.line()
	if errors.Is(err, io.EOF) || errors.Is(err, ErrLineTooLong) {
		return nil, errors.Join(ErrNoExport, err)
	}
	if err != nil {
		return nil, err
	}
	r.header, err = decodeHeader(line)
	return r, err
}

// Header is the first line.
func (r *Reader) Header() Header { return r.header }

// line is the next line without its newline.
func (r *Reader) line() ([]byte, error) {
	r.sum = r.digest.Sum(r.sum[:0])
	line, err := r.lines.next(func(part []byte) {
		r.digest.Write(part)
		r.read += int64(len(part))
		r.cut = !bytes.HasSuffix(part, []byte("\n"))
	})
	if !r.cut {
		r.whole = r.read
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// Next is the next profile. A line that cannot be read is a [*LineError]: the next call goes on
// behind it. Behind the last line it is io.EOF, when the count and the digest are right, else
// ErrDamaged; without a last line it is ErrTruncated. Other errors are those of the stream.
func (r *Reader) Next() (Line, error) {
	if r.done != nil {
		return Line{}, r.done
	}
	text, err := r.line()
	switch {
	case errors.Is(err, io.EOF):
		return Line{}, r.end(fmt.Errorf("%w after line %d", ErrTruncated, r.lines.number-1))
	case errors.Is(err, ErrLineTooLong):
		return Line{}, r.broken(fmt.Errorf("%w: at most %d bytes are read", ErrLineTooLong, r.lines.limit))
	case err != nil:
		return Line{}, r.end(err)
	}
	line, last, err := decodeLine(text)
	switch {
	case err != nil:
		return Line{}, r.broken(err)
	case last != nil:
		return Line{}, r.end(r.check(last))
	}
	r.seen++
	line.Number = r.lines.number
	if line.Set == "" {
		line.Set = r.header.Set
	}
	return line, nil
}

func (r *Reader) broken(err error) error {
	r.seen++
	return &LineError{Line: r.lines.number, Err: err}
}

func (r *Reader) end(err error) error {
	r.done = err
	return err
}

// check is what there is to say at the last line.
func (r *Reader) check(last *end) error {
	switch sum := hex.EncodeToString(r.sum); {
	case last.profiles != r.seen:
		return fmt.Errorf("%w: %d profiles, but the last line counts %d", ErrDamaged, r.seen, last.profiles)
	case last.digest != sum:
		return fmt.Errorf("%w: its digest is %s, but the last line says %.64s", ErrDamaged, sum, last.digest)
	}
	switch _, err := r.line(); {
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil && !errors.Is(err, ErrLineTooLong):
		return err
	}
	return fmt.Errorf("%w: there is more behind its last line", ErrDamaged)
}
