package storetest_test

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// inMode replaces the rank mode of some reads.
func inMode(page, standing, around func(store.RankMode) store.RankMode) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
			return b.Boards.Page(ctx, board, offset, limit, page(mode))
		}
		b.standing = func(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
			return b.Boards.Standing(ctx, board, key, standing(mode))
		}
		b.around = func(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
			return b.Boards.Around(ctx, board, key, n, around(mode))
		}
	})
}

func asAsked(mode store.RankMode) store.RankMode { return mode }

func asOrdinal(store.RankMode) store.RankMode { return store.Ordinal }

// insteadOf answers one mode with the ranks of another.
func insteadOf(asked, answered store.RankMode) func(store.RankMode) store.RankMode {
	return func(mode store.RankMode) store.RankMode {
		if mode == asked {
			return answered
		}
		return mode
	}
}

// rankedPage changes the pages of one mode that have entries.
func rankedPage(of store.RankMode, change func(*store.Page)) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
			page, err := b.Boards.Page(ctx, board, offset, limit, mode)
			if mode == of && len(page.Entries) > 0 {
				change(&page)
			}
			return page, err
		}
	})
}

// tiesWithin gives each entry the rank of the one above when tied says so.
func tiesWithin(tied func(above, s store.Standing) bool) func(*store.Page) {
	return func(p *store.Page) {
		for i := 1; i < len(p.Entries); i++ {
			if tied(p.Entries[i-1], p.Entries[i]) {
				p.Entries[i].Rank = p.Entries[i-1].Rank
			}
		}
	}
}

func brokenRanks() []broken {
	competition := insteadOf(store.Competition, store.Ordinal)
	dense := insteadOf(store.Dense, store.Competition)
	return []broken{
		{name: "competition is ordinal", topic: "rank", boards: inMode(competition, competition, competition)},
		{name: "dense is competition", topic: "rank", boards: inMode(dense, dense, dense)},
		{name: "pages know no rank mode", topic: "rank", boards: inMode(asOrdinal, asAsked, asAsked)},
		{name: "standings know no rank mode", topic: "rank", boards: inMode(asAsked, asOrdinal, asAsked)},
		{name: "around knows no rank mode", topic: "rank", boards: inMode(asAsked, asAsked, asOrdinal)},
		{name: "random reads in one rank mode", topic: "random", boards: inMode(asAsked, asAsked, dense)},
		{name: "competition begins with the page", topic: "rank", boards: rankedPage(store.Competition, func(p *store.Page) {
			for i := range p.Entries {
				p.Entries[i].Rank = max(p.Entries[i].Rank, p.Offset+1)
			}
		})},
		{name: "dense begins with the page", topic: "rank", boards: rankedPage(store.Dense, func(p *store.Page) {
			first := p.Entries[0].Rank
			for i := range p.Entries {
				p.Entries[i].Rank += p.Offset + 1 - first
			}
		})},
		{name: "scores tie as doubles", topic: "rank", boards: rankedPage(store.Competition, tiesWithin(func(above, s store.Standing) bool {
			return float64(above.Score) == float64(s.Score)
		}))},
		{name: "dense ranks go back to competition when deep", topic: "rank", boards: ofBoards(func(b *boards) {
			b.standing = func(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
				s, ok, err := b.Boards.Standing(ctx, board, key, mode)
				if mode == store.Dense && s.Rank > 1000 {
					return b.Boards.Standing(ctx, board, key, store.Competition)
				}
				return s, ok, err
			}
		})},
		{name: "the hidden take ranks", topic: "rank", boards: ofBoards(func(b *boards) {
			b.standing = func(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
				s, ok, err := b.Boards.Standing(ctx, board, key, mode)
				if err != nil || !ok || mode != store.Competition {
					return s, ok, err
				}
				listed, err := b.Boards.Hidden(ctx, board, "", store.MaxPage)
				for _, h := range listed {
					if h.Scored && h.Score > s.Score {
						s.Rank++
					}
				}
				return s, ok, err
			}
		})},
		{name: "pages do not say where they are", topic: "order", boards: eachPage(func(p *store.Page) { p.Offset = 0 })},
		{name: "pages beyond the end say where they would be", topic: "order", boards: eachPage(func(p *store.Page) {
			if len(p.Entries) == 0 {
				p.Offset = p.Total
			}
		})},
		{name: "pages say where they are by their rank", topic: "rank", boards: rankedPage(store.Competition, func(p *store.Page) {
			p.Offset = p.Entries[0].Rank - 1
		})},
		{name: "around does not say where it is", topic: "around", boards: ofBoards(func(b *boards) {
			b.around = func(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
				page, err := b.Boards.Around(ctx, board, key, n, mode)
				page.Offset = 0
				return page, err
			}
		})},
	}
}
