package board_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// shaky is the way of a node to its store: some of its merges are refused, the answers of
// others, which had their effect or never have it, are lost, and when it is dead nothing gets there.
type shaky struct {
	dead   atomic.Bool
	steady atomic.Bool
	merges atomic.Uint64
}

func (s *shaky) meet(call faultstore.Call) (f faultstore.Fault) {
	switch {
	case s.dead.Load():
		f.Kind = faultstore.FailBefore
	case call.Op != "merge" || s.steady.Load():
	default:
		switch s.merges.Add(1) % 5 {
		case 1:
			f.Kind = faultstore.FailAfter
		case 3:
			f.Kind = faultstore.FailBefore
		case 4:
			f.Kind = faultstore.Late // and never lands
		}
	}
	return f
}

// heal ends all faults.
func (s *shaky) heal() {
	s.dead.Store(false)
	s.steady.Store(true)
}

// shakyNode is a node on a site whose way to the boards is shaky.
func shakyNode(t *testing.T, s site, o board.Options) (*place, *shaky) {
	t.Helper()
	way := &shaky{}
	f := faultstore.New(&faultstore.Options{Rule: way.meet})
	p := site{func(t *testing.T) store.Parts {
		t.Helper()
		parts := s.open(t)
		parts.Boards = f.Boards(parts.Boards)
		return parts
	}}.node(t, o)
	t.Cleanup(way.heal) // before the node is closed
	return p, way
}

// Two nodes write to one folder from many goroutines while writes fail and answers are lost;
// one of them is thrown away with its queue, and another takes its place. What the others took
// is there, each sum is counted once, and every rank equals a full sort.
func TestTwoNodesUnderLoadOneOfWhichCrashes(t *testing.T) {
	onEachStore(t, func(t *testing.T, s site) {
		o := board.Options{MaxWriteAttempts: -1, WritesPerFlush: 7, Boards: boards{"Best": {}, "Coins": {Rule: store.Sum}}}
		stays, stayWay := shakyNode(t, s, o)
		crashes, crashWay := shakyNode(t, s, o)
		load(t, "stays", stays)
		load(t, "crashes", crashes)
		for range 4 {
			_ = crashes.FlushNow(t.Context()) // some of what it has taken, the rest dies with it
		}
		crashWay.dead.Store(true)
		next, nextWay := shakyNode(t, s, o)
		load(t, "next", next)
		stayWay.heal()
		nextWay.heal()
		for _, p := range []*place{stays, next} {
			for p.Stats().Total.Queued+p.Stats().Total.InFlight > 0 {
				if err := p.FlushNow(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, group := range []string{"stays", "next", "crashes"} {
			wantCounted(t, next, group, group != "crashes")
		}
		for _, p := range []*place{stays, next} {
			for _, name := range []string{"Best", "Coins"} {
				p.wantEveryRank(t, name, store.Descending, append(append(loadKeys("stays"), loadKeys("next")...), loadKeys("crashes")...))
			}
		}
	})
}

const loaders, loadKeysEach = 4, 5

func loadKeys(group string) (keys []string) {
	for g := range loaders {
		for k := range loadKeysEach {
			keys = append(keys, fmt.Sprintf("%s-%d-%d", group, g, k))
		}
	}
	return keys
}

// load has goroutines hand in every digit of their keys, and better and worse scores, and write
// windows meanwhile.
func load(t *testing.T, group string, p *place) {
	t.Helper()
	keys := loadKeys(group)
	var wg sync.WaitGroup
	for g := range loaders {
		mine := keys[g*loadKeysEach : (g+1)*loadKeysEach]
		wg.Go(func() {
			for n := range sums {
				for _, key := range mine {
					if err := errors.Join(p.Submit("Coins", key, 1<<(2*n)), p.Submit("Best", key, int64(n*7919%sums))); err != nil {
						t.Error(err)
						return
					}
				}
				if n%6 == g {
					_ = p.FlushNow(t.Context()) // what fails waits again
				}
			}
		})
	}
	wg.Wait()
}

// wantCounted expects each digit of a group's keys once, and the best score; of a node that has
// crashed at most so.
func wantCounted(t *testing.T, p *place, group string, whole bool) {
	t.Helper()
	for _, key := range loadKeys(group) {
		coins, err := p.Scores(t.Context(), "Coins", key)
		if err != nil {
			t.Fatal(err)
		}
		for n := range sums {
			if times := digitOf(coins[key].Score, n); times > 1 || whole && times == 0 {
				t.Errorf("%s: score %d was counted %d times", key, n, times)
			}
		}
		best, err := p.Scores(t.Context(), "Best", key)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := best[key]; whole && (!ok || e.Score != sums-1) || e.Score >= sums || e.Score < 0 {
			t.Errorf("%s: the best is %+v, %v, want %d", key, e, ok, sums-1)
		}
	}
}
