package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// pool holds the connections of a file that read. They are opened when they are needed.
type pool struct {
	path     string
	access   access
	clock    clock.Clock
	patience time.Duration
	places   chan *conn    // the idle ones; nil is a place whose connection is not open
	closed   chan struct{} // nothing more is read
	once     sync.Once
	gone     int // places closed
}

// reading is what a caller does with a connection. It may be called again, from the start,
// when another process had the file locked.
type reading func(ctx context.Context, c *conn) error

func newPool(path string, a access, o Options) *pool {
	p := &pool{
		path: path, access: a, clock: o.Clock, patience: o.BusyDeadline,
		places: make(chan *conn, o.Readers), closed: make(chan struct{}),
	}
	for range o.Readers {
		p.places <- nil
	}
	return p
}

// read calls f with a connection. It waits for one until ctx ends, and answers an error of
// the vocabulary.
func (p *pool) read(ctx context.Context, f reading) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	if p.isClosed() {
		return fmt.Errorf("sqlitestore: %w", store.ErrClosed)
	}
	select {
	case <-p.closed:
		return fmt.Errorf("sqlitestore: %w", store.ErrClosed)
	case <-ctx.Done():
		return ended(ctx)
	case c := <-p.places:
		c, err := p.attempts(ctx, c, f)
		p.places <- c
		return err
	}
}

// attempts calls f until no lock is in the way, and answers the connection to keep.
func (p *pool) attempts(ctx context.Context, c *conn, f reading) (*conn, error) {
	until := p.clock.Now().Add(p.patience)
	for {
		var err error
		c, err = p.attempt(ctx, c, f)
		if !busy(err) || p.clock.Now().After(until) {
			return c, classify(err, beforeCommit)
		}
		if clock.Sleep(ctx, p.clock, maxPause) != nil {
			return c, ended(ctx)
		}
	}
}

// attempt calls f once. A connection with an error that is not about locks is not kept.
func (p *pool) attempt(ctx context.Context, c *conn, f reading) (*conn, error) {
	if c == nil {
		var err error
		if c, err = connect(ctx, p.path, p.access); err != nil {
			return nil, err
		}
	}
	err := f(ctx, c)
	if err == nil || busy(err) {
		return c, err
	}
	_ = c.close() // the reading's error counts
	return nil, err
}

// close waits for the readers and closes their connections. After it has failed it may be
// called again. It is not safe for many callers at once.
func (p *pool) close(ctx context.Context) error {
	p.once.Do(func() { close(p.closed) })
	for ; p.gone < cap(p.places); p.gone++ {
		var c *conn
		select {
		case c = <-p.places:
		case <-ctx.Done():
			return fmt.Errorf("sqlitestore: close %s: %w", p.path, context.Cause(ctx))
		}
		if c == nil {
			continue
		}
		if err := c.close(); err != nil {
			p.gone++
			return fmt.Errorf("sqlitestore: close %s: %w", p.path, err)
		}
	}
	return nil
}

// snapshot calls f inside a read transaction, so that all it reads is of one state.
func snapshot(ctx context.Context, c *conn, f reading) error {
	if _, err := c.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	err := f(ctx, c)
	if _, end := c.exec(ctx, "COMMIT"); err == nil {
		err = end
	}
	return err
}

func (p *pool) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}
