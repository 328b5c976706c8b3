package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// ledger holds every session against what the one before it had committed and acknowledged.
type ledger struct {
	t  *testing.T
	mu sync.Mutex
	of map[string]map[uint64]*entry // by key and epoch

	loads, outbid, failed, lost, acked int
	hows                               map[profile.How]int
}

// entry is one session: what it began with, what it committed, and what was acknowledged.
type entry struct {
	base  int
	log   []int64
	acked int
}

func logOf(v doc.Value) []int64 {
	list, _, _ := v.Lookup("/log")
	out := make([]int64, 0, list.Len())
	for _, item := range list.Items() {
		n, _ := item.AsInt()
		out = append(out, n)
	}
	return out
}

// loaded checks a new session: its log is a prefix of the one before it, and has all that
// was acknowledged there.
func (l *ledger) loaded(key string, s *profile.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loads++
	l.hows[s.Loaded().How]++
	got := logOf(s.Data())
	if l.of[key] == nil {
		l.of[key] = make(map[uint64]*entry)
	}
	if l.of[key][s.Epoch()] != nil {
		l.t.Errorf("%s: two sessions in epoch %d", key, s.Epoch())
	}
	l.check(key, s.Epoch(), got)
	l.of[key][s.Epoch()] = &entry{base: len(got), log: got}
}

// check holds a log in an epoch against the last session before it.
func (l *ledger) check(key string, epoch uint64, got []int64) {
	var before *entry
	last := uint64(0)
	for e, x := range l.of[key] {
		if e < epoch && e >= last {
			last, before = e, x
		}
	}
	switch {
	case before == nil:
		if len(got) > 0 {
			l.t.Errorf("%s: epoch %d begins with %v out of nothing", key, epoch, got)
		}
	case len(got) < before.acked || len(got) < before.base:
		l.t.Errorf("%s: epoch %d begins with %d commits; epoch %d began with %d and had %d acknowledged", key, epoch, len(got), last, before.base, before.acked)
	case len(got) > len(before.log) || !slices.Equal(got, before.log[:len(got)]):
		l.t.Errorf("%s: epoch %d begins with %v, which is no prefix of %v", key, epoch, got, before.log)
	}
}

// player moves one profile around.
func (l *ledger) player(key string, rng *rand.Rand, pick func(*rand.Rand) *server, until time.Time) {
	next := int64(0)
	for time.Now().Before(until) {
		srv := pick(rng)
		ctx, cancel := context.WithTimeout(l.t.Context(), time.Duration(rng.IntN(40_000))*time.Millisecond)
		s, err := srv.Load(ctx, key, &profile.LoadOptions{StealAfter: 1500 * time.Millisecond})
		cancel()
		if err != nil {
			l.note(err)
			time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
			continue
		}
		l.loaded(key, s)
		l.play(key, s, rng, &next)
	}
}

func (l *ledger) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(err, profile.ErrOutbid):
		l.outbid++
	case errors.Is(err, profile.ErrOpen), errors.Is(err, profile.ErrClosing), errors.Is(err, context.DeadlineExceeded):
	default:
		l.failed++
	}
}

// play changes, saves, and leaves the session to others or releases it.
func (l *ledger) play(key string, s *profile.Session, rng *rand.Rand, next *int64) {
	for range rng.IntN(20) {
		*next++
		l.commit(key, s, *next)
		if rng.IntN(4) == 0 {
			l.save(key, s)
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
	if rng.IntN(3) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		n := l.length(key, s)
		if err := s.Release(ctx); err == nil {
			l.ack(key, s, n)
		}
	}
}

func (l *ledger) commit(key string, s *profile.Session, id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := s.Transact(game, doc.AppendTo("/log", doc.Int(id))); err != nil {
		return
	}
	e := l.of[key][s.Epoch()]
	e.log = append(slices.Clip(e.log), id)
}

func (l *ledger) length(key string, s *profile.Session) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.of[key][s.Epoch()].log)
}

func (l *ledger) save(key string, s *profile.Session) {
	n := l.length(key, s)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := s.Save(ctx); err == nil {
		l.ack(key, s, n)
	}
}

// ack notes an acknowledgement, which must not contradict a later session.
func (l *ledger) ack(key string, s *profile.Session, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.of[key][s.Epoch()]
	e.acked = max(e.acked, n)
	l.acked++
	for epoch, x := range l.of[key] {
		if epoch > s.Epoch() && x.base < n {
			l.t.Errorf("%s: epoch %d (%v) had %d commits acknowledged after epoch %d began with %d", key, s.Epoch(), s.Reason(), n, epoch, x.base)
		}
	}
}

