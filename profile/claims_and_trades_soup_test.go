package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// fair is a soup of receipts, some of which two profiles want, beside trades.
type fair struct {
	bazaar
	granted map[string]*promise // by receipt and profile
}

// promise is what the deliveries of a receipt to a profile were told.
type promise struct {
	receipt, key  string
	done, unknown bool
	said          error
}

func (f *fair) deliver(s *profile.Session, rng *rand.Rand, n int) {
	id := fmt.Sprint(s.Key(), "-", n)
	if rng.IntN(3) == 0 { // one that others want as well
		id = fmt.Sprint("common-", time.Now().Unix()/4)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(8000))*time.Millisecond)
	defer cancel()
	_, err := s.Grant(ctx, id, profile.Source{Kind: "shop"}, doc.AppendTo("/receipts", doc.MustString(id)))
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.granted[id+" "+s.Key()]
	if p == nil {
		p = &promise{receipt: id, key: s.Key()}
		f.granted[id+" "+s.Key()] = p
	}
	p.said, p.done, p.unknown = err, p.done || err == nil, p.unknown || errors.Is(err, store.ErrUnknown)
	name := "granted"
	switch {
	case errors.Is(err, profile.ErrReceiptTaken) && errors.Is(err, profile.ErrLost):
		name = "void"
	case errors.Is(err, profile.ErrReceiptTaken):
		name = "taken"
	case errors.Is(err, store.ErrUnknown):
		name = "grant unknown"
	case err != nil:
		name = "refused"
	}
	f.deeds.note(name, 1)
}

func (f *fair) visit(key string, rng *rand.Rand, pick func(*rand.Rand) *server, until time.Time) {
	n := 0
	for time.Now().Before(until) {
		ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
		s, err := pick(rng).Load(ctx, key, &profile.LoadOptions{StealAfter: 1500 * time.Millisecond})
		cancel()
		if err != nil {
			time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
			continue
		}
		var wg sync.WaitGroup
		for range 5 + rng.IntN(30) {
			n++
			switch rng.IntN(5) {
			case 0:
				_, _ = s.Change(game, func(doc.Value) ([]doc.Op, error) {
					runtime.Gosched()
					return []doc.Op{doc.Increment("/steps", 1)}, nil
				})
			case 1, 2:
				own, number := rand.New(rand.NewPCG(rng.Uint64(), 1)), n-rng.IntN(2) // now and then again
				wg.Go(func() { f.deliver(s, own, number) })
			case 3:
				_, _ = s.Transact(game, doc.Increment("/steps", 1))
			case 4:
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				_ = s.Sync(ctx)
				cancel()
			}
			time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		}
		if rng.IntN(3) == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			_ = s.Release(ctx)
			cancel()
		}
		wg.Wait()
	}
}

// settled checks that each receipt's row is there exactly if one profile has what it brings,
// once, as its deliveries were told.
func (f *fair) settled() {
	of := map[string][]string{}
	for i := range richKeys {
		key := fmt.Sprint("u", i)
		list, _, _ := f.f.storedData(key).Lookup("/receipts")
		for _, v := range list.Items() {
			id, _ := v.AsString()
			of[id] = append(of[id], key)
		}
	}
	for _, p := range f.granted {
		has := slices.Contains(of[p.receipt], p.key)
		if row := !f.f.durable("receipt/players/" + p.receipt).Missing(); row != (len(of[p.receipt]) == 1) || len(of[p.receipt]) > 1 {
			f.t.Errorf("%s: stored %v, and the profiles that have it: %v", p.receipt, row, of[p.receipt])
		}
		if p.done && !has || has && !p.done && !p.unknown {
			f.t.Errorf("%s to %s: told %v (done %v, unknown %v), and has it: %v", p.receipt, p.key, p.said, p.done, p.unknown, has)
		}
	}
}

// Receipts that two profiles want, and trades among the same profiles, on nodes that fail and
// close, with everything that may go beside a save.
func TestSoupOfClaimsAndTrades(t *testing.T) {
	seeds := uint64(4)
	if n, err := strconv.ParseUint(os.Getenv("SHOAL_SOUP_SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	first, _ := strconv.ParseUint(os.Getenv("SHOAL_SOUP_FIRST"), 10, 32)
	d := &deeds{of: map[string]int{}}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bothStores(t, func(t *testing.T, f *fleet) {
				s := &fair{bazaar: bazaar{t: t, f: f, of: map[int64]*bargain{}, deeds: d}, granted: map[string]*promise{}}
				s.open(seed, 2*time.Minute)
				s.settled()
			})
		})
	}
	t.Log(d.of)
	for _, deed := range []string{"traded", "granted", "void", "taken", "grant unknown", "refused"} {
		if d.of[deed] == 0 {
			t.Errorf("never %s: the soup proves nothing about it", deed)
		}
	}
}

func (f *fair) open(seed uint64, long time.Duration) {
	opts := &profile.Options{
		Template: doc.Must(map[string]any{"coins": richCoins, "log": []any{}, "steps": 0, "receipts": []any{}}),
		Autosave: 10 * time.Second, CallTimeout: 3 * time.Second, LoadTimeout: 30 * time.Second, FallbackSave: 5 * time.Second,
		JournalEvery: 500 * time.Millisecond, ReapEvery: 5 * time.Second, Audit: profile.AuditAll, VersionEvery: 5 * time.Second,
	}
	odds := faultstore.Odds{
		FailBefore: 0.03, FailAfter: 0.04, Late: 0.04, Hang: 0.004, HangApplied: 0.004, Lose: 0.2, Twice: 0.05,
		Delay: 40 * time.Millisecond, Back: 40 * time.Millisecond, After: 8 * time.Second,
	}
	f.crowd(seed, opts, odds, long, f.visit)
}
