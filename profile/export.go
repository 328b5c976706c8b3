package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/shoalworks/shoal/exchange"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// ExportOptions of [Set.Export]. Nil is fine, zero is the default.
type ExportOptions struct {
	// Prefix exports only the profiles whose keys begin so. Default: all.
	Prefix string
	// Progress is called from time to time, on the goroutine of the call; it must be quick.
	Progress func(ExportReport)
}

// ExportReport tells what an export has written.
type ExportReport struct {
	Profiles int    // written, those of the export that was resumed included
	Bytes    int64  // written by this call
	Last     string // the key of the last one; empty: none
	// Skipped counts what is no profile, or was written by a later release: it is left out and
	// logged. Erased profiles are left out too, and not counted.
	Skipped int
}

// Export writes all profiles as they are stored, in the form of package exchange, in byte order
// of their keys. Who holds a profile is not asked: what it has not saved yet is not in it. It
// takes memory for some hundred profiles, and goes beside everything else, as background work
// of the request budget. A profile that is there throughout comes once.
//
// An export that ends with an error has no last line; [Set.ResumeExport] goes on with it.
func (s *Set) Export(ctx context.Context, w io.Writer, o *ExportOptions) (ExportReport, error) {
	lines := &countedWriter{out: w}
	out, err := exchange.NewWriter(lines, exchange.Header{Set: s.name, At: s.node.Now()})
	if err != nil {
		return ExportReport{}, fmt.Errorf("profile: export %s: %w", s.name, err)
	}
	return s.export(ctx, out, lines, "", o)
}

// ResumeExport goes on with an export that was broken off, behind its last whole line. A file
// that can be truncated is, to there; anything else must not be longer. A file without a first
// line is exchange.ErrNoExport, a complete one exchange.ErrComplete. The options must be those
// of the first call.
func (s *Set) ResumeExport(ctx context.Context, file io.ReadWriteSeeker, o *ExportOptions) (ExportReport, error) {
	lines := &countedWriter{out: file}
	out, after, at, err := exchange.Resume(readWriteSeeker{file, lines})
	if short, ok := file.(interface{ Truncate(size int64) error }); ok && err == nil {
		err = short.Truncate(at)
	}
	if err != nil {
		return ExportReport{}, fmt.Errorf("profile: export %s: %w", s.name, err)
	}
	return s.export(ctx, out, lines, after, o)
}

// countedWriter counts what is written.
type countedWriter struct {
	out io.Writer
	n   int64
}

func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	c.n += int64(n)
	return n, err
}

// readWriteSeeker is a file whose writes go elsewhere.
type readWriteSeeker struct {
	io.ReadSeeker
	io.Writer
}

// An export has three stages: one goroutine reads records, some make lines of them, and the
// caller writes those in order. Between the stages are a few batches of so many records, or
// bytes, at most.
const (
	exportPage    = 256 // records of one request
	exportRecords = 64
	exportBytes   = 1 << 20
	exportAhead   = 8 // batches
	exportMakers  = 2
)

// exportBatch is what one stage hands to the next.
type exportBatch struct {
	records []store.Record
	bytes   int
	err     error           // ends the export
	made    chan exportMade // what becomes of it
}

// exportMade are the lines of a batch.
type exportMade struct {
	lines    []byte
	profiles int
	skipped  int
	last     string
	err      error
}

func newExportBatch() exportBatch { return exportBatch{made: make(chan exportMade, 1)} }

// exportStages are the channels between the stages.
type exportStages struct {
	read  chan exportBatch     // from the reader to the makers
	order chan chan exportMade // from the reader to the writer, in the order of the keys
	wait  sync.WaitGroup
}

