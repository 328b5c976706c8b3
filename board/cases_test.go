package board_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
)

// This file has the cases of ours of what went wrong elsewhere, one test for each, through
// services on real stores. Finer tests of the same cases stand beside what they test, and
// bear the case in a comment; B18 is with moderation and erasure.

// Ranks are right after a restart while another node writes, and stay right.
func TestCaseB1RanksAfterARestartUnderLoad(t *testing.T) {
	// case B1
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{Boards: boards{"Kills": {Rule: store.Sum}}}
		keys := manyKeys(400)
		a, b := s.node(t, o), s.node(t, o)
		for _, key := range keys {
			if err := a.Submit("Kills", key, 1); err != nil {
				t.Fatal(err)
			}
		}
		a.put(t, "Kills")
		stop := make(chan struct{})
		writing := b.load(1, "Kills", keys, stop)
		for range 3 {
			a.stop(t)
			a = s.node(t, o)
			wantSortedPage(t, a.page(t, "Kills", 0, 400, store.Ordinal)) // the first read after the start
			again := a.load(2, "Kills", keys[:50], closed())
			for i := range 5 {
				wantSortedPage(t, a.page(t, "Kills", int64(70*i), 100, store.Ordinal))
			}
			again.Wait()
		}
		close(stop)
		writing.Wait()
		for _, p := range []*place{a, b} {
			p.wantEveryRank(t, "Kills", store.Descending, keys)
		}
	})
}

// The first rank after a start is there and right: there is nothing to be built.
func TestCaseB2TheFirstRankAfterAStart(t *testing.T) {
	// case B2
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{Boards: boards{"Kills": {Rule: store.Last}}}
		keys := manyKeys(300)
		writer := s.node(t, o)
		writer.put(t, "Kills", entryOf{"best", math.MaxInt64}, entryOf{"worst", math.MinInt64})
		for _, key := range keys {
			if err := writer.Submit("Kills", key, 0); err != nil {
				t.Fatal(err)
			}
		}
		writer.put(t, "Kills")
		stop := make(chan struct{})
		writing := writer.load(3, "Kills", keys, stop)
		for range 5 {
			p := s.node(t, o)
			for key, rank := range map[string]int64{"best": 1, "worst": 302} {
				st, ok, err := p.Standing(t.Context(), "Kills", key)
				if err != nil || !ok || st.Rank != rank {
					t.Fatalf("the first Standing of %s: %+v, %v, %v; want rank %d", key, st, ok, err, rank)
				}
			}
			if got, err := p.Top(t.Context(), "Kills", 100); err != nil || len(got.Entries) != 100 || got.Total != 302 || got.Entries[0].Key != "best" {
				t.Fatalf("the first Top: %d of %d, %v", len(got.Entries), got.Total, err)
			}
		}
		close(stop)
		writing.Wait()
	})
}

// What one node has written is on the page of every other one window later, under load, and
// so is a new board. In the end all agree.
func TestCaseB3TwoNodesAgreeWithinAWindow(t *testing.T) {
	// case B3, case B1
	onEachStore(t, func(t *testing.T, s site) {
		const window = 5 * time.Second
		o := board.Options{CacheFor: window, Boards: boards{"Kills": {}, "New": {}}}
		keys := manyKeys(200)
		a, b := s.node(t, o), s.node(t, o)
		a.put(t, "Kills", entryOf{"tracer", 1000})
		stop := make(chan struct{})
		loads := []*sync.WaitGroup{s.node(t, o).load(4, "Kills", keys, stop), s.node(t, o).load(5, "Kills", keys, stop)}
		for n := int64(1001); n < 1020; n++ {
			from, to := a, b
			if n%2 == 0 {
				from, to = b, a
			}
			if n == 1010 {
				want(t, "a board that is not there", to.shown(t, "New"), []string{})
				from.put(t, "New", entryOf{"u1", 1})
			}
			from.put(t, "Kills", entryOf{"tracer", n})
			to.clock.pass(window)
			page, err := to.Top(t.Context(), "Kills", 0)
			if err != nil {
				t.Fatal(err)
			}
			wantSortedPage(t, page)
			if page.Entries[0].Key != "tracer" || page.Entries[0].Score != n {
				t.Fatalf("a window after %d was written: %+v", n, page.Entries[0])
			}
			if n >= 1010 {
				want(t, "the new board", to.shown(t, "New"), []string{"u1=1"})
			}
		}
		close(stop)
		for _, l := range loads {
			l.Wait()
		}
		a.clock.pass(window)
		b.clock.pass(window)
		want(t, "the two pages", a.shown(t, "Kills"), b.shown(t, "Kills"))
		for _, p := range []*place{a, b} {
			p.wantEveryRank(t, "Kills", store.Descending, append(keys, "tracer"))
		}
	})
}

