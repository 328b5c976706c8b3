package laws_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// Three nodes submit to the same boards while answers get lost. Every score counts as its rule
// says, a sum each time and once, and every node tells the same ranks.
func TestBoardsAgree(t *testing.T) {
	onEachSite(t, func(t *testing.T, s site) {
		nodes, ctx := s.fleet(t, 3), within(t)
		var wg sync.WaitGroup
		for i, n := range nodes {
			n.faults.SetRule(loseMerges(uint64(i)))
			wg.Go(func() {
				for k := range 300 {
					key, score := fmt.Sprint("u", k%40), int64(1000*i+k)
					for _, board := range []string{"best", "fastest"} {
						if err := n.Boards().Submit(board, key, score); err != nil {
							t.Error(err)
						}
					}
					if err := n.Boards().Submit("sum", key, 1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, n := range nodes {
			n.faults.SetRule(nil)
			for err := n.Boards().FlushNow(ctx); err != nil; err = n.Boards().FlushNow(ctx) {
				if ctx.Err() != nil {
					t.Fatal(err)
				}
			}
		}
		for _, board := range []string{"best", "fastest", "sum"} {
			agree(t, nodes, board)
		}
	})
}

// loseMerges loses the answer of one merge in three.
func loseMerges(seed uint64) faultstore.Rule {
	n := seed
	return func(c faultstore.Call) faultstore.Fault {
		if n++; c.Op == "merge" && n%3 == 0 {
			return faultstore.Fault{Kind: faultstore.FailAfter}
		}
		return faultstore.Fault{}
	}
}

// agree compares what every node reads with what was submitted.
func agree(t *testing.T, nodes []*server, board string) {
	t.Helper()
	want := make(map[string]int64)
	for i := range nodes {
		for k := range 300 {
			key, score := fmt.Sprint("u", k%40), int64(1000*i+k)
			old, seen := want[key]
			switch {
			case board == "sum":
				want[key] = old + 1
			case !seen, board == "best" && score > old, board == "fastest" && score < old:
				want[key] = score
			}
		}
	}
	var first []store.Standing
	for i, n := range nodes {
		page, err := n.Boards().By(store.Ordinal).Page(within(t), board, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int64)
		for k, e := range page.Entries {
			if got[e.Key] = e.Score; e.Rank != int64(k+1) {
				t.Errorf("%s: place %d has rank %d", board, k+1, e.Rank)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", board, diff)
		}
		if i == 0 {
			first = page.Entries
		} else if !slices.EqualFunc(first, page.Entries, func(a, b store.Standing) bool { return a.Key == b.Key && a.Rank == b.Rank }) {
			t.Errorf("%s: two nodes tell different ranks", board)
		}
	}
}
