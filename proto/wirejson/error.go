package wirejson

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is the refusal of a JSON text.
type Error struct {
	Field   string // Field is the place of the fault, such as "entries[2].score"; empty for the whole message.
	Offset  int64  // Offset is the byte at or before which the fault was seen.
	Problem string // Problem says what was expected and what was found.
}

// Error names the field and the problem.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return e.Field + ": " + e.Problem
}

// refuse is an Error at the value or name that dec has just read.
func refuse(dec *jsontext.Decoder, format string, args ...any) error {
	return &Error{Field: fieldName(dec.StackPointer()), Offset: dec.InputOffset(), Problem: fmt.Sprintf(format, args...)}
}

// syntax turns an error of the decoder into an Error. Errors of the reader below stay as
// they are.
func syntax(err error) error {
	var s *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &s):
		problem := s.Err.Error()
		if errors.Is(err, jsontext.ErrDuplicateName) {
			problem = "is given twice"
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			problem = "the JSON text ends too early"
		}
		return &Error{Field: fieldName(s.JSONPointer), Offset: s.ByteOffset, Problem: fmt.Sprintf("%s (byte %d)", problem, s.ByteOffset)}
	case errors.Is(err, io.EOF):
		return &Error{Problem: "the message is empty; an object is expected, {} at least"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Problem: "the JSON text ends too early"}
	}
	return err
}

// fieldName writes a JSON Pointer the way people write fields: entries[2].score.
func fieldName(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	return b.String()
}

const maxQuoted = 40 // bytes of a refused value that an error repeats

// describe says in words what a JSON value is.
func describe(v jsontext.Value) string {
	switch kind := v.Kind(); {
	case kind == '{':
		return "an object"
	case kind == '[':
		return "a list"
	case kind == '"':
		return "the string " + shorten(v)
	case kind == '0':
		return shorten(v)
	}
	return string(v)
}

func shorten(v jsontext.Value) string {
	if len(v) <= maxQuoted {
		return string(v)
	}
	return strings.ToValidUTF8(string(v[:maxQuoted]), "") + "…"
}
