package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/shoalworks/shoal/exchange"
	"github.com/shoalworks/shoal/internal/form"
	"github.com/shoalworks/shoal/profile"
)

// This file turns lines of {"key":…,"value":…}, as records of a Roblox data store are listed,
// into Shoal's export and back, while it flows by.

// robloxLine is one record of a Roblox library.
type robloxLine struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// exportRoblox writes the profiles of a set as records of ProfileStore and KeepBlox.
func exportRoblox(ctx context.Context, set *profile.Set, w io.Writer, opts *profile.ExportOptions) (report profile.ExportReport, err error) {
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := robloxFrom(in, w)
		_ = in.CloseWithError(err) // the export stops when nobody can write any more
		done <- err
	}()
	report, err = set.Export(ctx, out, opts)
	_ = out.CloseWithError(err)
	return report, errors.Join(err, <-done)
}

// robloxFrom writes the lines of an export as records.
func robloxFrom(r io.Reader, w io.Writer) error {
	in, err := exchange.NewReader(r, nil)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	for {
		line, err := in.Next()
		if errors.Is(err, io.EOF) {
			return buffered.Flush()
		}
		if err != nil {
			return err
		}
		value, err := exchange.ToRoblox(line.Record)
		if err != nil {
			return fmt.Errorf("%s: %w", line.Key, err)
		}
		if err := enc.Encode(robloxLine{line.Key, value}); err != nil {
			return err
		}
	}
}

// importRoblox brings in records of ProfileStore and KeepBlox. Line numbers are those of r.
func importRoblox(ctx context.Context, set *profile.Set, r io.Reader, opts *profile.ImportOptions) (profile.ImportReport, error) {
	in, out := io.Pipe()
	go func() { _ = out.CloseWithError(robloxInto(r, out, set.Name())) }()
	if opts.After > 0 {
		opts.After++ // an export has a first line of its own
	}
	report, err := set.Import(ctx, in, opts)
	_ = in.Close()
	report.Line = max(0, report.Line-1)
	for i := range report.Errors {
		report.Errors[i].Line--
	}
	return report, err
}

// robloxInto writes records as lines of an export. A line that is no record is passed on, to be
// refused by its number.
func robloxInto(r io.Reader, w io.Writer, set string) error {
	out, err := exchange.NewWriter(w, exchange.Header{Set: set})
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), exchange.MaxLine)
	for lines.Scan() {
		text := bytes.TrimSpace(lines.Bytes())
		line := append(bytes.Clone(text), '\n')
		f := form.Open(text)
		if key, value := f.Word("key"), f.Take("value"); f.Err() == nil && value != nil {
			line = fmt.Appendf(nil, `{"format":1,"set":%s,"key":%s,"roblox":%s}`+"\n", quoted(set), quoted(key), value)
		}
		if err := out.Lines(line, 1); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return out.Close()
}

// quoted is a text as JSON.
func quoted(s string) []byte { return form.AppendText(nil, s) }