func TestCaseB4AroundIsCentredAndClamped(t *testing.T) {
	// case B4
	onEachStore(t, func(t *testing.T, s site) {
		p := s.node(t, board.Options{Boards: boards{"Kills": {}}})
		const size = 7
		for i := range size {
			p.put(t, "Kills", entryOf{fmt.Sprintf("u%d", i), int64(10 - i/2)}) // with ties
		}
		for at := range size {
			for n := range size + 2 {
				got, err := p.Around(t.Context(), "Kills", fmt.Sprintf("u%d", at), n)
				if err != nil {
					t.Fatal(err)
				}
				keys := []string{}
				for i := max(0, at-n); i <= min(size-1, at+n); i++ {
					keys = append(keys, fmt.Sprintf("u%d %d", i, i+1))
				}
				shown := []string{}
				for _, e := range got.Entries {
					shown = append(shown, fmt.Sprintf("%s %d", e.Key, e.Rank))
				}
				want(t, fmt.Sprintf("around u%d by %d", at, n), shown, keys)
			}
		}
	})
}

func TestCaseB5TheCardAgreesWithThePage(t *testing.T) {
	// case B5
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {Rule: store.Sum, MaxEntries: 5}}}
		a, b := s.node(t, o), s.node(t, o)
		rng := rand.New(rand.NewPCG(6, 6))
		keys := manyKeys(12)
		for range 60 {
			b.put(t, "Kills", entryOf{keys[rng.IntN(len(keys))], rng.Int64N(3)})
			if rng.IntN(10) == 0 {
				a.clock.pass(time.Minute)
			}
			for _, mode := range rankModes() {
				for _, key := range keys {
					c, err := a.By(mode).Card(t.Context(), "Kills", key, 0)
					if err != nil {
						t.Fatal(err)
					}
					if err := contradiction(mode, c); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

func TestCaseB6ABoardThatIsMadeAgainIsEmpty(t *testing.T) {
	// case B6
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {}}}
		a, b := s.node(t, o), s.node(t, o)
		a.put(t, "Kills", entryOf{"u1", 5}, entryOf{"u2", 4})
		want(t, "the page", b.shown(t, "Kills"), a.shown(t, "Kills"))
		if err := a.Drop(t.Context(), "Kills"); err != nil {
			t.Fatal(err)
		}
		want(t, "the page where it was dropped", a.shown(t, "Kills"), []string{})
		if _, err := a.Create(t.Context(), "Kills", store.BoardSpec{Order: store.Descending, Generation: "again"}); err != nil {
			t.Fatal(err)
		}
		b.clock.pass(time.Minute)
		for _, p := range []*place{a, b} {
			want(t, "the page", p.shown(t, "Kills"), []string{})
			if st, ok, err := p.Standing(t.Context(), "Kills", "u1"); ok || err != nil {
				t.Fatalf("Standing: %+v, %v", st, err)
			}
			info, err := p.Info(t.Context(), "Kills")
			if err != nil || info.Count != 0 || info.Generation != "again" {
				t.Fatalf("Info: %+v, %v", info, err)
			}
		}
		b.put(t, "Kills", entryOf{"u2", 1})
		b.wantEveryRank(t, "Kills", store.Descending, []string{"u1", "u2"})
	})
}

