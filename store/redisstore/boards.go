package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// boards keeps leaderboards on the servers. Board.lua tells what the keys of a board are, and
// board_list.go how boards are found. Every call of the contract that changes a board is one
// script, and so is every read of one but those that are said to be several.
type boards struct {
	gate
	lane    *lane
	keys    keys
	scripts boardScripts
	look    func(context.Context) (store.Inspection, error)
	sizes   boardSizes
	guesses *guesses     // nil on a cluster
	ahead   atomic.Int64 // microseconds that the server's clock is taken to be ahead; tests set it
}

// boardSizes are sizes that tests change.
type boardSizes struct {
	sources int // sources of sums that a board keeps
	walkLog int // rows of a log of walks
	dense   int // how much one script looks at for a dense rank
	stretch int // entries more than asked for that one script of a walk looks at
}

func newBoards(e *Engine, k keys) *boards {
	b := &boards{
		lane: e.main, keys: k, scripts: newBoardScripts(), look: e.inspect,
		sizes: boardSizes{sources: standings.SourcesMost, walkLog: store.MaxWalkLog, dense: 20_000, stretch: 256},
	}
	if e.address.topology != cluster {
		b.guesses = newGuesses(k)
	}
	return b
}

// Boards keeps leaderboards for all engines on the same servers with the same prefix. They last
// as long as the servers' memory.
func (e *Engine) Boards() store.Boards {
	e.parts.use("boards")
	return e.boards
}

// Inspect implements store.Inspector.
func (b *boards) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := b.enter(ctx); err != nil {
		return store.Inspection{}, fmt.Errorf("redisstore: inspect: %w", err)
	}
	defer b.leave()
	return b.look(ctx)
}

// logArgs are the arguments of board_log.lua.
func (b *boards) logArgs(more ...string) []string {
	return append([]string{
		strconv.FormatInt(b.ahead.Load(), 10),
		strconv.FormatInt(int64(standings.LogFor/time.Microsecond), 10),
		strconv.Itoa(b.sizes.walkLog),
	}, more...)
}

// Create implements store.Boards. The board is listed before it is made, so that none is ever
// missing in the list.
func (b *boards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	c := boardCall{what: "create", board: board, script: b.scripts.create, intent: reading}
	if err := b.enter(ctx); err != nil {
		return store.BoardInfo{}, c.failed(err)
	}
	defer b.leave()
	c.args = []string{orderWord(spec.Order), spec.Generation, ""}
	r, err := b.run(ctx, c, 2)
	own := ""
	if errors.Is(err, store.ErrNoBoard) {
		own = rand.Text()
		if err := b.enlist(ctx, c, own); err != nil {
			return store.BoardInfo{}, err
		}
		c.intent, c.args = writing, []string{c.args[0], c.args[1], own}
		r, err = b.run(ctx, c, 2)
	}
	if err != nil {
		return store.BoardInfo{}, err
	}
	info, life := r.info(), r.text(1)
	switch {
	case r.err != nil:
		return store.BoardInfo{}, c.misread(r.err)
	case info.Order != spec.Order:
		b.delist(ctx, c, own)
		return store.BoardInfo{}, c.failed(fmt.Errorf("%w: it exists %s, not %s", store.ErrInvalid, info.Order, spec.Order))
	case life != own:
		b.delist(ctx, c, own)
		b.relist(ctx, c, life)
	}
	return info, nil
}

// Info implements store.Boards.
func (b *boards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	return b.infoBy(ctx, boardCall{what: "info of", board: board, script: b.scripts.info, intent: reading})
}

// Seal implements store.Boards. The server runs scripts one after the other: a Merge has been
// applied before, or finds the board sealed.
func (b *boards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	return b.infoBy(ctx, boardCall{what: "seal", board: board, script: b.scripts.seal, intent: writing})
}

func (b *boards) infoBy(ctx context.Context, c boardCall) (store.BoardInfo, error) {
	r, err := b.ask(ctx, c, 1)
	if err != nil {
		return store.BoardInfo{}, err
	}
	info := r.info()
	if r.err != nil {
		return store.BoardInfo{}, c.misread(r.err)
	}
	return info, nil
}

// Drop implements store.Boards. The server frees the memory beside its work.
func (b *boards) Drop(ctx context.Context, board string) error {
	c := boardCall{what: "drop", board: board, script: b.scripts.drop, intent: writing}
	if err := b.enter(ctx); err != nil {
		return c.failed(err)
	}
	defer b.leave()
	r, err := b.run(ctx, c, 1)
	if err != nil || r.list[0].IsNil() {
		return err
	}
	life := r.text(0)
	if r.err != nil {
		return c.misread(r.err)
	}
	b.delist(ctx, c, life)
	return nil
}

// Close implements store.Boards. It waits for the calls in flight and refuses later ones; the
// connections are the engine's.
func (b *boards) Close(ctx context.Context) error { return b.close(ctx) }
