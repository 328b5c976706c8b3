package profile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store/faultstore"
)

// deed is something that must happen exactly once: it leaves its mark in each profile that it
// touches, and moves coins.
type deed struct {
	id     string
	kind   string // "grant", "gift", "mail" or "edit"
	key    string // the profile that it is done to, or by
	to     string // of a gift
	amount int64
	done   bool // somebody was told that it has happened
	void   bool // somebody was told that it has not, and will not
}

// mark are the operations of a deed on one profile.
func (d *deed) mark(amount int64) []doc.Op {
	return []doc.Op{doc.Increment("/coins", amount).AtLeast(doc.Int(0)), doc.Increment("/deeds/"+d.id, 1)}
}

// bank is a game in which coins come in by grants, mail and edits, and move by gifts.
type bank struct {
	t     *testing.T
	opts  *profile.Options
	mu    sync.Mutex
	deeds []*deed
	open  map[string][]*deed // by the profile that does it; "" is the outside
}

// next is an unresolved deed of a profile, or a new one.
func (k *bank) next(rng *rand.Rand, key string) *deed {
	k.mu.Lock()
	defer k.mu.Unlock()
	if list := k.open[key]; len(list) > 0 && rng.IntN(2) == 0 {
		return list[rng.IntN(len(list))]
	}
	d := &deed{id: fmt.Sprintf("d%04d", len(k.deeds)), key: key, amount: int64(1 + rng.IntN(9))}
	switch {
	case key == "":
		d.key, d.kind = fmt.Sprint("u", rng.IntN(3)), []string{"mail", "edit"}[rng.IntN(2)]
	case rng.IntN(2) == 0:
		d.kind = "grant"
	default:
		d.kind, d.to = "gift", fmt.Sprint("u", rng.IntN(3))
	}
	k.deeds = append(k.deeds, d)
	k.open[key] = append(k.open[key], d)
	return d
}

// told takes in how an attempt went.
func (k *bank) told(d *deed, by string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil && d.void:
		k.t.Errorf("%s %s: refused, and then done", d.kind, d.id)
	case err == nil:
		d.done = true
	case errors.Is(err, doc.ErrBounds):
		if d.done {
			k.t.Errorf("%s %s: done, and then refused: %v", d.kind, d.id, err)
		}
		d.void = true
	case errors.Is(err, profile.ErrReceiptTaken), errors.Is(err, profile.ErrRepeated), errors.Is(err, profile.ErrVoid):
		k.t.Errorf("%s %s: %v", d.kind, d.id, err)
	default:
		return
	}
	for i, o := range k.open[by] {
		if o == d {
			k.open[by] = append(k.open[by][:i:i], k.open[by][i+1:]...)
			break
		}
	}
}

// do tries a deed once, in a session of its profile or from outside.
func (k *bank) do(s *profile.Session, srv *server, d *deed, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	var err error
	switch d.kind {
	case "grant":
		_, err = s.Grant(ctx, d.id, game, d.mark(d.amount)...)
	case "gift":
		ops := d.mark(-d.amount)
		if d.to == d.key {
			ops = ops[:1] // it leaves its mark when it comes back
		}
		_, err = s.SendMail(ctx, game, d.to, profile.Mail{ID: d.id, AllowMissing: true, Ops: d.mark(d.amount)}, ops...)
	case "mail":
		_, err = srv.Send(ctx, d.key, profile.Mail{ID: d.id, AllowMissing: true, Kind: "deed", Body: doc.Int(d.amount)})
	case "edit":
		_, err = srv.Edit(ctx, d.key, profile.Source{ID: d.id}, d.mark(d.amount)...)
	}
	return err
}

// player moves one profile around, and does deeds with it.
func (k *bank) player(key string, rng *rand.Rand, pick func(*rand.Rand) *server, until time.Time) {
	for time.Now().Before(until) {
		ctx, cancel := context.WithTimeout(k.t.Context(), time.Duration(rng.IntN(40_000))*time.Millisecond)
		s, err := pick(rng).Load(ctx, key, &profile.LoadOptions{StealAfter: 1500 * time.Millisecond})
		cancel()
		if err != nil {
			time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
			continue
		}
		for range rng.IntN(15) {
			d := k.next(rng, key)
			k.told(d, key, k.do(s, nil, d, time.Duration(rng.IntN(8000))*time.Millisecond))
			if rng.IntN(3) == 0 {
				_, _ = s.Transact(game, doc.Increment("/played", 1))
			}
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		}
		if rng.IntN(2) == 0 {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			_ = s.Release(ctx)
			cancel()
		}
	}
}

