package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// densePage answers what board_read.lua found too deep: it walks the board from the best on,
// page by page, as it is when the call begins, and counts the scores. No script of it takes
// long. The words are those of board_read.lua.
func (b *boards) densePage(ctx context.Context, c boardCall, sealed bool, words []string) (store.Page, error) {
	w := &walking{boards: b, call: c, limit: store.MaxPage, sealed: sealed}
	info, at, err := w.begin(ctx, standings.PassingTag())
	if err != nil {
		return store.Page{}, err
	}
	d := denseOf(words)
	for done := false; !done && !at.Done(); {
		page, next, err := w.run(ctx, at)
		if errors.Is(err, store.ErrCursor) {
			return store.Page{}, c.failed(fmt.Errorf("%w: the board has changed too much meanwhile: %v", store.ErrUnavailable, err)) //nolint:errorlint // one word of the vocabulary
		}
		if err != nil {
			return store.Page{}, err
		}
		for i := 0; i < len(page.Entries) && !done; i++ {
			done = d.add(page.Entries[i])
		}
		at = next
	}
	return d.page(info), nil
}

// denseOf is what the words ask for.
func denseOf(words []string) *denseSlice {
	if words[0] == "page" {
		offset, _ := strconv.ParseInt(words[1], 10, 64)
		final, _ := strconv.ParseInt(words[2], 10, 64)
		return &denseSlice{offset: offset, limit: final - offset + 1}
	}
	d := &denseSlice{key: words[1]}
	if words[0] == "around" {
		d.reach, _ = strconv.Atoi(words[2])
	}
	return d
}
