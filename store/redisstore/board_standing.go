package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// Standing implements store.Boards.
func (b *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (s store.Standing, ok bool, err error) {
	c := boardCall{what: "standing on", board: board, script: b.scripts.standing, intent: reading, args: []string{key}}
	switch mode {
	case store.Dense:
		page, err := b.page(ctx, c, mode, "standing", key)
		if err != nil || len(page.Entries) == 0 {
			return store.Standing{}, false, err
		}
		return page.Entries[0], true, nil
	case store.Competition:
		c.args = append(c.args, "shared")
	case store.Ordinal:
	}
	text, err := b.single(ctx, c, standingParts)
	if err != nil || text == "" {
		return store.Standing{}, false, err
	}
	if s, err = standingOf(key, text); err != nil {
		return store.Standing{}, false, c.misread(err)
	}
	return s, true, nil
}

// standingOf reads what board_standing.lua answers of a key that has an entry.
func standingOf(key, text string) (store.Standing, error) {
	count, value, found := strings.Cut(text[1:], ":")
	better, err := strconv.ParseInt(count, 10, 64)
	order := orderOf(text[:1])
	if err != nil || !found || order == 0 {
		return store.Standing{}, fmt.Errorf("%w: a standing of %q", errShape, text[:min(len(text), 32)])
	}
	entry, err := entryOf(order, key, value, value)
	return store.Standing{Entry: entry, Rank: better + 1}, err
}
