package board

import (
	"context"
	"fmt"

	"github.com/shoalworks/shoal/store"
)

// Percentile is how far up a board a key stands.
type Percentile struct {
	Rank  int64 // by store.Competition: equal scores are equally far up
	Total int64 // entries of the board
	// Top is 100·Rank/Total, in (0, 100]: the key is among the best Top percent. 0 without an
	// entry. For a label round it up, since rounding down promises too much.
	Top float64
}

// Percentile is how far up a board a key stands, by one read of the store that overlapping
// calls share. ok is false when the key has no entry; Total is right nevertheless. A Backend
// whose board is longer than one page cannot tell: store.ErrUnsupported.
func (s *Service) Percentile(ctx context.Context, board, key string) (p Percentile, ok bool, err error) {
	page, err := s.around(ctx, store.Competition, board, key, 0)
	if err != nil {
		return Percentile{}, false, err
	}
	if s.backend != nil && page.Total >= store.MaxPage {
		return Percentile{}, false, readError("percentile", board, key, unsupported(fmt.Sprintf("count more than %d entries", store.MaxPage)))
	}
	if len(page.Entries) == 0 {
		return Percentile{Total: page.Total}, false, nil
	}
	return percentile(page.Entries[0].Rank, page.Total), true, nil
}

func percentile(rank, total int64) Percentile {
	return Percentile{Rank: rank, Total: total, Top: 100 * float64(rank) / float64(max(rank, total))}
}
