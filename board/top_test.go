package board_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/memstore"
)

// fill writes n entries to a board, u0 the best.
func (r *rig) fill(name string, n int) {
	r.t.Helper()
	for i := range n {
		r.submit(name, fmt.Sprintf("u%d", i), int64(n-i))
	}
	r.flush()
}

// later lets time pass, and what is due then happen.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestTopIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {}}})
		r.fill("Kills", 5)
		want(t, "the page", r.top("Kills", 2), []string{"u0=5", "u1=4"})
		r.submit("Kills", "u9", 100)
		r.flush()
		later(59 * time.Second)
		want(t, "the page, cached", r.top("Kills", 3), []string{"u0=5", "u1=4", "u2=3"})
		want(t, "reads", len(r.store.did("page")), 1)
		later(time.Second)
		want(t, "the page, read again", r.top("Kills", 1), []string{"u9=100"})
		want(t, "reads", r.store.at("page"), []float64{0, 60})
	})
}

func TestTopSharesEntriesReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 5)
		p, err := r.Top(t.Context(), "Kills", 2)
		if err != nil || len(p.Entries) != 2 || p.Total != 5 || p.Entries[1].Rank != 2 {
			t.Fatalf("Top: %+v, %v", p, err)
		}
		_ = append(p.Entries, store.Standing{Rank: 99}) // must not reach the shared page
		want(t, "the page", r.top("Kills", 3), []string{"u0=5", "u1=4", "u2=3"})
	})
}

func TestTopOfABoardThatWasNeverWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {Order: store.Ascending}}})
		p, err := r.Top(t.Context(), "Kills", 10)
		if err != nil || len(p.Entries) != 0 || p.Total != 0 || p.Info.Order != store.Ascending {
			t.Fatalf("Top: %+v, %v, want an empty page", p, err)
		}
		_, err = r.Top(t.Context(), "Deaths", 10)
		wantRefused(t, err, "board", board.ErrUnknownBoard)
		for _, count := range []int{-1, store.MaxPage + 1} {
			_, err = r.Top(t.Context(), "Kills", count)
			wantRefused(t, err, "count", board.ErrCount)
		}
	})
}

func TestAHundredReadersOnAnExpiredPageAreOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 5)
		r.top("Kills", 0)
		later(time.Second)
		r.store.failAll("page", fault{delay: 100 * time.Millisecond})
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				if p, err := r.Top(t.Context(), "Kills", 1+i%50); err != nil || len(p.Entries) != min(1+i%50, 5) {
					t.Errorf("Top: %d entries, %v", len(p.Entries), err)
				}
			})
		}
		wg.Wait()
		want(t, "reads", len(r.store.did("page")), 2)
	})
}

func TestACancelledReaderStrandsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 3)
		gate := make(chan struct{})
		r.store.failAll("page", fault{block: gate})
		first, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() {
			_, err := r.Top(first, "Kills", 0)
			errs <- err
		}()
		synctest.Wait()
		others := make(chan int, 10)
		for range 10 {
			go func() {
				p, err := r.Top(t.Context(), "Kills", 0)
				if err != nil {
					t.Error(err)
				}
				others <- len(p.Entries)
			}()
		}
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Fatalf("the cancelled reader: %v", err)
		}
		close(gate)
		for range 10 {
			want(t, "entries", <-others, 3)
		}
		want(t, "reads", len(r.store.did("page")), 1)
		// Nor does a read whose every caller has gone: the next caller has its page.
		later(time.Second)
		gate = make(chan struct{})
		r.store.failAll("page", fault{block: gate})
		gone, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if _, err := r.Top(gone, "Kills", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the only reader: %v", err)
		}
		close(gate)
		synctest.Wait()
		want(t, "the page", len(r.top("Kills", 0)), 3)
		want(t, "reads", len(r.store.did("page")), 2)
	})
}

func TestFailedReadServesThePageBefore(t *testing.T) {
	// case B16
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: 10 * time.Second, Boards: boards{"Kills": {}}})
		updates := 0
		r.OnUpdated(func(string, store.Page) { updates++ })
		r.fill("Kills", 2)
		r.top("Kills", 0)
		r.submit("Kills", "u9", 100)
		r.flush()
		r.store.failNext("page", fault{delay: 2 * time.Second, err: store.ErrUnavailable})
		later(10 * time.Second)
		want(t, "the page after a failed read", r.top("Kills", 0), []string{"u0=2", "u1=1"})
		later(9 * time.Second)
		want(t, "the page, not read again", r.top("Kills", 0), []string{"u0=2", "u1=1"})
		later(time.Second)
		want(t, "the page, a whole window later", r.top("Kills", 1), []string{"u9=100"})
		want(t, "reads", r.store.at("page"), []float64{0, 10, 22})
		synctest.Wait()
		want(t, "updates", updates, 2)
	})
}

func TestFailedFirstRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {}}})
		r.fill("Kills", 2)
		r.store.failNext("page", notDone)
		_, err := r.Top(t.Context(), "Kills", 0)
		if !errors.Is(err, board.ErrNoPage) || !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("Top: %v, want ErrNoPage with the store's error", err)
		}
		want(t, "the next call", r.top("Kills", 0), []string{"u0=2", "u1=1"})
	})
}

func TestReadThatHangsIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CallTimeout: 3 * time.Second, Boards: boards{"Kills": {}}})
		r.fill("Kills", 2)
		r.top("Kills", 0)
		later(time.Second)
		r.store.failNext("page", fault{block: make(chan struct{})})
		began := time.Now()
		want(t, "the page before", r.top("Kills", 0), []string{"u0=2", "u1=1"})
		want(t, "time waited", time.Since(began), 3*time.Second)
	})
}

func TestCacheForCountsFromTheBeginningOfTheRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: 10 * time.Second, Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		r.store.failAll("page", fault{delay: 4 * time.Second})
		r.top("Kills", 0)
		later(6 * time.Second)
		r.top("Kills", 0)
		want(t, "reads", r.store.at("page"), []float64{0, 10})
	})
}

func TestNegativeCacheForReadsEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {CacheFor: -1}}})
		for i := range 3 {
			r.submit("Kills", "u1", int64(i))
			r.flush()
			want(t, "the page", r.top("Kills", 0), []string{fmt.Sprintf("u1=%d", i)})
		}
		want(t, "reads", len(r.store.did("page")), 3)
		// With no cache a failed read still has the page before.
		r.store.failNext("page", notDone)
		want(t, "the page", r.top("Kills", 0), []string{"u1=2"})
	})
}

func TestTopBeyondMaxEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {MaxEntries: 10}}})
		r.fill("Kills", 40)
		want(t, "a cached page", len(r.top("Kills", 10)), 10)
		r.store.failAll("page", fault{delay: time.Millisecond})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if p, err := r.Top(t.Context(), "Kills", 25); err != nil || len(p.Entries) != 25 || p.Entries[24].Rank != 25 {
					t.Errorf("Top: %d entries, %v", len(p.Entries), err)
				}
			})
		}
		wg.Wait()
		limits := []int{}
		for _, c := range r.store.did("page") {
			limits = append(limits, c.Limit)
		}
		want(t, "reads", limits, []int{10, 25})
		want(t, "all there is", len(r.top("Kills", 1000)), 40)
	})
}

func TestUpdatesComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		gate := make(chan struct{})
		var got []string
		r.OnUpdated(func(_ string, p store.Page) {
			<-gate
			got = append(got, fmt.Sprint(rows(p)))
		})
		for i := range 4 { // the listener is slow: it misses pages, and gets the newest last
			r.submit("Kills", "u1", int64(i))
			r.flush()
			r.top("Kills", 0)
			later(time.Second)
		}
		close(gate)
		synctest.Wait()
		want(t, "pages", got, []string{"[u1=0]", "[u1=3]"})
	})
}

func TestDirectCallsDropCachedPages(t *testing.T) {
	// case B6, case B18
	for what, c := range map[string]struct {
		call func(r *rig) error
		want []string
	}{
		"remove": {func(r *rig) error { _, err := r.Remove(r.t.Context(), "Kills", "u0"); return err }, []string{"u1=2", "u2=1"}},
		"drop":   {func(r *rig) error { return r.Drop(r.t.Context(), "Kills") }, []string{}},
		"drop and create": {func(r *rig) error {
			if err := r.Drop(r.t.Context(), "Kills"); err != nil {
				return err
			}
			_, err := r.Create(r.t.Context(), "Kills", store.BoardSpec{Order: store.Descending, Generation: "g"})
			return err
		}, []string{}},
		"merge": {func(r *rig) error {
			_, err := r.Merge(r.t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "u9", Score: 50}}})
			return err
		}, []string{"u9=50", "u0=3", "u1=2", "u2=1"}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {}}})
				r.fill("Kills", 3)
				r.top("Kills", 0)
				if err := c.call(r); err != nil {
					t.Fatal(err)
				}
				want(t, "the page", r.top("Kills", 0), c.want)
			})
		})
	}
}

func TestSealDropsThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {}}})
		r.fill("Kills", 3)
		r.top("Kills", 0)
		if _, err := r.Seal(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		p, err := r.Top(t.Context(), "Kills", 0)
		if err != nil || !p.Info.Sealed {
			t.Fatalf("Top: %+v, %v, want the page of the sealed board", p.Info, err)
		}
		wantRefused(t, r.Submit("Kills", "u1", 9), "board", store.ErrSealed)
	})
}

// A read that began before a removal must not bring the removed entry back.
func TestReadUnderWayDoesNotOutliveARemoval(t *testing.T) {
	// case B18
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {}}})
		r.fill("Kills", 2)
		gate := make(chan struct{})
		first := true
		r.store.setRule(func(c call) fault {
			if c.Op == "page" && first {
				first = false
				return fault{block: gate, after: true}
			}
			return fault{}
		})
		slow := make(chan []string, 1)
		go func() { slow <- r.top("Kills", 0) }()
		synctest.Wait()
		if _, err := r.Remove(t.Context(), "Kills", "u0"); err != nil {
			t.Fatal(err)
		}
		want(t, "the page after the removal", r.top("Kills", 0), []string{"u1=1"})
		close(gate)
		<-slow
		synctest.Wait()
		want(t, "the page when the slow read has ended", r.top("Kills", 0), []string{"u1=1"})
		want(t, "reads", len(r.store.did("page")), 2)
	})
}

// A page that was read before a merge landed is not taken for fresh.
func TestReadUnderWayDuringAMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		r.store.failNext("page", fault{delay: time.Second, after: true})
		got := make(chan []string, 1)
		go func() { got <- r.top("Kills", 0) }()
		synctest.Wait()
		if _, err := r.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "u9", Score: 50}}}); err != nil {
			t.Fatal(err)
		}
		<-got
		want(t, "the page", r.top("Kills", 0), []string{"u9=50", "u0=1"})
		want(t, "reads", len(r.store.did("page")), 2)
	})
}

func TestMergeThatThePageDoesNotShowKeepsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{CacheFor: time.Hour, Boards: boards{"Kills": {MaxEntries: 3}}})
		r.fill("Kills", 5) // u0=5 … u4=1
		r.top("Kills", 0)
		merge := func(key string, score int64) {
			if _, err := r.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: key, Score: score}}}); err != nil {
				t.Fatal(err)
			}
			r.top("Kills", 0)
		}
		merge("u4", 2)
		merge("u8", 3) // as good as the last, but later
		merge("u0", 1) // nothing changes
		want(t, "reads", len(r.store.did("page")), 1)
		merge("u1", 6)
		want(t, "reads", len(r.store.did("page")), 2)
		merge("u4", 7)
		want(t, "reads", len(r.store.did("page")), 3)
	})
}

func TestTwoServicesAgreeWithinAWindow(t *testing.T) {
	// case B3
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		o := &board.Options{CacheFor: 5 * time.Second, Boards: boards{"Kills": {}}}
		a, b := startOn(t, s, nil, o), startOn(t, s, nil, o)
		a.submit("Kills", "u1", 1)
		a.flush()
		want(t, "the page at a", a.top("Kills", 0), []string{"u1=1"})
		want(t, "the page at b", b.top("Kills", 0), []string{"u1=1"})
		b.submit("Kills", "u2", 2)
		b.flush()
		if _, err := b.Remove(t.Context(), "Kills", "u1"); err != nil {
			t.Fatal(err)
		}
		later(5 * time.Second)
		want(t, "the page at a", a.top("Kills", 0), []string{"u2=2"})
		want(t, "the page at b", b.top("Kills", 0), []string{"u2=2"})
	})
}

func TestBoardThatIsDroppedByAnotherNodeIsNotSealedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &board.Options{Boards: boards{"Kills": {}}})
		r.fill("Kills", 1)
		if _, err := r.Seal(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		r.store.engine.Forget(memstore.Boards)
		wantRefused(t, r.Submit("Kills", "u1", 1), "board", store.ErrSealed)
		r.top("Kills", 0) // sees a board without seal
		r.submit("Kills", "u1", 1)
		r.flush()
		want(t, "what is stored", r.stored("Kills"), []string{"u1=1"})
	})
}