func TestCaseB7AWorseScoreChangesNothing(t *testing.T) {
	// case B7
	onEachStore(t, func(t *testing.T, s site) {
		for order, better := range map[store.Order]int64{store.Descending: 1, store.Ascending: -1} {
			p := s.node(t, board.Options{CacheFor: -1, Boards: boards{"Kills/" + order.String(): {Order: order}}})
			name := "Kills/" + order.String()
			p.put(t, name, entryOf{"u1", 50}, entryOf{"u2", 50 - 10*better})
			before, err := p.Info(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			for _, worse := range []int64{50, 50 - better, 50 - 20*better} {
				p.put(t, name, entryOf{"u1", worse})
			}
			after, err := p.Info(t.Context(), name)
			want(t, "the board after worse scores", after, before)
			want(t, "the page", p.shown(t, name), []string{"u1=50", fmt.Sprintf("u2=%d", 50-10*better)})
			if err != nil {
				t.Fatal(err)
			}
			p.wantEveryRank(t, name, order, []string{"u1", "u2"})
		}
	})
}

func TestCaseB8PagesMakeTheWholeBoard(t *testing.T) {
	// case B8
	onEachStore(t, func(t *testing.T, s site) {
		p := s.node(t, board.Options{Boards: boards{"Kills": {}}})
		for i, key := range manyKeys(120) {
			if err := p.Submit("Kills", key, int64(i%2)); err != nil { // ties, in one window
				t.Fatal(err)
			}
		}
		p.put(t, "Kills")
		whole := rows(p.page(t, "Kills", 0, 200, store.Ordinal))
		want(t, "entries", len(whole), 120)
		for _, size := range []int{1, 7, 50, 119, 120, 121} {
			var parts []string
			for offset := int64(0); offset < 120; offset += int64(size) {
				parts = append(parts, rows(p.page(t, "Kills", offset, size, store.Ordinal))...)
			}
			want(t, fmt.Sprintf("pages of %d", size), parts, whole)
		}
		p.wantEveryRank(t, "Kills", store.Descending, manyKeys(120))
	})
}

func TestCaseB9RanksAreGlobal(t *testing.T) {
	// case B9
	onEachStore(t, func(t *testing.T, s site) {
		p := s.node(t, board.Options{Boards: boards{"Kills": {MaxEntries: 10}}})
		keys := manyKeys(150)
		for _, key := range keys {
			if err := p.Submit("Kills", key, 5); err != nil { // all are tied
				t.Fatal(err)
			}
		}
		p.put(t, "Kills", entryOf{"last", 4})
		for offset := int64(0); offset < 150; offset += 10 {
			for i, e := range p.page(t, "Kills", offset, 10, store.Ordinal).Entries {
				want(t, "ordinal rank", e.Rank, offset+int64(i)+1)
			}
			for _, mode := range []store.RankMode{store.Competition, store.Dense} {
				for _, e := range p.page(t, "Kills", offset, 10, mode).Entries {
					want(t, fmt.Sprintf("%v rank of a tie at %d", mode, offset), e.Rank, 1)
				}
			}
		}
		for mode, rank := range map[store.RankMode]int64{store.Ordinal: 151, store.Competition: 151, store.Dense: 2} {
			c, err := p.By(mode).Card(t.Context(), "Kills", "last", 0)
			if err != nil || c.Standing.Rank != rank {
				t.Fatalf("the last by %v: %+v, %v; want rank %d", mode, c.Standing, err, rank)
			}
			// One who is tied with the page but not on it has the rank of the page.
			if c, err = p.By(mode).Card(t.Context(), "Kills", keys[149], 0); err != nil || mode != store.Ordinal && c.Standing.Rank != 1 {
				t.Fatalf("a tie below the page by %v: %+v, %v", mode, c.Standing, err)
			}
		}
	})
}

func TestCaseB10FirstToReachStaysAbove(t *testing.T) {
	// case B10
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{CacheFor: -1, Boards: boards{"Kills": {}, "Time": {Order: store.Ascending}}}
		a, b := s.node(t, o), s.node(t, o)
		b.clock.pass(-100 * time.Hour) // no clock has a say
		for _, name := range []string{"Kills", "Time"} {
			a.put(t, name, entryOf{"z-first", 70})
			b.put(t, name, entryOf{"a-second", 70})
			a.put(t, name, entryOf{"m-third", 70})
			b.put(t, name, entryOf{"z-first", 70}) // again, and later: it was reached before
			want(t, name, a.shown(t, name), []string{"z-first=70", "a-second=70", "m-third=70"})
			want(t, name, b.shown(t, name), a.shown(t, name))
		}
	})
}

