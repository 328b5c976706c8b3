package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

// Standing implements store.Boards.
func (b *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (s store.Standing, ok bool, err error) {
	c := boardCall{what: "standing on", board: board, script: b.scripts.standing, intent: reading, args: []string{key}}
	if mode == store.Dense {
		page, err := b.page(ctx, c, mode, "standing", key)
		if err != nil || len(page.Entries) == 0 {
			return store.Standing{}, false, err
		}
		return page.Entries[0], true, nil
	}
	if err := b.enter(ctx); err != nil {
		return store.Standing{}, false, c.failed(err)
	}
	defer b.leave()
	if mode == store.Competition {
		c.args = append(c.args, "shared")
	} else if s, ok = b.guessed(ctx, board, key); ok {
		return s, true, nil
	}
	text, err := b.single(ctx, c, b.keys.boardParts(board, standingParts))
	if err != nil || text == "" {
		return store.Standing{}, false, err
	}
	s, life, err := standingOf(key, text)
	if err != nil {
		return store.Standing{}, false, c.misread(err)
	}
	b.guesses.live(board, life)
	b.guesses.found(life.text, key, placeOf(life.order, s.Score), s.Sequence)
	return s, true, nil
}

// standingOf reads what board_standing.lua answers of a key that has an entry.
func standingOf(key, text string) (s store.Standing, life boardLife, err error) {
	parts := strings.SplitN(text[1:], ":", 3)
	if life.order = orderOf(text[:1]); life.order == 0 || len(parts) != 3 {
		return s, life, fmt.Errorf("%w: a standing of %q", errShape, text[:min(len(text), 32)])
	}
	better, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return s, life, fmt.Errorf("%w: %w", errShape, err)
	}
	life.text = parts[1]
	s.Rank = better + 1
	s.Entry, err = entryOf(life.order, key, parts[2], parts[2])
	return s, life, err
}

// guessed answers the standing of a key if it stands where it is guessed to: commands in one go,
// which the server runs one after the other, cost it less than a script. What is not exactly as it
// should be is left to the script.
//
// ZRANK tells that this very entry, of this score and sequence, is in the standings, and its
// rank. The life that the board has thereafter is the one that it had when the guess was
// learned, so it had it in between: its order is known. The counts show damage, as they do to
// the script; that they are of a moment each makes them differ at times, and never agree by
// error. A board on which some entry has metadata, which only the entries tell, is left to the
// script. HDEL deletes nothing: it is refused by a replica, whose standings may be old.
//
// It is not done on a cluster, which may answer the commands from two servers, and so in another
// order, while it moves a slot.
func (b *boards) guessed(ctx context.Context, board, key string) (s store.Standing, ok bool) {
	is, known := b.guesses.board(board)
	if !known {
		return s, false
	}
	life := is.boardLife
	at, found := b.guesses.look(life.text, key)
	if !found || ctx.Err() != nil {
		return s, false
	}
	c, info, entries, ranked := b.lane.client.B, is.keys[0], is.keys[1], is.keys[2]
	r := b.lane.client.DoMulti(ctx,
		c().Zrank().Key(ranked).Member(string(at)+key).Build(),
		c().Hmget().Key(info).Field("life", "count", "meta").Build(),
		c().Zcard().Key(ranked).Build(),
		c().Hlen().Key(entries).Build(),
		c().Hdel().Key(info).Field("").Build())
	better, err := r[0].AsInt64()
	if rueidis.IsRedisNil(err) {
		b.guesses.wrong(life.text, key, at)
	}
	if err != nil || !b.whole(board, life, r[1:]) {
		return s, false
	}
	s.Entry, err = entryOf(life.order, key, string(at), "")
	s.Rank = better + 1
	return s, err == nil
}

// whole tells that the answers after the first of those of guessed are as they should be.
func (b *boards) whole(board string, life boardLife, r []rueidis.RedisResult) bool {
	fields, err := r[0].ToArray()
	if err != nil || len(fields) != 3 {
		return false
	}
	if is, err := fields[0].ToString(); err != nil || is != life.text || !fields[2].IsNil() {
		b.guesses.gone(board, life)
		return false
	}
	count, err := fields[1].AsInt64()
	if err != nil {
		return false
	}
	for _, counted := range r[1:3] {
		if n, err := counted.AsInt64(); err != nil || n != count {
			return false
		}
	}
	deleted, err := r[3].AsInt64()
	return err == nil && deleted == 0
}
