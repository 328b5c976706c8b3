package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// eachWalk replaces Walk.
func eachWalk(walk func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error)) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.walk = func(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			return walk(ctx, b, board, from, limit)
		}
	})
}

// walkPage changes the pages of walks; now is the entries of their keys as they are now.
func walkPage(change func(p *store.Page, now map[string]store.Entry, info store.BoardInfo)) func() func(store.Boards) store.Boards {
	return eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
		page, next, err := b.Boards.Walk(ctx, board, from, limit)
		if err != nil {
			return page, next, err
		}
		keys := make([]string, len(page.Entries))
		for i, s := range page.Entries {
			keys[i] = s.Key
		}
		now, err := b.Boards.Scores(ctx, board, keys...)
		if err != nil {
			return store.Page{}, from, err
		}
		info, err := b.Boards.Info(ctx, board)
		change(&page, now, info)
		return page, next, err
	})
}

// replaced changes the entries that have a later sequence now.
func replaced(change func(s *store.Standing, now store.Entry)) func(p *store.Page, now map[string]store.Entry, _ store.BoardInfo) {
	return func(p *store.Page, now map[string]store.Entry, _ store.BoardInfo) {
		for i := range p.Entries {
			if e, ok := now[p.Entries[i].Key]; ok && e.Sequence != p.Entries[i].Sequence {
				change(&p.Entries[i], e)
			}
		}
	}
}

func brokenWalks() []broken {
	return append(brokenWalkPages(), []broken{
		{name: "a walk goes by offset", topic: "walk", boards: byOffset},
		{name: "a walk goes by score", topic: "walk", boards: byScore},
		{name: "random walks go by offset", topic: "random", boards: byOffset},
		{name: "random walks go by score", topic: "random", boards: byScore},
		{name: "one version is walked at a time", topic: "walk", boards: oneVersion},
		{name: "walks are the handle's", topic: "walk", boards: walksOfHandles},
		{name: "walks do not survive", topic: "close", boards: walksOfHandles},
		{name: "walks are forgotten when they are done", topic: "walk", boards: forgottenWhenDone},
		{name: "walks are never forgotten", topic: "walk", boards: neverForgotten},
		{name: "a walk goes on in any board", topic: "walk", boards: eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			if info, err := b.Boards.Info(ctx, board); err == nil && from != (store.Cursor{}) {
				from.Generation = info.Generation
			}
			return b.Boards.Walk(ctx, board, from, limit)
		})},
		{name: "a walk that is lost begins again", topic: "walk", boards: eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			page, next, err := b.Boards.Walk(ctx, board, from, limit)
			if errors.Is(err, store.ErrCursor) {
				return b.Boards.Walk(ctx, board, store.Cursor{}, limit)
			}
			return page, next, err
		})},
		{name: "a walk that fails forgets where it is", topic: "walk", boards: eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			page, next, err := b.Boards.Walk(ctx, board, from, limit)
			if err != nil {
				next = store.Cursor{}
			}
			return page, next, err
		})},
		{name: "sealed boards are not walked", topic: "walk", boards: eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			if info, err := b.Boards.Info(ctx, board); err == nil && info.Sealed {
				return store.Page{}, from, store.ErrSealed
			}
			return b.Boards.Walk(ctx, board, from, limit)
		})},
		{name: "walks in a dropped board lose their cursor", topic: "life", boards: eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			page, next, err := b.Boards.Walk(ctx, board, from, limit)
			if errors.Is(err, store.ErrNoBoard) && from != (store.Cursor{}) {
				err = store.ErrCursor
			}
			return page, next, err
		})},
		{name: "walks ignore their context", topic: "context", boards: eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			return b.Boards.Walk(context.WithoutCancel(ctx), board, from, limit)
		})},
	}...)
}