func TestCaseB11ScoresAreExact(t *testing.T) {
	// case B11
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{CacheFor: -1, Boards: boards{"Kills": {}, "Time": {Order: store.Ascending}, "Coins": {Rule: store.Sum}}}
		p := s.node(t, o)
		scores := []int64{math.MaxInt64, math.MaxInt64 - 1, 1<<53 + 1, 1 << 53, 1<<53 - 1, 1, 0, -1, -1 << 53, -1<<53 - 1, math.MinInt64 + 1, math.MinInt64}
		keys := []string{}
		for i, score := range scores {
			keys = append(keys, fmt.Sprintf("u%d", i))
			p.put(t, "Kills", entryOf{keys[i], score})
			p.put(t, "Time", entryOf{keys[i], score})
		}
		for name, order := range map[string]store.Order{"Kills": store.Descending, "Time": store.Ascending} {
			p.wantEveryRank(t, name, order, keys)
			got, err := p.Scores(t.Context(), name, keys...)
			if err != nil {
				t.Fatal(err)
			}
			for i, key := range keys {
				want(t, name, got[key].Score, scores[i])
			}
		}
		p.put(t, "Coins", entryOf{"u1", 1 << 53})
		for range 3 {
			p.put(t, "Coins", entryOf{"u1", 1})
		}
		want(t, "a sum", p.shown(t, "Coins"), []string{fmt.Sprintf("u1=%d", int64(1<<53+3))})
	})
}

func TestCaseB12WhatIsNoScoreIsRefused(t *testing.T) {
	// case B12; see also the tests of decimals, and of the server for texts on the wire.
	onEachStore(t, func(t *testing.T, s site) {
		p := s.node(t, board.Options{Boards: boards{"Kills": {Decimals: 3}}})
		for _, text := range []string{"1e300", "NaN", "Infinity", "-Inf", "0x10", "1,5", "1.2.3", " 1", "١", "9223372036854775808"} {
			var bad *board.RefusedError
			if err := p.SubmitDecimal("Kills", "u1", text); !errors.As(err, &bad) || bad.Field != "score" {
				t.Errorf("SubmitDecimal(%q): %v", text, err)
			}
		}
		for _, f := range []float64{1e300, math.NaN(), math.Inf(1), math.Inf(-1), 0.0001, -1e19} {
			var bad *board.RefusedError
			if err := p.SubmitFloat("Kills", "u1", f); !errors.As(err, &bad) || bad.Field != "score" {
				t.Errorf("SubmitFloat(%v): %v", f, err)
			}
		}
		p.put(t, "Kills")
		want(t, "the board", p.shown(t, "Kills"), []string{})
	})
}

