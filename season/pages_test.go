package season_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// countedBoards counts the reads of each board, and can fail them or let them wait.
type countedBoards struct {
	season.Boards
	mu struct {
		sync.Mutex
		tops, standings map[string]int
		fail            error
		wait            chan struct{} // a read waits until it is closed, or its caller gives up
	}
}

func newCountedBoards(w *world) *countedBoards {
	b := &countedBoards{Boards: season.StoreBoards(w.engine.Boards())}
	b.mu.tops, b.mu.standings = make(map[string]int), make(map[string]int)
	return b
}

func (b *countedBoards) read(ctx context.Context, count map[string]int, board string) error {
	b.mu.Lock()
	count[board]++
	fail, wait := b.mu.fail, b.mu.wait
	b.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return fail
}

func (b *countedBoards) Top(ctx context.Context, board string, count int) (store.Page, error) {
	if err := b.read(ctx, b.mu.tops, board); err != nil {
		return store.Page{}, err
	}
	return b.Boards.Top(ctx, board, count)
}

func (b *countedBoards) Standing(ctx context.Context, board, key string) (store.Standing, bool, error) {
	if err := b.read(ctx, b.mu.standings, board+" "+key); err != nil {
		return store.Standing{}, false, err
	}
	return b.Boards.Standing(ctx, board, key)
}

func (b *countedBoards) set(fail error, wait chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.fail, b.mu.wait = fail, wait
}

// reads are how often a board's page, and standings on it, were read.
func (b *countedBoards) reads(board string) (tops, standings int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, n := range b.mu.standings {
		if strings.HasPrefix(name, board+" ") {
			standings += n
		}
	}
	return b.mu.tops[board], standings
}

// crowd has players on the first season's boards: u0 with the most fish.
func crowd(h *host, n int) {
	for i := range n {
		h.play(h.join(fmt.Sprint("u", i)), append(slices.Repeat([]string{"catch"}, n-i), "coins")...)
	}
	h.window()
}

// A thousand readers of pages, cards and standings cost one read of a board's page in 30 s, and
// one of the standing of each player behind it, however much is written meanwhile.
func TestAThousandReadersAreOneRead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		boards := newCountedBoards(w)
		h := w.host("a", hostOptions{deps: season.Deps{Boards: boards}})
		crowd(h, 6)
		const rounds = 10
		for range rounds {
			var all sync.WaitGroup
			for i := range 1000 {
				all.Go(func() {
					time.Sleep(time.Duration(i) * 29 * time.Millisecond)
					s := h.players(fmt.Sprint("u", i%6))
					_, err := h.Top(t.Context(), "Fish", 10)
					_, err2 := h.Leaders(t.Context(), "Coins", 10)
					card, err3 := h.Card(t.Context(), s)
					_, _, err4 := h.Standing(t.Context(), "Fish", s.key)
					if err := errors.Join(err, err2, err3, err4, card.Boards[0].Err, card.Boards[1].Err); err != nil {
						t.Error(err)
					}
				})
			}
			time.Sleep(10 * time.Second)
			h.play(h.players("u5"), "catch", "coins") // u5 enters the page in the end
			h.window()
			all.Wait()
			time.Sleep(time.Until(time.Now().Truncate(30 * time.Second).Add(30 * time.Second)))
		}
		for _, board := range []string{"season/reef/Fish/C1S1", "season/reef/Coins/C1S1"} {
			tops, standings := boards.reads(board)
			if tops > rounds || tops < rounds-1 || standings > 3*rounds || standings < rounds {
				t.Errorf("%s: %d pages and %d standings were read in %d windows", board, tops, standings, rounds)
			}
		}
	})
}

