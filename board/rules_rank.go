package board

import "github.com/shoalworks/shoal/store"

// ranked are the entries of a page that begins with the best, with the ranks of a mode. They
// are copied, unless the ranks that they have are the right ones.
func ranked(entries []store.Standing, mode store.RankMode) []store.Standing {
	if mode == store.Ordinal || len(entries) == 0 {
		return entries
	}
	out := make([]store.Standing, len(entries))
	rank := int64(0)
	for i, e := range entries {
		switch tied := i > 0 && e.Score == entries[i-1].Score; {
		case tied:
		case mode == store.Dense:
			rank++
		default:
			rank = int64(i) + 1
		}
		e.Rank = rank
		out[i] = e
	}
	return out
}

// rankedPage is ranked for a page from offset 0.
func rankedPage(page store.Page, mode store.RankMode) store.Page {
	page.Entries = ranked(page.Entries, mode)
	return page
}

// below is the standing of a key that is not on a page, as it may be shown beside the page,
// whose first entry is the best: behind all that the page shows, or beside the last of them
// when their scores are equal and the mode gives equal scores one rank.
func below(page []store.Standing, mode store.RankMode, st store.Standing) store.Standing {
	if len(page) == 0 {
		return st
	}
	last := page[len(page)-1]
	tied := st.Score == last.Score
	lowest := int64(len(page)) + 1
	switch mode {
	case store.Ordinal:
	case store.Competition:
		if tied {
			lowest = last.Rank
		}
	case store.Dense:
		lowest = last.Rank + 1
		if tied {
			lowest = last.Rank
		}
	}
	st.Rank = max(st.Rank, lowest)
	return st
}