func TestCaseB13NegativeScoresAndOverflow(t *testing.T) {
	// case B13
	onEachStore(t, func(t *testing.T, s site) {
		p := s.node(t, board.Options{CacheFor: -1, MaxWriteAttempts: 1, Boards: boards{"Kills": {}, "Coins": {Rule: store.Sum}}})
		p.put(t, "Kills", entryOf{"u1", -5}, entryOf{"u2", -7})
		want(t, "negative scores", p.shown(t, "Kills"), []string{"u1=-5", "u2=-7"})
		wantRefused(t, p.SubmitDecimal("Kills", "u3", "-9223372036854775809"), "score", board.ErrOverflow)
		var refused []board.Refusal
		p.OnRefused(func(r board.Refusal) { refused = append(refused, r) })
		p.put(t, "Coins", entryOf{"u1", math.MaxInt64}, entryOf{"u2", -3})
		if err := p.Submit("Coins", "u1", 1); err != nil {
			t.Fatal(err)
		}
		_ = p.FlushNow(t.Context())
		if len(refused) != 1 || !errors.Is(refused[0].Err, board.ErrOverflow) || refused[0].Values[0].Key != "u1" {
			t.Fatalf("refused: %+v", refused)
		}
		want(t, "sums", p.shown(t, "Coins"), []string{fmt.Sprintf("u1=%d", int64(math.MaxInt64)), "u2=-3"})
	})
}

func TestCaseB14AbsentIsNotZero(t *testing.T) {
	// case B14; the server refuses an entry without a score.
	onEachStore(t, func(t *testing.T, s site) {
		p := s.node(t, board.Options{CacheFor: -1, Boards: boards{"Kills": {Decimals: 2}}})
		for _, text := range []string{"", " ", "null", "-", "."} {
			wantRefused(t, p.SubmitDecimal("Kills", "u1", text), "score", board.ErrNotNumber)
		}
		p.put(t, "Kills")
		if st, ok, err := p.Standing(t.Context(), "Kills", "u1"); ok || err != nil {
			t.Fatalf("Standing of nobody: %+v, %v", st, err)
		}
		p.put(t, "Kills", entryOf{"u2", 0}, entryOf{"u3", -1})
		want(t, "zero is a score", p.shown(t, "Kills"), []string{"u2=0", "u3=-1"})
		got, err := p.Scores(t.Context(), "Kills", "u1", "u2")
		if _, there := got["u1"]; there || err != nil || got["u2"].Key != "u2" {
			t.Fatalf("Scores: %+v, %v", got, err)
		}
	})
}

func TestCaseB15AWalkShowsEachEntryOnce(t *testing.T) {
	// case B15
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{Boards: boards{"Kills": {Rule: store.Last}}}
		a, b := s.node(t, o), s.node(t, o)
		keys := manyKeys(200)
		for i, key := range keys {
			if err := a.Submit("Kills", key, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		a.put(t, "Kills")
		before := rows(a.page(t, "Kills", 0, 300, store.Ordinal))
		stop := make(chan struct{})
		moved, cursor, got := 0, "", []string{}
		moving := s.node(t, o).load(8, "Kills", append(keys, manyKeys(260)...), stop)
		for first := true; first || cursor != ""; first = false {
			if first {
				close(stop)
				moving.Wait() // movers before the walk: it shows the board of its first page
				before = rows(a.page(t, "Kills", 0, 300, store.Ordinal))
			}
			from := []*place{a, b}[moved%2] // any node may go on
			page, next, err := from.Walk(t.Context(), "Kills", cursor, 30)
			if err != nil {
				t.Fatalf("Walk: %v", err)
			}
			got, cursor = append(got, rows(page)...), next
			moved++
			b.put(t, "Kills", entryOf{keys[moved*13%200], int64(moved * 37 % 300)}, entryOf{keys[moved*29%200], -int64(moved)}, entryOf{fmt.Sprintf("new%d", moved), 150})
			if _, err := b.Remove(t.Context(), "Kills", keys[moved*17%200]); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "the walk", got, before)
		whole, err := all(t.Context(), a.Service, "Kills")
		if err != nil || len(whole) == len(before) && slices.Equal(whole, before) {
			t.Fatalf("All, after the movers: %d entries, %v", len(whole), err)
		}
		want(t, "All", whole, rows(a.page(t, "Kills", 0, 1000, store.Ordinal)))
	})
}

