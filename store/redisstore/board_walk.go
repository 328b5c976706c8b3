package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// Walk implements store.Boards. The first call is written down, so that the board remembers
// from then on what it replaces; later ones only when half of WalkFor has passed since one
// was. A walk that one call shows whole never is; of a sealed board only the first one ever.
//
// A page may be read by several scripts: the board at a version is the same whenever it is
// told.
func (b *boards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	c := boardCall{what: "walk of", board: board}
	if err := b.enter(ctx); err != nil {
		return store.Page{}, from, c.failed(err)
	}
	defer b.leave()
	w := &walking{boards: b, call: c, limit: limit}
	page, next, err := w.run(ctx, from)
	if err != nil {
		return store.Page{}, from, err
	}
	return page, next, nil
}

// walking reads one page of a walk.
type walking struct {
	boards *boards
	call   boardCall
	limit  int
	sealed bool // the board has been found sealed
}

// run reads the page at the cursor. What a walk begins with is read again when it has been
// written down: the servers may have gone back in time in between.
func (w *walking) run(ctx context.Context, from store.Cursor) (store.Page, store.Cursor, error) {
	s, at, keep, err := w.read(ctx, from, boundOf(from))
	if err != nil {
		return store.Page{}, from, err
	}
	begins := from == store.Cursor{}
	if ends := begins && at.Total <= int64(w.limit); !keep || ends {
		return w.page(ctx, s, at)
	}
	if !begins {
		if _, _, err := w.keep(ctx, bytes64(from.Version), from.Tag); err != nil {
			return store.Page{}, from, err
		}
		return w.page(ctx, s, at)
	}
	if _, at, err = w.begin(ctx, standings.FreshTag()); err == nil {
		s, _, _, err = w.read(ctx, at, boundOf(at))
	}
	if err != nil {
		return store.Page{}, from, err
	}
	return w.page(ctx, s, at)
}

// page takes the page at the cursor out of the first stretch of it, and of those behind it.
func (w *walking) page(ctx context.Context, s stretch, at store.Cursor) (store.Page, store.Cursor, error) {
	want := w.want(at)
	var rows []walkRow
	for more := want > 0; more && len(rows) < want; {
		var stood []walkRow
		var end position
		stood, end, more = s.stood()
		rows = append(rows, stood...)
		if more && len(rows) < want {
			var err error
			if s, _, _, err = w.read(ctx, at, behind(end)); err != nil {
				return store.Page{}, at, err
			}
		}
	}
	again := want > 0 && at.Seen > 0 // the first one was shown before
	if len(rows) < want || again && rows[0].at != positionOf(s.order, at.Score, at.Sequence) {
		return store.Page{}, at, w.call.failed(fmt.Errorf("%w: no walk of this board has answered it", store.ErrCursor))
	}
	if rows = rows[:want]; again {
		rows = rows[1:]
	}
	shown := make([]standings.WalkRow, len(rows))
	for i, r := range rows {
		shown[i].Entry = r.entry
	}
	page := standings.WalkPage(s.order, at, shown)
	return page, standings.Seen(at, page.Entries), nil
}

// want is how many entries have to be read: those of the page, and before them the last one
// that was shown, which tells that the cursor is one of a walk of this version.
func (w *walking) want(at store.Cursor) int {
	if at == (store.Cursor{}) {
		return w.limit
	}
	n := int(max(0, min(int64(w.limit), at.Total-at.Seen)))
	if n > 0 && at.Seen > 0 {
		n++
	}
	return n
}

// boundOf is where the page at the cursor begins; board_walk.lua knows the words.
func boundOf(at store.Cursor) string {
	if at.Seen == 0 {
		return "-"
	}
	return "cursor"
}

