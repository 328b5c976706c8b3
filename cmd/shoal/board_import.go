package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// boardImportCommand brings entries into a board.
type boardImportCommand struct {
	Board     string `arg:"" help:"The board's name."`
	File      string `arg:"" type:"path" help:"The file; - is standard input."`
	Format    string `enum:"shoal,csv" default:"shoal" help:"shoal: what shoal board export has written. csv: key,score or key,score,meta in each line, the best first."`
	Existing  string `enum:"best,keep," default:"" help:"Entries that are there: best takes the better score, keep leaves them. Default: best on boards of the rule best, keep on others."`
	Order     string `placeholder:"ORDER" help:"descending or ascending: which scores rank first, for CSV into a board that is neither in the configuration nor stored."`
	KeepGoing bool   `help:"Go on behind a line that is broken or refused."`
	After     int    `placeholder:"LINE" help:"Go on behind this line of an import that was broken off: it says which."`
	moderateFlags
}

// Help is shown by --help.
func (*boardImportCommand) Help() string {
	return `Entries are written in batches of 2,000 lines, each of them wholly or not at all. Of equal scores, those that come first in
the file stand before those that come later. A broken line ends the import before its batch, with its number and what
is wrong with it, unless --keep-going says otherwise; a summary comes at the end in any case. Importing a file again
changes nothing. Hidden keys of an export are hidden, those of banned players too: by hand, so that lifting the ban does not show them.

  shoal board import Kills kills.jsonl --dry-run
  shoal board import OldKills scores.csv --format csv --order descending

` + exitCodes
}

// Run reads the file.
func (c *boardImportCommand) Run(ctx context.Context, o *output) error {
	c.long = true
	in, err := openInput(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		lines := newEntryReader(in, c.Format)
		if err := lines.begin(); err != nil {
			return &exitError{exitUsage, err}
		}
		s, err := c.target(ctx, t, lines.header)
		if err != nil {
			return err
		}
		p := newProgress(o, "lines")
		im := &importer{
			t: t, s: s, lines: lines, by: c.moderator(), rule: c.rule(s), dry: c.DryRun, keepGoing: c.KeepGoing, after: c.After,
			progress: func(line int) { p.show(line, 0) },
		}
		err = im.run(ctx)
		p.done()
		return im.report.finish(t, c.DryRun, err)
	})
}

// target is the board that the entries go to.
func (c *boardImportCommand) target(ctx context.Context, t *boardTool, h linesHeader) (*shelf, error) {
	order := c.Order
	if h.Order != "" {
		order = h.Order
	}
	if t.decimals == nil && h.Shoal != "" {
		if _, configured := t.boards.Config(c.Board); !configured {
			t.decimals = &h.Decimals
		}
	}
	// The rule of a board that the configuration does not know matters to submits only.
	f := ruleFlags{Order: order}
	if cfg, configured := t.boards.Config(c.Board); configured {
		f.Rule = cfg.Rule.String()
	} else {
		f.Rule = store.Best.String()
	}
	known, err := t.look(ctx, c.Board)
	if err != nil {
		return nil, err
	}
	if has := known.info.Order; h.Order != "" && has != 0 && has.String() != h.Order {
		return nil, refused("the file is of a board that is %s, %s is %v", h.Order, c.Board, has)
	}
	s, err := t.writable(ctx, c.Board, f)
	if err != nil {
		return nil, err
	}
	if h.Shoal != "" && h.Decimals != s.config.Decimals {
		return nil, refused("the file has scores of %d decimals, %s of %d", h.Decimals, s.name, s.config.Decimals)
	}
	return s, nil
}

// rule is how an entry of the file meets one of the board: by best the better one stays, by
// last the one that is there, since nothing is older than a stamp of zero.
func (c *boardImportCommand) rule(s *shelf) store.Rule {
	if c.Existing == "best" || c.Existing == "" && s.configured && s.config.Rule == store.Best {
		return store.Best
	}
	return store.Last
}

