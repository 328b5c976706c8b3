package redisstore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// boardReads is one read of each kind of the board "top".
func boardReads(t *testing.T, b store.Boards) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), make(map[string]error)
	_, errs["page"] = b.Page(ctx, "top", 0, 10, store.Dense)
	_, _, errs["standing"] = b.Standing(ctx, "top", "a", store.Ordinal)
	_, errs["around"] = b.Around(ctx, "top", "a", 3, store.Competition)
	_, errs["scores"] = b.Scores(ctx, "top", "a", "b")
	_, _, errs["walk"] = b.Walk(ctx, "top", store.Cursor{}, 10)
	return errs
}

// A part of a board is changed or lost by somebody else: the board answers nothing until it is
// repaired, and then as if nothing had been, as far as that is possible.
func TestDamagedBoards(t *testing.T) {
	server := enginetest.Redis(t)
	member := func(place, sequence string, key string) string {
		return place + strings.Repeat("\x00", 7) + sequence + key
	}
	for name, c := range map[string]struct {
		do      func(key func(part string) string) []string
		hidden  bool // only what has to do with hidden keys notices
		differs bool // what is lost stays lost
	}{
		"standings lost":  {do: func(key func(string) string) []string { return []string{"DEL", key("standings")} }},
		"a standing lost": {do: func(key func(string) string) []string { return []string{"ZPOPMAX", key("standings")} }},
		"entries lost":    {do: func(key func(string) string) []string { return []string{"DEL", key("entries")} }},
		"an entry lost":   {do: func(key func(string) string) []string { return []string{"HDEL", key("entries"), "b"} }},
		"a count wrong":   {do: func(key func(string) string) []string { return []string{"HSET", key("info"), "count", "7"} }},
		"a count lost":    {do: func(key func(string) string) []string { return []string{"HDEL", key("info"), "count"} }},
		"hidden lost":     {do: func(key func(string) string) []string { return []string{"DEL", key("hidden")} }, hidden: true, differs: true},
		"a standing more": {do: func(key func(string) string) []string {
			return []string{"ZADD", key("standings"), "0", member("12345678", "\x01", "a")}
		}},
		"a key more hidden": {do: func(key func(string) string) []string { return []string{"HSET", key("hidden"), "a", ""} }, hidden: true, differs: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, server.URL(enginetest.Prefix(t)), nil)
			b := e.Boards()
			smallBoard(t, b)
			merge(t, b, "top", points(5, "d"))
			want := readWhole(t, b, "top")
			ask(t, server, c.do(func(part string) string { return e.BoardKey("top", part) })...)
			for call, err := range boardReads(t, b) {
				if want := store.ErrUnavailable; !c.hidden && !errors.Is(err, want) {
					t.Errorf("%s answers %v, want %v", call, err, want)
				}
			}
			for call, write := range boardWrites() {
				if err := write(t.Context(), b); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "damaged") {
					t.Errorf("%s answers %v", call, err)
				}
			}
			for _, repair := range []bool{false, true} {
				check, err := b.Check(t.Context(), "top", repair)
				if err != nil || len(check.Problems) == 0 || check.Repaired != repair {
					t.Fatalf("Check, repair %v = %+v, %v", repair, check, err)
				}
			}
			got := readWhole(t, b, "top")
			if got.Page.Info.Sequence <= want.Page.Info.Sequence {
				t.Errorf("the repair left the sequence at %d, it was %d", got.Page.Info.Sequence, want.Page.Info.Sequence)
			}
			if want.Page.Info.Sequence = got.Page.Info.Sequence; c.differs {
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("after the repair (-want +got):\n%s", diff)
			}
			for call, write := range boardWrites() {
				if err := write(t.Context(), b); err != nil && !errors.Is(err, store.ErrSealed) {
					t.Errorf("after the repair %s answers %v", call, err)
				}
			}
		})
	}
}

// What the board is has been lost, but not its entries: there is none, and one that is made
// anew is empty.
func TestBoardWithoutInfo(t *testing.T) {
	server := enginetest.Redis(t)
	e := open(t, server.URL(enginetest.Prefix(t)), nil)
	b := e.Boards()
	smallBoard(t, b)
	merge(t, b, "top", store.Batch{Rule: store.Sum, Source: "node", N: 9, Entries: []store.Submission{{Key: "a", Score: 1}}})
	ask(t, server, "DEL", e.BoardKey("top", "info"))
	for call, err := range boardReads(t, b) {
		if !errors.Is(err, store.ErrNoBoard) {
			t.Errorf("%s answers %v", call, err)
		}
	}
	createBoard(t, b, "top", "second")
	if w := readWhole(t, b, "top"); len(w.Page.Entries)+len(w.Hidden) > 0 || w.Page.Info.Generation != "second" {
		t.Fatalf("the board made anew is %+v", w)
	}
	changes, err := b.Merge(t.Context(), "top", store.Batch{Rule: store.Sum, Source: "node", N: 1, Entries: []store.Submission{{Key: "a", Score: 4}}})
	if err != nil || changes[0] != (store.Change{Effect: store.Created, New: 4}) {
		t.Fatalf("Merge = %v, %v", changes, err)
	}
}