// outside sends mail and edits.
func (k *bank) outside(rng *rand.Rand, pick func(*rand.Rand) *server, until time.Time) {
	for time.Now().Before(until) {
		d := k.next(rng, "")
		k.told(d, "", k.do(nil, pick(rng), d, time.Duration(rng.IntN(15_000))*time.Millisecond))
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
	}
}

// deedMail has mail of kind "deed" applied; it panics or fails now and then.
func (k *bank) deedMail(s *server, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	var mu sync.Mutex
	s.HandleMail("deed", func(_ context.Context, _ *profile.Session, m profile.Mail) ([]doc.Op, error) {
		mu.Lock()
		n := rng.IntN(10)
		mu.Unlock()
		switch n {
		case 0:
			panic("now and then")
		case 1:
			return nil, errors.New("now and then")
		}
		amount, _ := m.Body.AsInt()
		return (&deed{id: m.ID}).mark(amount), nil
	})
}

// Three nodes, three players, grants, gifts, mail and edits, with lost, late and hanging
// answers, outages, crashes, wrong verdicts and failing handlers: each deed happens exactly
// once in each profile that it touches, or not at all if somebody was told so, and coins are
// conserved.
func TestMailSoup(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, f *fleet) {
				k := &bank{t: t, open: make(map[string][]*deed), opts: &profile.Options{
					Template: doc.Must(map[string]any{"coins": 0, "deeds": map[string]any{}, "played": 0}), JournalEvery: time.Second,
					Autosave: 10 * time.Second, CallTimeout: 3 * time.Second, LoadTimeout: 30 * time.Second, FallbackSave: 5 * time.Second,
				}}
				servers := k.stir(f, seed, 2*time.Minute)
				k.rest(f, servers)
				for _, d := range k.deeds {
					if kinds[d.kind+" done"] += btoi(d.done); d.void {
						kinds[d.kind+" void"]++
					}
				}
			})
		})
	}
	t.Log(kinds)
	for _, kind := range []string{"grant done", "gift done", "gift void", "mail done", "edit done"} {
		if kinds[kind] < 5 {
			t.Errorf("the soup is too thin: %v", kinds)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// stir plays for so long.
func (k *bank) stir(f *fleet, seed uint64, long time.Duration) []*server {
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
		s := f.start(fmt.Sprint("n", i), k.opts)
		k.deedMail(s, seed*10+uint64(i))
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
		wg.Go(func() { k.player(fmt.Sprint("u", p%3), rng, pick, until) }) // two devices fight for one of them
	}
	for p := range 3 {
		rng := rand.New(rand.NewPCG(seed, uint64(50+p)))
		wg.Go(func() { k.outside(rng, pick, until) })
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
	}
	return servers
}

// rest resolves every deed without faults, lets all mail arrive, and holds the profiles
// against the deeds.
func (k *bank) rest(f *fleet, servers []*server) {
	t := k.t
	time.Sleep(time.Minute)
	sessions := make(map[string]*profile.Session)
	for p := range 3 {
		key := fmt.Sprint("u", p)
		s, err := servers[p].Load(t.Context(), key, &profile.LoadOptions{Wait: 2 * time.Minute})
		if errors.Is(err, profile.ErrOpen) {
			s, _ = servers[p].Session(key)
		} else if err != nil {
			t.Fatalf("at rest: %v", err)
		}
		sessions[key] = s
	}
	for by, list := range k.open {
		for _, d := range list {
			err := k.do(sessions[d.key], servers[0], d, time.Minute)
			if k.told(d, by, err); !d.done && !d.void {
				t.Errorf("at rest: %s %s: %v", d.kind, d.id, err)
			}
		}
	}
	time.Sleep(10 * time.Minute) // handlers fail now and then
	total, want := int64(0), int64(0)
	for key, s := range sessions {
		release(t, s)
		total += coins(f.storedData(key))
		if left := f.box(key); len(left) > 0 {
			t.Errorf("in the box of %s: %v", key, left)
		}
	}
	for _, d := range k.deeds {
		if want += d.amount * int64(btoi(d.done && d.kind != "gift")); d.done && d.void {
			t.Errorf("%s %s: done and refused", d.kind, d.id)
		}
		for key := range sessions {
			v, _, _ := f.storedData(key).Lookup("/deeds/" + d.id)
			n, _ := v.AsInt()
			touched := d.done && (key == d.key || key == d.to)
			if n != int64(btoi(touched)) {
				t.Errorf("%s %s of %s to %q, done %v, void %v: %d times in %s", d.kind, d.id, d.key, d.to, d.done, d.void, n, key)
			}
		}
	}
	if total != want {
		t.Errorf("%d coins, %d expected", total, want)
	}
}