func brokenWalkPages() []broken {
	return []broken{
		{name: "a walk shows the new score", topic: "walk", boards: walkPage(replaced(func(s *store.Standing, now store.Entry) { s.Entry = now }))},
		{name: "random walks show the new score", topic: "random", boards: walkPage(replaced(func(s *store.Standing, now store.Entry) { s.Entry = now }))},
		{name: "a walk shows the new metadata", topic: "walk", boards: walkPage(replaced(func(s *store.Standing, now store.Entry) { s.Meta = now.Meta }))},
		{name: "a walk shows the new sequence", topic: "walk", boards: walkPage(replaced(func(s *store.Standing, now store.Entry) { s.Sequence = now.Sequence }))},
		{name: "a walk leaves out who is hidden or gone", topic: "walk", boards: walkPage(func(p *store.Page, now map[string]store.Entry, _ store.BoardInfo) {
			p.Entries = slices.DeleteFunc(p.Entries, func(s store.Standing) bool {
				_, ok := now[s.Key]
				return !ok
			})
		})},
		{name: "a walk has the total of now", topic: "walk", boards: walkPage(func(p *store.Page, _ map[string]store.Entry, info store.BoardInfo) { p.Total = info.Count })},
		{name: "a walk tells the board of now", topic: "walk", boards: walkPage(func(p *store.Page, _ map[string]store.Entry, info store.BoardInfo) { p.Info = info })},
		{name: "a walk ranks its page", topic: "walk", boards: walkPage(func(p *store.Page, _ map[string]store.Entry, _ store.BoardInfo) {
			for i := range p.Entries {
				p.Entries[i].Rank = int64(i) + 1
			}
		})},
		{name: "a walk does not say where it is", topic: "walk", boards: walkPage(func(p *store.Page, _ map[string]store.Entry, _ store.BoardInfo) { p.Offset = 0 })},
		{name: "walks take short steps", topic: "walk", boards: eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			return b.Boards.Walk(ctx, board, from, max(1, limit-1))
		})},
	}
}

// goOn is the cursor behind a page that was read otherwise.
func goOn(from store.Cursor, page store.Page) store.Cursor {
	if from == (store.Cursor{}) {
		from = store.Cursor{Generation: page.Info.Generation, Version: page.Info.Sequence, Total: page.Total}
	}
	for _, s := range page.Entries {
		from.Seen++
		from.Score, from.Sequence = s.Score, s.Sequence
	}
	return from
}

// byOffset reads what stands at the offset now.
func byOffset() func(store.Boards) store.Boards {
	return eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
		if from == (store.Cursor{}) {
			return b.Boards.Walk(ctx, board, from, limit)
		}
		page, err := b.Boards.Page(ctx, board, from.Seen, limit, store.Ordinal)
		page.Total = from.Total
		page.Info = store.BoardInfo{Order: page.Info.Order, Generation: from.Generation, Count: from.Total, Sequence: from.Version}
		return page, goOn(from, page), err
	})()
}

// byScore reads what stands behind the last one now.
func byScore() func(store.Boards) store.Boards {
	return eachWalk(func(ctx context.Context, b *boards, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
		if from == (store.Cursor{}) {
			return b.Boards.Walk(ctx, board, from, limit)
		}
		page, err := b.Boards.Page(ctx, board, 0, store.MaxPage, store.Ordinal)
		order := page.Info.Order
		page.Entries = slices.DeleteFunc(page.Entries, func(s store.Standing) bool {
			return order.Better(s.Score, from.Score) || s.Score == from.Score && s.Sequence <= from.Sequence
		})
		page.Entries = page.Entries[:min(limit, len(page.Entries), int(from.Total-from.Seen))]
		page.Offset, page.Total = 0, from.Total
		page.Info = store.BoardInfo{Order: order, Generation: from.Generation, Count: from.Total, Sequence: from.Version}
		for i := range page.Entries {
			page.Offset, page.Entries[i].Rank = from.Seen, from.Seen+int64(i)+1
		}
		return page, goOn(from, page), err
	})()
}

// remembering is a decorator that decides by what it has seen of walks; a walk is named by
// board and version.
func remembering(judge func(seen map[string]store.Cursor, board string, from store.Cursor) bool) func(store.Boards) store.Boards {
	var mu sync.Mutex
	seen := make(map[string]store.Cursor)
	return func(next store.Boards) store.Boards {
		b := &boards{Boards: next}
		b.walk = func(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			mu.Lock()
			defer mu.Unlock()
			page, cursor, err := next.Walk(ctx, board, from, limit)
			if err != nil {
				return page, cursor, err
			}
			if from != (store.Cursor{}) && !judge(seen, board, from) {
				return store.Page{}, from, store.ErrCursor
			}
			seen[board], seen[walkName(board, cursor)] = cursor, cursor
			return page, cursor, nil
		}
		return b
	}
}