// A reader that gives up leaves the read to the next, and a crowd behind it is still one read.
func TestAReaderThatGivesUpStrandsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		boards := newCountedBoards(w)
		h := w.host("a", hostOptions{deps: season.Deps{Boards: boards}})
		crowd(h, 5)
		wait := make(chan struct{})
		boards.set(nil, wait)
		first, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := h.Top(first, "Fish", 1); !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		for range 100 {
			all.Go(func() {
				if _, err := h.Top(t.Context(), "Fish", 1); err != nil {
					t.Errorf("behind the first: %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(wait)
		all.Wait()
		if tops, _ := boards.reads("season/reef/Fish/C1S1"); tops != 2 {
			t.Errorf("%d reads", tops)
		}
	})
}

// A store that does not answer: the page that was shown is shown on; without one the error is
// held for a second, so that a crowd is one call a second; and one that hangs is given up.
func TestPagesWhileTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		boards := newCountedBoards(w)
		h := w.host("a", hostOptions{deps: season.Deps{Boards: boards}})
		crowd(h, 5)
		if got := h.top("Fish"); !slices.Equal(got, []string{"u0:5", "u1:4", "u2:3"}) {
			t.Fatalf("%v", got)
		}
		boards.set(store.ErrUnavailable, nil)
		time.Sleep(31 * time.Second)
		for range 5 * 61 {
			if got := h.top("Fish"); len(got) != 3 {
				t.Fatalf("%v", got)
			}
			if _, err := h.Top(t.Context(), "Coins", 3); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("a first read that fails is no empty board: %v", err)
			}
			time.Sleep(200 * time.Millisecond)
		}
		fish, _ := boards.reads("season/reef/Fish/C1S1")
		coins, _ := boards.reads("season/reef/Coins/C1S1")
		if fish != 1+3 || coins < 60 || coins > 62 {
			t.Errorf("%d and %d reads of a store that is down", fish, coins)
		}
		boards.set(nil, make(chan struct{}))
		time.Sleep(40 * time.Second)
		before := time.Now()
		if _, err := h.Top(t.Context(), "Coins", 3); !errors.Is(err, context.DeadlineExceeded) || time.Since(before) > 15*time.Second {
			t.Errorf("a store that hangs: %v after %v", err, time.Since(before))
		}
		if got := h.top("Fish"); len(got) != 3 {
			t.Errorf("%v", got)
		}
		boards.set(nil, nil)
		time.Sleep(31 * time.Second)
		if _, err := h.Top(t.Context(), "Coins", 3); err != nil {
			t.Error(err)
		}
	})
}

// What is cached below is not held for longer than it is good for.
func TestAPageOfACacheBelowIsNotHeldTwice(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 32 * time.Second
		below := &pagedBoards{Boards: season.StoreBoards(w.engine.Boards())}
		h := w.host("a", hostOptions{deps: season.Deps{Boards: below}})
		crowd(h, 5)
		h.top("Fish")
		time.Sleep(32 * time.Second)
		h.top("Fish") // the same page, from below
		h.play(h.players("u4"), slices.Repeat([]string{"catch"}, 9)...)
		h.window()
		below.pages.Clear()
		time.Sleep(2 * time.Second)
		if got := h.top("Fish"); got[0] != "u4:10" {
			t.Errorf("%v", got)
		}
	})
}

// Pages of seasons that are over make room.
func TestPagesOfOldSeasonsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := w.host("a", hostOptions{})
		for k := range int64(20) {
			w.until(time.Duration(k) * time.Hour)
			h.top("Fish")
			h.top("Coins")
			if n := h.KeptPages(); n > 10 {
				t.Fatalf("%d pages in season %d", n, k)
			}
		}
	})
}

// The standings beside a page are bounded, and whoever finds no room is read all the same.
func TestStandingsBesideAPageAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		boards := newCountedBoards(w)
		h := w.host("a", hostOptions{deps: season.Deps{Boards: boards}})
		crowd(h, 5)
		for i := range season.MaxBeyond + 10 {
			if _, ok, err := h.Standing(t.Context(), "Fish", fmt.Sprint("nobody", i)); ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for range 3 {
			if st, ok, err := h.Standing(t.Context(), "Fish", "u4"); err != nil || !ok || st.Rank != 5 {
				t.Fatal(st, ok, err)
			}
		}
		if _, standings := boards.reads("season/reef/Fish/C1S1"); standings != season.MaxBeyond+10+3 {
			t.Errorf("%d standings were read", standings)
		}
		if n := h.KeptStandings("Fish"); n != season.MaxBeyond {
			t.Errorf("%d are kept", n)
		}
	})
}

// A look at a page that is kept costs no memory.
func TestLooksDoNotAllocate(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.CacheFor = 30 * time.Second
		h := w.host("a", hostOptions{})
		crowd(h, 5)
		h.top("Fish")
		ctx := t.Context()
		for name, look := range map[string]func(){
			"Top":      func() { _, _ = h.Top(ctx, "Fish", 2) },
			"Leaders":  func() { _, _ = h.Leaders(ctx, "Fish", 2) },
			"Standing": func() { _, _, _ = h.Standing(ctx, "Fish", "u1") },
		} {
			if n := testing.AllocsPerRun(100, look); n > 0 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
	})
}
