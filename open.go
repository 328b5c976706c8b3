package shoal

import (
	"context"
	"fmt"
	"strings"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
	"github.com/shoalworks/shoal/store/sqlitestore"
)

// Open opens the store at address:
//
//   - a folder ("./game", "sqlite:./game"): SQLite, for all processes of one machine; the
//     folder is made when it is missing,
//   - "memory:": this process's memory, gone with it; for tests and trials.
//
// An address of another form is an error that says which forms there are. Close the store
// after the nodes that use it.
func Open(ctx context.Context, address string) (*store.Store, error) {
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case address == "":
		return nil, fmt.Errorf("shoal: open: the address of a store is empty; %s", addressForms)
	case found && scheme == "memory":
		if rest != "" {
			return nil, fmt.Errorf("shoal: open %q: memory: takes no path; %s", address, addressForms)
		}
		return memstore.New(nil).Store()
	case found && scheme == "sqlite":
		return openFolder(ctx, rest)
	case strings.Contains(address, "://"):
		return nil, fmt.Errorf("shoal: open %q: no driver for %q; %s", address, scheme, addressForms)
	}
	return openFolder(ctx, address)
}

const addressForms = `a folder ("./game" or "sqlite:./game") or "memory:" expected`

func openFolder(ctx context.Context, folder string) (*store.Store, error) {
	engine, err := sqlitestore.Open(ctx, folder, nil)
	if err != nil {
		return nil, fmt.Errorf("shoal: %w", err)
	}
	st, err := engine.Store()
	if err != nil {
		return nil, fmt.Errorf("shoal: %w", err)
	}
	return st, nil
}
