package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// The soup with a small budget: what waits for it is woken, whatever happened meanwhile.
func TestLeanSoup(t *testing.T) {
	first, seeds := uint64(0), uint64(4)
	if n, err := strconv.ParseUint(os.Getenv("SHOAL_SOUP_SEED"), 10, 64); err == nil {
		first, seeds = n, n+40
	}
	for seed := first; seed < max(seeds, first+1); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				l := &ledger{t: t, of: make(map[string]map[uint64]*entry), hows: map[profile.How]int{}}
				leanSoup(t, f, l, seed)
				t.Logf("%d loads, %d failed, %d acked, %d lost", l.loads, l.failed, l.acked, l.lost)
			})
		})
	}
}

func leanSoup(t *testing.T, f *fleet, l *ledger, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 99))
	opts := &profile.Options{Template: doc.Must(map[string]any{"log": []any{}}), Autosave: 10 * time.Second, CallTimeout: 3 * time.Second, LoadTimeout: 30 * time.Second, FallbackSave: 5 * time.Second}
	if seed%2 == 1 {
		opts.JournalEvery = time.Second
	}
	limits := perMinute(60 + rng.IntN(240))
	limits.BackgroundWait = 20 * time.Second
	odds := faultstore.Odds{
		FailBefore: 0.02, FailAfter: 0.02, Late: 0.02, Hang: 0.003, HangApplied: 0.003, Lose: 0.2, Twice: 0.05,
		Delay: 40 * time.Millisecond, Back: 40 * time.Millisecond, After: 8 * time.Second,
	}
	var servers []*server
	for i := range 3 {
		s := f.startLean(fmt.Sprint("n", i), limits, opts)
		s.faults.SetRule(faultstore.Chance(seed*100+uint64(i), odds))
		servers = append(servers, s)
	}
	pick := func(rng *rand.Rand) *server { return servers[rng.IntN(len(servers))] }
	until := time.Now().Add(3 * time.Minute)
	var wg sync.WaitGroup
	for p := range 12 {
		rng := rand.New(rand.NewPCG(seed, uint64(p)))
		wg.Go(func() { l.player(fmt.Sprint("u", p%9), rng, pick, until) })
	}
	for time.Now().Before(until) {
		time.Sleep(time.Duration(5+rng.IntN(20)) * time.Second)
		part := []faultstore.Part{faultstore.Fast, faultstore.Durable, faultstore.Bus, faultstore.All}[rng.IntN(4)]
		victim := servers[rng.IntN(3)]
		victim.faults.Outage(part, true)
		time.Sleep(time.Duration(rng.IntN(12)) * time.Second)
		victim.faults.Outage(part, false)
	}
	wg.Wait()
	for _, s := range servers {
		s.faults.SetRule(nil)
		l.lost += int(s.Stats().Lost)
	}
	time.Sleep(5 * time.Minute)
	for _, s := range servers {
		for c, n := range s.node.Gate() {
			if n.Queue > 0 {
				t.Errorf("%s: %d %v calls still wait", s.node.ID(), n.Queue, c)
			}
		}
		for _, sess := range s.Sessions() {
			_, _ = sess.Transact(game, doc.AppendTo("/log", doc.Int(-1)))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			if err := sess.Save(ctx); err != nil {
				t.Errorf("%s: %s cannot be saved: %v", s.node.ID(), sess.Key(), err)
			}
			if err := sess.Release(ctx); err != nil {
				t.Errorf("%s: %s cannot be released: %v", s.node.ID(), sess.Key(), err)
			}
			cancel()
		}
	}
	for p := range 9 {
		key := fmt.Sprint("u", p)
		s, err := servers[p%3].Load(t.Context(), key, &profile.LoadOptions{Wait: time.Minute, Policy: profile.Wait})
		if err != nil && !errors.Is(err, profile.ErrOpen) {
			t.Errorf("at rest: %v, held by %+v", err, f.stored(key).Session)
			continue
		}
		release(t, s)
	}
	for _, s := range servers {
		if n := s.node.Gate()[node.ClassSave]; n.Queue > 0 {
			t.Errorf("%+v", n)
		}
	}
}
