package storetest_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// boards replaces some methods of a driver.
type boards struct {
	store.Boards
	create   func(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error)
	merge    func(ctx context.Context, board string, b store.Batch) ([]store.Change, error)
	page     func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error)
	standing func(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error)
	around   func(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error)
	remove   func(ctx context.Context, board string, keys []string) (int, error)
	seal     func(ctx context.Context, board string) (store.BoardInfo, error)
	list     func(ctx context.Context, prefix, after string, limit int) ([]string, error)
	drop     func(ctx context.Context, board string) error
	info     func(ctx context.Context, board string) (store.BoardInfo, error)
	scores   func(ctx context.Context, board string, keys []string) (map[string]store.Entry, error)
	erase    func(ctx context.Context, board string, keys []string) (int, error)
	hide     func(ctx context.Context, board string, hidden bool, keys []string) (int, error)
	hidden   func(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error)
	walk     func(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error)
	check    func(ctx context.Context, board string, repair bool) (store.BoardCheck, error)
}

func (b *boards) Info(ctx context.Context, board string) (store.BoardInfo, error) {
	if b.info != nil {
		return b.info(ctx, board)
	}
	return b.Boards.Info(ctx, board)
}

func (b *boards) Scores(ctx context.Context, board string, keys ...string) (map[string]store.Entry, error) {
	if b.scores != nil {
		return b.scores(ctx, board, keys)
	}
	return b.Boards.Scores(ctx, board, keys...)
}

func (b *boards) Erase(ctx context.Context, board string, keys ...string) (int, error) {
	if b.erase != nil {
		return b.erase(ctx, board, keys)
	}
	return b.Boards.Erase(ctx, board, keys...)
}

func (b *boards) Hide(ctx context.Context, board string, hidden bool, keys ...string) (int, error) {
	if b.hide != nil {
		return b.hide(ctx, board, hidden, keys)
	}
	return b.Boards.Hide(ctx, board, hidden, keys...)
}

func (b *boards) Hidden(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
	if b.hidden != nil {
		return b.hidden(ctx, board, after, limit)
	}
	return b.Boards.Hidden(ctx, board, after, limit)
}

func (b *boards) Walk(ctx context.Context, board string, from store.Cursor, limit int) (store.Page, store.Cursor, error) {
	if b.walk != nil {
		return b.walk(ctx, board, from, limit)
	}
	return b.Boards.Walk(ctx, board, from, limit)
}

func (b *boards) Check(ctx context.Context, board string, repair bool) (store.BoardCheck, error) {
	if b.check != nil {
		return b.check(ctx, board, repair)
	}
	return b.Boards.Check(ctx, board, repair)
}

func (b *boards) Create(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
	if b.create != nil {
		return b.create(ctx, board, spec)
	}
	return b.Boards.Create(ctx, board, spec)
}

func (b *boards) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	if b.merge != nil {
		return b.merge(ctx, board, batch)
	}
	return b.Boards.Merge(ctx, board, batch)
}

func (b *boards) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	if b.page != nil {
		return b.page(ctx, board, offset, limit, mode)
	}
	return b.Boards.Page(ctx, board, offset, limit, mode)
}

func (b *boards) Standing(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
	if b.standing != nil {
		return b.standing(ctx, board, key, mode)
	}
	return b.Boards.Standing(ctx, board, key, mode)
}

func (b *boards) Around(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
	if b.around != nil {
		return b.around(ctx, board, key, n, mode)
	}
	return b.Boards.Around(ctx, board, key, n, mode)
}

func (b *boards) Remove(ctx context.Context, board string, keys ...string) (int, error) {
	if b.remove != nil {
		return b.remove(ctx, board, keys)
	}
	return b.Boards.Remove(ctx, board, keys...)
}

func (b *boards) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	if b.seal != nil {
		return b.seal(ctx, board)
	}
	return b.Boards.Seal(ctx, board)
}

func (b *boards) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if b.list != nil {
		return b.list(ctx, prefix, after, limit)
	}
	return b.Boards.List(ctx, prefix, after, limit)
}

