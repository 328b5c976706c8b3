package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"
)

// Engine is an open store. Several engines, of one process or of many, may have the same
// servers open; each has connections of its own.
type Engine struct {
	address address
	options Options
	clients struct{ main, beats, bus rueidis.Client }
	main    *lane // journals, notes and boards
	beats   *lane // beats and marks, which nothing may hold up
	boards  *boards
}

// Open connects to the servers at the address and looks whether they can be used. ctx bounds
// the opening only; a single connection takes no longer than Options.DialTimeout.
func Open(ctx context.Context, url string, options *Options) (*Engine, error) {
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	o, err := options.withDefaults(a.topology)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("redisstore: open %s: %w", a.place(), ended(ctx))
	}
	e := &Engine{address: a, options: o}
	if err := e.connect(); err != nil {
		e.disconnect()
		return nil, fmt.Errorf("redisstore: open %s: %w", a.place(), classify(err, reading))
	}
	k := keys{prefix: a.prefix}
	e.main, e.beats = &lane{e.clients.main, o.Clock}, &lane{e.clients.beats, o.Clock}
	e.boards = newBoards(e.main, k)
	return e, nil
}

func (e *Engine) connect() (err error) {
	if e.clients.main, err = connect(e.address, e.options, "main", nil); err != nil {
		return err
	}
	if e.clients.beats, err = connect(e.address, e.options, "beats", narrow(beatPatience)); err != nil {
		return err
	}
	e.clients.bus, err = connect(e.address, e.options, "bus", narrow(e.options.AnswerTimeout))
	return err
}

func (e *Engine) disconnect() {
	for _, c := range []rueidis.Client{e.clients.bus, e.clients.beats, e.clients.main} {
		if c != nil {
			c.Close()
		}
	}
}

// Close closes the parts, each after its calls in flight, and then the connections. Again is
// harmless.
func (e *Engine) Close(ctx context.Context) error {
	err := errors.Join(e.boards.Close(ctx))
	e.disconnect()
	if err != nil {
		return fmt.Errorf("redisstore: close: %w", err)
	}
	return nil
}
