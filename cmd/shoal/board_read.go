package main

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// ranksFlag is how equal scores share ranks.
type ranksFlag struct {
	Ranks string `enum:"ordinal,competition,dense" default:"ordinal" help:"How equal scores share ranks: ordinal (1 2 3 4), competition (1 2 2 4) or dense (1 2 2 3)."`
}

func (f ranksFlag) mode() store.RankMode { return modes[f.Ranks] }

// boardTopCommand shows the best.
type boardTopCommand struct {
	Board  string `arg:"" help:"The board's name."`
	Count  int    `short:"n" default:"10" help:"How many entries, 1 to 1000."`
	Offset int64  `default:"0" help:"How many of the best to pass over."`
	ranksFlag
	boardFlags
}

// Help is shown by --help.
func (*boardTopCommand) Help() string {
	return `Reads the board from the store as it is now. Scores that servers have not written yet (1 s by default) are not on it.

  shoal board top Kills
  shoal board top Kills -n 50 --offset 1000
  shoal board top BestTime --ranks competition --json | jq -r .key

` + exitCodes
}

// Run reads.
func (c *boardTopCommand) Run(ctx context.Context, o *output) error {
	if c.Count < 1 || c.Count > store.MaxPage {
		return usage("--count: 1 to %d expected, got %d", store.MaxPage, c.Count)
	}
	if c.Offset < 0 {
		return usage("--offset: 0 or more expected, got %d", c.Offset)
	}
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.find(ctx, c.Board)
		if err != nil || !s.stored {
			return t.nothing(s, err)
		}
		page, err := t.boards.By(c.mode()).Page(ctx, c.Board, c.Offset, c.Count)
		if err != nil {
			return err
		}
		return t.printStandings(ctx, s, page.Entries, func() {
			fmt.Fprintf(t.out, "%s of %s entries%s\n", humanize.Comma(int64(len(page.Entries))), humanize.Comma(page.Total), s.sealedMark())
		})
	})
}

// nothing is the answer of a board that nobody has written to.
func (t *boardTool) nothing(s *shelf, err error) error {
	if err == nil && !t.json {
		fmt.Fprintf(t.out, "%s: nobody has written to it\n", s.name)
	}
	return err
}

func (s *shelf) sealedMark() string {
	if s.info.Sealed {
		return ", sealed"
	}
	return ""
}

// standingForm is an entry as --json prints it, with its rank if it has one.
type standingForm struct {
	Rank    int64  `json:"rank,omitempty"`
	Key     string `json:"key"`
	Name    string `json:"name,omitempty"`
	Score   int64  `json:"score"`
	Decimal string `json:"decimal,omitempty"`
	Meta    []byte `json:"meta,omitempty"`
}

func (t *boardTool) standingForm(s *shelf, e board.NamedStanding) standingForm {
	return standingForm{e.Rank, e.Key, nameOf(e.Name), e.Score, t.decimal(s, e.Score), e.Meta}
}

// nameOf is what stands for a key on screens; empty when that is not known.
func nameOf(n board.Name) string {
	if n.Display == "" {
		return n.User
	}
	return n.Display
}

// printStandings prints entries: a table with what follows it, or a line of JSON for each.
func (t *boardTool) printStandings(ctx context.Context, s *shelf, list []store.Standing, footer func()) error {
	named, _ := t.boards.Named(ctx, store.Page{Entries: list}) // an error only tells that names are missing
	rows := make([][]string, 0, len(list)+1)
	rows = append(rows, []string{"RANK", "KEY", "NAME", "SCORE", "META"})
	for _, e := range named {
		form := t.standingForm(s, e)
		if err := t.print(form, func() {
			rows = append(rows, []string{rankText(e.Rank), e.Key, form.Name, t.score(s, e.Score), metaText(e.Meta)})
		}); err != nil {
			return err
		}
	}
	if !t.json {
		t.table(withoutEmpty(rows))
		footer()
	}
	return nil
}

func rankText(rank int64) string {
	if rank == 0 {
		return ""
	}
	return humanize.Comma(rank)
}

// metaText is metadata for people: as it is when it is text.
func metaText(meta []byte) string {
	const width = 60
	switch {
	case !utf8.Valid(meta):
		return fmt.Sprintf("(%d bytes)", len(meta))
	case len(meta) > width:
		return clip(string(meta), width)
	}
	return string(meta)
}

// withoutEmpty is a table without the columns that only have a heading.
func withoutEmpty(rows [][]string) [][]string {
	if len(rows) < 2 {
		return rows
	}
	out := make([][]string, len(rows))
	for col := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[col] != "" }) {
			continue
		}
		for i, row := range rows {
			out[i] = append(out[i], row[col])
		}
	}
	return out
}

// boardRankCommand shows where a key stands.
type boardRankCommand struct {
	Board string `arg:"" help:"The board's name."`
	Key   string `arg:"" help:"The entry's key."`
	ranksFlag
	boardFlags
}

// Help is shown by --help.
func (*boardRankCommand) Help() string {
	return `The rank is exact, however deep. The percentage counts equal scores as one place: "top 2.5%" holds at most 2.5 of 100
entries that are better or equal.

  shoal board rank Kills u_42
  shoal board rank Kills u_42 --ranks dense --json

` + exitCodes
}

