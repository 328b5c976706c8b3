package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/store"
)

// boardCommands are about leaderboards.
type boardCommands struct {
	List   boardListCommand   `cmd:"" help:"List boards."`
	Info   boardInfoCommand   `cmd:"" help:"Print what a board is, and how many entries it has."`
	Top    boardTopCommand    `cmd:"" help:"Print the best entries, or those from any place on."`
	Rank   boardRankCommand   `cmd:"" help:"Print where a key stands, exactly."`
	Around boardAroundCommand `cmd:"" help:"Print an entry and its neighbours."`
	Scores boardScoresCommand `cmd:"" help:"Print the entries of chosen keys."`
	Submit boardSubmitCommand `cmd:"" help:"Submit a score, and see it stored."`
	Remove boardRemoveCommand `cmd:"" help:"Delete entries, for good."`
	Hide   boardHideCommand   `cmd:"" help:"Take keys out of a board's ranks; their scores are kept."`
	Show   boardShowCommand   `cmd:"" help:"Take hide back."`
	Hidden boardHiddenCommand `cmd:"" help:"List a board's hidden keys."`
	Ban    boardBanCommand    `cmd:"" help:"Hide keys on every board, and have all nodes refuse their scores."`
	Unban  boardUnbanCommand  `cmd:"" help:"Take ban back."`
	Bans   boardBansCommand   `cmd:"" help:"List the banned keys."`
	Audit  boardAuditCommand  `cmd:"" help:"Print what operators did to boards, newest first."`
	Export boardExportCommand `cmd:"" help:"Write a board to a file."`
	Import boardImportCommand `cmd:"" help:"Bring entries from a file into a board."`
	Seal   boardSealCommand   `cmd:"" help:"End all writes to a board, for good."`
	Drop   boardDropCommand   `cmd:"" help:"Delete a board with all its entries, for good."`
	Refill boardRefillCommand `cmd:"" help:"Fill a board that mirrors profiles from the stored ones."`
}

// boardFlags say how a board is to be read that the configuration does not know.
type boardFlags struct {
	fleetFlags
	Decimals *int `placeholder:"N" help:"How many decimals a score has, on a board that is not in the configuration. Default 0."`
}

// boardTool is what a command on boards works with.
type boardTool struct {
	printer
	node     *shoal.Node
	boards   *board.Service
	decimals *int
}

// onBoards opens the store, becomes a node with the configuration's boards, and runs do.
// Everything ends in order.
func (f *boardFlags) onBoards(ctx context.Context, o *output, do func(context.Context, *boardTool) error) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	opts, err := cfg.options(slog.New(slog.DiscardHandler))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	opts.Seasons = nil              // a tool plays none, and their boards are read as the store has them
	for _, set := range opts.Sets { // for names, and for boards that mirror them
		set.ReapEvery, set.JournalEvery = -1, -1
	}
	return f.onNode(ctx, o, &cfg, opts, func(ctx context.Context, n *shoal.Node) error {
		return do(ctx, &boardTool{printer{o, f.JSON}, n, n.Boards(), f.Decimals})
	})
}

// raw is the store's boards, within the fleet's budget for boards.
func (t *boardTool) raw() store.Boards { return t.node.For(node.ClassBoard).Boards() }

// shelf is one board: as the store has it, and as the configuration says.
type shelf struct {
	name       string
	stored     bool
	configured bool
	info       store.BoardInfo
	config     board.Config // of a board that is not configured: what the flags say, and the store's order
}

// find is a board that the store or the configuration has. It is known to the node from then
// on.
func (t *boardTool) find(ctx context.Context, board string) (*shelf, error) {
	s, err := t.look(ctx, board)
	if err != nil {
		return nil, err
	}
	if !s.stored && !s.configured {
		return nil, missing("there is no board %q; shoal board list shows which there are", board)
	}
	return s, t.define(s)
}

// look is a board, whether there is one or not.
func (t *boardTool) look(ctx context.Context, board string) (*shelf, error) {
	if err := name.CheckBoard("board", board); err != nil {
		return nil, err
	}
	s := &shelf{name: board}
	info, err := t.boards.Info(ctx, board)
	switch {
	case err == nil:
		s.stored, s.info = true, info
	case !errors.Is(err, store.ErrNoBoard):
		return nil, err
	}
	s.config, s.configured = t.boards.Config(board)
	if !s.stored {
		s.info.Order = s.config.Order
	}
	return s, nil
}

// define makes a board known to the node that the configuration does not know. What is wrong
// with the flags is told.
func (t *boardTool) define(s *shelf) error {
	switch {
	case s.configured && t.decimals != nil && *t.decimals != s.config.Decimals:
		return usage("--decimals: %d expected, as the configuration says, got %d", s.config.Decimals, *t.decimals)
	case s.configured && s.stored && s.info.Order != s.config.Order:
		fmt.Fprintf(t.err, "%s is %v in the configuration and %v in the store; it is shown as it is stored\n", s.name, s.config.Order, s.info.Order)
		return nil
	case s.configured:
		return nil
	}
	s.config.Order = s.info.Order
	if t.decimals != nil {
		s.config.Decimals = *t.decimals
	}
	if err := t.boards.Define(s.name, s.config); err != nil {
		return err
	}
	s.config, _ = t.boards.Config(s.name)
	return nil
}

// score is a score as people read it.
func (t *boardTool) score(s *shelf, score int64) string {
	text, err := t.boards.FormatScore(s.name, score)
	if err != nil {
		return fmt.Sprint(score)
	}
	return text
}

// decimal is the score as text for --json, on a board with decimals.
func (t *boardTool) decimal(s *shelf, score int64) string {
	if s.config.Decimals == 0 {
		return ""
	}
	return t.score(s, score)
}

// modes are the rank modes by their names on the command line.
var modes = map[string]store.RankMode{ //nolint:gochecknoglobals // an immutable table
	"ordinal": store.Ordinal, "competition": store.Competition, "dense": store.Dense,
}

// usage is an error in flags or input.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// refused is what is not allowed now.
func refused(format string, args ...any) error {
	return &exitError{exitRefused, fmt.Errorf(format, args...)}
}

// missing is what is not there.
func missing(format string, args ...any) error {
	return &exitError{exitMissing, fmt.Errorf(format, args...)}
}
