package sim_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

// This file breaks, on purpose, what libraries and stores must do about boards.

// writing is our library with what it sends to the boards replaced by what a library with a
// flaw would send. Each server has a state of its own.
func writing(flaw func(d store.Boards) store.Boards) sim.Ours {
	return sim.Ours{Parts: func(p store.Parts) store.Parts {
		p.Boards = flaw(p.Boards)
		return p
	}}
}

// merging is boards whose Merge is another.
type merging struct {
	store.Boards
	merge func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error)
}

func (m merging) Merge(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
	return m.merge(ctx, board, batch)
}

// counter counts the batches of a flawed library by itself.
type counter struct {
	mu sync.Mutex
	n  uint64
}

func (c *counter) next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// kept is the answer to a batch that changed nothing, for a flaw that takes it for written.
func kept(batch store.Batch) []store.Change {
	return slices.Repeat([]store.Change{{Effect: store.Kept}}, len(batch.Entries))
}

var boardFaults = []string{"boardsFaults", "boardsCrash"}

func TestSumsWithoutNumbersAreCaught(t *testing.T) {
	library := writing(func(d store.Boards) store.Boards {
		var c counter
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if batch.Rule == store.Sum { // a source for each call: nothing is ever counted already
				batch.Source, batch.N = fmt.Sprintf("%s/%d", batch.Source, c.next()), 1
			}
			return d.Merge(ctx, board, batch)
		}}
	})
	caught(t, sim.Options{Library: library}, boardFaults, "counted twice")
}

func TestSumsNumberedAnewWhenRepeatedAreCaught(t *testing.T) {
	library := writing(func(d store.Boards) store.Boards {
		var c counter
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if batch.Rule == store.Sum {
				batch.N = c.next()
			}
			return d.Merge(ctx, board, batch)
		}}
	})
	caught(t, sim.Options{Library: library}, boardFaults, "counted twice")
}

// A batch of unknown outcome is put back and goes out with what is newer: under a number of
// its own it is counted twice, under the old one what is newer is lost.
func TestUnknownSumsMergedWithNewerOnesAreCaught(t *testing.T) {
	for kind, newer := range map[string]bool{"counted twice": true, "acknowledged, not stored": false} {
		library := writing(func(d store.Boards) store.Boards {
			var mu sync.Mutex
			unknown := make(map[string]store.Batch)
			return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
				if batch.Rule != store.Sum {
					return d.Merge(ctx, board, batch)
				}
				mu.Lock()
				if old := unknown[board]; old.N > 0 {
					if batch.Entries = added(old.Entries, batch.Entries); !newer {
						batch.N = old.N
					}
				}
				delete(unknown, board)
				mu.Unlock()
				changes, err := d.Merge(ctx, board, batch)
				if store.OutcomeOf(err) == store.Unknown {
					mu.Lock()
					defer mu.Unlock()
					unknown[board] = batch
					return kept(batch), nil
				}
				return changes, err
			}}
		})
		caught(t, sim.Options{Library: library}, boardFaults, kind)
	}
}

// added is two batches in one.
func added(a, b []store.Submission) []store.Submission {
	out := slices.Clone(a)
	for _, e := range b {
		if i := slices.IndexFunc(out, func(o store.Submission) bool { return o.Key == e.Key }); i >= 0 {
			out[i].Score += e.Score
		} else {
			out = append(out, e)
		}
	}
	return out
}

func TestBestReplacedByNewestIsCaught(t *testing.T) {
	library := writing(func(d store.Boards) store.Boards {
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if batch.Rule == store.Best {
				old, err := d.Scores(ctx, board, keysOf(batch)...)
				if err != nil {
					return nil, err
				}
				for key := range old {
					if _, err := d.Remove(ctx, board, key); err != nil {
						return nil, err
					}
				}
			}
			return d.Merge(ctx, board, batch)
		}}
	})
	caught(t, sim.Options{Library: library}, []string{"boardsCalm"}, "lost")
	library = writing(func(d store.Boards) store.Boards {
		var c counter
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if batch.Rule == store.Best {
				batch.Rule = store.Last
				for i := range batch.Entries {
					batch.Entries[i].Stamp.Revision = c.next()
				}
			}
			return d.Merge(ctx, board, batch)
		}}
	})
	caught(t, sim.Options{Library: library}, []string{"boardsCalm"}, "went back")
}