// hand gives a batch to the makers, and its place to the writer; false ends the reader.
func (x *exportStages) hand(ctx context.Context, b exportBatch) bool {
	select {
	case x.order <- b.made:
	case <-ctx.Done():
		return false
	}
	select {
	case x.read <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

// exportStart starts all stages but the last; they end with ctx, or when all is read.
func (s *Set) exportStart(ctx context.Context, prefix []byte, read func(*exportStages)) *exportStages {
	x := &exportStages{read: make(chan exportBatch), order: make(chan chan exportMade, exportAhead)}
	x.wait.Go(func() {
		defer func() { close(x.read); close(x.order) }()
		read(x)
	})
	for range exportMakers {
		x.wait.Go(func() {
			for b := range x.read {
				b.made <- s.exportMake(ctx, prefix, b)
			}
		})
	}
	return x
}

func (s *Set) export(ctx context.Context, out *exchange.Writer, lines *countedWriter, after string, o *ExportOptions) (ExportReport, error) {
	if o == nil {
		o = &ExportOptions{}
	}
	stages, cancel := context.WithCancel(ctx)
	x := s.exportStart(stages, out.Prefix(), func(x *exportStages) { s.exportRead(stages, after, o.Prefix, x) })
	report := ExportReport{Profiles: out.Profiles(), Last: after}
	err := s.exportWrite(stages, x, out, func(m exportMade) {
		report.Profiles, report.Bytes, report.Skipped = out.Profiles(), lines.n, report.Skipped+m.skipped
		report.Last = max(report.Last, m.last)
		if o.Progress != nil {
			o.Progress(report)
		}
	})
	cancel()
	x.wait.Wait()
	if report.Bytes = lines.n; err != nil {
		return report, fmt.Errorf("profile: export %s: %w", s.name, err)
	}
	return report, nil
}

// exportWrite is the last stage.
func (s *Set) exportWrite(ctx context.Context, x *exportStages, out *exchange.Writer, written func(exportMade)) error {
	for place := range x.order {
		var m exportMade
		select {
		case m = <-place:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if m.err != nil {
			return m.err
		}
		if err := out.Lines(m.lines, m.profiles); err != nil {
			return err
		}
		written(m)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return out.Close()
}

// exportRead reads the records behind a key, page by page.
func (s *Set) exportRead(ctx context.Context, after, prefix string, x *exportStages) {
	in := store.Prefix(recordKey(s.name, prefix))
	if after != "" {
		in.From = max(in.From, recordKey(s.name, after)+"\x00")
	}
	in.Limit = exportPage
	b := newExportBatch()
	for {
		n, err := s.exportPage(ctx, &in, func(rec store.Record) bool {
			b.records, b.bytes = append(b.records, rec), b.bytes+len(rec.Value)
			if len(b.records) < exportRecords && b.bytes < exportBytes {
				return true
			}
			full := b
			b = newExportBatch()
			return x.hand(ctx, full)
		})
		if b.err = err; err == nil && n == exportPage && ctx.Err() == nil {
			continue
		}
		x.hand(ctx, b)
		return
	}
}

// exportPage reads one page, and moves the range behind it.
func (s *Set) exportPage(ctx context.Context, in *store.Range, take func(store.Record) bool) (n int, err error) {
	if err := s.node.Pass(ctx, node.ClassBackground, node.KindList); err != nil {
		return 0, err
	}
	for rec, err := range s.durable.Scan(ctx, *in) {
		if err != nil {
			return n, err
		}
		n++
		in.From = rec.Key + "\x00"
		if !take(rec) {
			return n, nil
		}
	}
	return n, nil
}

// exportMake makes lines of records: the records themselves, once they are known to be profiles.
func (s *Set) exportMake(ctx context.Context, prefix []byte, b exportBatch) exportMade {
	m := exportMade{err: b.err, lines: make([]byte, 0, b.bytes+len(b.records)*(len(prefix)+64))}
	skip := len(recordPrefix(s.name))
	for _, rec := range b.records {
		m.last = rec.Key[skip:]
		switch err := skimmed(rec.Value); {
		case err == nil:
			m.lines = exchange.AppendLine(m.lines, prefix, m.last, rec.Value)
			m.profiles++
		case errors.Is(err, ErrNoProfile): // erased
		default:
			m.skipped++
			s.log.WarnContext(ctx, "not a profile: left out of an export", "key", m.last, "err", err)
		}
	}
	return m
}
