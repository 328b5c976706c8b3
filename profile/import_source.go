package profile

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/exchange"
	"github.com/shoalworks/shoal/internal/name"
)

// importSource reads an export ahead of the writes. It belongs to one goroutine.
type importSource struct {
	in    *exchange.Reader
	set   *Set
	opts  ImportOptions
	ahead *candidate // read, but of the next batch
}

// candidate is one line of an import.
type candidate struct {
	line    int
	bytes   int
	pending int
	key     string // empty: the line could not be read
	rec     record
	err     error // why it is not imported
}

// run reads until the stream, or ctx, ends.
func (r *importSource) run(ctx context.Context, batches chan<- importBatch) {
	for ctx.Err() == nil {
		b := r.fill()
		select {
		case batches <- b:
		case <-ctx.Done():
		}
		if b.err != nil {
			return
		}
	}
}

// fill reads the lines of one batch. A key comes in it once, so that the order does not matter.
func (r *importSource) fill() (b importBatch) {
	seen := make(map[string]bool, importRecords)
	for b.read < importRecords && b.bytes < importBytes {
		c, err := r.next()
		if err != nil {
			b.err = err
			return b
		}
		if seen[c.key] && c.err == nil {
			r.ahead = &c
			return b
		}
		b.read, b.line, b.pending, b.bytes = b.read+1, c.line, b.pending+c.pending, b.bytes+c.bytes
		if c.err == nil {
			seen[c.key] = true
			b.list = append(b.list, c)
			continue
		}
		e := ImportError{Line: c.line, Key: c.key, Err: c.err}
		if b.broken = append(b.broken, e); !r.opts.KeepGoing {
			b.err, b.line = e, c.line-1
			return b
		}
	}
	return b
}

// next is the next line behind After.
func (r *importSource) next() (candidate, error) {
	if c := r.ahead; c != nil {
		r.ahead = nil
		return *c, nil
	}
	for {
		line, err := r.in.Next()
		broken := new(exchange.LineError)
		switch {
		case errors.As(err, &broken):
			if broken.Line > r.opts.After {
				return candidate{line: broken.Line, err: broken.Err}, nil
			}
		case err != nil:
			return candidate{}, err
		case line.Number > r.opts.After:
			return r.candidate(line), nil
		}
	}
}

// candidate makes a profile of a line.
func (r *importSource) candidate(line exchange.Line) candidate {
	c := candidate{line: line.Number, bytes: len(line.Record), pending: line.Pending, key: line.Key}
	if c.err = name.CheckKey("key", line.Key); c.err != nil {
		c.key = ""
		return c
	}
	if !r.opts.AnySet && line.Set != r.set.name {
		c.err = fmt.Errorf("%w: %q", ErrOtherSet, line.Set)
		return c
	}
	c.rec, c.err = importable(line.Record, &r.set.opts)
	return c
}