func (b *boards) Drop(ctx context.Context, board string) error {
	if b.drop != nil {
		return b.drop(ctx, board)
	}
	return b.Boards.Drop(ctx, board)
}

// ofBoards is a decorator without a state that handles share.
func ofBoards(change func(b *boards)) func() func(store.Boards) store.Boards {
	return func() func(store.Boards) store.Boards {
		return func(next store.Boards) store.Boards {
			b := &boards{Boards: next}
			change(b)
			return b
		}
	}
}

// eachBatch changes every batch before the driver sees it.
func eachBatch(change func(*store.Batch)) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			batch.Entries = slices.Clone(batch.Entries)
			change(&batch)
			return b.Boards.Merge(ctx, board, batch)
		}
	})
}

// eachPage changes every page.
func eachPage(change func(*store.Page)) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
			page, err := b.Boards.Page(ctx, board, offset, limit, mode)
			change(&page)
			return page, err
		}
	})
}

func brokenRules() []broken {
	return []broken{
		{name: "best keeps the last", topic: "rule", boards: rewriting(func(old store.Entry, found bool, s store.Submission, rule store.Rule) bool {
			return rule == store.Best && found && old.Score != s.Score
		})},
		{name: "a tie moves down", topic: "rule", boards: rewriting(func(old store.Entry, found bool, s store.Submission, rule store.Rule) bool {
			return rule == store.Best && found && old.Score == s.Score
		})},
		{name: "last ignores the epoch", topic: "rule", boards: eachBatch(func(b *store.Batch) {
			for i := range b.Entries {
				b.Entries[i].Stamp.Epoch = 0
			}
		})},
		{name: "last ignores the stamp", topic: "rule", boards: func() func(store.Boards) store.Boards {
			var mu sync.Mutex
			n := uint64(0)
			return eachBatch(func(b *store.Batch) {
				mu.Lock()
				defer mu.Unlock()
				for i := range b.Entries {
					n++
					b.Entries[i].Stamp = store.Stamp{Epoch: n}
				}
			})()
		}},
		{name: "sums count again", topic: "rule", boards: func() func(store.Boards) store.Boards {
			var mu sync.Mutex
			n := uint64(0)
			return eachBatch(func(b *store.Batch) {
				mu.Lock()
				defer mu.Unlock()
				n++
				b.N = n
			})()
		}},
		{name: "sums share one number", topic: "rule", boards: eachBatch(func(b *store.Batch) { b.Source = "everybody" })},
		{name: "sources fold case", topic: "rule", boards: eachBatch(func(b *store.Batch) { b.Source = strings.ToLower(b.Source) })},
		{name: "scores are doubles", topic: "rule", boards: eachBatch(func(b *store.Batch) {
			for i := range b.Entries {
				b.Entries[i].Score = int64(float64(b.Entries[i].Score))
			}
		})},
		{name: "zero is no score", topic: "rule", boards: eachBatch(func(b *store.Batch) {
			if len(b.Entries) == 1 && b.Entries[0].Score == 0 {
				b.Entries[0].Score = math.MinInt64
			}
		})},
		{name: "an overflow stops at the limit", topic: "rule", boards: ofBoards(func(b *boards) {
			b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				changes, err := b.Boards.Merge(ctx, board, batch)
				for i := range changes {
					if changes[i].Effect == store.Overflow {
						changes[i].Effect = store.Changed
					}
				}
				return changes, err
			}
		})},
		{name: "a batch is sorted by key", topic: "rule", boards: ofBoards(func(b *boards) {
			b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				sorted := batch
				sorted.Entries = slices.SortedFunc(slices.Values(batch.Entries), func(x, y store.Submission) int { return strings.Compare(x.Key, y.Key) })
				changes, err := b.Boards.Merge(ctx, board, sorted)
				if err != nil {
					return nil, err
				}
				answers := make([]store.Change, len(changes))
				for i, s := range batch.Entries {
					answers[i] = changes[slices.IndexFunc(sorted.Entries, func(other store.Submission) bool { return other.Key == s.Key })]
				}
				return answers, nil
			}
		})},
		{name: "a batch is not atomic", topic: "random", boards: ofBoards(func(b *boards) {
			b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				var all []store.Change
				for i := range batch.Entries {
					part := batch
					part.Entries = batch.Entries[i : i+1]
					changes, err := b.Boards.Merge(ctx, board, part)
					if err != nil {
						return nil, err
					}
					all = append(all, changes...)
				}
				return all, nil
			}
		})},
		{name: "metadata is lost", topic: "entry", boards: eachBatch(func(b *store.Batch) {
			for i := range b.Entries {
				b.Entries[i].Meta = nil
			}
		})},
		{name: "metadata is text", topic: "entry", boards: eachBatch(func(b *store.Batch) {
			for i, e := range b.Entries {
				b.Entries[i].Meta = []byte(strings.ToValidUTF8(string(e.Meta), "?"))
			}
		})},
		{name: "remove counts what it is asked for", topic: "entry", boards: ofBoards(func(b *boards) {
			b.remove = func(ctx context.Context, board string, keys []string) (int, error) {
				_, err := b.Boards.Remove(ctx, board, keys...)
				return len(keys), err
			}
		})},
		{name: "missing entries have standings", topic: "entry", boards: ofBoards(func(b *boards) {
			b.standing = func(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
				s, _, err := b.Boards.Standing(ctx, board, key, mode)
				return s, true, err
			}
		})},
		{name: "ranks from 0", topic: "order", boards: eachPage(func(p *store.Page) {
			for i := range p.Entries {
				p.Entries[i].Rank--
			}
		})},
		{name: "ranks of the page", topic: "order", boards: eachPage(func(p *store.Page) {
			for i := range p.Entries {
				p.Entries[i].Rank = int64(i) + 1
			}
		})},
		{name: "ties share a rank", topic: "order", boards: eachPage(func(p *store.Page) {
			for i := 1; i < len(p.Entries); i++ {
				if p.Entries[i].Score == p.Entries[i-1].Score {
					p.Entries[i].Rank = p.Entries[i-1].Rank
				}
			}
		})},
		{name: "ties by key", topic: "order", boards: eachPage(func(p *store.Page) {
			slices.SortStableFunc(p.Entries, func(x, y store.Standing) int {
				if x.Score != y.Score {
					return 0
				}
				return strings.Compare(x.Key, y.Key)
			})
		})},
		{name: "the total is that of the page", topic: "order", boards: eachPage(func(p *store.Page) { p.Total = int64(len(p.Entries)) })},
		{name: "around leaves out the first", topic: "around", boards: ofBoards(func(b *boards) {
			b.around = func(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
				page, err := b.Boards.Around(ctx, board, key, n, mode)
				if len(page.Entries) > 2 && page.Entries[0].Rank == 1 {
					page.Entries = page.Entries[1:]
				}
				return page, err
			}
		})},
		{name: "around fills up at the ends", topic: "around", boards: ofBoards(func(b *boards) {
			b.around = func(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
				page, err := b.Boards.Around(ctx, board, key, n, mode)
				if err != nil || len(page.Entries) == 0 || len(page.Entries) == 2*n+1 {
					return page, err
				}
				first := min(page.Entries[0].Rank-1, max(0, page.Total-int64(2*n+1)))
				return b.Boards.Page(ctx, board, first, min(2*n+1, store.MaxPage), store.Ordinal)
			}
		})},
	}
}

