package profile

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shoalworks/shoal/exchange"
)

// ErrOtherSet tells that an export, or a line of it, is of another set, see ImportOptions.AnySet.
var ErrOtherSet = errors.New("export of another set")

// ImportOptions of [Set.Import]. Nil is fine, zero is the default.
type ImportOptions struct {
	// Overwrite is what happens to profiles that are there. Default Skip.
	Overwrite Overwrite
	// KeepGoing goes on behind a line that is broken or refused. Default: such a line ends the
	// import; what came before it is imported.
	KeepGoing bool
	// DryRun reads and decides, and writes nothing.
	DryRun bool
	// After goes on behind this line, the Line of the report of an import that did not end. All
	// of the export is read all the same, so that its digest is checked.
	After int
	// AnySet takes exports of other sets too.
	AnySet bool
	// MaxLine bounds a line in bytes. Default exchange.MaxLine.
	MaxLine int
	// MaxErrors is how many errors the report keeps. Default 20.
	MaxErrors int
	// Progress is called from time to time, on the goroutine of the call; it must be quick.
	Progress func(ImportReport)
}

// ImportReport tells what an import has done.
type ImportReport struct {
	Read     int // lines with a profile, broken ones included, behind After
	Written  int // new profiles
	Replaced int // profiles that were there
	Same     int // that were there already as they would be imported
	Skipped  int // that were there, and left as they are by Overwrite
	Held     int // left as they are, because somebody holds them
	Erased   int // left, because the person's data was erased here
	Failed   int // lines that are broken or refused
	// Pending counts updates of Roblox records that nobody has applied: they stay in the
	// records, see package exchange.
	Pending int
	// Line is the last line through which all is decided: give it as After to go on.
	Line int
	// Errors are the first that were met, profiles that are held included.
	Errors []ImportError
}

// ImportError is why one line was not imported.
type ImportError struct {
	Line int    // counted from 1
	Key  string // empty: the line could not be read
	Err  error  // ErrInUse for a profile that somebody holds
}

// Error names the line, the key and why.
func (e ImportError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("line %d: %s: %v", e.Line, e.Key, e.Err)
}

// Unwrap is why.
func (e ImportError) Unwrap() error { return e.Err }

// Import brings in the profiles of an export, in the form of package exchange. Nobody holds an
// imported profile. Its epoch and revision are those of the export, or higher where it replaces
// one, so that neither goes back. A profile that somebody holds, or that was erased, is never overwritten. It takes memory
// for some hundred profiles.
//
// A write whose answer is lost is decided by reading. An import that was interrupted can go on
// with After, or begin again: what is there already is left as it is, under each policy.
//
// The report is complete whatever the error. An export that was cut or changed is an error of
// package exchange, at its end.
func (s *Set) Import(ctx context.Context, r io.Reader, o *ImportOptions) (ImportReport, error) {
	m := &importing{set: s}
	if o != nil {
		m.opts = *o
	}
	defaultTo(&m.opts.MaxErrors, 20)
	err := m.run(ctx, r)
	if err != nil {
		err = fmt.Errorf("profile: import %s: %w", s.name, err)
	}
	return m.report, err
}

// A batch of an import is so many profiles, or bytes.
const (
	importRecords = 256
	importBytes   = 4 << 20
	importAhead   = 2 // batches that are read ahead
)

// importing is one import under way.
type importing struct {
	set    *Set
	opts   ImportOptions
	report ImportReport
}

// importBatch is some candidates, and what came of the lines between them.
type importBatch struct {
	list    []candidate
	read    int
	pending int
	bytes   int
	line    int // the last one
	broken  []ImportError
	err     error // ends the import behind the list
}

func (m *importing) run(ctx context.Context, r io.Reader) error {
	in, err := exchange.NewReader(r, &exchange.ReaderOptions{MaxLine: m.opts.MaxLine})
	if err != nil {
		return err
	}
	if !m.opts.AnySet && in.Header().Set != m.set.name {
		return fmt.Errorf("%w: %q", ErrOtherSet, in.Header().Set)
	}
	reading, cancel := context.WithCancel(ctx)
	batches, gone := make(chan importBatch, importAhead), make(chan struct{})
	go func() { // ends with the stream, or with reading
		defer close(gone)
		source := &importSource{in: in, set: m.set, opts: m.opts}
		source.run(reading, batches)
	}()
	err = m.take(ctx, batches)
	cancel()
	<-gone
	return err
}

// take imports batch by batch.
func (m *importing) take(ctx context.Context, batches <-chan importBatch) error {
	for {
		var b importBatch
		select {
		case b = <-batches:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if m.set.isClosing() {
			return ErrClosing
		}
		refused, err := m.batch(ctx, b.list)
		if err != nil {
			return err
		}
		m.report.Read += b.read
		m.report.Pending += b.pending
		if refused != nil && !m.opts.KeepGoing {
			b.line, b.err = min(b.line, refused.Line-1), *refused
		}
		for _, e := range b.broken {
			m.failed(e)
		}
		m.report.Line = max(m.report.Line, b.line)
		if m.opts.Progress != nil {
			m.opts.Progress(m.report)
		}
		if errors.Is(b.err, io.EOF) {
			return nil
		}
		if b.err != nil {
			return b.err
		}
	}
}

func (m *importing) failed(e ImportError) {
	m.report.Failed++
	m.note(e)
}

func (m *importing) note(e ImportError) {
	if len(m.report.Errors) < m.opts.MaxErrors {
		m.report.Errors = append(m.report.Errors, e)
	}
}