// entryReader reads entries of a file in one of the formats.
type entryReader struct {
	*lineReader
	csv    bool
	header linesHeader // of an export
	digest *digester
}

// readEntry is an entry of a file. hidden without scored is hidden in advance.
type readEntry struct {
	store.Submission
	scored, hidden bool
}

func newEntryReader(r io.Reader, format string) *entryReader {
	return &entryReader{lineReader: newLineReader(r), csv: format == "csv", digest: newDigester()}
}

// begin reads what stands before the first entry.
func (r *entryReader) begin() error {
	if r.csv {
		return nil
	}
	line, err := r.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err == nil {
		r.header, err = decodeHeader(line)
	}
	if err == nil {
		r.digest.take(line)
	}
	return err
}

// How an export ends.
var (
	errEnded   = errors.New("the export ends here")                           // and is whole
	errDamaged = errors.New("the file is not as shoal board export wrote it") // its end says so, or is missing
)

// entry reads the next entry. The error is a lineError for a line that may be passed over.
func (r *entryReader) entry(score func(text string) (int64, error)) (readEntry, error) {
	line, err := r.next()
	switch {
	case errors.Is(err, errLineTooLong):
		return readEntry{}, &lineError{r.n, "", err}
	case errors.Is(err, io.EOF) && !r.csv:
		return readEntry{}, fmt.Errorf("%w: it is cut off", errDamaged)
	case err != nil:
		return readEntry{}, err
	case r.csv:
		return r.csvEntry(line, score)
	}
	end, ok := isEnd(line)
	if !ok && line[len(line)-1] != '\n' {
		return readEntry{}, fmt.Errorf("%w: it is cut off in line %d", errDamaged, r.n)
	}
	if ok {
		if err := r.digest.check(end); err != nil {
			return readEntry{}, err
		}
		return readEntry{}, errEnded
	}
	r.digest.take(line)
	var e lineEntry
	if err := decodeLine(line, &e); err != nil {
		return readEntry{}, &lineError{r.n, "", err}
	}
	n, scored, err := e.number(score)
	if err == nil && !scored && !e.Hidden {
		err = errors.New("score: is missing; 0 is a score")
	}
	if err != nil {
		return readEntry{}, &lineError{r.n, e.Key, err}
	}
	return readEntry{store.Submission{Key: e.Key, Score: n, Meta: e.Meta}, scored, e.Hidden}, nil
}

// csvEntry is the entry of a line of CSV; the first line may be a heading.
func (r *entryReader) csvEntry(line []byte, score func(text string) (int64, error)) (readEntry, error) {
	text := string(bytes.TrimRight(line, "\r\n"))
	if text == "" || r.n == 1 && (text == "key,score" || text == "key,score,meta") {
		return readEntry{}, errNoEntry
	}
	key, number, meta, err := csvEntry(text)
	if err != nil {
		return readEntry{}, &lineError{r.n, "", err}
	}
	n, err := score(number)
	if err != nil {
		return readEntry{}, &lineError{r.n, key, fmt.Errorf("score: %w", err)}
	}
	return readEntry{store.Submission{Key: key, Score: n, Meta: []byte(meta)}, true, false}, nil
}

// errNoEntry is a line without an entry that is none to have.
var errNoEntry = errors.New("no entry")

// lineError is what is wrong with a line.
type lineError struct {
	line int
	key  string
	err  error
}

// Error names the line.
func (e *lineError) Error() string {
	if e.key == "" {
		return fmt.Sprintf("line %d: %v", e.line, e.err)
	}
	return fmt.Sprintf("line %d: %s: %v", e.line, clip(e.key, 140), e.err)
}

// Unwrap is what is wrong.
func (e *lineError) Unwrap() error { return e.err }

// problem is the error of a call on boards without the words that a line has already.
func problem(err error) error {
	var bad *board.RefusedError
	if errors.As(err, &bad) {
		return errors.New(bad.Problem)
	}
	return err
}
