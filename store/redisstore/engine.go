package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// Engine is an open store. Several engines, of one process or of many, may have the same
// servers open; each has connections of its own.
type Engine struct {
	address address
	options Options
	clients struct{ main, beats, bus rueidis.Client }
	main    *lane // journals, notes and boards
	beats   *lane // beats and marks, which nothing may hold up
	fast    *records
	boards  *boards
	bus     *bus
	parts   *parts
	freed   sync.Once
}

// Open connects to the servers at the address and looks whether they can be used. ctx bounds
// the opening only; while a server is silent it may take Options.DialTimeout longer.
//
// It refuses, with an error that says what to do: an address that it does not understand or
// that is of another kind of servers ([ErrAddress]), a server that evicts keys ([ErrEvicts]),
// one that is too old ([ErrVersion]), and a replica ([ErrReplica]). A server that cannot be
// reached is a store.ErrUnavailable.
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
	if a.tls {
		if o.TLS, err = a.security.config(o.TLS, o.Clock.Now()); err != nil {
			return nil, fmt.Errorf("redisstore: open %s: %w: %w", a.place(), ErrAddress, err)
		}
	}
	e := &Engine{address: a, options: o}
	if err := e.connect(); err != nil {
		e.disconnect()
		return nil, fmt.Errorf("redisstore: open %s: %w", a.place(), a.advise(classify(err, reading)))
	}
	if err := e.examine(ctx); err != nil {
		e.disconnect()
		return nil, fmt.Errorf("redisstore: open %s: %w", a.place(), err)
	}
	e.furnish(keys{prefix: a.prefix})
	return e, nil
}

// furnish makes the parts.
func (e *Engine) furnish(k keys) {
	e.main, e.beats = &lane{e.clients.main, e.options.Clock}, &lane{e.clients.beats, e.options.Clock}
	e.fast, e.boards, e.bus = newRecords(e, k), newBoards(e, k), newBus(e, k)
	e.parts = newParts(e.disconnect)
	e.fast.free, e.boards.free, e.bus.free = e.parts.end("fast"), e.parts.end("boards"), e.parts.end("bus")
}

// Fast keeps what lives with the nodes: beats, notes, journals. An acknowledged write survives
// every process of the fleet; whether it survives the servers is theirs to say.
func (e *Engine) Fast() store.Records {
	e.parts.use("fast")
	return e.fast
}

// Bus carries messages between all engines on the same servers with the same prefix.
func (e *Engine) Bus() store.Bus {
	e.parts.use("bus")
	return e.bus
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

// disconnect closes the connections, once.
func (e *Engine) disconnect() {
	e.freed.Do(func() {
		for _, c := range []rueidis.Client{e.clients.bus, e.clients.beats, e.clients.main} {
			if c != nil {
				c.Close()
			}
		}
	})
}

// Close closes the parts, each after its calls in flight, and the connections. The connections
// go by themselves, too, when every part that somebody has asked for is closed. Again is
// harmless.
func (e *Engine) Close(ctx context.Context) error {
	err := errors.Join(e.bus.Close(ctx), e.boards.Close(ctx), e.fast.Close(ctx))
	e.disconnect()
	if err != nil {
		return fmt.Errorf("redisstore: close: %w", err)
	}
	return nil
}
