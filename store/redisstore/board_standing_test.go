package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/internal/engines"
	"github.com/shoalworks/shoal/internal/engines/enginetest"
	"github.com/shoalworks/shoal/store"
)

// scriptsRun is how many scripts a server has run so far.
func scriptsRun(t *testing.T, server *engines.Redis) int {
	t.Helper()
	return commandsRun(t, server, "evalsha", "eval")
}

// commandsRun is how many of these commands a server has run so far, those of scripts included.
func commandsRun(t *testing.T, server *engines.Redis, names ...string) int {
	t.Helper()
	text, _ := ask(t, server, "INFO", "commandstats").(string)
	total := 0
	for _, name := range names {
		if _, rest, found := strings.Cut(text, "cmdstat_"+name+":calls="); found {
			n := 0
			if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	return total
}

// wantStanding compares a standing with what a page of another engine shows.
func wantStanding(t *testing.T, b, other store.Boards, key string) {
	t.Helper()
	page, err := other.Page(t.Context(), "top", 0, store.MaxPage, store.Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	var want store.Standing
	for _, s := range page.Entries {
		if s.Key == key {
			want = s
		}
	}
	got, found, err := b.Standing(t.Context(), "top", key, store.Ordinal)
	if err != nil || found != (want.Key != "") {
		t.Fatalf("Standing of %s: %v, %v; the page has %+v", key, found, err, want)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Standing of %s (-page +standing):\n%s", key, diff)
	}
}

// Who has written or read an entry knows where it stands, and the server confirms it without a
// script; whatever became of it meanwhile by others is seen all the same.
func TestStandingThatIsGuessed(t *testing.T) {
	for name, c := range map[string]struct {
		do      func(t *testing.T, server *engines.Redis, other store.Boards)
		scripts int // that the standing takes thereafter
	}{
		"nothing": {do: func(*testing.T, *engines.Redis, store.Boards) {}},
		"another entry is better": {do: func(t *testing.T, _ *engines.Redis, other store.Boards) {
			merge(t, other, "top", points(9, "d"))
		}},
		"it has changed": {scripts: 1, do: func(t *testing.T, _ *engines.Redis, other store.Boards) { merge(t, other, "top", points(9, "a")) }},
		"it was removed": {scripts: 1, do: func(t *testing.T, _ *engines.Redis, other store.Boards) { edit(t, other.Remove, "a") }},
		"it was hidden":  {scripts: 1, do: func(t *testing.T, _ *engines.Redis, other store.Boards) { hide(t, other, true, "a") }},
		"it is shown anew": {do: func(t *testing.T, _ *engines.Redis, other store.Boards) {
			hide(t, other, true, "a")
			hide(t, other, false, "a")
		}},
		"sealed": {do: func(t *testing.T, _ *engines.Redis, other store.Boards) {
			if _, err := other.Seal(t.Context(), "top"); err != nil {
				t.Fatal(err)
			}
		}},
		"scripts forgotten": {do: func(t *testing.T, server *engines.Redis, _ store.Boards) { ask(t, server, "SCRIPT", "FLUSH") }},
		"metadata": {scripts: 1, do: func(t *testing.T, _ *engines.Redis, other store.Boards) {
			batch := points(9, "d")
			batch.Entries[0].Meta = []byte("meta")
			merge(t, other, "top", batch)
		}},
		// The same place, sequence and key as before are another score in the other order.
		"made anew in the other order": {scripts: 1, do: func(t *testing.T, _ *engines.Redis, other store.Boards) {
			if err := other.Drop(t.Context(), "top"); err != nil {
				t.Fatal(err)
			}
			if _, err := other.Create(t.Context(), "top", store.BoardSpec{Order: store.Ascending, Generation: "h"}); err != nil {
				t.Fatal(err)
			}
			merge(t, other, "top", points(^int64(3), "a", "b"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server := enginetest.OwnRedis(t, nil)
			b, other := open(t, server.URL("p"), nil).Boards(), open(t, server.URL("p"), nil).Boards()
			smallBoard(t, b)
			wantStanding(t, other, b, "b") // the server knows the scripts now
			before := scriptsRun(t, server)
			wantStanding(t, b, other, "a")
			if n := scriptsRun(t, server) - before - 1; n != 0 {
				t.Errorf("the first standing took %d scripts", n)
			}
			c.do(t, server, other)
			before = scriptsRun(t, server)
			wantStanding(t, b, other, "a")
			if n := scriptsRun(t, server) - before - 1; n != c.scripts && name != "scripts forgotten" {
				t.Errorf("the standing took %d scripts, want %d", n, c.scripts)
			}
			wantStanding(t, b, other, "a") // with what was learned by then
			wantStanding(t, b, other, "b")
		})
	}
}

// An entry that others change each time before it is read is not guessed each time in vain; when
// they leave it alone, it is guessed again.
func TestStandingThatOthersChange(t *testing.T) {
	server := enginetest.OwnRedis(t, nil)
	b, other := open(t, server.URL("p"), nil).Boards(), open(t, server.URL("p"), nil).Boards()
	smallBoard(t, b)
	rank := func() {
		t.Helper()
		if s, found, err := b.Standing(t.Context(), "top", "a", store.Ordinal); err != nil || !found || s.Rank != 1 {
			t.Fatalf("Standing = %+v, %v, %v", s, found, err)
		}
	}
	const rounds = 10
	before := commandsRun(t, server, "zrank")
	for i := range int64(rounds) {
		merge(t, other, "top", points(10+i, "a"))
		rank()
	}
	if n := commandsRun(t, server, "zrank") - before - rounds; n != 1 {
		t.Errorf("%d of %d readings guess in vain, want 1", n, rounds)
	}
	rank() // it stands where it stood when it was read before
	scripts := scriptsRun(t, server)
	rank()
	if n := scriptsRun(t, server) - scripts; n != 0 {
		t.Errorf("an entry that others have left alone takes %d scripts", n)
	}
}

func edit(t *testing.T, do func(context.Context, string, ...string) (int, error), key string) {
	t.Helper()
	if n, err := do(t.Context(), "top", key); err != nil || n != 1 {
		t.Fatalf("%d changed, %v", n, err)
	}
}

func hide(t *testing.T, b store.Boards, hidden bool, key string) {
	t.Helper()
	if n, err := b.Hide(t.Context(), "top", hidden, key); err != nil || n != 1 {
		t.Fatalf("%d changed, %v", n, err)
	}
}

// A board that is dropped, and what a replica has, are not shown for what is remembered.
func TestStandingWithoutItsBoard(t *testing.T) {
	server, master := enginetest.OwnRedis(t, nil), enginetest.OwnRedis(t, nil)
	b := open(t, server.URL("p"), nil).Boards()
	smallBoard(t, b)
	host, port, _ := strings.Cut(master.Addr(), ":")
	ask(t, server, "REPLICAOF", host, port)
	if _, _, err := b.Standing(t.Context(), "top", "a", store.Ordinal); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a replica answers %v", err)
	}
	ask(t, server, "REPLICAOF", "NO", "ONE")
	if err := b.Drop(t.Context(), "top"); err != nil && !errors.Is(err, store.ErrNoBoard) {
		t.Fatal(err)
	}
	if _, _, err := b.Standing(t.Context(), "top", "a", store.Ordinal); !errors.Is(err, store.ErrNoBoard) {
		t.Errorf("a board that was dropped answers %v", err)
	}
}

// Two engines change a board as it comes; what one remembers is never shown for what is.
func TestStandingsInARandomHistory(t *testing.T) {
	server := enginetest.Redis(t)
	url := server.URL(enginetest.Prefix(t))
	both := [2]store.Boards{open(t, url, nil).Boards(), open(t, url, nil).Boards()}
	random := rand.New(rand.NewPCG(8, 8))
	createBoard(t, both[0], "top", "g")
	key := func() string { return fmt.Sprint("k", random.IntN(12)) }
	for range 400 {
		b := both[random.IntN(2)]
		var err error
		switch random.IntN(8) {
		case 0:
			_, err = b.Remove(t.Context(), "top", key())
		case 1:
			_, err = b.Hide(t.Context(), "top", random.IntN(3) == 0, key())
		default:
			batch := store.Batch{Rule: []store.Rule{store.Best, store.Last}[random.IntN(2)]}
			for _, i := range random.Perm(12)[:1+random.IntN(3)] {
				batch.Entries = append(batch.Entries, store.Submission{
					Key: fmt.Sprint("k", i), Score: random.Int64N(6) - 3, Stamp: store.Stamp{Epoch: 1, Revision: random.Uint64N(100)},
				})
			}
			_, err = b.Merge(t.Context(), "top", batch)
		}
		if err != nil {
			t.Fatal(err)
		}
		at := random.IntN(2)
		wantStanding(t, both[at], both[1-at], key())
	}
}

// An entry goes up and down while others ask: score and rank are always of one moment.
func TestStandingsWhileTheyChange(t *testing.T) {
	server := enginetest.Redis(t)
	url := server.URL(enginetest.Prefix(t))
	b, other := open(t, url, nil).Boards(), open(t, url, nil).Boards()
	createBoard(t, b, "top", "g")
	merge(t, b, "top", points(5, "rival"))
	merge(t, b, "top", points(0, "a"))
	ranks := map[int64]int64{0: 2, 10: 1}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				s, found, err := b.Standing(t.Context(), "top", "a", store.Ordinal)
				if err != nil || !found || ranks[s.Score] != s.Rank {
					t.Errorf("Standing = %+v, %v, %v", s, found, err)
					return
				}
			}
		})
	}
	for i := range uint64(300) {
		for from, score := range []int64{10, 0} {
			merge(t, []store.Boards{b, other}[i%2], "top", store.Batch{Rule: store.Last, Entries: []store.Submission{
				{Key: "a", Score: score, Stamp: store.Stamp{Epoch: 1, Revision: 2*i + uint64(from) + 1}}, //nolint:gosec // 0 or 1
			}})
		}
	}
	close(done)
	wg.Wait()
}
