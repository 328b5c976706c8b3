package server

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/internal/name"
	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/store"
)

// Top reads the best entries, from the board's cached page.
func (b boardService) Top(ctx context.Context, req *shoalv1.BoardTopRequest) (*shoalv1.BoardTopResponse, error) {
	cfg, mode, err := b.reading(req.GetBoard(), req.GetRanks())
	if err != nil {
		return nil, err
	}
	count, err := countOf(req.Count, defaultTop, cfg.MaxEntries)
	if err != nil {
		return nil, err
	}
	page, err := b.s.boards.By(mode).Top(ctx, req.GetBoard(), count)
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	return b.s.pages.top(ctx, pageKey{req.GetBoard(), count, mode}, page, b.forms(req.GetBoard(), cfg)), nil
}

// Standing reads one entry with its rank.
func (b boardService) Standing(ctx context.Context, req *shoalv1.BoardStandingRequest) (*shoalv1.BoardStandingResponse, error) {
	cfg, mode, err := b.reading(req.GetBoard(), req.GetRanks())
	if err != nil {
		return nil, err
	}
	if err := checkKey(req.GetKey()); err != nil {
		return nil, err
	}
	standing, ok, err := b.s.boards.By(mode).Standing(ctx, req.GetBoard(), req.GetKey())
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	out := &shoalv1.BoardStandingResponse{Found: ok}
	if ok {
		out.Standing = b.forms(req.GetBoard(), cfg).standings(ctx, []store.Standing{standing})[0]
	}
	return out, nil
}

// Around reads one entry and its neighbours.
func (b boardService) Around(ctx context.Context, req *shoalv1.BoardAroundRequest) (*shoalv1.BoardAroundResponse, error) {
	cfg, mode, err := b.reading(req.GetBoard(), req.GetRanks())
	if err != nil {
		return nil, err
	}
	if err := checkKey(req.GetKey()); err != nil {
		return nil, err
	}
	count, err := countOf(req.Count, defaultAround, (store.MaxPage-1)/2)
	if err != nil {
		return nil, err
	}
	page, err := b.s.boards.By(mode).Around(ctx, req.GetBoard(), req.GetKey(), count)
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	return &shoalv1.BoardAroundResponse{Entries: b.forms(req.GetBoard(), cfg).standings(ctx, page.Entries), Total: page.Total}, nil
}

// Scores reads the entries of chosen keys.
func (b boardService) Scores(ctx context.Context, req *shoalv1.BoardScoresRequest) (*shoalv1.BoardScoresResponse, error) {
	cfg, err := b.config(req.GetBoard())
	if err != nil {
		return nil, err
	}
	keys := req.GetKeys()
	if err := checkKeys(keys, store.MaxPage); err != nil {
		return nil, err
	}
	found, err := b.s.boards.Scores(ctx, req.GetBoard(), keys...)
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	var list []store.Standing
	for _, key := range keys {
		if e, ok := found[key]; ok {
			list = append(list, store.Standing{Entry: e})
		}
	}
	out := &shoalv1.BoardScoresResponse{}
	for _, e := range b.forms(req.GetBoard(), cfg).standings(ctx, list) {
		out.Entries = append(out.Entries, &shoalv1.BoardEntry{Key: e.GetKey(), Score: e.GetScore(), Decimal: e.Decimal, Name: e.Name, Meta: e.Meta})
	}
	return out, nil
}

// checkKeys refuses lists of keys that are empty or too long, and what is no key in them.
func checkKeys(keys []string, most int) error {
	if len(keys) == 0 || len(keys) > most {
		return refuse(badField, "keys", "1 to %d keys are expected, got %d", most, len(keys))
	}
	seen := make(map[string]struct{}, len(keys))
	for i, key := range keys {
		field := indexed("keys", i)
		if err := name.CheckKey(field, key); err != nil {
			return err
		}
		if _, twice := seen[key]; twice {
			return refuse(badField, field, "%q comes twice", key)
		}
		seen[key] = struct{}{}
	}
	return nil
}

// Page reads the entries from any place on.
func (b boardService) Page(ctx context.Context, req *shoalv1.BoardPageRequest) (*shoalv1.BoardPageResponse, error) {
	cfg, mode, err := b.reading(req.GetBoard(), req.GetRanks())
	if err != nil {
		return nil, err
	}
	if req.GetOffset() < 0 {
		return nil, refuse(badField, "offset", "0 or more is expected, got %d", req.GetOffset())
	}
	limit, err := limitOf("limit", req.Limit, defaultPage, store.MaxPage)
	if err != nil {
		return nil, err
	}
	page, err := b.s.boards.By(mode).Page(ctx, req.GetBoard(), req.GetOffset(), limit)
	if err != nil && !errors.Is(err, store.ErrNoBoard) { // a board that nobody wrote to is empty
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	return &shoalv1.BoardPageResponse{
		Entries: b.forms(req.GetBoard(), cfg).standings(ctx, page.Entries), Total: page.Total, Sealed: page.Info.Sealed,
	}, nil
}

// Walk reads the next step of a walk.
func (b boardService) Walk(ctx context.Context, req *shoalv1.BoardWalkRequest) (*shoalv1.BoardWalkResponse, error) {
	cfg, err := b.config(req.GetBoard())
	if err != nil {
		return nil, err
	}
	limit, err := limitOf("limit", req.Limit, defaultPage, store.MaxPage)
	if err != nil {
		return nil, err
	}
	page, next, err := b.s.boards.Walk(ctx, req.GetBoard(), req.GetCursor(), limit)
	if err != nil {
		return nil, err
	}
	return &shoalv1.BoardWalkResponse{
		Entries: b.forms(req.GetBoard(), cfg).standings(ctx, page.Entries), Total: page.Total, Next: orAbsent(next),
	}, nil
}

// Percentile tells which part of the board an entry belongs to.
func (b boardService) Percentile(ctx context.Context, req *shoalv1.BoardPercentileRequest) (*shoalv1.BoardPercentileResponse, error) {
	cfg, err := b.config(req.GetBoard())
	if err != nil {
		return nil, err
	}
	if err := checkKey(req.GetKey()); err != nil {
		return nil, err
	}
	p, ok, err := b.s.boards.Percentile(ctx, req.GetBoard(), req.GetKey())
	if err != nil {
		return nil, err
	}
	b.s.cacheable(ctx, cfg.CacheFor)
	return &shoalv1.BoardPercentileResponse{Found: ok, Rank: p.Rank, Total: p.Total, Top: p.Top}, nil
}

// reading is the board of a read, and how it wants ranks.
func (b boardService) reading(board, ranks string) (board.Config, store.RankMode, error) {
	cfg, err := b.config(board)
	if err != nil {
		return cfg, 0, err
	}
	mode, err := modeOf(ranks)
	return cfg, mode, err
}

// modeOf is the rank mode with a name of the wire.
func modeOf(ranks string) (store.RankMode, error) {
	if ranks == "" {
		return store.Ordinal, nil
	}
	for _, mode := range []store.RankMode{store.Ordinal, store.Competition, store.Dense} {
		if mode.String() == ranks {
			return mode, nil
		}
	}
	return 0, refuse(badField, "ranks", "ordinal, competition or dense is expected, got %q", clipped(ranks))
}

// orAbsent is a text of the wire that is left out when it is empty.
func orAbsent(text string) *string {
	if text == "" {
		return nil
	}
	return proto.String(text)
}
