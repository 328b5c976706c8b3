package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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

const (
	richKeys  = 5
	richCoins = 100 // of each profile, from its template; nothing else makes coins
)

// bazaar is a soup of trades: what each was told, by its number.
type bazaar struct {
	t     *testing.T
	f     *fleet
	mu    sync.Mutex
	next  int64
	of    map[int64]*bargain
	deeds *deeds
}

// bargain is one trade that was tried.
type bargain struct {
	keys    []string
	done    bool // it was said to be stored
	unknown bool // it was said that this is not known
	said    error
}

// propose trades among some sessions of a node, moving coins from the first to the others, and
// asks again now and then.
func (b *bazaar) propose(srv *server, rng *rand.Rand) {
	sessions := srv.Sessions()
	if len(sessions) < 2 {
		return
	}
	slices.SortFunc(sessions, func(x, y *profile.Session) int { return int(x.Key()[1]) - int(y.Key()[1]) })
	rng.Shuffle(len(sessions), func(i, j int) { sessions[i], sessions[j] = sessions[j], sessions[i] })
	sessions = sessions[:2+rng.IntN(min(3, len(sessions))-1)]
	b.mu.Lock()
	b.next++
	id, g := b.next, &bargain{}
	b.of[id] = g
	b.mu.Unlock()
	amount := int64(1 + rng.IntN(30))
	var parties []profile.Party
	for i, s := range sessions {
		g.keys = append(g.keys, s.Key())
		by := amount
		if i == 0 {
			by = -amount * int64(len(sessions)-1)
		}
		parties = append(parties, profile.Party{Session: s, Ops: []doc.Op{doc.Increment("/coins", by).AtLeast(doc.Int(0)), doc.AppendTo("/log", doc.Int(id))}})
	}
	for range 1 + rng.IntN(2) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(20_000))*time.Millisecond)
		out, err := profile.Trade(ctx, profile.Source{ID: fmt.Sprint("trade ", id)}, parties...)
		cancel()
		b.said(id, out, err)
	}
}

// said takes an answer by its word, at once and later.
func (b *bazaar) said(id int64, out profile.Traded, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.of[id]
	g.said, g.done, g.unknown = err, g.done || err == nil, g.unknown || errors.Is(err, store.ErrUnknown)
	if err == nil {
		b.deeds.note("traded", 1)
	}
	for name, is := range map[string]bool{
		"repeated": out.Repeated, "unknown": errors.Is(err, store.ErrUnknown), "busy": errors.Is(err, profile.ErrBusy),
		"lost": errors.Is(err, profile.ErrLost), "poor": errors.Is(err, doc.ErrBounds), "down": errors.Is(err, store.ErrUnavailable),
	} {
		if is {
			b.deeds.note(name, 1)
		}
	}
	for _, key := range g.keys {
		if has := slices.Contains(logOf(b.f.storedData(key)), id); has != g.done && !g.unknown {
			b.t.Errorf("trade %d said %v, and %s has it: %v", id, err, key, has)
		}
	}
}

// rest checks that each trade is in the records of all its parties or of none, as it said, and
// that no coin was lost or made.
func (b *bazaar) rest(held map[string]bool) {
	total := int64(0)
	logs := map[string][]int64{}
	for i := range richKeys {
		key := fmt.Sprint("u", i)
		if !held[key] {
			continue
		}
		v := b.f.storedData(key)
		total += coins(v)
		logs[key] = logOf(v)
	}
	if want := int64(len(logs) * richCoins); total != want {
		b.t.Errorf("%d coins, %d expected", total, want)
	}
	for id, g := range b.of {
		n := 0
		for _, key := range g.keys {
			n += len(slices.DeleteFunc(slices.Clone(logs[key]), func(x int64) bool { return x != id }))
		}
		switch {
		case n != 0 && n != len(g.keys):
			b.t.Errorf("trade %d of %v is in %d of its records: %v", id, g.keys, n, g.said)
		case g.done && n == 0:
			b.t.Errorf("trade %d of %v is lost", id, g.keys)
		case n > 0 && !g.done && !g.unknown:
			b.t.Errorf("trade %d of %v said %v, and is stored", id, g.keys, g.said)
		}
	}
}

// player moves one profile around, plays and saves.
func (b *bazaar) player(key string, rng *rand.Rand, pick func(*rand.Rand) *server, until time.Time) {
	for time.Now().Before(until) {
		ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
		s, err := pick(rng).Load(ctx, key, &profile.LoadOptions{StealAfter: 1500 * time.Millisecond})
		cancel()
		if err != nil {
			time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
			continue
		}
		b.deeds.note("loads", 1)
		for range 5 + rng.IntN(30) {
			_, _ = s.Transact(game, doc.Increment("/steps", 1))
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			switch rng.IntN(6) {
			case 0:
				_ = s.Sync(ctx)
			case 1:
				_ = s.Save(ctx)
			}
			cancel()
			time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
		}
		if rng.IntN(3) == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			_ = s.Release(ctx)
			cancel()
		}
	}
}

