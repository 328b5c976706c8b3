package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/store"
)

func (b *board) isHidden(key string) bool {
	_, ok := b.hidden[key]
	return ok
}

// hide hides keys, or shows them, on a board that is not sealed.
func (b *board) hide(hidden bool, keys []string) (int, error) {
	changing := make([]string, 0, len(keys))
	for _, key := range keys {
		if b.isHidden(key) != hidden {
			changing = append(changing, key)
		}
	}
	if hidden && len(b.hidden)+len(changing) > store.MaxHidden {
		return 0, store.ErrTooLarge
	}
	for _, key := range changing {
		e, ok := b.entries[key]
		switch {
		case hidden:
			b.hidden[strings.Clone(key)] = struct{}{}
			if ok {
				b.standing.remove(e)
			}
		default:
			delete(b.hidden, key)
			if ok {
				b.standing.insert(e)
			}
		}
	}
	if len(changing) > 0 {
		b.change(len(changing))
	}
	return len(changing), nil
}

// listHidden is the hidden keys after after, at most limit.
func (b *board) listHidden(after string, limit int) []store.HiddenEntry {
	keys := slices.Sorted(maps.Keys(b.hidden))
	first, found := slices.BinarySearch(keys, after)
	if found {
		first++
	}
	keys = keys[first:]
	listed := make([]store.HiddenEntry, min(limit, len(keys)))
	for i := range listed {
		listed[i].Key = keys[i]
		if e, ok := b.entries[keys[i]]; ok {
			listed[i] = store.HiddenEntry{Entry: e.copy(), Scored: true}
		}
	}
	return listed
}

// Hide implements store.Boards.
func (h *boards) Hide(ctx context.Context, name string, hidden bool, keys ...string) (changed int, err error) {
	err = h.write(ctx, "hide", name, func(b *board) error {
		if b.sealed {
			return store.ErrSealed
		}
		changed, err = b.hide(hidden, keys)
		return err
	})
	return changed, err
}

// Hidden implements store.Boards. It sorts all hidden keys.
func (h *boards) Hidden(ctx context.Context, name, after string, limit int) (listed []store.HiddenEntry, err error) {
	err = h.read(ctx, "hidden", name, func(b *board) { listed = b.listHidden(after, limit) })
	return listed, err
}

// Check implements store.Boards. The entries are all there is, so that nothing can be wrong.
func (h *boards) Check(ctx context.Context, name string, _ bool) (check store.BoardCheck, err error) {
	err = h.read(ctx, "check", name, func(b *board) { check.Entries = int64(len(b.entries)) })
	return check, err
}
