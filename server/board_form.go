package server

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/clock"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/store"
)

// nameWait is how long an answer waits for names that are not at hand. What is not known by
// then is left out; the kept answers to Top are made anew every formFor, and have it later.
const nameWait = 100 * time.Millisecond

// boardForms writes entries of one board as messages.
type boardForms struct {
	s       *Server
	board   string
	decimal bool // scores are written as text as well
}

func (b boardService) forms(name string, cfg board.Config) boardForms {
	return boardForms{b.s, name, cfg.Decimals > 0}
}

// formsOf is forms for a board that need not be configured.
func (b boardService) formsOf(name string) boardForms {
	cfg, _ := b.s.boards.Config(name)
	return b.forms(name, cfg)
}

// text is a score as text, nil on a board without decimals.
func (f boardForms) text(score int64) *string {
	if !f.decimal {
		return nil
	}
	text, err := f.s.boards.FormatScore(f.board, score)
	if err != nil {
		return nil // the board is not defined any more
	}
	return &text
}

// standings are entries with their ranks, and with names as far as they are known.
func (f boardForms) standings(ctx context.Context, list []store.Standing) []*shoalv1.BoardStanding {
	out := make([]*shoalv1.BoardStanding, len(list))
	for i, row := range f.named(ctx, list) {
		out[i] = &shoalv1.BoardStanding{
			Rank: row.Rank, Key: row.Key, Score: row.Score, Decimal: f.text(row.Score), Name: nameText(row.Name), Meta: metaForm(row.Meta),
		}
	}
	return out
}

// named are entries with their names. Whatever hinders the names, the entries are there.
func (f boardForms) named(ctx context.Context, list []store.Standing) []board.NamedStanding {
	ctx, cancel := clock.WithTimeout(ctx, f.s.clock, nameWait)
	defer cancel()
	rows, _ := f.s.boards.Named(ctx, store.Page{Entries: list}) // an error only tells that names are missing
	return rows
}

// nameText is what stands for a key on screens, nil when that is not known.
func nameText(n board.Name) *string {
	if n.Display == "" {
		return orAbsent(n.User)
	}
	return &n.Display
}

// metaForm is metadata for the wire: absent when there is none.
func metaForm(meta []byte) []byte {
	if len(meta) == 0 {
		return nil
	}
	return meta
}