// Three nodes, four players, lost and late answers, hanging calls, outages, crashes and
// wrong verdicts: what a session begins with is always a prefix of the one before, with
// everything in it that was acknowledged; and in the end every profile can be loaded.
func TestSoup(t *testing.T) {
	const minutes = 3
	total := &ledger{hows: map[profile.How]int{}}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				l := &ledger{t: t, of: make(map[string]map[uint64]*entry), hows: total.hows}
				soup(t, f, l, seed, minutes*time.Minute)
				total.loads += l.loads
				total.outbid += l.outbid
				total.lost += l.lost
				total.acked += l.acked
				total.failed += l.failed
			})
		})
	}
	t.Logf("%d loads (%v), %d outbid, %d failed, %d acknowledgements, %d sessions lost", total.loads, total.hows, total.outbid, total.failed, total.acked, total.lost)
	for _, how := range []profile.How{profile.Created, profile.Free, profile.Granted, profile.TakenOver} {
		if total.hows[how] == 0 {
			t.Errorf("no session was ever opened as %v: the soup proves nothing about it", how)
		}
	}
	if total.acked == 0 || total.lost == 0 || total.outbid == 0 {
		t.Errorf("the soup is too thin: %+v", total)
	}
}

func soup(t *testing.T, f *fleet, l *ledger, seed uint64, long time.Duration) {
	t.Helper()
	opts := &profile.Options{Template: doc.Must(map[string]any{"log": []any{}}), Autosave: 10 * time.Second, CallTimeout: 3 * time.Second, LoadTimeout: 30 * time.Second, FallbackSave: 5 * time.Second}
	odds := faultstore.Odds{
		FailBefore: 0.03, FailAfter: 0.03, Late: 0.02, Hang: 0.003, HangApplied: 0.003, Lose: 0.2, Twice: 0.05,
		Delay: 40 * time.Millisecond, Back: 40 * time.Millisecond, After: 8 * time.Second,
	}
	var (
		mu      sync.Mutex
		servers []*server
		wg      sync.WaitGroup
	)
	boot := func(i int) *server {
		s := f.start(fmt.Sprint("n", i), opts)
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
		key := fmt.Sprint("u", p%3) // two devices fight for one of them
		wg.Go(func() { l.player(key, rng, pick, until) })
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	for i := 3; time.Now().Before(until); i++ {
		time.Sleep(time.Duration(10+rng.IntN(20)) * time.Second)
		victim := rng.IntN(3)
		if rng.IntN(2) == 0 {
			servers[victim].kill()
			s := boot(i)
			mu.Lock()
			servers[victim] = s
			mu.Unlock()
			continue
		}
		part := []faultstore.Part{faultstore.Fast, faultstore.Durable, faultstore.Bus, faultstore.All}[rng.IntN(4)]
		servers[victim].faults.Outage(part, true)
		time.Sleep(time.Duration(rng.IntN(12)) * time.Second)
		servers[victim].faults.Outage(part, false)
	}
	wg.Wait()
	for _, s := range servers {
		s.faults.SetRule(nil)
		l.lost += int(s.Stats().Lost)
	}
	l.rest(t, f, servers)
	// A note for a crashed node by a crashed node is nobody's; a living node's box is empty.
	for _, key := range f.leftovers() {
		for _, s := range servers {
			if strings.HasPrefix(key, "note/"+s.node.ID()+"/") {
				t.Errorf("left for a living node: %s", key)
			}
		}
	}
}

// rest lets the fleet come to rest: each profile can be loaded, on one node or another, and is
// released; then all that is left has had the time to be removed.
func (l *ledger) rest(t *testing.T, f *fleet, servers []*server) {
	t.Helper()
	time.Sleep(time.Minute)
	for p := range 3 {
		key := fmt.Sprint("u", p)
		s, err := servers[p].Load(t.Context(), key, &profile.LoadOptions{Wait: 2 * time.Minute})
		if errors.Is(err, profile.ErrOpen) {
			s, _ = servers[p].Session(key)
		} else if err != nil {
			t.Errorf("at rest: %v, held by %+v", err, f.stored(key).Session)
			continue
		} else {
			l.loaded(key, s)
		}
		release(t, s)
	}
	time.Sleep(3 * time.Minute)
}