// read reads the stretch of the walk at the cursor that begins at the bound, and answers where
// the walk stands, and whether that has to be written down.
func (w *walking) read(ctx context.Context, from store.Cursor, bound string) (s stretch, at store.Cursor, keep bool, err error) {
	c, version, want := w.call, "", w.want(from)
	if from != (store.Cursor{}) {
		version = bytes64(from.Version)
	}
	most := want + want/4 + w.boards.sizes.stretch
	c.script, c.intent = w.boards.scripts.walk, reading
	c.args = []string{
		strconv.FormatInt(w.boards.ahead.Load(), 10), version, bound, strconv.Itoa(want), strconv.Itoa(most),
		bytes64(biased(from.Score)) + bytes64(from.Sequence),
	}
	r, err := w.boards.run(ctx, c, 7)
	if err != nil {
		return stretch{}, from, false, err
	}
	b := r.walkBoard()
	if r.err != nil {
		return stretch{}, from, false, c.misread(r.err)
	}
	w.sealed = b.info.Sealed
	if at, keep, err = standings.Walkable(b.info, b.log, b.idle, from); err != nil {
		return stretch{}, from, false, c.failed(err)
	}
	s = stretch{version: at.Version, order: b.info.Order, limit: want}
	if at.Version != b.info.Sequence {
		s.limit = most
	}
	if r.stretch(&s); r.err != nil {
		return stretch{}, from, false, c.misread(r.err)
	}
	return s, at, keep, nil
}

// begin begins a walk of the board as it is: the board remembers from now on what it replaces.
// The version gets the tag if it has none.
func (w *walking) begin(ctx context.Context, tag uint64) (info store.BoardInfo, at store.Cursor, err error) {
	info, tag, err = w.keep(ctx, "", tag)
	return info, store.Cursor{Generation: info.Generation, Version: info.Sequence, Total: info.Count, Tag: tag}, err
}

// keep has the board remember what it replaces, for walks of the version that has the tag, or of
// the present one (empty), and answers the board and the tag.
func (w *walking) keep(ctx context.Context, version string, tag uint64) (store.BoardInfo, uint64, error) {
	c := w.call
	c.script, c.intent, c.args = w.boards.scripts.keep, writing, w.boards.logArgs(version, bytes64(tag), strconv.Itoa(store.MaxWalks))
	if w.sealed {
		c.script = w.boards.scripts.keepSealed
	}
	r, err := w.boards.run(ctx, c, 2)
	if errors.Is(err, store.ErrUnknown) { // a walk is a read: what was asked for was not done
		return store.BoardInfo{}, 0, c.failed(fmt.Errorf("%w: %v", store.ErrUnavailable, err)) //nolint:errorlint // one word of the vocabulary
	}
	if err != nil {
		return store.BoardInfo{}, 0, err
	}
	info, known := r.info(), r.text(1)
	if r.err == nil && len(known) != 8 {
		r.fail("a tag of %d bytes", len(known))
	}
	if r.err != nil {
		c.intent = reading
		return store.BoardInfo{}, 0, c.misread(r.err)
	}
	return info, number64(known), nil
}

// walkBoard reads the first parts of what board_walk.lua answers.
func (r *reply) walkBoard() walkBoard {
	fields, now, whole := r.fields(0), time.Duration(r.number(1))*time.Microsecond, r.number(2) == 1
	info, err := infoOf(fields)
	if err == nil && len(fields) < 8 {
		r.fail("a board of %d fields", len(fields))
	}
	b := walkBoard{info: info}
	b.log.Tagged, b.log.Walked = true, standings.ParseWalked([]byte(r.text(6)))
	if r.err == nil && err == nil {
		err = b.readLog(fields[7], whole, now)
	}
	if r.err == nil {
		r.err = err
	}
	return b
}

// stretch reads the other parts.
func (r *reply) stretch(s *stretch) {
	for _, m := range r.standings(3, s.order) {
		s.members = append(s.members, walkRow{at: positionOf(s.order, m.Score, m.Sequence), entry: m.Entry})
	}
	for _, f := range r.fields(5) {
		m, err := movedOf(s.order, f.text)
		if err != nil && r.err == nil {
			r.err = err
		}
		s.moved = append(s.moved, m)
	}
}
