package main

import (
	"errors"
	"io"
	"os"
)

// openInput opens the file that an import reads; "-" is standard input.
func openInput(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return f, nil
}

// openOutput opens the file that an export writes. One that is there already is only gone on
// with (resume) or overwritten (force) if that was asked for.
func openOutput(file string, resume, force bool) (*os.File, error) {
	how := os.O_RDWR | os.O_CREATE | os.O_EXCL
	switch {
	case resume:
		how = os.O_RDWR
	case force:
		how = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(file, how, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, usage("%s is there already; --resume goes on with it, --force overwrites it", file)
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return f, nil
}