func keysOf(batch store.Batch) (keys []string) {
	for _, e := range batch.Entries {
		keys = append(keys, e.Key)
	}
	return keys
}

func TestOlderStampOverNewerIsCaught(t *testing.T) {
	library := writing(func(d store.Boards) store.Boards {
		var c counter
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			for i := range batch.Entries {
				if batch.Rule == store.Last {
					batch.Entries[i].Stamp = store.Stamp{Epoch: 1 << 40, Revision: c.next()}
				}
			}
			return d.Merge(ctx, board, batch)
		}}
	})
	caught(t, sim.Options{Library: library}, []string{"boardsCalm"}, "nobody's score")
}

func TestFlushThatForgetsWhatFailedIsCaught(t *testing.T) {
	library := writing(func(d store.Boards) store.Boards {
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			changes, err := d.Merge(ctx, board, batch)
			if err != nil {
				return kept(batch), nil //nolint:nilerr // this is the flaw
			}
			return changes, nil
		}}
	})
	caught(t, sim.Options{Library: library}, boardFaults, "acknowledged, not stored", "complete, not stored")
}

func TestScoresThatNobodyMadeAreCaught(t *testing.T) {
	library := writing(func(d store.Boards) store.Boards {
		var c counter
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if c.next()%7 == 0 {
				batch.Entries[0].Score++
			}
			return d.Merge(ctx, board, batch)
		}}
	})
	caught(t, sim.Options{Library: library}, []string{"boardsCalm"}, "nobody's score")
}

// ranking is our library with a flaw in its boards.
type ranking struct {
	sim.Ours
	flaw func(l sim.Ladder, d store.Boards) sim.Ladder
}

type rankingHost struct {
	sim.Host
	ladder sim.Ladder
}

func (r ranking) Start(ctx context.Context, p *sim.Process, name string, s sim.Settings) (sim.Host, error) {
	h, err := r.Ours.Start(ctx, p, name, s)
	own, ok := h.(sim.Ranking)
	if err != nil || !ok {
		return h, err
	}
	return rankingHost{h, r.flaw(own.Ladder(), p.Parts().Boards)}, nil
}

func (h rankingHost) Ladder() sim.Ladder { return h.ladder }

// early says that all is written when it is told to end.
type early struct{ sim.Ladder }

func (early) Left() int { return 0 }

func TestDrainThatIsCompleteTooEarlyIsCaught(t *testing.T) {
	library := ranking{flaw: func(l sim.Ladder, _ store.Boards) sim.Ladder { return early{l} }}
	caught(t, sim.Options{Library: library}, []string{"boardsFaults"}, "complete, not stored")
}

// rash acknowledges a score that is in memory.
type rash struct{ sim.Ladder }

func (r rash) Durable(_ context.Context, board string, s store.Submission) sim.Answer {
	if r.Submit(board, s) != nil {
		return sim.Undone
	}
	return sim.Done
}

func TestDurableSubmitThatAnswersBeforeTheStoreIsCaught(t *testing.T) {
	library := ranking{flaw: func(l sim.Ladder, _ store.Boards) sim.Ladder { return rash{l} }}
	caught(t, sim.Options{Library: library}, []string{"boardsCalm"}, "acknowledged, not stored")
}

// half removes from the store, and leaves what waits.
type half struct {
	sim.Ladder
	boards store.Boards
}

func (h half) Remove(ctx context.Context, board string, keys ...string) sim.Answer {
	if _, err := h.boards.Remove(ctx, board, keys...); err != nil {
		return sim.Unsure
	}
	return sim.Done
}