// A key of a board is of another type: whatever is asked is refused before anything is written.
func TestBoardKeysOfAnotherType(t *testing.T) {
	server := enginetest.Redis(t)
	for _, part := range []string{"entries", "standings", "hidden", "sources", "used"} {
		e := open(t, server.URL(enginetest.Prefix(t)), nil)
		b := e.Boards()
		createBoard(t, b, "top", "g")
		ask(t, server, "SET", e.BoardKey("top", part), "x")
		sum := store.Batch{Rule: store.Sum, Source: "node", N: 1, Entries: points(1, "a").Entries}
		if _, err := b.Merge(t.Context(), "top", sum); err == nil || errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: Merge answers %v", part, err)
		}
		ask(t, server, "DEL", e.BoardKey("top", part))
		if w := readWhole(t, b, "top"); len(w.Check.Problems) > 0 || len(w.Page.Entries) > 0 || w.Page.Info.Sequence > 0 {
			t.Errorf("%s: something was written: %+v", part, w)
		}
		if changes, err := b.Merge(t.Context(), "top", sum); err != nil || changes[0].Effect != store.Created {
			t.Errorf("%s: the same again = %v, %v", part, changes, err)
		}
	}
}

// The sequence goes on beyond what a double, and beyond what 32 bits can hold.
func TestSequenceOfABoardIsExact(t *testing.T) {
	server := enginetest.Redis(t)
	for _, start := range []uint64{1<<32 - 3, 1<<53 - 3, 1<<62 - 3, 1<<63 - 10} {
		e := open(t, server.URL(enginetest.Prefix(t)), nil)
		b := e.Boards()
		createBoard(t, b, "top", "g")
		bytes := make([]byte, 8)
		for i := range bytes {
			bytes[i] = byte(start >> (56 - 8*i))
		}
		ask(t, server, "HSET", e.BoardKey("top", "info"), "sequence", string(bytes))
		merge(t, b, "top", points(1, "f", "e", "d", "c", "b", "a"))
		page, err := b.Page(t.Context(), "top", 0, 10, store.Ordinal)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range page.Entries {
			if s.Key != string(rune('f'-i)) || s.Sequence != start+uint64(i)+1 {
				t.Errorf("place %d after %d: %s with sequence %d", i, start, s.Key, s.Sequence)
			}
		}
		if page.Info.Sequence != start+6 {
			t.Errorf("after 6 more than %d the sequence is %d", start, page.Info.Sequence)
		}
	}
}

// A board keeps the numbers of so many sources, and forgets the one that was counted longest ago.
func TestSourcesOfABoardAreBounded(t *testing.T) {
	server := enginetest.Redis(t)
	e := open(t, server.URL(enginetest.Prefix(t)), nil)
	e.LimitBoards(3, store.MaxWalkLog)
	b := e.Boards()
	createBoard(t, b, "top", "g")
	count := func(source string, n uint64) store.Effect {
		t.Helper()
		changes, err := b.Merge(t.Context(), "top", store.Batch{Rule: store.Sum, Source: source, N: n, Entries: points(1, "k").Entries})
		if err != nil {
			t.Fatal(err)
		}
		return changes[0].Effect
	}
	for n, source := range []string{"a", "b", "c", "a"} {
		count(source, uint64(n+1))
	}
	count("d", 1) // b goes
	for source, want := range map[string]store.Effect{"a": store.Kept, "c": store.Kept, "d": store.Kept} {
		if got := count(source, 1); got != want {
			t.Errorf("a batch of %s again is %d, want %d", source, got, want)
		}
	}
	if got := count("b", 2); got != store.Changed {
		t.Errorf("a batch of a source that was forgotten is %d", got)
	}
	for _, part := range []string{"HLEN sources", "ZCARD used"} {
		command, key, _ := strings.Cut(part, " ")
		if n := ask(t, server, command, e.BoardKey("top", key)); n != int64(3) {
			t.Errorf("%s = %v, want 3", part, n)
		}
	}
}

