package redisstore

import (
	"context"
	"strconv"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/internal/standings"
)

// checkSize is how many entries one script of a check looks at: a millisecond or so.
const checkSize = 500

// Check implements store.Boards. It looks at some entries at a time, each in a script of its
// own in which standings and entries must agree, and at the end at the totals: so it holds up
// nobody for long.
//
// A repair takes the entries for true. It puts standings where the entries are, makes an entry
// of a standing without one (its stamp and its metadata are lost), and counts anew. While it
// runs a damaged board stays unavailable; one that is cut off is finished by the next.
func (b *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	c := boardCall{what: "check", board: board, intent: reading}
	if err := b.enter(ctx); err != nil {
		return store.BoardCheck{}, c.failed(err)
	}
	defer b.leave()
	f, err := b.inspect(ctx, c, false)
	if err != nil {
		return store.BoardCheck{}, err
	}
	check := store.BoardCheck{Entries: f.Entries, Problems: f.Said()}
	if !repair || len(check.Problems) == 0 {
		return check, nil
	}
	c.what, c.intent = "repair", writing
	if _, err := b.inspect(ctx, c, true); err != nil {
		return check, err
	}
	c.what, c.intent = "check", reading
	again, err := b.inspect(ctx, c, false)
	check.Repaired = err == nil && len(again.Problems) == 0
	return check, err
}

// inspect looks at everything and, if it is to repair, puts it right.
func (b *boards) inspect(ctx context.Context, c boardCall, repair bool) (*standings.Findings, error) {
	f, word := &standings.Findings{}, "look"
	if repair {
		word = "repair"
		c.script, c.args = b.scripts.totals, []string{word} // scores in the standings would hide some
		if _, err := b.checkStep(ctx, c, f); err != nil {
			return nil, err
		}
	}
	c.script = b.scripts.check
	for _, part := range [...]struct{ name, from string }{{"standings", "-"}, {"entries", "0"}} {
		for from := part.from; from != ""; {
			c.args = []string{word, part.name, from, strconv.Itoa(checkSize)}
			r, err := b.checkStep(ctx, c, f)
			if err != nil {
				return nil, err
			}
			if from = r.text(0); r.err != nil {
				return nil, c.misread(r.err)
			}
		}
	}
	c.script, c.args = b.scripts.totals, []string{word}
	r, err := b.checkStep(ctx, c, f)
	if err != nil {
		return nil, err
	}
	if f.Entries = r.number(0); r.err != nil {
		return nil, c.misread(r.err)
	}
	return f, nil
}

// checkStep runs one script of a check and takes in what it found.
func (b *boards) checkStep(ctx context.Context, c boardCall, f *standings.Findings) (reply, error) {
	r, err := b.run(ctx, c, 2)
	if err != nil {
		return reply{}, err
	}
	for _, problem := range r.fields(1) {
		f.Add("%s", problem.text)
	}
	if r.err != nil {
		return reply{}, c.misread(r.err)
	}
	return r, nil
}
