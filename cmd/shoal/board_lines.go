package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// This file holds the form of a board in a file: JSON, one object a line.
//
//	{"shoal":"board","format":1,"board":"Kills","order":"descending","generation":"…","version":9,"count":2}
//	{"rank":1,"key":"u_1","score":30,"sequence":4}
//	{"rank":2,"key":"u_2","score":10,"sequence":9,"meta":"Y2FyIDc="}
//	{"hidden":true,"key":"u_3","score":99,"sequence":7}
//	{"shoal":"end","entries":2,"hidden":1,"digest":"…"}
//
// Ranked entries come in their order, and are those of one moment; hidden ones follow. The
// digest is the SHA-256 of all bytes before the last line.

const (
	linesFormat = 1
	maxLine     = 64 << 10 // bytes; an entry takes less than 1 KiB
)

// linesHeader is the first line.
type linesHeader struct {
	Shoal      string `json:"shoal"`  // "board"
	Format     int    `json:"format"` // linesFormat
	Board      string `json:"board"`
	Order      string `json:"order"`
	Decimals   int    `json:"decimals,omitempty"`
	Generation string `json:"generation"`
	Version    uint64 `json:"version"` // the board's sequence at that moment
	Count      int64  `json:"count"`   // its ranked entries
	// Tag is that of the walk, for --resume; none of engines that have none.
	Tag uint64 `json:"tag,omitempty,string"`
}

// lineEntry is the line of an entry.
type lineEntry struct {
	Hidden   bool           `json:"hidden,omitempty"`
	Rank     int64          `json:"rank,omitempty"`
	Key      string         `json:"key"`
	Score    jsontext.Value `json:"score,omitempty"` // a number, or a string with one; none: hidden in advance
	Decimal  *string        `json:"decimal,omitempty"`
	Sequence uint64         `json:"sequence,omitempty"`
	Meta     []byte         `json:"meta,omitempty"`
}

// linesEnd is the last line.
type linesEnd struct {
	Shoal   string `json:"shoal"` // "end"
	Entries int64  `json:"entries"`
	Hidden  int64  `json:"hidden"`
	Digest  string `json:"digest"`
}

// encodeLine is a value as a line.
func encodeLine(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// decodeLine reads a line, strictly.
func decodeLine(line []byte, v any) error {
	err := jsonv2.Unmarshal(line, v, jsonv2.RejectUnknownMembers(true))
	var what *jsonv2.SemanticError
	if errors.As(err, &what) {
		at := strings.ReplaceAll(strings.TrimPrefix(string(what.JSONPointer), "/"), "/", ".")
		if what.Err != nil {
			return fmt.Errorf("%s: %w", at, what.Err)
		}
		return fmt.Errorf("%s: %s expected, got %s", at, what.GoType, what.JSONValue)
	}
	return err
}

// decodeHeader reads the first line.
func decodeHeader(line []byte) (linesHeader, error) {
	var h linesHeader
	switch err := decodeLine(line, &h); {
	case err != nil || h.Shoal != "board":
		return h, errors.New("no export of a board: its first line is to be one that shoal board export has written, or --format csv")
	case h.Format != linesFormat:
		return h, fmt.Errorf("the export has format %d, %d expected: a newer release wrote it", h.Format, linesFormat)
	}
	return h, nil
}

// isEnd tells the last line of an export from others.
func isEnd(line []byte) (linesEnd, bool) {
	var e linesEnd
	if !bytes.HasPrefix(line, []byte(`{"shoal":"end"`)) || decodeLine(line, &e) != nil {
		return e, false
	}
	return e, true
}

// number is the entry's score; ok is false when it has none.
func (e *lineEntry) number(decimals func(string) (int64, error)) (score int64, ok bool, err error) {
	if e.Score == nil && e.Decimal == nil {
		return 0, false, nil
	}
	if e.Score != nil {
		text := strings.Trim(string(e.Score), `"`)
		if score, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, false, fmt.Errorf("score: a whole number of 64 bits expected, got %s", clip(string(e.Score), 60))
		}
	}
	if e.Decimal == nil {
		return score, true, nil
	}
	exact, err := decimals(*e.Decimal)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("decimal: %w", err)
	case e.Score != nil && exact != score:
		return 0, false, fmt.Errorf("score %d and decimal %s are not the same number", score, *e.Decimal)
	}
	return exact, true, nil
}

// csvEntry reads a line of key,score or key,score,meta.
func csvEntry(line string) (key, score, meta string, err error) {
	var fields []string
	if strings.Contains(line, `"`) {
		r := csv.NewReader(strings.NewReader(line))
		r.FieldsPerRecord = -1
		if fields, err = r.Read(); err != nil {
			return "", "", "", errors.New("no CSV: a quote is in the wrong place")
		}
	} else {
		fields = strings.Split(line, ",")
	}
	if len(fields) != 2 && len(fields) != 3 {
		return "", "", "", fmt.Errorf("key,score or key,score,meta expected, got %d fields", len(fields))
	}
	if len(fields) == 3 {
		meta = fields[2]
	}
	return strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1]), meta, nil
}

// lineReader reads lines of at most maxLine bytes, and counts them.
type lineReader struct {
	r *bufio.Reader
	n int // lines read
}

func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, maxLine)} }

// errLineTooLong is a line that was passed over.
var errLineTooLong = fmt.Errorf("at most %d bytes expected in a line", maxLine)

// next is the next line with its end, if it has one. It stands in memory until the next call.
func (l *lineReader) next() (line []byte, err error) {
	line, err = l.r.ReadSlice('\n')
	if len(line) > 0 {
		l.n++
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		if errors.Is(err, io.EOF) && len(line) > 0 {
			err = nil
		}
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, errLineTooLong
}

// digestOf is a hash as it stands in a file.
func digestOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
