package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"

	"github.com/shoalworks/shoal/store"
)

// boardExportCommand writes a board to a file.
type boardExportCommand struct {
	Board  string `arg:"" help:"The board's name."`
	File   string `arg:"" type:"path" help:"The file; - is standard output."`
	Resume bool   `help:"Go on with an export that was broken off, within 15 minutes."`
	Force  bool   `help:"Overwrite the file."`
	boardFlags
}

// Help is shown by --help.
func (*boardExportCommand) Help() string {
	return `Writes the board as it is when the export begins, whatever is written meanwhile: one JSON line for each entry, the best
first, then the hidden ones. The last line has a count and a digest, so that a truncated file is noticed.

  shoal board export Kills kills.jsonl
  shoal board export Kills - | jq -r 'select(.rank) | [.rank, .key, .score] | @csv'

` + exitCodes
}

// Run writes the file.
func (c *boardExportCommand) Run(ctx context.Context, o *output) error {
	c.long = true
	switch {
	case c.Resume && c.File == "-":
		return usage("--resume: a file expected")
	case c.Resume && c.Force:
		return usage("--resume and --force exclude each other")
	}
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.stored(ctx, c.Board)
		if err != nil {
			return err
		}
		x := &exporter{t: t, s: s, progress: newProgress(o, "entries"), digest: sha256.New()}
		err = c.write(ctx, x)
		x.progress.done()
		if err != nil {
			return x.explain(err, c.File)
		}
		return t.printTo(o.err, struct {
			Entries int64 `json:"entries"`
			Hidden  int64 `json:"hidden"`
		}{x.entries, x.hidden}, func() {
			fmt.Fprintf(o.err, "%s exported", countOf(int(x.entries), "entry", "entries"))
			if x.hidden > 0 {
				fmt.Fprintf(o.err, ", and %d hidden", x.hidden)
			}
			fmt.Fprintln(o.err)
		})
	})
}

