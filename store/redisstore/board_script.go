package redisstore

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/shoalworks/shoal/store"
)

//go:embed board*.lua
var boardTexts embed.FS

// boardScripts are the scripts of boards.
type boardScripts struct {
	create, info, seal, drop *script
	list, unlist, life       *script
	merge, hide, remove      *script
	read, standing           *script
	scores, hidden           *script
	walk, keep, keepSealed   *script
	check, totals            *script
}

// newBoardScripts puts the scripts together. What takes memory is refused by a full server as
// a whole, before its first write; what frees some, or only reads, runs there, too.
func newBoardScripts() boardScripts {
	return boardScripts{
		create:   boardScript(whenRoom, "board_create"),
		info:     boardScript(always, "board", "board_info"),
		seal:     boardScript(whenRoom, "board", "board_seal"),
		drop:     boardScript(always, "board_drop"),
		list:     boardScript(whenRoom, "board_list"),
		unlist:   boardScript(always, "board_list"),
		life:     boardScript(always, "board_life"),
		merge:    boardScript(whenRoom, "board", "board_log", "board_merge"),
		hide:     boardScript(whenRoom, "board", "board_log", "board_edit"),
		remove:   boardScript(always, "board", "board_log", "board_edit"),
		read:     boardScript(always, "board", "board_read"),
		standing: boardScript(always, "board_standing"),
		scores:   boardScript(always, "board", "board_scores"),
		hidden:   boardScript(always, "board", "board_hidden"),
		walk:     boardScript(always, "board", "board_walk"),
		keep:     boardScript(whenRoom, "board", "board_log", "board_keep"),
		// A sealed board takes a kilobyte at most, and who has no room may want to have it elsewhere.
		keepSealed: boardScript(always, "board", "board_log", "board_keep"),
		check:      boardScript(always, "board_repair", "board_check"),
		totals:     boardScript(always, "board_repair", "board_totals"),
	}
}

// boardScript makes a script of the texts with these names.
func boardScript(when string, names ...string) *script {
	var all strings.Builder
	for _, name := range names {
		text, err := boardTexts.ReadFile(name + ".lua")
		if err != nil {
			panic(err) // it is embedded
		}
		all.Write(text)
	}
	return newScript(when, all.String())
}

// How many parts of a board scripts need: those that change it, read it, and read one standing.
const (
	allParts      = 7
	readParts     = 5
	standingParts = 3
)

// boardParts are the first n keys of a board, in the order in which its scripts take them.
func (k keys) boardParts(name string, n int) []string {
	parts := [allParts]string{"info", "entries", "standings", "hidden", "moved", "sources", "used"}
	all := make([]string, n)
	for i, part := range parts[:n] {
		all[i] = k.board(name, part)
	}
	return all
}

// boardCall is one call of a script on a board.
type boardCall struct {
	what   string // for errors: "merge into"
	board  string
	script *script
	intent intent
	args   []string
}

// failed is an error of the call.
func (c boardCall) failed(err error) error {
	return fmt.Errorf("redisstore: %s board %s: %w", c.what, c.board, err)
}

// single runs a script that answers one text, and answers what follows its first byte, "=". Any
// other text says why the board does not take the call.
func (b *boards) single(ctx context.Context, c boardCall, keys []string) (string, error) {
	message, err := b.lane.run(ctx, call{script: c.script, intent: c.intent, keys: keys, args: c.args})
	if err != nil {
		return "", c.failed(err)
	}
	word, err := message.ToString()
	if text, ok := strings.CutPrefix(word, "="); ok && err == nil {
		return text, nil
	}
	return "", c.failed(refusal(message))
}

// ask begins a call of the contract, runs its script, and answers the parts of what it
// answered, which are as many as parts says unless that is 0.
func (b *boards) ask(ctx context.Context, c boardCall, parts int) (reply, error) {
	if err := b.enter(ctx); err != nil {
		return reply{}, c.failed(err)
	}
	defer b.leave()
	return b.run(ctx, c, parts)
}

// run runs the script of a call. A word in place of a list says why the board does not take the
// call.
func (b *boards) run(ctx context.Context, c boardCall, parts int) (reply, error) {
	taken := allParts
	if c.intent == reading {
		taken = readParts
	}
	message, err := b.lane.run(ctx, call{script: c.script, intent: c.intent, keys: b.keys.boardParts(c.board, taken), args: c.args})
	if err != nil {
		return reply{}, c.failed(err)
	}
	list, err := message.ToArray()
	if err != nil {
		return reply{}, c.failed(refusal(message))
	}
	r := reply{list: list}
	if parts != 0 && len(list) != parts {
		r.fail("%d parts, want %d", len(list), parts)
		return reply{}, c.misread(r.err)
	}
	return r, nil
}

// refusal is what a word means that a script answers. A board whose parts do not fit together
// is unavailable until it has been repaired: whatever else was said of it might be wrong.
func refusal(m rueidis.RedisMessage) error {
	word, err := m.ToString()
	if err != nil {
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, errShape, err)
	}
	switch word {
	case "none":
		return store.ErrNoBoard
	case "sealed":
		return store.ErrSealed
	case "cursor":
		return store.ErrCursor
	case "full":
		return fmt.Errorf("%w: at most %d hidden keys", store.ErrTooLarge, store.MaxHidden)
	}
	if part, ok := strings.CutPrefix(word, "damaged: "); ok {
		return fmt.Errorf("%w: the board is damaged (%s); Check can repair it", store.ErrUnavailable, part)
	}
	return fmt.Errorf("%w: %w: %q", store.ErrUnavailable, errShape, word)
}

// misread is the error of a call whose answer cannot be read: it was done, or not.
func (c boardCall) misread(err error) error {
	word := store.ErrUnavailable
	if c.intent == writing {
		word = store.ErrUnknown
	}
	return c.failed(fmt.Errorf("%w: %w", word, err))
}
