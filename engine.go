package shoal

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/shoalworks/shoal/internal/address"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/pgstore"
	"github.com/shoalworks/shoal/store/redisstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// ends is what a store ends with, after its parts.
func ends(end func(context.Context) error) []func(context.Context) error {
	return []func(context.Context) error{end}
}

// inspected lets boards and bus of one server tell of it what its records tell.
func inspected(p store.Parts) store.Parts {
	server, ok := p.Fast.(store.Inspector)
	if !ok {
		return p
	}
	if _, own := p.Boards.(store.Inspector); !own {
		p.Boards = inspectedBoards{p.Boards, server}
	}
	if _, own := p.Bus.(store.Inspector); !own {
		p.Bus = inspectedBus{p.Bus, server}
	}
	return p
}

type inspectedBoards struct {
	store.Boards
	store.Inspector
}

type inspectedBus struct {
	store.Bus
	store.Inspector
}

// openEngine opens all that an engine can play. An engine without a durable part leaves it out.
func openEngine(ctx context.Context, kind address.Kind, where string, logger *slog.Logger) (store.Parts, error) {
	switch kind {
	case address.Memory:
		return memstore.New(nil).Parts(), nil
	case address.Folder:
		e, err := sqlitestore.Open(ctx, address.Path(where), &sqlitestore.Options{Logger: logger})
		if err != nil {
			return store.Parts{}, err
		}
		return store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus(), Also: ends(e.Close)}, nil
	case address.Postgres:
		e, err := pgstore.Open(ctx, where, &pgstore.Options{Logger: logger})
		if err != nil {
			return store.Parts{}, err
		}
		return inspected(store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus(), Also: ends(e.Close)}), nil
	case address.Redis:
		e, err := redisstore.Open(ctx, where, &redisstore.Options{Logger: logger})
		if err != nil {
			return store.Parts{}, err
		}
		return inspected(store.Parts{Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus(), Also: ends(e.Close)}), nil
	}
	return store.Parts{}, fmt.Errorf("%w: there is no driver for it", store.ErrUnsupported)
}