func (c *boardExportCommand) write(ctx context.Context, x *exporter) (err error) {
	if c.File == "-" {
		return x.export(ctx, x.t.out)
	}
	f, err := openOutput(c.File, c.Resume, c.Force)
	if err != nil {
		return err
	}
	if c.Resume {
		err = x.resume(f)
	}
	if err == nil {
		err = x.export(ctx, f)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// exporter writes one board.
type exporter struct {
	t        *boardTool
	s        *shelf
	progress *progress
	out      *bufio.Writer
	digest   hash.Hash // of what is in the file
	bytes    int64
	cursor   store.Cursor // behind what is in the file; zero: nothing is
	entries  int64
	hidden   int64
	last     string // hidden key
	complete bool   // the last line is there
}

// Write puts whole lines into the file.
func (x *exporter) Write(p []byte) (int, error) {
	n, err := x.out.Write(p)
	_, _ = x.digest.Write(p[:n]) // a hash does not fail
	x.bytes += int64(n)
	return n, err
}

func (x *exporter) line(v any) error {
	line, err := encodeLine(v)
	if err == nil {
		_, err = x.Write(line)
	}
	return err
}

// export writes what is not in the file yet.
func (x *exporter) export(ctx context.Context, w io.Writer) error {
	if x.complete {
		return nil
	}
	x.out = bufio.NewWriterSize(w, 256<<10)
	err := x.walk(ctx)
	if err == nil {
		err = x.writeHidden(ctx)
	}
	if err == nil {
		err = x.line(linesEnd{"end", x.entries, x.hidden, digestOf(x.digest)})
	}
	return errors.Join(err, x.out.Flush())
}

// walk writes the header and the entries that have a rank.
func (x *exporter) walk(ctx context.Context) error {
	for !x.cursor.Done() {
		page, next, err := x.t.raw().Walk(ctx, x.s.name, x.cursor, store.MaxPage)
		if err != nil {
			return err
		}
		if x.cursor == (store.Cursor{}) {
			if err := x.line(x.header(page, next.Tag)); err != nil {
				return err
			}
		}
		for _, e := range page.Entries {
			if err := x.line(x.entry(e)); err != nil {
				return err
			}
		}
		x.entries += int64(len(page.Entries))
		x.progress.show(int(x.entries), x.bytes)
		if len(page.Entries) == 0 {
			return nil
		}
		x.cursor = next
	}
	return nil
}

func (x *exporter) header(p store.Page, tag uint64) linesHeader {
	return linesHeader{
		Shoal: "board", Format: linesFormat, Board: x.s.name, Order: p.Info.Order.String(), Decimals: x.s.config.Decimals,
		Generation: p.Info.Generation, Version: p.Info.Sequence, Count: p.Total, Tag: tag,
	}
}

func (x *exporter) entry(e store.Standing) lineEntry {
	out := lineEntry{Rank: e.Rank, Key: e.Key, Score: strconv.AppendInt(nil, e.Score, 10), Sequence: e.Sequence, Meta: e.Meta}
	if x.s.config.Decimals > 0 {
		text := x.t.score(x.s, e.Score)
		out.Decimal = &text
	}
	return out
}

// writeHidden writes the hidden keys.
func (x *exporter) writeHidden(ctx context.Context) error {
	for {
		page, err := x.t.raw().Hidden(ctx, x.s.name, x.last, store.MaxPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			line := lineEntry{Hidden: true, Key: e.Key}
			if e.Scored {
				line = x.entry(store.Standing{Entry: e.Entry})
				line.Hidden = true
			}
			if err := x.line(line); err != nil {
				return err
			}
			x.last = e.Key
			x.hidden++
		}
		if len(page) < store.MaxPage {
			return nil
		}
	}
}

// explain says what to do about a broken export.
func (x *exporter) explain(err error, file string) error {
	switch {
	case errors.Is(err, store.ErrCursor):
		return refused("%w\nthe board does not remember any more how it was when the export began: --force begins anew", err)
	case x.cursor != (store.Cursor{}) && file != "-":
		return fmt.Errorf("%w\n--resume goes on within 15 minutes", err)
	}
	return err
}

// resume finds out how far the export in f came, and cuts off what is behind the last whole
// line.
func (x *exporter) resume(f *os.File) error {
	lines := newLineReader(f)
	first, err := lines.next()
	if err != nil || first[len(first)-1] != '\n' {
		return x.restart(f)
	}
	h, err := decodeHeader(first)
	switch {
	case err != nil:
		return usage("--resume: %w", err)
	case h.Board != x.s.name:
		return usage("--resume: the file is an export of %s", h.Board)
	}
	x.took(first)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) || err == nil && line[len(line)-1] != '\n' {
			break
		}
		if err == nil {
			err = x.resumeLine(h, line)
		}
		if err != nil {
			return usage("--resume: line %d: %w", lines.n, err)
		}
		if x.complete {
			return nil
		}
	}
	if x.entries == 0 {
		return x.restart(f)
	}
	return x.cut(f)
}

// took notes a line that is in the file.
func (x *exporter) took(line []byte) {
	_, _ = x.digest.Write(line) // a hash does not fail
	x.bytes += int64(len(line))
}

func (x *exporter) resumeLine(h linesHeader, line []byte) error {
	if _, ok := isEnd(line); ok {
		x.complete = true
		return nil
	}
	var e lineEntry
	if err := decodeLine(line, &e); err != nil {
		return err
	}
	x.took(line)
	if e.Hidden {
		x.hidden++
		x.last = e.Key
		return nil
	}
	score, err := strconv.ParseInt(string(e.Score), 10, 64)
	x.entries++
	x.cursor = store.Cursor{Generation: h.Generation, Version: h.Version, Total: h.Count, Seen: x.entries, Score: score, Sequence: e.Sequence, Tag: h.Tag}
	return err
}

// restart begins anew in a file that has no entry yet.
func (x *exporter) restart(f *os.File) error {
	x.bytes, x.digest, x.hidden, x.last = 0, sha256.New(), 0, ""
	return x.cut(f)
}

func (x *exporter) cut(f *os.File) error {
	if err := f.Truncate(x.bytes); err != nil {
		return err
	}
	_, err := f.Seek(x.bytes, io.SeekStart)
	return err
}
