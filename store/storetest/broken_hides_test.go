package storetest_test

import (
	"context"
	"errors"
	"sync"

	"github.com/shoalworks/shoal/store"
)

// eachHide replaces Hide.
func eachHide(hide func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error)) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.hide = func(ctx context.Context, board string, hidden bool, keys []string) (int, error) {
			return hide(ctx, b, board, hidden, keys)
		}
	})
}

// eachHidden changes every list of hidden keys.
func eachHidden(change func([]store.HiddenEntry) []store.HiddenEntry) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.hidden = func(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
			listed, err := b.Boards.Hidden(ctx, board, after, limit)
			return change(listed), err
		}
	})
}

// hiddenOf is the hidden keys among keys.
func hiddenOf(ctx context.Context, b *boards, board string, keys []string) map[string]store.HiddenEntry {
	found := make(map[string]store.HiddenEntry)
	listed, _ := b.Boards.Hidden(ctx, board, "", store.MaxPage)
	for _, h := range listed {
		for _, key := range keys {
			if h.Key == key {
				found[key] = h
			}
		}
	}
	return found
}

// scored is how many hidden entries a board has.
func scored(ctx context.Context, b *boards, board string) (n int64) {
	listed, _ := b.Boards.Hidden(ctx, board, "", store.MaxPage)
	for _, h := range listed {
		if h.Scored {
			n++
		}
	}
	return n
}

func brokenHides() []broken {
	return append(brokenHiddenReads(), []broken{
		{name: "hiding drops the score", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			n, err := b.Boards.Hide(ctx, board, hidden, keys...)
			if hidden && err == nil {
				_, err = b.Boards.Remove(ctx, board, keys...)
			}
			return n, err
		})},
		{name: "showing takes a new sequence", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			before := hiddenOf(ctx, b, board, keys)
			n, err := b.Boards.Hide(ctx, board, hidden, keys...)
			for key, h := range before {
				if !hidden && h.Scored && err == nil {
					_, _ = b.Boards.Remove(ctx, board, key)
					_, err = b.Boards.Merge(ctx, board, store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: key, Score: h.Score, Meta: h.Meta}}})
				}
			}
			return n, err
		})},
		{name: "nobody is hidden in advance", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			scores, err := b.Boards.Scores(ctx, board, keys...)
			if err != nil || !hidden {
				return b.Boards.Hide(ctx, board, hidden, keys...)
			}
			n := 0
			for key := range scores {
				one, err := b.Boards.Hide(ctx, board, hidden, key)
				if n += one; err != nil {
					return n, err
				}
			}
			return n, nil
		})},
		{name: "hiding counts what it is asked for", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			_, err := b.Boards.Hide(ctx, board, hidden, keys...)
			return len(keys), err
		})},
		{name: "hiding is one key after the other", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (n int, err error) {
			for _, key := range keys {
				one, err := b.Boards.Hide(ctx, board, hidden, key)
				if n += one; err != nil {
					return 0, err
				}
			}
			return n, nil
		})},
		{name: "too many are hidden without a word", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			n, err := b.Boards.Hide(ctx, board, hidden, keys...)
			if errors.Is(err, store.ErrTooLarge) {
				return 0, nil
			}
			return n, err
		})},
		{name: "what is hidden counts against the limit again", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			if info, err := b.Boards.Info(ctx, board); err == nil && !info.Sealed && hidden && int(info.Hidden)+len(keys) > store.MaxHidden {
				return 0, store.ErrTooLarge
			}
			return b.Boards.Hide(ctx, board, hidden, keys...)
		})},
		{name: "sealed boards hide", topic: "hide", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			n, err := b.Boards.Hide(ctx, board, hidden, keys...)
			if errors.Is(err, store.ErrSealed) {
				return 0, nil
			}
			return n, err
		})},
		{name: "hiding what is hidden needs no open board", topic: "seal", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			n, err := b.Boards.Hide(ctx, board, hidden, keys...)
			if errors.Is(err, store.ErrSealed) && !hidden && len(hiddenOf(ctx, b, board, keys)) == 0 {
				return 0, nil
			}
			return n, err
		})},
		{name: "hiding ignores its context", topic: "context", boards: eachHide(func(ctx context.Context, b *boards, board string, hidden bool, keys []string) (int, error) {
			return b.Boards.Hide(context.WithoutCancel(ctx), board, hidden, keys...)
		})},
		{name: "a hidden entry takes no scores", topic: "hide", boards: hiddenMerge(func(h store.HiddenEntry) store.Change {
			return store.Change{Effect: store.Kept, Old: h.Score, New: h.Score}
		})},
		{name: "a hidden entry is new to every score", topic: "hide", boards: createdAgain},
		{name: "a removed key is shown", topic: "hide", boards: ofBoards(func(b *boards) {
			b.remove = func(ctx context.Context, board string, keys []string) (int, error) {
				n, err := b.Boards.Remove(ctx, board, keys...)
				if err == nil {
					_, err = b.Boards.Hide(ctx, board, false, keys...)
				}
				return n, err
			}
		})},
		{name: "hidden entries cannot be removed", topic: "hide", boards: ofBoards(func(b *boards) {
			b.remove = func(ctx context.Context, board string, keys []string) (int, error) {
				hidden := hiddenOf(ctx, b, board, keys)
				var shown []string
				for _, key := range keys {
					if _, ok := hidden[key]; !ok {
						shown = append(shown, key)
					}
				}
				return b.Boards.Remove(ctx, board, shown...)
			}
		})},
		{name: "what is sealed cannot be erased", topic: "erase", boards: ofBoards(func(b *boards) {
			b.erase = func(ctx context.Context, board string, keys []string) (int, error) {
				if info, err := b.Info(ctx, board); err == nil && info.Sealed {
					return 0, store.ErrSealed
				}
				return b.Boards.Erase(ctx, board, keys...)
			}
		})},
		{name: "an erased key stays hidden", topic: "erase", boards: ofBoards(func(b *boards) {
			b.erase = func(ctx context.Context, board string, keys []string) (int, error) {
				return b.Boards.Remove(ctx, board, keys...)
			}
		})},
		{name: "erase counts what it is asked for", topic: "erase", boards: ofBoards(func(b *boards) {
			b.erase = func(ctx context.Context, board string, keys []string) (int, error) {
				_, err := b.Boards.Erase(ctx, board, keys...)
				return len(keys), err
			}
		})},
		{name: "hidden keys do not survive", topic: "close", boards: hiddenForgotten},
	}...)
}