// rewriting replaces an entry where the rule would keep it.
func rewriting(when func(old store.Entry, found bool, s store.Submission, rule store.Rule) bool) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			for _, s := range batch.Entries {
				scores, err := b.Scores(ctx, board, s.Key)
				if err != nil {
					return nil, err
				}
				if old, found := scores[s.Key]; when(old, found, s, batch.Rule) {
					if _, err := b.Boards.Remove(ctx, board, s.Key); err != nil {
						return nil, err
					}
				}
			}
			changes, err := b.Boards.Merge(ctx, board, batch)
			for i := range changes {
				if s := batch.Entries[i]; changes[i].Effect == store.Created && s.Score != 0 {
					changes[i] = store.Change{Effect: store.Kept, Old: s.Score, New: s.Score}
				}
			}
			return changes, err
		}
	})
}

func brokenLives() []broken {
	return []broken{
		{name: "create takes the new generation", topic: "life", boards: ofBoards(func(b *boards) {
			b.create = func(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
				info, err := b.Boards.Create(ctx, board, spec)
				info.Generation = spec.Generation
				return info, err
			}
		})},
		{name: "create ignores the order", topic: "life", boards: ofBoards(func(b *boards) {
			b.create = func(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
				if info, err := b.Info(ctx, board); err == nil {
					return info, nil
				}
				return b.Boards.Create(ctx, board, spec)
			}
		})},
		{name: "merge makes boards", topic: "life", boards: ofBoards(func(b *boards) {
			b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				if _, err := b.Info(ctx, board); err != nil {
					_, _ = b.Boards.Create(ctx, board, store.BoardSpec{Order: store.Descending, Generation: "made"})
				}
				return b.Boards.Merge(ctx, board, batch)
			}
		})},
		{name: "drop removes the entries only", topic: "life", boards: ofBoards(func(b *boards) {
			b.drop = func(ctx context.Context, board string) error {
				page, err := b.Boards.Page(ctx, board, 0, store.MaxPage, store.Ordinal)
				if err != nil {
					return nil //nolint:nilerr // broken on purpose
				}
				for _, s := range page.Entries {
					_, _ = b.Boards.Remove(ctx, board, s.Key)
				}
				return nil
			}
		})},
		{name: "drop of a missing board fails", topic: "life", boards: ofBoards(func(b *boards) {
			b.drop = func(ctx context.Context, board string) error {
				if _, err := b.Info(ctx, board); err != nil {
					return err
				}
				return b.Boards.Drop(ctx, board)
			}
		})},
		{name: "handles know boards for themselves", topic: "life", boards: ofBoards(func(b *boards) {
			var mu sync.Mutex
			known := make(map[string]store.Page)
			b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
				mu.Lock()
				defer mu.Unlock()
				if page, ok := known[board]; ok && offset == 0 {
					return page, nil
				}
				page, err := b.Boards.Page(ctx, board, offset, limit, mode)
				if err == nil && offset == 0 {
					known[board] = page
				}
				return page, err
			}
		})},
		{name: "list folds case", topic: "list", boards: ofBoards(func(b *boards) {
			b.list = func(ctx context.Context, prefix, after string, limit int) ([]string, error) {
				return b.Boards.List(ctx, strings.ToLower(prefix), after, limit)
			}
		})},
		{name: "list includes where it goes on", topic: "list", boards: ofBoards(func(b *boards) {
			b.list = func(ctx context.Context, prefix, after string, limit int) ([]string, error) {
				names, err := b.Boards.List(ctx, prefix, after, limit)
				if len(after) > 0 && limit > 0 && strings.HasPrefix(after, prefix) {
					names = append([]string{after}, names[:min(len(names), limit-1)]...)
				}
				return names, err
			}
		})},
		{name: "seal allows to remove", topic: "seal", boards: ofBoards(func(b *boards) {
			b.remove = func(ctx context.Context, board string, keys []string) (int, error) {
				n, err := b.Boards.Remove(ctx, board, keys...)
				if info, infoErr := b.Info(ctx, board); infoErr == nil && info.Sealed {
					return n, nil
				}
				return n, err
			}
		})},
		{name: "seal allows what changes nothing", topic: "seal", boards: ofBoards(func(b *boards) {
			b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				scores, _ := b.Scores(ctx, board, batch.Entries[0].Key)
				changes, err := b.Boards.Merge(ctx, board, batch)
				if old, ok := scores[batch.Entries[0].Key]; err != nil && batch.Rule == store.Best && ok && old.Score >= batch.Entries[0].Score {
					return []store.Change{{Effect: store.Kept, Old: old.Score, New: old.Score}}, nil
				}
				return changes, err
			}
		})},
		{name: "seal does not wait", topic: "seal", boards: lazySeal},
		{name: "seal again is another", topic: "seal", boards: ofBoards(func(b *boards) {
			n := uint64(0)
			b.seal = func(ctx context.Context, board string) (store.BoardInfo, error) {
				info, err := b.Boards.Seal(ctx, board)
				n++
				info.Sequence += n
				return info, err
			}
		})},
		{name: "merges get lost on the way", topic: "race", boards: ofBoards(func(b *boards) {
			b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				if batch.Rule == store.Sum && batch.N%2 == 0 {
					return make([]store.Change, len(batch.Entries)), nil
				}
				return b.Boards.Merge(ctx, board, batch)
			}
		})},
		{name: "pages of two states", topic: "race", boards: ofBoards(func(b *boards) {
			b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
				if limit < 2 {
					return b.Boards.Page(ctx, board, offset, limit, mode)
				}
				first, err := b.Boards.Page(ctx, board, offset, limit/2, store.Ordinal)
				if err != nil || len(first.Entries) < limit/2 {
					return first, err
				}
				for range 100 { // until the mover has moved
					timeGoesBy()
					if now, err := b.Info(ctx, board); err != nil || now != first.Info {
						break
					}
				}
				second, err := b.Boards.Page(ctx, board, offset+int64(limit/2), limit-limit/2, store.Ordinal)
				first.Entries = append(first.Entries, second.Entries...)
				return first, err
			}
		})},
		{name: "ranks of large boards are estimates", topic: "large", boards: ofBoards(func(b *boards) {
			b.standing = func(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
				s, ok, err := b.Boards.Standing(ctx, board, key, mode)
				if s.Rank > 2000 {
					s.Rank = s.Rank / 10 * 10
				}
				return s, ok, err
			}
		})},
		{name: "merges ignore their context", topic: "context", boards: ofBoards(func(b *boards) {
			b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				return b.Boards.Merge(context.WithoutCancel(ctx), board, batch)
			}
		})},
		{name: "stamps do not survive", topic: "close", boards: forgetful},
	}
}

