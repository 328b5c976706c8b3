package memstore

import (
	"context"
	"runtime"

	"github.com/shoalworks/shoal/store"
)

// inspection is what there is to say of the memory of a process.
func inspection() store.Inspection {
	return store.Inspection{Engine: "memory", Version: runtime.Version(), Place: "this process, and gone with it"}
}

// Inspect implements store.Inspector.
func (r *records) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := r.enter(ctx, "inspect"); err != nil {
		return store.Inspection{}, err
	}
	defer r.leave()
	return inspection(), nil
}

// Inspect implements store.Inspector.
func (h *boards) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := h.enter(ctx, "inspect"); err != nil {
		return store.Inspection{}, err
	}
	defer h.leave()
	return inspection(), nil
}

// Inspect implements store.Inspector.
func (b *bus) Inspect(ctx context.Context) (store.Inspection, error) {
	if err := b.enter(ctx, "inspect"); err != nil {
		return store.Inspection{}, err
	}
	defer b.leave()
	return inspection(), nil
}
