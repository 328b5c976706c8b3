package server

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/shoalworks/shoal/doc"
)

// maxOps is how many operations one transaction takes.
const maxOps = 10_000

// parseOps reads the list of operations of a transaction. The list is one JSON text, strict
// to the last byte; an operation that is refused is named by its place.
func parseOps(text string) ([]doc.Op, error) {
	if text == "" {
		return nil, refuse(badField, "ops", "is missing; a list of operations is expected")
	}
	ops, err := parseSomeOps(text)
	if err == nil && len(ops) == 0 {
		return nil, refuse(badField, "ops", "is empty; a list of operations is expected")
	}
	return ops, err
}

// parseSomeOps reads a list of operations that may be empty.
func parseSomeOps(text string) ([]doc.Op, error) {
	dec := jsontext.NewDecoder(strings.NewReader(text))
	if dec.PeekKind() != '[' {
		return nil, refuse(badField, "ops", "a list of operations is expected")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, badOps(err)
	}
	var ops []doc.Op
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return nil, badOps(err)
		}
		if len(ops) == maxOps {
			return nil, refuse(badField, "ops", "at most %d operations are expected", maxOps)
		}
		var op doc.Op
		if err := op.UnmarshalJSON(item); err != nil {
			return nil, &failure{reason: badOperation, field: indexed("ops", len(ops)), problem: opProblem(err), cause: err}
		}
		ops = append(ops, op)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, badOps(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, refuse(badField, "ops", "more data after the list")
	}
	return ops, nil
}

// opsText is a list of operations as a JSON list.
func opsText(ops []doc.Op) string {
	out := []byte{'['}
	for i, op := range ops {
		text, err := op.MarshalJSON()
		if err != nil {
			panic("server: an operation that was read does not encode: " + err.Error())
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	return string(append(out, ']'))
}

// badOps is for texts that only binary messages can bring: the JSON codec has read the list
// before.
func badOps(err error) error {
	return &failure{reason: badOperation, field: "ops", problem: "a JSON list of operations is expected: " + err.Error(), cause: err}
}

// opProblem is the fault of an operation without the words that the field says already.
func opProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "doc: ")
	return strings.TrimPrefix(text, doc.ErrBadOp.Error()+": ")
}
