package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shoalworks/shoal/store"
)

// The list of boards is one ZSET, in a slot of its own. A board and its line in the list
// cannot be written in one go. So a line names a board and one life of it, which is random:
// it is written before the board is made and removed after that life has been dropped, and
// nobody else ever removes it. A line whose board does not live that life means nothing; one
// may be left behind by a process that was killed.

// line is the line of a board in the list. A blank is less than every byte of a name.
func line(board, life string) string { return board + " " + life }

// enlist writes a line, which may be there.
func (b *boards) enlist(ctx context.Context, c boardCall, life string) error {
	_, err := b.runList(ctx, b.scripts.list, writing, "add", line(c.board, life))
	if err != nil {
		return c.failed(fmt.Errorf("list it: %w", err))
	}
	return nil
}

// delist removes a line that means nothing, if it can; an empty life has none.
func (b *boards) delist(ctx context.Context, c boardCall, life string) {
	if life != "" {
		_, _ = b.runList(ctx, b.scripts.unlist, writing, "remove", line(c.board, life))
	}
}

// relist writes the line of a life that was found, if it can: the list may have gone without it,
// or gone back. When that life has been dropped meanwhile, perhaps by one who removed the line
// before it was written, it is removed again: a life that is over never comes back.
func (b *boards) relist(ctx context.Context, c boardCall, life string) {
	if b.enlist(ctx, c, life) != nil {
		return
	}
	c.script, c.intent, c.args = b.scripts.life, reading, nil
	r, err := b.run(ctx, c, 1)
	if err != nil {
		return
	}
	if now, _ := r.list[0].ToString(); now != life {
		b.delist(ctx, c, life)
	}
}

// runList runs a script on the list.
func (b *boards) runList(ctx context.Context, s *script, i intent, args ...string) ([]field, error) {
	message, err := b.lane.run(ctx, call{script: s, intent: i, keys: []string{b.keys.boards("list")}, args: args})
	if err != nil {
		return nil, err
	}
	list, err := message.ToArray()
	if err != nil {
		return nil, refusal(message)
	}
	r := reply{}
	if i == writing {
		return nil, nil
	}
	fields := r.fieldsOf(list)
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, r.err)
	}
	return fields, nil
}

// List implements store.Boards. It reads the list, and of each board there whether it lives.
func (b *boards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	names, err := b.listNames(ctx, prefix, after, limit)
	if err != nil {
		return nil, fmt.Errorf("redisstore: list boards: %w", err)
	}
	return names, nil
}

func (b *boards) listNames(ctx context.Context, prefix, after string, limit int) (names []string, err error) {
	if err := b.enter(ctx); err != nil {
		return nil, err
	}
	defer b.leave()
	first, last := "["+prefix, "("+prefix+"\x7f" // above every byte of a name
	if after >= prefix {
		first = "[" + after + "!" // above its lines, and not above the next name
	}
	for len(names) < limit {
		lines, err := b.runList(ctx, b.scripts.unlist, reading, "read", first, last, strconv.Itoa(limit))
		if err != nil || len(lines) == 0 {
			return names, err
		}
		living, err := b.living(ctx, lines)
		if err != nil {
			return nil, err
		}
		names = slices.Compact(append(names, living...)) // a board may have lived two of its lines meanwhile
		if len(lines) < limit {
			break
		}
		first = "(" + lines[len(lines)-1].text
	}
	return names[:min(limit, len(names))], nil
}

// living is the boards of the lines that live the lives which these say.
func (b *boards) living(ctx context.Context, lines []field) ([]string, error) {
	calls, names := make([]call, len(lines)), make([]string, len(lines))
	for i, l := range lines {
		names[i], _, _ = strings.Cut(l.text, " ")
		calls[i] = call{script: b.scripts.life, intent: reading, keys: []string{b.keys.board(names[i], "info")}}
	}
	living := names[:0]
	for i, a := range b.lane.runAll(ctx, calls) {
		if a.err != nil {
			return nil, a.err
		}
		list, err := a.message.ToArray()
		if err != nil || len(list) != 1 {
			return nil, fmt.Errorf("%w: %w: a life", store.ErrUnavailable, errShape)
		}
		if life, _ := list[0].ToString(); line(names[i], life) == lines[i].text {
			living = append(living, names[i])
		}
	}
	return living, nil
}