// lazySeal lets a merge that has begun finish after the seal.
func lazySeal() func(store.Boards) store.Boards {
	var mu sync.Mutex
	sealed := make(map[string]bool)
	return func(next store.Boards) store.Boards {
		b := &boards{Boards: next}
		is := func(board string) bool {
			mu.Lock()
			defer mu.Unlock()
			return sealed[board]
		}
		look := func(board string, info store.BoardInfo) store.BoardInfo {
			info.Sealed = is(board)
			return info
		}
		b.seal = func(ctx context.Context, board string) (store.BoardInfo, error) {
			mu.Lock()
			sealed[board] = true
			mu.Unlock()
			info, err := next.Info(ctx, board)
			return look(board, info), err
		}
		b.create = func(ctx context.Context, board string, spec store.BoardSpec) (store.BoardInfo, error) {
			info, err := next.Create(ctx, board, spec)
			return look(board, info), err
		}
		b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if is(board) {
				return nil, store.ErrSealed
			}
			timeGoesBy()
			return next.Merge(ctx, board, batch)
		}
		b.remove = func(ctx context.Context, board string, keys []string) (int, error) {
			if is(board) {
				return 0, store.ErrSealed
			}
			return next.Remove(ctx, board, keys...)
		}
		b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
			page, err := next.Page(ctx, board, offset, limit, store.Ordinal)
			page.Info = look(board, page.Info)
			return page, err
		}
		return b
	}
}

// forgetful loses stamps when a handle is opened: every one of it lives in its own past.
func forgetful() func(store.Boards) store.Boards {
	var mu sync.Mutex
	handles := uint64(0)
	return func(next store.Boards) store.Boards {
		mu.Lock()
		handles++
		life := handles
		mu.Unlock()
		return eachBatch(func(b *store.Batch) {
			for i := range b.Entries {
				b.Entries[i].Stamp.Epoch += life
			}
		})()(next)
	}
}