func brokenHiddenReads() []broken {
	return []broken{
		{name: "scores show the hidden", topic: "hide", boards: ofBoards(func(b *boards) {
			b.scores = func(ctx context.Context, board string, keys []string) (map[string]store.Entry, error) {
				scores, err := b.Boards.Scores(ctx, board, keys...)
				for key, h := range hiddenOf(ctx, b, board, keys) {
					if h.Scored && err == nil {
						scores[key] = h.Entry
					}
				}
				return scores, err
			}
		})},
		{name: "the hidden have standings", topic: "hide", boards: ofBoards(func(b *boards) {
			b.standing = func(ctx context.Context, board, key string, mode store.RankMode) (store.Standing, bool, error) {
				s, ok, err := b.Boards.Standing(ctx, board, key, mode)
				if h := hiddenOf(ctx, b, board, []string{key})[key]; h.Scored && err == nil {
					return store.Standing{Entry: h.Entry}, true, nil
				}
				return s, ok, err
			}
		})},
		{name: "the hidden are counted in the total", topic: "hide", boards: ofBoards(func(b *boards) {
			b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
				page, err := b.Boards.Page(ctx, board, offset, limit, mode)
				page.Total += scored(ctx, b, board)
				return page, err
			}
		})},
		{name: "around counts the hidden", topic: "hide", boards: ofBoards(func(b *boards) {
			b.around = func(ctx context.Context, board, key string, n int, mode store.RankMode) (store.Page, error) {
				page, err := b.Boards.Around(ctx, board, key, n, mode)
				page.Total += scored(ctx, b, board)
				return page, err
			}
		})},
		{name: "only hidden entries are counted as hidden", topic: "hide", boards: ofBoards(func(b *boards) {
			b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
				page, err := b.Boards.Page(ctx, board, offset, limit, mode)
				page.Info.Hidden = scored(ctx, b, board)
				return page, err
			}
		})},
		{name: "the list of the hidden includes where it goes on", topic: "hide", boards: ofBoards(func(b *boards) {
			b.hidden = func(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
				listed, err := b.Boards.Hidden(ctx, board, after, limit)
				if h, ok := hiddenOf(ctx, b, board, []string{after})[after]; ok && limit > len(listed) {
					listed = append([]store.HiddenEntry{h}, listed...)
				}
				return listed, err
			}
		})},
		{name: "metadata of the hidden is lost", topic: "hide", boards: eachHidden(func(listed []store.HiddenEntry) []store.HiddenEntry {
			for i := range listed {
				listed[i].Meta = nil
			}
			return listed
		})},
		{name: "keys hidden in advance are not listed", topic: "hide", boards: eachHidden(func(listed []store.HiddenEntry) []store.HiddenEntry {
			var kept []store.HiddenEntry
			for _, h := range listed {
				if h.Scored || len(listed) == 1 {
					kept = append(kept, h)
				}
			}
			return kept
		})},
		{name: "every hidden key is scored", topic: "hide", boards: eachHidden(func(listed []store.HiddenEntry) []store.HiddenEntry {
			for i := range listed {
				listed[i].Scored = true
			}
			return listed
		})},
		{name: "handles know the hidden for themselves", topic: "hide", boards: func() func(store.Boards) store.Boards {
			return func(next store.Boards) store.Boards {
				b := &boards{Boards: next}
				var mu sync.Mutex
				hidden := make(map[string]bool)
				b.hide = func(ctx context.Context, board string, hide bool, keys []string) (int, error) {
					n, err := next.Hide(ctx, board, hide, keys...)
					mu.Lock()
					defer mu.Unlock()
					for _, key := range keys {
						hidden[board+" "+key] = hide && err == nil || err != nil && hidden[board+" "+key]
					}
					return n, err
				}
				b.hidden = func(ctx context.Context, board, after string, limit int) ([]store.HiddenEntry, error) {
					listed, err := next.Hidden(ctx, board, after, limit)
					mu.Lock()
					defer mu.Unlock()
					var own []store.HiddenEntry
					for _, h := range listed {
						if hidden[board+" "+h.Key] {
							own = append(own, h)
						}
					}
					return own, err
				}
				return b
			}
		}},
	}
}

