package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

const (
	importBatch = 2_000 // entries of one batch
	importTries = 5     // of a batch that the store does not take, or may have taken
	importPause = 250 * time.Millisecond
	maxErrors   = 100 // lines whose faults are remembered
)

// importer brings the entries of a file into a board, batch by batch.
type importer struct {
	t         *boardTool
	s         *shelf
	lines     *entryReader
	by        board.Moderator
	rule      store.Rule // of the batches
	dry       bool
	keepGoing bool
	after     int
	progress  func(line int)

	made   bool // the board is there
	batch  []store.Submission
	hide   []string
	keys   map[string]struct{}          // of the batch
	hidden map[string]store.HiddenEntry // those of hide that are hidden already; of a dry run
	report importReport
}

// importReport is what came to pass.
type importReport struct {
	Read    int           `json:"read"`
	Created int           `json:"created"`
	Changed int           `json:"changed"`
	Kept    int           `json:"kept"`
	Hidden  int           `json:"hidden"`
	Failed  int           `json:"failed"`
	Line    int           `json:"line"`
	Errors  []importError `json:"errors,omitempty"`
	DryRun  bool          `json:"dryRun,omitempty"`
}

// run reads to the end of the file, or to the first fault.
func (im *importer) run(ctx context.Context) error {
	im.keys = make(map[string]struct{})
	for {
		e, err := im.lines.entry(im.parse)
		var broken *lineError
		switch {
		case im.lines.n <= im.after && err == nil, errors.Is(err, errNoEntry):
			continue
		case errors.Is(err, errEnded), errors.Is(err, io.EOF):
			return im.flush(ctx, im.lines.n)
		case errors.Is(err, errDamaged): // which is known when all of it has been read
			return errors.Join(im.flush(ctx, im.lines.n), err)
		case errors.As(err, &broken) && im.lines.n <= im.after:
			continue
		}
		if err == nil {
			err = im.check(e)
		}
		if err == nil {
			err = im.take(ctx, e)
		} else {
			err = im.fault(err)
		}
		if err != nil {
			return err
		}
		im.progress(im.lines.n)
	}
}

// parse reads a score of the board.
func (im *importer) parse(text string) (int64, error) {
	score, err := im.t.boards.ParseScore(im.s.name, text)
	if err != nil {
		return 0, problem(err)
	}
	return score, nil
}

// check refuses an entry that the board cannot take.
func (im *importer) check(e readEntry) error {
	low, high := im.s.config.Min, im.s.config.Max
	var err error
	switch {
	case e.scored && (low != nil && e.Score < *low || high != nil && e.Score > *high):
		err = fmt.Errorf("score: %s expected, got %s", im.t.limits(im.s), im.t.score(im.s, e.Score))
	case len(e.Meta) > store.MaxMeta:
		err = fmt.Errorf("meta: at most %d bytes expected, got %d", store.MaxMeta, len(e.Meta))
	default:
		err = name.CheckKey("key", e.Key)
	}
	if err != nil {
		return &lineError{im.lines.n, e.Key, err}
	}
	return nil
}

// fault notes what is wrong with a line, and ends the import unless it is to go on.
func (im *importer) fault(err error) error {
	var broken *lineError
	if !errors.As(err, &broken) {
		return err
	}
	if !im.keepGoing {
		return &exitError{exitFailed, err}
	}
	im.report.Read++
	im.report.Failed++
	if len(im.report.Errors) < maxErrors {
		im.report.Errors = append(im.report.Errors, importError{broken.line, broken.key, broken.err.Error()})
	}
	return nil
}

// take puts an entry into the batch. What is full, or has the key already, is written first.
func (im *importer) take(ctx context.Context, e readEntry) error {
	_, twice := im.keys[e.Key]
	if twice || len(im.keys) == importBatch {
		if err := im.flush(ctx, im.lines.n-1); err != nil {
			return err
		}
	}
	im.report.Read++
	im.keys[e.Key] = struct{}{}
	if e.hidden {
		im.hide = append(im.hide, e.Key)
	}
	if e.scored {
		im.batch = append(im.batch, e.Submission)
	}
	return nil
}

// flush writes the batch; all is decided through line then.
func (im *importer) flush(ctx context.Context, line int) error {
	var err error
	switch {
	case len(im.keys) == 0:
	case im.dry:
		err = im.compare(ctx)
	default:
		err = im.write(ctx)
	}
	if err != nil {
		return err
	}
	im.report.Line = max(im.report.Line, line)
	im.batch, im.hide = im.batch[:0], im.hide[:0]
	clear(im.keys)
	return nil
}

