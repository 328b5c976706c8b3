package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// Engine is an open server, seen through one schema. Any number of engines, of any number of
// processes, may have the same schema open.
type Engine struct {
	database *database
	boards   store.Boards
}

// Open connects to the server of an address and makes or migrates its schema. ctx bounds the
// opening only.
//
// It refuses, with an error that says what to do: an address that is malformed ([ErrAddress]),
// a server that cannot be reached or takes no writes ([ErrServer]), a schema that a newer
// release has migrated ([ErrNewerSchema]) or that this role must not migrate ([ErrSchema]).
func Open(ctx context.Context, url string, options *Options) (*Engine, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	a, err := parseAddress(url)
	if err != nil {
		return nil, err
	}
	d, err := openDatabase(ctx, a, o)
	if err != nil {
		return nil, err
	}
	return &Engine{database: d, boards: newBoards(d)}, nil
}

// openDatabase connects and migrates.
func openDatabase(ctx context.Context, a address, o Options) (*database, error) {
	if a.explicit {
		o.Connections = int(a.pool.MaxConns)
	}
	pool, err := openPool(ctx, a, o.Connections)
	if err != nil {
		return nil, err
	}
	d := &database{pool: pool, address: a, options: o}
	if err := d.migrate(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("pgstore: open %s: %w", a.place(), err)
	}
	return d, nil
}

// Boards keeps leaderboards: acknowledged writes survive the loss of power, because a result is
// made from them.
func (e *Engine) Boards() store.Boards { return e.boards }

// Close closes the parts, each after its calls in flight, and the connections.
func (e *Engine) Close(ctx context.Context) error {
	var errs []error
	if e.boards != nil {
		errs = append(errs, e.boards.Close(ctx))
	}
	e.database.pool.Close()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("pgstore: close: %w", err)
	}
	return nil
}
