package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shoalworks/shoal/store"
)

// Engine is an open server, seen through one schema. Any number of engines, of any number of
// processes, may have the same schema open.
type Engine struct {
	database, reserved *database // the second is for what is urgent
	durable, live      *records
	boards             store.Boards
	bus                *bus
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
	reserved, err := d.reserve(ctx)
	if err != nil {
		d.pool.Close()
		return nil, err
	}
	return &Engine{
		database: d, reserved: reserved,
		durable: newRecords(ctx, d, "records", store.Abilities{MultiKey: true, Durable: true, Shared: true, Scan: true}),
		live:    newRecords(ctx, d, "live", store.Abilities{MultiKey: true, Shared: true, Scan: true}).urgently(ctx, reserved),
		boards:  newBoards(ctx, d),
		bus:     startBus(ctx, d),
	}, nil
}

const (
	// reservedConnections are one for writing beats, one for reading them, and as many that are
	// being given up, which takes pgx up to 15 s.
	reservedConnections = 4
	// beatDeadline is how long one is waited for. A connection that never answers again holds up
	// the next beat of the same node, which counts as dead 4 s after the last one that landed.
	beatDeadline = 2 * time.Second
)

// reserve is the database on connections of its own, for what is urgent. On a server that has none
// left it goes on those of d: one is made anew every hour, and after every outage.
func (d *database) reserve(ctx context.Context) (*database, error) {
	pool, err := openPool(ctx, d.address, reservedConnections)
	if err != nil {
		return nil, err
	}
	o := d.options
	o.CallDeadline = min(o.CallDeadline, beatDeadline)
	return &database{pool: pool, instead: d.pool, address: d.address, options: o}, nil
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

// Durable keeps what must not be lost: acknowledged writes survive the loss of power.
func (e *Engine) Durable() store.Records { return e.durable }

// Fast keeps what lives with the nodes: acknowledged writes survive every process of the fleet,
// but not a crash of the server (unless the address says live=logged).
func (e *Engine) Fast() store.Records { return e.live }

// Boards keeps leaderboards: acknowledged writes survive the loss of power, because a result is
// made from them.
func (e *Engine) Boards() store.Boards { return e.boards }

// Bus carries messages between the engines on the schema, of any number of processes.
func (e *Engine) Bus() store.Bus { return e.bus }

// Store is the whole engine as everybody but a driver's author sees it. Closing it closes the
// engine.
func (e *Engine) Store() (*store.Store, error) {
	return store.New(store.Parts{
		Durable: e.durable, Fast: e.live, Boards: e.boards, Bus: e.bus,
		Also: []func(context.Context) error{e.Close},
	})
}

// Close closes the parts, each after its calls in flight, and the connections, and returns all
// that went wrong. When ctx ends first, what was queued and not begun is not done, and what was
// under way is unknown. Again is harmless.
func (e *Engine) Close(ctx context.Context) error {
	errs := []error{e.bus.Close(ctx), e.boards.Close(ctx), e.live.Close(ctx), e.durable.Close(ctx)}
	for _, d := range []*database{e.reserved, e.database} {
		errs = append(errs, d.close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("pgstore: close: %w", err)
	}
	return nil
}