// write hides what is to be hidden, so that it is never seen, and merges.
func (im *importer) write(ctx context.Context) error {
	if err := im.make(ctx); err != nil {
		return err
	}
	for part := range slices.Chunk(im.hide, store.MaxPage) {
		err := im.patiently(ctx, func() error {
			n, err := im.t.boards.Hide(ctx, im.by, im.s.name, part...)
			im.report.Hidden += n
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(im.batch) == 0 {
		return nil
	}
	return im.patiently(ctx, func() error {
		changes, err := im.t.boards.Merge(ctx, im.s.name, store.Batch{Rule: im.rule, Entries: im.batch})
		if err == nil {
			im.count(changes)
		}
		return err
	})
}

// make creates the board when there is none.
func (im *importer) make(ctx context.Context) error {
	if im.made || im.s.stored {
		return nil
	}
	err := im.patiently(ctx, func() error {
		_, err := im.t.boards.Create(ctx, im.s.name, store.BoardSpec{Order: im.s.info.Order, Generation: im.t.node.NewToken("generation", im.s.name)})
		return err
	})
	im.made = err == nil
	return err
}

// patiently repeats what the store does not take now. It may repeat what was done: each step
// of an import is harmless then.
func (im *importer) patiently(ctx context.Context, do func() error) error {
	pause := importPause
	for try := 1; ; try++ {
		err := do()
		passing := errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown)
		if !passing || try == importTries || ctx.Err() != nil {
			return err
		}
		if err := clock.Sleep(ctx, clock.System(), pause); err != nil {
			return err
		}
		pause *= 2
	}
}

func (im *importer) count(changes []store.Change) {
	for _, c := range changes {
		switch c.Effect {
		case store.Created:
			im.report.Created++
		case store.Changed:
			im.report.Changed++
		case store.Kept, store.Overflow:
			im.report.Kept++
		}
	}
}

// compare counts what the batch would do.
func (im *importer) compare(ctx context.Context) error {
	if err := im.compareHidden(ctx); err != nil {
		return err
	}
	for part := range slices.Chunk(im.batch, store.MaxPage) {
		keys := make([]string, len(part))
		for i, e := range part {
			keys[i] = e.Key
		}
		found, err := im.stored(ctx, keys)
		if err != nil {
			return err
		}
		for _, e := range part {
			switch old, ok := found[e.Key]; {
			case !ok:
				im.report.Created++
			case im.rule == store.Best && im.s.info.Order.Better(e.Score, old.Score):
				im.report.Changed++
			default:
				im.report.Kept++
			}
		}
	}
	return nil
}

// stored are the entries of the keys, hidden ones too as far as the file has them as such.
func (im *importer) stored(ctx context.Context, keys []string) (map[string]store.Entry, error) {
	if !im.s.stored {
		return nil, nil
	}
	found, err := im.t.boards.Scores(ctx, im.s.name, keys...)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if e, ok := im.hidden[key]; ok && e.Scored {
			found[key] = e.Entry
		}
	}
	return found, nil
}

// compareHidden finds which keys of the batch are hidden already.
func (im *importer) compareHidden(ctx context.Context) error {
	im.hidden = make(map[string]store.HiddenEntry)
	for _, key := range im.hide {
		var page []store.HiddenEntry
		if im.s.stored {
			var err error
			if page, err = im.t.boards.Hidden(ctx, im.s.name, keyBefore(key), 1); err != nil {
				return err
			}
		}
		if len(page) == 1 && page[0].Key == key {
			im.hidden[key] = page[0]
		} else {
			im.report.Hidden++
		}
	}
	return nil
}

// finish prints the summary, and answers how the import ended.
func (r *importReport) finish(t *boardTool, dry bool, err error) error {
	r.DryRun = dry
	printErr := t.print(r, func() { r.printText(t, dry) })
	switch {
	case err != nil && r.Line > 0 && !dry && !errors.Is(err, errDamaged):
		return fmt.Errorf("%w\nall is decided through line %d: --after %d goes on", err, r.Line, r.Line)
	case err != nil:
		return err
	case r.Failed > 0:
		return &exitError{exitFailed, fmt.Errorf("%s not imported", countOf(r.Failed, "line was", "lines were"))}
	}
	return printErr
}

func (r *importReport) printText(t *boardTool, dry bool) {
	for _, e := range r.Errors {
		fmt.Fprintln(t.err, (&lineError{e.Line, e.Key, errors.New(e.Error)}).Error())
	}
	if more := r.Failed - len(r.Errors); more > 0 {
		fmt.Fprintf(t.err, "… and %d more\n", more)
	}
	would := ""
	if dry {
		would = "would be "
	}
	fmt.Fprintf(t.out, "%d read: %d %screated, %d changed, %d left as they are, %d hidden, %d refused\n",
		r.Read, r.Created, would, r.Changed, r.Kept, r.Hidden, r.Failed)
}

// digester watches over an export that is read.
type digester struct {
	hash hash.Hash
	rows int64 // lines behind the header
}

func newDigester() *digester { return &digester{sha256.New(), -1} }

func (d *digester) take(line []byte) {
	_, _ = d.hash.Write(line) // a hash does not fail
	d.rows++
}

// check compares what was read with what the last line says.
func (d *digester) check(end linesEnd) error {
	if d.rows != end.Entries+end.Hidden || digestOf(d.hash) != end.Digest {
		return fmt.Errorf("%w: lines of it were changed or are missing: %d entries expected, %d found", errDamaged, end.Entries+end.Hidden, d.rows)
	}
	return nil
}
