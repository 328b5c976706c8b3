package standings

import "github.com/shoalworks/shoal/store"

// JumpWorth is how many entries an engine looks at in the time in which it jumps to the next
// score in its index, roughly. See dense ranks.
const JumpWorth = 32

// RankAll ranks consecutive standings, the first of which has rank first and offset others
// before it.
func RankAll(mode store.RankMode, page []store.Standing, first, offset int64) {
	for i := range page {
		ordinal := offset + int64(i) + 1
		switch {
		case i == 0:
			page[i].Rank = first
		case mode == store.Ordinal:
			page[i].Rank = ordinal
		case page[i].Score == page[i-1].Score:
			page[i].Rank = page[i-1].Rank
		case mode == store.Competition:
			page[i].Rank = ordinal
		default:
			page[i].Rank = page[i-1].Rank + 1
		}
	}
}
