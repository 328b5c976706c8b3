package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// Remove implements store.Boards.
func (b *boards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	return b.edit(ctx, "remove", boardCall{what: "remove from", board: board, script: b.scripts.remove}, keys)
}

// Erase implements store.Boards.
func (b *boards) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	return b.edit(ctx, "erase", boardCall{what: "erase from", board: board, script: b.scripts.remove}, keys)
}

// Hide implements store.Boards.
func (b *boards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	if hidden {
		return b.edit(ctx, "hide", boardCall{what: "hide keys of", board: board, script: b.scripts.hide}, keys)
	}
	return b.edit(ctx, "show", boardCall{what: "show keys of", board: board, script: b.scripts.hide}, keys)
}

// edit does what the word says with the keys, and answers how many changed.
func (b *boards) edit(ctx context.Context, word string, c boardCall, keys []string) (int, error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	c.intent, c.args = writing, append(b.logArgs(word, strconv.Itoa(store.MaxHidden)), keys...)
	r, err := b.ask(ctx, c, 1)
	if err != nil {
		return 0, err
	}
	n := r.number(0)
	if r.err != nil {
		return 0, c.misread(r.err)
	}
	return int(n), nil
}

// Hidden implements store.Boards. There are few hidden keys, and they are all read.
func (b *boards) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	c := boardCall{what: "hidden keys of", board: board, script: b.scripts.hidden, intent: reading}
	r, err := b.ask(ctx, c, 2)
	if err != nil {
		return nil, err
	}
	all := r.hidden(after)
	if r.err != nil {
		return nil, c.misread(r.err)
	}
	return all[:min(limit, len(all))], nil
}

// hidden reads the hidden keys after after, in byte order.
func (r *reply) hidden(after string) []store.HiddenEntry {
	order, pairs := r.info().Order, r.fields(1)
	var all []store.HiddenEntry
	for i := 0; i+1 < len(pairs) && r.err == nil; i += 2 {
		key, value := pairs[i].text, pairs[i+1].text
		switch {
		case key <= after:
		case value == "":
			all = append(all, store.HiddenEntry{Entry: store.Entry{Key: key}})
		default:
			all = append(all, store.HiddenEntry{Entry: r.entry(order, key, value, value), Scored: true})
		}
	}
	slices.SortFunc(all, func(a, b store.HiddenEntry) int { return strings.Compare(a.Key, b.Key) })
	return all
}
