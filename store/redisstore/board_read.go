package redisstore

import (
	"context"
	"strconv"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// deepest bounds an offset: no board has so many entries, and Lua holds it exactly.
const deepest = int64(1) << 40

// Page implements store.Boards.
func (b *boards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	offset = min(offset, deepest)
	return b.page(ctx, boardCall{what: "page of", board: board}, mode,
		"page", strconv.FormatInt(offset, 10), strconv.FormatInt(offset+int64(limit)-1, 10))
}

// Around implements store.Boards.
func (b *boards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
	return b.page(ctx, boardCall{what: "surroundings on", board: board}, mode, "around", key, strconv.Itoa(n))
}

// page reads standings: see board_read.lua for the words.
func (b *boards) page(ctx context.Context, c boardCall, mode store.RankMode, words ...string) (store.Page, error) {
	if err := b.enter(ctx); err != nil {
		return store.Page{}, c.failed(err)
	}
	defer b.leave()
	c.script, c.intent = b.scripts.read, reading
	c.args = append([]string{mode.String(), strconv.Itoa(b.sizes.dense)}, words...)
	r, err := b.run(ctx, c, 5)
	if err != nil {
		return store.Page{}, err
	}
	info, first, rank := r.info(), r.number(1), r.number(2)
	page := store.Page{Total: info.Count, Info: info}
	if page.Entries = r.standings(3, info.Order); len(page.Entries) > 0 {
		page.Offset = first
	}
	if r.err != nil {
		return store.Page{}, c.misread(r.err)
	}
	if rank < 0 {
		return b.densePage(ctx, c, info.Sealed, words)
	}
	standings.RankAll(mode, page.Entries, rank, first)
	return page, nil
}

// Scores implements store.Boards.
func (b *boards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	c := boardCall{what: "scores of", board: board, script: b.scripts.scores, intent: reading, args: keys}
	if len(keys) == 0 {
		_, err := b.Info(ctx, board)
		return map[string]store.Entry{}, err
	}
	r, err := b.ask(ctx, c, 2)
	if err != nil {
		return nil, err
	}
	found := make(map[string]store.Entry, len(keys))
	info, values := r.info(), r.fields(1)
	if len(values) != len(keys) {
		r.fail("%d values of %d keys", len(values), len(keys))
	}
	for i := 0; i < len(values) && r.err == nil; i++ {
		if v := values[i]; v.known {
			found[keys[i]] = r.entry(info.Order, keys[i], v.text, v.text)
		}
	}
	if r.err != nil {
		return nil, c.misread(r.err)
	}
	return found, nil
}
