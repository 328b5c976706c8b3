package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Engine is an open folder. Several engines, of one process or of several, may have the
// same folder open.
type Engine struct {
	durable, live *records
	boards        *boards
	bus           *bus
}

// Open opens the store in the folder, and makes it when there is none. ctx bounds the
// opening only.
//
// It refuses, with an error that says what to do: a path that is a file or cannot be written
// ([ErrFolder]), files of our names that are not ours ([ErrForeign]) or damaged
// ([ErrCorrupt]), a folder that a newer release has written ([ErrNewerSchema]) or that
// another program holds locked ([ErrLocked]), and a network file system
// ([ErrNetworkFolder]).
func Open(ctx context.Context, folder string, options *Options) (*Engine, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	return open(ctx, folder, o, hostUptime(), kinds())
}

func open(ctx context.Context, path string, o Options, up uptime, kinds []kind) (*Engine, error) {
	folder, err := prepareFolder(path)
	if err != nil {
		return nil, err
	}
	var files []*file
	for _, k := range kinds {
		f, err := openFile(ctx, folder, k, o, up)
		if err != nil {
			for _, opened := range files {
				err = errors.Join(err, opened.close(ctx))
			}
			return nil, err
		}
		files = append(files, f)
	}
	if err := files[2].pool.warm(ctx, rankStatements()...); err != nil {
		for _, opened := range files {
			err = errors.Join(err, opened.close(ctx))
		}
		return nil, fmt.Errorf("sqlitestore: open %s: %w", path, err)
	}
	return &Engine{
		durable: &records{
			file: files[0], options: o, uptime: up,
			abilities: store.Abilities{MultiKey: true, Durable: true, Shared: true, Scan: true},
		},
		live: &records{
			file: files[1], options: o, uptime: up,
			abilities: store.Abilities{MultiKey: true, Shared: true, Scan: true},
		},
		boards: &boards{file: files[2], sizes: standings.DefaultSizes(), sweeper: startSweeper(ctx, files[2], o, standings.DefaultSizes())},
		bus:    startBus(ctx, folder, o),
	}, nil
}

// kinds are the files of a folder.
func kinds() []kind {
	return []kind{
		{schema: recordsSchema(), synchronous: "FULL", cacheKiB: 32 << 10},
		{schema: liveSchema(), synchronous: "NORMAL", cacheKiB: 16 << 10},
		{schema: boardsSchema(), synchronous: "FULL", cacheKiB: 64 << 10},
	}
}

// Durable keeps what must not be lost: acknowledged writes survive the loss of power.
func (e *Engine) Durable() store.Records { return e.durable }

// Fast keeps what lives with the nodes: acknowledged writes survive every process, but not
// the loss of power.
func (e *Engine) Fast() store.Records { return e.live }

// Boards keeps leaderboards: acknowledged writes survive the loss of power, because a result
// is made from them.
func (e *Engine) Boards() store.Boards { return e.boards }

// Bus carries messages between the engines on the folder, of one process or of several.
func (e *Engine) Bus() store.Bus { return e.bus }

// Store is the whole engine as everybody but a driver's author sees it. Closing it closes
// the engine.
func (e *Engine) Store() (*store.Store, error) {
	return store.New(store.Parts{Durable: e.durable, Fast: e.live, Boards: e.boards, Bus: e.bus})
}

// Close closes the parts, each after its calls in flight, and returns all that went wrong.
// When ctx ends first, what was queued and not begun is not done. Again is harmless.
func (e *Engine) Close(ctx context.Context) error {
	if err := errors.Join(e.bus.Close(ctx), e.boards.Close(ctx), e.live.Close(ctx), e.durable.Close(ctx)); err != nil {
		return fmt.Errorf("sqlitestore: close: %w", err)
	}
	return nil
}