func TestRemovalThatLeavesTheQueueIsCaught(t *testing.T) {
	library := ranking{flaw: func(l sim.Ladder, d store.Boards) sim.Ladder { return half{l, d} }}
	caught(t, sim.Options{Library: library}, boardFaults, "came back")
}

// unsealing takes scores for boards that it has sealed.
type unsealing struct{ sim.Ladder }

func (u unsealing) Submit(board string, s store.Submission) error {
	_ = u.Ladder.Submit(board, s)
	return nil
}

func TestSubmitAfterTheSealIsCaught(t *testing.T) {
	library := ranking{flaw: func(l sim.Ladder, _ store.Boards) sim.Ladder { return unsealing{l} }}
	caught(t, sim.Options{Library: library}, []string{"boardsSealed"}, "accepted after the seal", "complete, not stored")
}

// stale shows, now and then, the page before the last one.
type stale struct {
	sim.Ladder
	mu    *sync.Mutex
	pages map[string][]store.Page
}

func (s stale) Top(ctx context.Context, board string, count int) (store.Page, error) {
	page, err := s.Ladder.Top(ctx, board, count)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		return page, err
	}
	s.pages[board] = append(s.pages[board], page)
	if n := len(s.pages[board]); n%3 == 0 {
		return s.pages[board][0], nil
	}
	return page, nil
}

func TestPageThatIsOlderThanTheLastIsCaught(t *testing.T) {
	library := ranking{flaw: func(l sim.Ladder, _ store.Boards) sim.Ladder {
		return stale{l, new(sync.Mutex), make(map[string][]store.Page)}
	}}
	caught(t, sim.Options{Library: library}, []string{"boardsCalm"}, "older page")
}

// slicing is a store whose pages have ranks of their own.
type slicing struct{ store.Boards }

func (s slicing) Page(ctx context.Context, board string, offset int64, limit int, mode store.RankMode) (store.Page, error) {
	page, err := s.Boards.Page(ctx, board, offset, limit, mode)
	for i := range page.Entries {
		page.Entries[i].Rank = int64(i) + 1
	}
	return page, err
}

func TestRanksOfASliceAreCaught(t *testing.T) { // case B9
	caught(t, sim.Options{WorldOptions: sim.WorldOptions{BreakBoards: func(d store.Boards) store.Boards { return slicing{d} }}},
		[]string{"boardsCalm"}, "rank")
}

// unsealed is a store whose seal is words only.
type unsealed struct{ store.Boards }

func (u unsealed) Seal(ctx context.Context, board string) (store.BoardInfo, error) {
	info, err := u.Info(ctx, board)
	info.Sealed = true
	return info, err
}

func TestSealThatIsWordsOnlyIsCaught(t *testing.T) {
	caught(t, sim.Options{WorldOptions: sim.WorldOptions{BreakBoards: func(d store.Boards) store.Boards { return unsealed{d} }}},
		[]string{"boardsSealed"}, "no seal")
}

// amnesiac is a store that forgets which batches it has counted.
type amnesiac struct {
	merging
	counter
}

func TestStoreThatForgetsItsNumbersIsCaught(t *testing.T) {
	breaks := func(d store.Boards) store.Boards {
		a := &amnesiac{}
		a.merging = merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if batch.Rule == store.Sum {
				batch.N = a.next()
			}
			return d.Merge(ctx, board, batch)
		}}
		return a
	}
	caught(t, sim.Options{WorldOptions: sim.WorldOptions{BreakBoards: breaks}}, boardFaults, "counted twice")
}

func TestStoreThatDropsAcknowledgedScoresIsCaught(t *testing.T) {
	breaks := func(d store.Boards) store.Boards {
		var c counter
		return merging{d, func(ctx context.Context, board string, batch store.Batch) ([]store.Change, error) {
			if c.next()%5 == 0 {
				return kept(batch), nil
			}
			return d.Merge(ctx, board, batch)
		}}
	}
	caught(t, sim.Options{WorldOptions: sim.WorldOptions{BreakBoards: breaks}}, []string{"boardsCalm"}, "acknowledged, not stored", "complete, not stored")
}
