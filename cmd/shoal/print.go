package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/doc"
)

// printer prints what a command has to say: to people, or as JSON.
type printer struct {
	*output
	json bool
}

// print prints v as one line of JSON, or what text says.
func (t *printer) print(v any, text func()) error { return t.printTo(t.out, v, text) }

func (t *printer) printTo(w io.Writer, v any, text func()) error {
	if !t.json {
		text()
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", line)
	return err
}

// table prints rows in columns; the first row is the heading.
func (t *printer) table(rows [][]string) {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = plain(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // what it writes to is a terminal or a pipe: nobody is there to tell
}

// plain is a text without what a terminal would obey: some of it comes from players.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// pretty is JSON that people read.
func pretty(v doc.Value) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(json.RawMessage(v.Encode())); err != nil {
		return v.String()
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// short is a value in one line of a table.
func short(v doc.Value) string {
	const width = 60
	return clip(v.String(), width)
}

// when is a time for people: exact, and how long ago by this machine's clock.
func when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format(time.DateTime) + " (" + humanize.Time(t) + ")"
}