// ranked is what --json prints of a key's place.
type ranked struct {
	standingForm
	Total int64   `json:"total"`
	Top   float64 `json:"top"`
}

// Run reads.
func (c *boardRankCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.find(ctx, c.Board)
		if err != nil {
			return err
		}
		st, ok, err := t.boards.By(c.mode()).Standing(ctx, c.Board, c.Key)
		if err != nil {
			return err
		}
		if !ok {
			return t.absent(ctx, s, c.Key)
		}
		p, _, err := t.boards.Percentile(ctx, c.Board, c.Key)
		if err != nil {
			return err
		}
		named, _ := t.boards.Named(ctx, store.Page{Entries: []store.Standing{st}}) // an error only tells that the name is missing
		form := ranked{t.standingForm(s, named[0]), p.Total, p.Top}
		return t.print(form, func() {
			t.table(withValues([][]string{
				{"board", s.name + s.sealedMark()},
				{"key", st.Key},
				{"name", form.Name},
				{"score", t.score(s, st.Score)},
				{"rank", fmt.Sprintf("%s of %s", humanize.Comma(st.Rank), humanize.Comma(p.Total))},
				{"among", "the top " + percent(p.Top)},
				{"meta", metaText(st.Meta)},
			}))
		})
	})
}

// withValues are the rows whose second column is not empty.
func withValues(rows [][]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// absent says why a key has no rank.
func (t *boardTool) absent(ctx context.Context, s *shelf, key string) error {
	if s.info.Hidden > 0 {
		hidden, err := t.isHidden(ctx, s.name, key)
		if err != nil {
			return err
		}
		if hidden {
			return missing("%s is hidden on %s", key, s.name)
		}
	}
	return missing("%s has no entry on %s", key, s.name)
}

// isHidden tells whether a key is hidden on a board.
func (t *boardTool) isHidden(ctx context.Context, board, key string) (bool, error) {
	page, err := t.boards.Hidden(ctx, board, keyBefore(key), 1)
	return len(page) == 1 && page[0].Key == key, err
}

// isBanned tells whether a key is banned.
func (t *boardTool) isBanned(ctx context.Context, key string) (bool, error) {
	page, err := t.boards.Bans(ctx, keyBefore(key), 1)
	return len(page) == 1 && page[0].Key == key, err
}

// boardAroundCommand shows an entry and its neighbours.
type boardAroundCommand struct {
	Board string `arg:"" help:"The board's name."`
	Key   string `arg:"" help:"The entry's key."`
	Count int    `short:"n" default:"5" help:"How many neighbours on each side, 0 to 499."`
	ranksFlag
	boardFlags
}

// Help is shown by --help.
func (*boardAroundCommand) Help() string {
	return `Prints the entry in the middle of its neighbours, fewer at the ends of the board.

  shoal board around Kills u_42 -n 3

` + exitCodes
}

// Run reads.
func (c *boardAroundCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.find(ctx, c.Board)
		if err != nil {
			return err
		}
		page, err := t.boards.By(c.mode()).Around(ctx, c.Board, c.Key, c.Count)
		if err != nil {
			return err
		}
		if len(page.Entries) == 0 {
			return t.absent(ctx, s, c.Key)
		}
		return t.printStandings(ctx, s, page.Entries, func() {
			fmt.Fprintf(t.out, "of %s entries%s\n", humanize.Comma(page.Total), s.sealedMark())
		})
	})
}

// boardScoresCommand shows entries of chosen keys.
type boardScoresCommand struct {
	Board string   `arg:"" help:"The board's name."`
	Keys  []string `arg:"" help:"The entries' keys."`
	boardFlags
}

// Help is shown by --help.
func (*boardScoresCommand) Help() string {
	return `Prints the entries of those keys that have one, without ranks: shoal board rank has them.

  shoal board scores Kills u_42 u_43

` + exitCodes
}

// Run reads.
func (c *boardScoresCommand) Run(ctx context.Context, o *output) error {
	return c.onBoards(ctx, o, func(ctx context.Context, t *boardTool) error {
		s, err := t.find(ctx, c.Board)
		if err != nil {
			return err
		}
		list, err := t.entries(ctx, s, c.Keys)
		if err != nil {
			return err
		}
		return t.printStandings(ctx, s, list, func() { fmt.Fprintf(t.out, "%d of %d keys have an entry\n", len(list), len(c.Keys)) })
	})
}

// entries are those of the keys that have one, in the order of the keys, without ranks.
func (t *boardTool) entries(ctx context.Context, s *shelf, keys []string) ([]store.Standing, error) {
	if err := checkKeys(keys); err != nil || !s.stored {
		return nil, err
	}
	found, err := t.boards.Scores(ctx, s.name, keys...)
	if err != nil {
		return nil, err
	}
	var list []store.Standing
	for _, key := range keys {
		if e, ok := found[key]; ok {
			list = append(list, store.Standing{Entry: e})
		}
	}
	return list, nil
}

// checkKeys refuses what is no key, and one that comes twice.
func checkKeys(keys []string) error {
	seen := make(map[string]struct{}, len(keys))
	for i, key := range keys {
		if err := name.CheckKey(fmt.Sprintf("key %d", i+1), key); err != nil {
			return err
		}
		if _, twice := seen[key]; twice {
			return usage("key %d: %s comes twice", i+1, key)
		}
		seen[key] = struct{}{}
	}
	return nil
}