// More changes than a log may have end the walks, and the log.
func TestWalkLogOfABoardIsBounded(t *testing.T) {
	server := enginetest.Redis(t)
	e := open(t, server.URL(enginetest.Prefix(t)), nil)
	e.LimitBoards(3, 5)
	b := e.Boards()
	smallBoard(t, b)
	_, cursor, err := b.Walk(t.Context(), "top", store.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		merge(t, b, "top", points(int64(10+i), "a"))
	}
	if _, _, err := b.Walk(t.Context(), "top", cursor, 1); err != nil {
		t.Fatalf("after one change that matters: %v", err)
	}
	_, cursor, err = b.Walk(t.Context(), "top", store.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	merge(t, b, "top", points(50, "a", "b", "d", "e", "f", "g"))
	_, second, err := b.Walk(t.Context(), "top", store.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := ask(t, server, "ZCARD", e.BoardKey("top", "moved")); n != int64(3) {
		t.Errorf("the log has %v rows, want 3", n)
	}
	merge(t, b, "top", points(60, "a", "b", "d", "e", "f", "g"))
	for _, c := range []store.Cursor{cursor, second} {
		if _, _, err := b.Walk(t.Context(), "top", c, 1); !errors.Is(err, store.ErrCursor) {
			t.Errorf("Walk after more than 5 rows = %v", err)
		}
	}
	if n := ask(t, server, "EXISTS", e.BoardKey("top", "moved")); n != int64(0) {
		t.Error("the log is still there")
	}
}

// The log of walks is lost: walks end, and never leave out what it had.
func TestWalkWithoutItsLog(t *testing.T) {
	server := enginetest.Redis(t)
	e := open(t, server.URL(enginetest.Prefix(t)), nil)
	b := e.Boards()
	smallBoard(t, b)
	merge(t, b, "top", points(1, "d", "e"))
	_, cursor, err := b.Walk(t.Context(), "top", store.Cursor{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	merge(t, b, "top", points(9, "b"))
	if ms := ask(t, server, "PTTL", e.BoardKey("top", "moved")); ms.(int64) < store.WalkFor.Milliseconds() { //nolint:forcetypeassert // what PTTL answers
		t.Errorf("the log goes after %v ms", ms)
	}
	ask(t, server, "DEL", e.BoardKey("top", "moved"))
	for range 2 {
		if _, _, err := b.Walk(t.Context(), "top", cursor, 1); !errors.Is(err, store.ErrCursor) {
			t.Fatalf("Walk without the log = %v", err)
		}
		merge(t, b, "top", points(10, "b", "x"))
	}
}

// A dense rank that is too deep for one script is that of a whole board, though others write.
func TestDeepDenseRanks(t *testing.T) {
	server := enginetest.Redis(t)
	url := server.URL(enginetest.Prefix(t))
	b, other := open(t, url, nil).Boards(), open(t, url, nil).Boards()
	createBoard(t, b, "top", "g")
	const size = 30_000 // scores, each of one entry
	for first := 0; first < size; first += store.MaxMerge {
		batch := store.Batch{Rule: store.Best}
		for i := first; i < first+store.MaxMerge; i++ {
			batch.Entries = append(batch.Entries, store.Submission{Key: fmt.Sprint("key/", i), Score: int64(size - i)})
		}
		merge(t, b, "top", batch)
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { // every one of these leaves the number of scores as it is
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				ended <- err
				return
			default:
			}
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			key := fmt.Sprint("key/", rng.IntN(100))
			if _, err = other.Hide(t.Context(), "top", true, key); err == nil {
				_, err = other.Hide(t.Context(), "top", false, key)
			}
		}
		ended <- err
	}()
	for _, at := range []int64{50, 25_000, size - 1} {
		page, err := b.Page(t.Context(), "top", at, 3, store.Dense)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range page.Entries {
			// One may be hidden just then.
			if want := page.Offset + int64(i) + 1; s.Rank != want || page.Offset != at {
				t.Errorf("at %d: %s has rank %d, want %d", at, s.Key, s.Rank, want)
			}
		}
		s, found, err := b.Standing(t.Context(), "top", fmt.Sprint("key/", at), store.Dense)
		if err != nil || !found || s.Rank != at+1 && s.Rank != at {
			t.Errorf("Standing of key/%d = %+v, %v, %v", at, s, found, err)
		}
		around, err := b.Around(t.Context(), "top", fmt.Sprint("key/", at), 2, store.Dense)
		if err != nil || around.Entries[min(2, len(around.Entries)-1)].Key != fmt.Sprint("key/", at) {
			t.Errorf("Around key/%d = %+v, %v", at, around, err)
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
