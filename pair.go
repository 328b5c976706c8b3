package shoal

import (
	"context"
	"errors"
	"fmt"

	"github.com/shoalworks/shoal/internal/address"
	"github.com/shoalworks/shoal/internal/pairing"
	"github.com/shoalworks/shoal/store"
)

// paired is the store of these parts, when they are those that the fleet uses.
func (a Addresses) paired(ctx context.Context, kinds partKinds, parts store.Parts) (*store.Store, error) {
	if a.AsGiven || kinds.store == address.Memory { // nobody else sees this process's memory
		return store.New(parts)
	}
	watcher := new(pairing.Watcher)
	parts.First = append(parts.First, watcher.Close) // a look that hangs would hold up the parts
	st, err := store.New(parts)
	if err != nil {
		return nil, err
	}
	p, given := pairing.Parts{Durable: st.Durable(), Fast: st.Fast(), Logger: a.Logger}, pairing.GivenBy(a.Store, a.Fast)
	agreed, err := pairing.Settle(ctx, p, given)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", address.Redacted(a.Store), err), st.Close(context.WithoutCancel(ctx)))
	}
	if given.Apart {
		watcher.Start(ctx, p, agreed, given)
	}
	return st, nil
}
