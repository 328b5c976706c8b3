package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/node"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/store"
)

// Info reads what a board is.
func (b boardService) Info(ctx context.Context, req *shoalv1.BoardInfoRequest) (*shoalv1.BoardInfoResponse, error) {
	if err := name.CheckBoard("board", req.GetBoard()); err != nil {
		return nil, err
	}
	cfg, configured := b.s.boards.Config(req.GetBoard())
	info, err := b.s.boards.Info(ctx, req.GetBoard())
	switch {
	case errors.Is(err, store.ErrNoBoard) && configured:
		info = store.BoardInfo{Order: cfg.Order}
	case errors.Is(err, store.ErrNoBoard):
		return nil, b.unknown(req.GetBoard())
	case err != nil:
		return nil, err
	}
	out := &shoalv1.BoardInfoResponse{
		Board: req.GetBoard(), Stored: err == nil, Order: info.Order.String(), Count: info.Count, Hidden: info.Hidden,
		Sequence: info.Sequence, Generation: info.Generation, Sealed: info.Sealed,
	}
	if configured {
		out.Config = configForm(cfg)
	}
	return out, nil
}

func configForm(cfg board.Config) *shoalv1.BoardConfig {
	out := &shoalv1.BoardConfig{
		Rule: cfg.Rule.String(), Decimals: int32(cfg.Decimals), Min: cfg.Min, Max: cfg.Max, MaxEntries: int32(cfg.MaxEntries), //nolint:gosec // at most 18 and 1,000
	}
	if cfg.From != nil {
		out.Mirrors = &cfg.From.Set
	}
	return out
}

// List names the boards of the store and those of the configuration, in the order of their
// names.
func (b boardService) List(ctx context.Context, req *shoalv1.BoardListRequest) (*shoalv1.BoardListResponse, error) {
	for _, t := range []struct{ field, text string }{{"prefix", req.GetPrefix()}, {"after", req.GetAfter()}} {
		if err := checkText(t.field, t.text, name.MaxBoard); err != nil {
			return nil, err
		}
	}
	limit, err := limitOf("limit", req.Limit, defaultPage, store.MaxPage)
	if err != nil {
		return nil, err
	}
	stored, err := b.s.node.For(node.ClassBoard).Boards().List(ctx, req.GetPrefix(), req.GetAfter(), limit)
	if err != nil {
		return nil, err
	}
	out := &shoalv1.BoardListResponse{}
	more := len(stored) == limit
	for _, one := range union(stored, b.configured(req.GetPrefix(), req.GetAfter())) {
		switch {
		case len(out.GetBoards()) == limit:
			more = true
		case more && one > stored[limit-1]: // the store may have others before it
		default:
			_, inStore := slices.BinarySearch(stored, one)
			_, configured := b.s.boards.Config(one)
			out.Boards = append(out.Boards, &shoalv1.BoardListed{Board: one, Stored: inStore, Configured: configured})
		}
	}
	if n := len(out.GetBoards()); more && n > 0 {
		out.Next = orAbsent(out.GetBoards()[n-1].GetBoard())
	}
	return out, nil
}

// configured are the boards of the configuration and of its seasons that begin with prefix
// and come after a name.
func (b boardService) configured(prefix, after string) []string {
	return slices.DeleteFunc(b.s.boards.Boards(), func(one string) bool { return !strings.HasPrefix(one, prefix) || one <= after })
}

// union is two sorted lists as one.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