// hiddenMerge answers for the hidden entries of a batch itself.
func hiddenMerge(answer func(store.HiddenEntry) store.Change) func() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			keys := make([]string, len(batch.Entries))
			for i, s := range batch.Entries {
				keys[i] = s.Key
			}
			hidden := hiddenOf(ctx, b, board, keys)
			rest := batch
			rest.Entries = nil
			for _, s := range batch.Entries {
				if !hidden[s.Key].Scored {
					rest.Entries = append(rest.Entries, s)
				}
			}
			changes, err := b.Boards.Merge(ctx, board, rest)
			if err != nil {
				return nil, err
			}
			var all []store.Change
			for _, s := range batch.Entries {
				if h := hidden[s.Key]; h.Scored {
					all = append(all, answer(h))
					continue
				}
				all, changes = append(all, changes[0]), changes[1:]
			}
			return all, nil
		}
	})
}

// createdAgain looks for the old score where the hidden are not.
func createdAgain() func(store.Boards) store.Boards {
	return ofBoards(func(b *boards) {
		b.merge = func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			keys := make([]string, len(batch.Entries))
			for i, s := range batch.Entries {
				keys[i] = s.Key
			}
			for key, h := range hiddenOf(ctx, b, board, keys) {
				if h.Scored {
					_, _ = b.Boards.Remove(ctx, board, key)
				}
			}
			return b.Boards.Merge(ctx, board, batch)
		}
	})()
}

// hiddenForgotten shows everybody of a board when a later handle first reads it.
func hiddenForgotten() func(store.Boards) store.Boards {
	var mu sync.Mutex
	handles := 0
	return func(next store.Boards) store.Boards {
		mu.Lock()
		defer mu.Unlock()
		handles++
		b := &boards{Boards: next}
		known := make(map[string]bool)
		first := handles == 1
		b.page = func(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
			mu.Lock()
			defer mu.Unlock()
			if !first && !known[board] {
				listed, _ := next.Hidden(ctx, board, "", store.MaxPage)
				for _, h := range listed {
					_, _ = next.Hide(ctx, board, false, h.Key)
				}
			}
			known[board] = true
			return next.Page(ctx, board, offset, limit, mode)
		}
		return b
	}
}
