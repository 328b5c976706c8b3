package profile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
)

// deeds is what the journaled soup has done, by name.
type deeds struct {
	mu sync.Mutex
	of map[string]int
}

func (d *deeds) note(what string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[what] += n
}

// brew is one run of the soup with journals, claims and reapers.
type brew struct {
	*ledger
	f       *fleet
	deeds   *deeds
	mu      sync.Mutex
	claimed map[string]map[int64]bool // commits with a claim, by key
	best    map[*profile.Session]int
	by      map[string]string // what acknowledged most, by key and epoch
}

func claimKey(key string, id int64) string { return fmt.Sprintf("receipt/%s/%d", key, id) }

// claim commits with a receipt. Some receipts are there already.
func (b *brew) claim(key string, s *profile.Session, id int64, taken bool) {
	if taken {
		b.f.plant(b.f.raw.Durable(), claimKey(key, id), `{"by":"another"}`)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	row := store.Write{Key: claimKey(key, id), Op: store.Put, Value: []byte(`{}`), If: store.Absent(), Version: store.Version(1_000_000_000 + id)}
	c, _ := s.Claim(gone, []store.Write{row}, doc.AppendTo("/log", doc.Int(id)))
	if c.Revision == 0 {
		b.deeds.note("claims refused", 1)
		return
	}
	b.deeds.note("claims", 1)
	e := b.of[key][s.Epoch()]
	e.log = append(slices.Clip(e.log), id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.claimed[key] == nil {
		b.claimed[key] = map[int64]bool{}
	}
	b.claimed[key][id] = true
}

func (b *brew) sync(key string, s *profile.Session) {
	n := b.length(key, s)
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	var err error
	d := took(func() { err = s.Sync(ctx) })
	if err == nil {
		b.thanks("sync", key, s, n)
		b.deeds.note("syncs", 1)
	}
	if d > 25*time.Second {
		b.t.Errorf("%s: a sync took %v: %v", key, d, err)
	}
}

// acked notes what acknowledged so much.
func (b *brew) thanks(by, key string, s *profile.Session, n int) {
	v, rev := s.Stored()
	w, synced := s.Synced()
	b.mu.Lock()
	if n > b.best[s] {
		b.best[s] = n
		b.by[key+fmt.Sprint("/", s.Epoch())] = fmt.Sprintf("%s of %d at %v: stored %d at %d, synced %d at %d, now %d at %d; %v", by, n, time.Now().Format("04:05.000"), len(logOf(v)), rev, len(logOf(w)), synced, len(logOf(s.Data())), s.Revision(), s.Reason())
	}
	b.mu.Unlock()
	b.ack(key, s, n)
}

func (b *brew) saveIt(key string, s *profile.Session) {
	n := b.length(key, s)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := s.Save(ctx); err == nil {
		b.thanks("save", key, s, n)
	}
}

// close closes a node and takes its report by its word.
func (b *brew) close(srv *server) {
	open := map[string]*profile.Session{}
	for _, s := range srv.Sessions() {
		open[s.Key()] = s
	}
	_, _ = srv.node.Close(context.Background())
	report, _ := srv.Close(context.Background())
	for _, left := range report.Left {
		s := open[left.Key]
		if s == nil || !left.Journaled && !left.Stored || b.unknown(left.Key, s) {
			continue
		}
		b.deeds.note("left by a close", 1)
		b.thanks("close", left.Key, s, b.length(left.Key, s))
	}
}

// unknown tells that no load has answered with this session yet.
func (b *brew) unknown(key string, s *profile.Session) bool {
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	return b.of[key][s.Epoch()] == nil
}

func (b *brew) play(key string, s *profile.Session, rng *rand.Rand, next *int64) {
	for range rng.IntN(25) {
		*next++
		switch rng.IntN(8) {
		case 0:
			b.claim(key, s, *next, rng.IntN(6) == 0)
		default:
			b.commit(key, s, *next)
		}
		switch rng.IntN(8) {
		case 0, 1:
			b.sync(key, s)
		case 2:
			b.saveIt(key, s)
		case 3:
			if v, rev := s.Synced(); rev > 0 {
				b.thanks("synced", key, s, len(logOf(v)))
			}
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
	if rng.IntN(3) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		n := b.length(key, s)
		if err := s.Release(ctx); err == nil {
			b.thanks("release", key, s, n)
		}
	}
}

func (b *brew) player(key string, rng *rand.Rand, pick func(*rand.Rand) *server, until time.Time, next *int64) {
	for time.Now().Before(until) {
		srv := pick(rng)
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Duration(rng.IntN(40_000))*time.Millisecond)
		s, err := srv.Load(ctx, key, &profile.LoadOptions{StealAfter: 1500 * time.Millisecond})
		cancel()
		if err != nil {
			b.note(err)
			time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
			continue
		}
		b.loaded(key, s)
		b.play(key, s, rng, next)
	}
}

// settled checks receipts and what they grant, and what lies about.
func (b *brew) settled(key string, servers []*server) {
	log := logOf(b.f.storedData(key))
	for id := range b.claimed[key] {
		row := b.f.durable(claimKey(key, id))
		if mine, got := row.Version == store.Version(1_000_000_000+id), slices.Contains(log, id); mine != got {
			b.t.Errorf("%s: receipt %d stored: %v, what it grants: %v", key, id, mine, got)
		}
	}
	for _, left := range append(b.f.keysUnder("journal/"), b.f.keysUnder("journaled/")...) {
		b.deeds.note("left "+strings.Split(left, "/")[0], 1)
		if os.Getenv("SHOAL_SOUP_LEFT") != "" {
			b.t.Logf("left: %s, record %+v", left, b.f.stored(key).Session)
		}
	}
}

func TestSoupWithJournals(t *testing.T) {
	seeds := uint64(6)
	if n, err := strconv.ParseUint(os.Getenv("SHOAL_SOUP_SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	first, _ := strconv.ParseUint(os.Getenv("SHOAL_SOUP_FIRST"), 10, 32)
	d := &deeds{of: map[string]int{}}
	hows := map[profile.How]int{}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bothStores(t, func(t *testing.T, f *fleet) {
				b := &brew{ledger: &ledger{t: t, of: make(map[string]map[uint64]*entry), hows: hows}, f: f, deeds: d, claimed: map[string]map[int64]bool{}, best: map[*profile.Session]int{}, by: map[string]string{}}
				b.stir(t, f, seed, 3*time.Minute)
				d.note("loads", b.loads)
				if t.Failed() {
					for at, by := range b.by {
						t.Logf("acknowledged: %s: %s", at, by)
					}
				}
				d.note("acked", b.acked)
			})
		})
	}
	t.Logf("%v %v", d.of, hows)
}

func (b *brew) stir(t *testing.T, f *fleet, seed uint64, long time.Duration) {
	t.Helper()
	opts := &profile.Options{
		Template: doc.Must(map[string]any{"log": []any{}}), Autosave: 10 * time.Second, CallTimeout: 3 * time.Second, LoadTimeout: 30 * time.Second,
		FallbackSave: 5 * time.Second, JournalEvery: 500 * time.Millisecond, ReapEvery: 5 * time.Second, JournalBytes: 1000,
	}
	odds := faultstore.Odds{
		FailBefore: 0.03, FailAfter: 0.03, Late: 0.03, Hang: 0.003, HangApplied: 0.003, Lose: 0.2, Twice: 0.05,
		Delay: 40 * time.Millisecond, Back: 40 * time.Millisecond, After: 8 * time.Second,
	}
	var (
		mu      sync.Mutex
		servers []*server
		wg      sync.WaitGroup
	)
	boot := func(i int) *server {
		s := f.start(fmt.Sprint("n", i), opts)
		if seed%2 == 0 {
			s.OnLeave(func(ctx context.Context, s *profile.Session) { _ = s.Sync(ctx) })
		}
		s.faults.SetRule(faultstore.Chance(seed*100+uint64(i), odds))
		return s
	}
	for i := range 3 {
		servers = append(servers, boot(i))
	}
	pick := func(rng *rand.Rand) *server {
		mu.Lock()
		defer mu.Unlock()
		return servers[rng.IntN(len(servers))]
	}
	until := time.Now().Add(long)
	for p := range 4 {
		rng := rand.New(rand.NewPCG(seed, uint64(p)))
		next := int64(p * 1_000_000)
		wg.Go(func() { b.player(fmt.Sprint("u", p%3), rng, pick, until, &next) })
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	for i := 3; time.Now().Before(until); i++ {
		time.Sleep(time.Duration(10+rng.IntN(20)) * time.Second)
		victim := rng.IntN(3)
		switch rng.IntN(4) {
		case 0, 1:
			servers[victim].kill()
		case 2:
			old := servers[victim]
			old.ended.Store(true)
			old.faults.Outage(faultstore.Durable, rng.IntN(2) == 0)
			wg.Go(func() { b.close(old) })
		default:
			part := []faultstore.Part{faultstore.Fast, faultstore.Durable, faultstore.Bus, faultstore.All}[rng.IntN(4)]
			servers[victim].faults.Outage(part, true)
			time.Sleep(time.Duration(rng.IntN(12)) * time.Second)
			servers[victim].faults.Outage(part, false)
			continue
		}
		s := boot(i)
		mu.Lock()
		servers[victim] = s
		mu.Unlock()
	}
	wg.Wait()
	for _, s := range servers {
		s.faults.SetRule(nil)
		st := s.Stats()
		b.deeds.note("lost", int(st.Lost))
		b.deeds.note("reaped", int(st.Reaped))
		b.deeds.note("sealed", int(st.Sealed))
		b.deeds.note("over", int(st.JournalOver))
		b.deeds.note("appends", int(st.Appends))
	}
	b.rest(t, f, servers)
	for p := range 3 {
		b.settled(fmt.Sprint("u", p), servers)
	}
}
