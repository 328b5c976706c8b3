package sqlitestore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/store"
)

// pool holds the connections of a file that read. They are opened when they are needed, and
// the one that was used last is used next: its cache and its statements are warm.
type pool struct {
	path     string
	access   access
	clock    clock.Clock
	patience time.Duration
	places   chan struct{} // one token for each connection that may be in use
	closed   chan struct{} // nothing more is read
	once     sync.Once
	gone     int // places closed
	mu       struct {
		sync.Mutex
		idle []*conn // at most as many as there are tokens
	}
}

// reading is what a caller does with a connection. It may be called again, from the start,
// when another process had the file locked.
type reading func(ctx context.Context, c *conn) error

func newPool(path string, a access, o Options) *pool {
	p := &pool{
		path: path, access: a, clock: o.Clock, patience: o.BusyDeadline,
		places: make(chan struct{}, o.Readers), closed: make(chan struct{}),
	}
	for range o.Readers {
		p.places <- struct{}{}
	}
	return p
}

// warm opens a connection and prepares statements, so that the first read is as fast as any.
func (p *pool) warm(ctx context.Context, statements ...string) error {
	return p.read(ctx, func(ctx context.Context, c *conn) error {
		for _, sql := range statements {
			if _, err := c.prepare(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// idle takes the connection that was used last, nil when none is open.
func (p *pool) idle() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.mu.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.mu.idle[last]
	p.mu.idle = p.mu.idle[:last]
	return c
}

// rest puts a connection back, if it is open.
func (p *pool) rest(c *conn) {
	if c == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.idle = append(p.mu.idle, c)
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
	case <-p.places:
		c, err := p.attempts(ctx, p.idle(), f)
		p.rest(c)
		p.places <- struct{}{}
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
		select {
		case <-p.places:
		case <-ctx.Done():
			return fmt.Errorf("sqlitestore: close %s: %w", p.path, context.Cause(ctx))
		}
		c := p.idle()
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