func TestCaseB16ReadersSeeTheOldPageOrTheNewOne(t *testing.T) {
	// case B16
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{CacheFor: time.Minute, Boards: boards{"Kills": {Rule: store.Last, MaxEntries: 20}}}
		p, other := s.node(t, o), s.node(t, o)
		keys := manyKeys(20)
		for _, key := range keys {
			if err := p.Submit("Kills", key, 0); err != nil {
				t.Fatal(err)
			}
		}
		p.put(t, "Kills")
		stop := make(chan struct{})
		var reads atomic.Int64
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for {
					page, err := p.Top(t.Context(), "Kills", 0)
					if err != nil || len(page.Entries) != 20 || page.Total != 20 {
						t.Errorf("Top: %d entries of %d, %v", len(page.Entries), page.Total, err)
						return
					}
					reads.Add(1)
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		writing := other.load(9, "Kills", keys, stop)
		for range 30 {
			p.clock.pass(time.Minute) // a refresh
			if _, err := p.Merge(t.Context(), "Kills", store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: keys[0], Score: 1}}}); err != nil {
				t.Fatal(err)
			}
		}
		close(stop)
		wg.Wait()
		writing.Wait()
		if reads.Load() < 3 {
			t.Fatal("no reads")
		}
	})
}

func TestCaseB17NoNameReachesAnotherRecord(t *testing.T) {
	// case B17; see also the fuzz tests of keys and boards' names.
	onEachStore(t, func(t *testing.T, s site) {
		p := s.node(t, board.Options{Boards: boards{"Kills": {}}})
		ctx := t.Context()
		p.put(t, "Kills", entryOf{"u1", 1})
		for _, name := range []string{"", "/", "a//b", "/Kills", "Kills/", "a b", "Kills\x00", "../Kills", "Kills%2f", "*", "Kills'--", "ü", "\xff"} {
			if name == "../Kills" {
				continue // dots are letters of a name: see below
			}
			errs := []error{p.Define(name, board.Config{}), p.Drop(ctx, name)}
			_, err := p.Page(ctx, name, 0, 10)
			errs = append(errs, err)
			_, _, err = p.Walk(ctx, name, "", 10)
			errs = append(errs, err)
			_, err = p.Merge(ctx, name, store.Batch{Rule: store.Best, Entries: []store.Submission{{Key: "u1", Score: 9}}})
			errs = append(errs, err)
			for i, err := range errs {
				if !errors.Is(err, board.ErrName) {
					t.Errorf("call %d with %q: %v", i, name, err)
				}
			}
		}
		// A board that is named like a record is another thing than the record.
		records := p.parts.Durable
		for _, name := range []string{"player/players/u1", "../Kills", "board/Kills", "node/n-1"} {
			tx := store.Tx{{Key: name, Op: store.Put, Value: []byte("record"), If: store.Absent(), Version: 1}}
			if err := errors.Join(records.Commit(ctx, tx)...); err != nil {
				t.Fatal(err)
			}
			if page := p.page(t, name, 0, 10, store.Ordinal); len(page.Entries) != 0 {
				t.Fatalf("the record %s is shown as a board: %+v", name, page)
			}
			if err := p.Define(name, board.Config{}); err != nil {
				t.Fatal(err)
			}
			p.put(t, name, entryOf{"u1", 7})
			if err := p.Drop(ctx, name); err != nil {
				t.Fatal(err)
			}
			got, err := records.Get(ctx, name)
			if err != nil || string(got[0].Value) != "record" {
				t.Fatalf("the record %s: %+v, %v", name, got, err)
			}
		}
		want(t, "the board", p.shown(t, "Kills"), []string{"u1=1"})
	})
}
