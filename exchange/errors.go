package exchange

import (
	"errors"
	"fmt"
)

// What can be wrong with a stream or a record.
var (
	// ErrNoExport: the stream does not begin with the header of an export.
	ErrNoExport = errors.New("exchange: not an export of Shoal")
	// ErrNewerVersion: a later release has written the export, or the record.
	ErrNewerVersion = errors.New("exchange: written by a newer release")
	// ErrTruncated: the stream ended before the line that ends an export. Everything before
	// was read.
	ErrTruncated = errors.New("exchange: the export is cut off")
	// ErrDamaged: the last line's count or digest is not that of the lines before it, or
	// something comes behind it.
	ErrDamaged = errors.New("exchange: the export was changed")
	// ErrComplete: the export that was to be resumed has its last line.
	ErrComplete = errors.New("exchange: the export is complete")
	// ErrLineTooLong: a line is longer than MaxLine.
	ErrLineTooLong = errors.New("line too long")
	// ErrErased: the profile was erased; there is nothing to write.
	ErrErased = errors.New("exchange: the profile was erased")
)

// LineError is a line that could not be read. The next one may be.
type LineError struct {
	Line int // counted from 1
	Err  error
}

// Error names the line and what is wrong with it.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap is what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// FormatError is a record that is not of the form it should have.
type FormatError struct {
	Path    string // a JSON Pointer: "/MetaData/SessionLoadCount"
	Problem string // what was expected, what was found
}

// Error names the place and what was expected.
func (e *FormatError) Error() string {
	if e.Path == "" {
		return "exchange: " + e.Problem
	}
	return "exchange: " + e.Path + ": " + e.Problem
}

func wrong(path, format string, args ...any) error {
	return &FormatError{Path: path, Problem: fmt.Sprintf(format, args...)}
}