func walkName(board string, c store.Cursor) string {
	return fmt.Sprint(board, " ", c.Generation, " ", c.Version)
}

// oneVersion knows the version that was walked last.
func oneVersion() func(store.Boards) store.Boards {
	return remembering(func(seen map[string]store.Cursor, board string, from store.Cursor) bool {
		return seen[board].Version == from.Version
	})
}

// forgottenWhenDone has no more of a walk that has shown all.
func forgottenWhenDone() func(store.Boards) store.Boards {
	return remembering(func(seen map[string]store.Cursor, board string, from store.Cursor) bool {
		return !seen[walkName(board, from)].Done() || from.Done()
	})
}

// walksOfHandles knows in each handle what was begun there.
func walksOfHandles() func(store.Boards) store.Boards {
	return func(next store.Boards) store.Boards {
		return remembering(func(seen map[string]store.Cursor, board string, from store.Cursor) bool {
			_, ok := seen[walkName(board, from)]
			return ok
		})(next)
	}
}

// neverForgotten keeps a copy of each version that is walked, until the board is dropped.
func neverForgotten() func(store.Boards) store.Boards {
	var mu sync.Mutex
	copies := make(map[string]store.Page)
	return func(next store.Boards) store.Boards {
		b := &boards{Boards: next}
		b.walk = func(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
			mu.Lock()
			defer mu.Unlock()
			if from == (store.Cursor{}) {
				whole, cursor, err := next.Walk(ctx, board, from, store.MaxPage)
				if err != nil {
					return whole, from, err
				}
				if whole.Total <= store.MaxPage {
					copies[walkName(board, cursor)] = whole
				}
				return next.Walk(ctx, board, from, limit)
			}
			if page, cursor, err := next.Walk(ctx, board, from, limit); !errors.Is(err, store.ErrCursor) {
				return page, cursor, err
			}
			whole, ok := copies[walkName(board, from)]
			if info, err := next.Info(ctx, board); err != nil || !ok || info.Generation != from.Generation {
				return store.Page{}, from, store.ErrCursor
			}
			page := whole
			page.Offset = from.Seen
			page.Entries = whole.Entries[from.Seen:min(from.Seen+int64(limit), from.Total)]
			return page, goOn(from, page), nil
		}
		b.drop = func(ctx context.Context, board string) error {
			mu.Lock()
			defer mu.Unlock()
			maps.DeleteFunc(copies, func(name string, _ store.Page) bool { return strings.HasPrefix(name, board+" ") })
			return next.Drop(ctx, board)
		}
		return b
	}
}

func brokenChecks() []broken {
	checked := func(change func(ctx context.Context, b *boards, board string, repair bool, c *store.BoardCheck)) func() func(store.Boards) store.Boards {
		return ofBoards(func(b *boards) {
			b.check = func(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
				c, err := b.Boards.Check(ctx, board, repair)
				if err == nil {
					change(ctx, b, board, repair, &c)
				}
				return c, err
			}
		})
	}
	return []broken{
		{name: "a check finds what is not", topic: "check", boards: checked(func(_ context.Context, _ *boards, _ string, _ bool, c *store.BoardCheck) {
			if c.Entries > 2500 {
				c.Problems = []string{"many entries"}
			}
		})},
		{name: "a check repairs what is right", topic: "check", boards: checked(func(_ context.Context, _ *boards, _ string, repair bool, c *store.BoardCheck) { c.Repaired = repair })},
		{name: "a check does not count the hidden", topic: "check", boards: checked(func(ctx context.Context, b *boards, board string, _ bool, c *store.BoardCheck) {
			c.Entries -= scored(ctx, b, board)
		})},
		{name: "a repair loses the hidden", topic: "check", boards: checked(func(ctx context.Context, b *boards, board string, repair bool, _ *store.BoardCheck) {
			listed, _ := b.Boards.Hidden(ctx, board, "", 1)
			if repair && len(listed) > 0 {
				_, _ = b.Boards.Hide(ctx, board, false, listed[0].Key)
			}
		})},
		{name: "a check of no board finds nothing", topic: "life", boards: ofBoards(func(b *boards) {
			b.check = func(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
				c, err := b.Boards.Check(ctx, board, repair)
				if errors.Is(err, store.ErrNoBoard) {
					err = nil
				}
				return c, err
			}
		})},
	}
}
