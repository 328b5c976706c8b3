package shoal

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/shoalworks/shoal/internal/address"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

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
		return store.Parts{Durable: e.Durable(), Fast: e.Fast(), Boards: e.Boards(), Bus: e.Bus()}, nil
	case address.Postgres, address.Redis:
	}
	return store.Parts{}, fmt.Errorf("%w: this build has no driver for %s", store.ErrUnsupported, kind)
}