// Three nodes, five profiles that move about, and traders on each node, among lost and late
// answers, outages, crashes, closes and wrong verdicts: each trade is in all records or in
// none, as its caller was told, and no coin is lost or made.
func TestSoupOfTrades(t *testing.T) {
	seeds := uint64(8)
	if n, err := strconv.ParseUint(os.Getenv("SHOAL_SOUP_SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	first, _ := strconv.ParseUint(os.Getenv("SHOAL_SOUP_FIRST"), 10, 32)
	d := &deeds{of: map[string]int{}}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bothStores(t, func(t *testing.T, f *fleet) {
				(&bazaar{t: t, f: f, of: map[int64]*bargain{}, deeds: d}).stir(seed, 2*time.Minute)
			})
		})
	}
	t.Log(d.of)
	for _, deed := range []string{"traded", "repeated", "unknown", "busy", "lost", "poor", "down"} {
		if d.of[deed] == 0 {
			t.Errorf("no trade was ever %s: the soup proves nothing about it", deed)
		}
	}
}

func (b *bazaar) stir(seed uint64, long time.Duration) {
	opts := &profile.Options{
		Template: doc.Must(map[string]any{"coins": richCoins, "log": []any{}, "steps": 0}),
		Autosave: 10 * time.Second, CallTimeout: 3 * time.Second, LoadTimeout: 30 * time.Second,
		FallbackSave: 5 * time.Second, JournalEvery: 500 * time.Millisecond, ReapEvery: 5 * time.Second,
	}
	odds := faultstore.Odds{
		FailBefore: 0.03, FailAfter: 0.04, Late: 0.04, Hang: 0.004, HangApplied: 0.004, Lose: 0.2, Twice: 0.05,
		Delay: 40 * time.Millisecond, Back: 40 * time.Millisecond, After: 8 * time.Second,
	}
	b.crowd(seed, opts, odds, long, b.player)
}

// crowd has players and traders at it on three nodes that fail, die and close.
func (b *bazaar) crowd(seed uint64, opts *profile.Options, odds faultstore.Odds, long time.Duration, player func(string, *rand.Rand, func(*rand.Rand) *server, time.Time)) {
	var (
		mu      sync.Mutex
		servers []*server
		wg      sync.WaitGroup
	)
	boot := func(i int) *server {
		s := b.f.start(fmt.Sprint("n", i), opts)
		s.faults.SetRule(faultstore.Chance(seed*100+uint64(i), odds))
		return s
	}
	for i := range 3 {
		servers = append(servers, boot(i))
	}
	at := func(i int) *server {
		mu.Lock()
		defer mu.Unlock()
		return servers[i]
	}
	until := time.Now().Add(long)
	for p := range richKeys {
		rng := rand.New(rand.NewPCG(seed, uint64(p)))
		wg.Go(func() {
			player(fmt.Sprint("u", p), rng, func(rng *rand.Rand) *server { return at(rng.IntN(3)) }, until)
		})
	}
	for i := range 6 {
		rng := rand.New(rand.NewPCG(seed, uint64(50+i)))
		wg.Go(func() {
			for time.Now().Before(until) {
				b.propose(at(i%3), rng)
				time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
			}
		})
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	for i := 3; time.Now().Before(until); i++ {
		time.Sleep(time.Duration(5+rng.IntN(15)) * time.Second)
		old := at(rng.IntN(3))
		switch rng.IntN(4) {
		case 0:
			old.kill()
		case 1:
			old.ended.Store(true)
			wg.Go(func() { _, _ = old.node.Close(context.Background()) })
		default:
			part := []faultstore.Part{faultstore.Fast, faultstore.Durable, faultstore.Bus, faultstore.All}[rng.IntN(4)]
			old.faults.Outage(part, true)
			time.Sleep(time.Duration(rng.IntN(12)) * time.Second)
			old.faults.Outage(part, false)
			continue
		}
		s := boot(i)
		mu.Lock()
		servers[slices.Index(servers, old)] = s
		mu.Unlock()
	}
	wg.Wait()
	for _, s := range servers {
		s.faults.SetRule(nil)
	}
	b.settle(servers)
}

// settle lets the fleet come to rest: each profile can be loaded, and is released.
func (b *bazaar) settle(servers []*server) {
	time.Sleep(time.Minute)
	held := map[string]bool{}
	for i := range richKeys {
		key := fmt.Sprint("u", i)
		s, err := servers[i%3].Load(b.t.Context(), key, &profile.LoadOptions{Wait: 2 * time.Minute})
		if errors.Is(err, profile.ErrOpen) {
			s, _ = servers[i%3].Session(key)
		} else if err != nil {
			b.t.Errorf("at rest: %v, held by %+v", err, b.f.stored(key).Session)
			continue
		}
		if held[key] = true; s != nil {
			release(b.t, s)
		}
	}
	b.rest(held)
}
