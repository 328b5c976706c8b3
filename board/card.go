package board

import (
	"context"

	"github.com/shoalworks/shoal/store"
)

// Card is a page of the best and the standing of one key beside it. The two never contradict
// each other.
type Card struct {
	Page store.Page // of Top; its entries are shared: read-only
	// Standing is that of the key. A key on the cached page stands as the page shows it. Any
	// other is read from the store, and its rank is at least the first one behind the cached
	// page (or that of the page's last entry, when their scores are equal and the ranks are
	// not ordinal).
	Standing store.Standing
	OK       bool  // the key has an entry
	Total    int64 // entries of the board; never less than the rank
}

// Card is what [Service.Top] answers for count, and the standing of the key to be shown
// beside it. Use it for "your rank" wherever a page is shown; use [Service.Standing] for the
// truth of the moment. count is at most the board's MaxEntries; 0 is the whole cached page.
// A key on the cached page costs no read. The answer to a failed read is no card.
func (s *Service) Card(ctx context.Context, board, key string, count int) (Card, error) {
	return s.card(ctx, store.Ordinal, board, key, count)
}

func (s *Service) card(ctx context.Context, mode store.RankMode, board, key string, count int) (Card, error) {
	b, err := s.readable(board, key)
	if err != nil {
		return Card{}, err
	}
	if err := checkCount(board, "count", count, b.cfg.MaxEntries); err != nil {
		return Card{}, err
	}
	p, err := s.cached(ctx, b)
	if err != nil {
		return Card{}, err
	}
	whole := p.top(mode, 0)
	card := Card{Page: first(whole, count), Total: whole.Total}
	for i := range whole.Entries {
		if whole.Entries[i].Key == key {
			card.Standing, card.OK = whole.Entries[i], true
			return card, nil
		}
	}
	st, ok, err := s.standing(ctx, mode, board, key)
	if err != nil {
		return Card{}, err
	}
	if card.OK = ok; ok {
		card.Standing = below(whole.Entries, mode, st)
		card.Total = max(card.Total, card.Standing.Rank)
	}
	return card, nil
}
