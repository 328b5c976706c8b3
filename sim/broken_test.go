package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/sim"
	"github.com/shoalworks/shoal/store"
)

// This file breaks stores and libraries on purpose: the ledger must see it.

// caught plays scenarios with a few seeds until all kinds of violation were found.
func caught(t *testing.T, o sim.Options, scenarios []string, kinds ...string) {
	t.Helper()
	found := make(map[string]int)
	missing := func() []string {
		return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return found[kind] > 0 })
	}
	for seed := range uint64(8) {
		for _, s := range sim.Scenarios() {
			if !slices.Contains(scenarios, s.Name) || len(missing()) == 0 {
				continue
			}
			o.Scenario, o.Seed, o.Apart = s, seed, seed%2 == 1
			score, _ := play(t, o)
			for _, v := range score.Violations {
				found[v.Kind]++
			}
		}
	}
	if left := missing(); len(left) > 0 {
		t.Errorf("not caught: %v; found %v", left, found)
	}
}

// decorated is a record store with some calls replaced.
type decorated struct {
	store.Records
	get    func(recs []store.Record)
	commit func(ctx context.Context, tx store.Tx) (answer error, instead bool)
}

func (d decorated) Get(ctx context.Context, keys ...string) ([]store.Record, error) {
	recs, err := d.Records.Get(ctx, keys...)
	if err == nil && d.get != nil {
		d.get(recs)
	}
	return recs, err
}

func (d decorated) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := make([]error, len(txs))
	for i, tx := range txs {
		if d.commit != nil {
			if err, instead := d.commit(ctx, tx); instead {
				errs[i] = err
				continue
			}
		}
		errs[i] = d.Records.Commit(ctx, tx)[0]
	}
	return errs
}

func TestStoreThatIgnoresConditionsIsCaught(t *testing.T) {
	breaks := func(_ sim.Part, r store.Records) store.Records {
		return decorated{Records: r, commit: func(ctx context.Context, tx store.Tx) (error, bool) {
			free := slices.Clone(tx)
			for i := range free {
				free[i].If = store.Any()
			}
			return r.Commit(ctx, free)[0], true
		}}
	}
	caught(t, sim.Options{Library: sim.Ours{}, WorldOptions: sim.WorldOptions{Break: breaks}},
		[]string{"pausedHolder", "storm"}, "acknowledged lost", "foreign write", "epoch")
}

func TestStoreThatIgnoresAbsenceIsCaught(t *testing.T) {
	breaks := func(_ sim.Part, r store.Records) store.Records {
		return decorated{Records: r, commit: func(ctx context.Context, tx store.Tx) (error, bool) {
			if _, ok := tx[0].If.Wants(); !ok || tx[0].If != store.Absent() || !strings.HasPrefix(tx[0].Key, "profile/") {
				return nil, false
			}
			free := slices.Clone(tx)
			free[0].If = store.Any()
			return r.Commit(ctx, free)[0], true
		}}
	}
	caught(t, sim.Options{Library: sim.Ours{}, WorldOptions: sim.WorldOptions{Break: breaks}}, []string{"storm"}, "epoch")
}

func TestStoreThatDropsAcknowledgedWritesIsCaught(t *testing.T) {
	breaks := func(_ sim.Part, r store.Records) store.Records {
		n := 0
		return decorated{Records: r, commit: func(_ context.Context, tx store.Tx) (error, bool) {
			if !strings.HasPrefix(tx[0].Key, "profile/") {
				return nil, false
			}
			n++
			return nil, n%5 == 0
		}}
	}
	caught(t, sim.Options{Library: sim.Ours{}, WorldOptions: sim.WorldOptions{Break: breaks}},
		[]string{"crashSynced", "rejoin"}, "acknowledged lost")
}

// A replica that stands still is read from: the holder seems to beat no more.
func TestStoreThatStandsStillIsCaught(t *testing.T) {
	breaks := func(_ sim.Part, r store.Records) store.Records {
		first := make(map[string]store.Record)
		return decorated{Records: r, get: func(recs []store.Record) {
			for i := range recs { // of one host only: nobody's own beat looks wrong to itself
				key := recs[i].Key
				if !strings.HasPrefix(key, "node/A-") || recs[i].Missing() {
					continue
				}
				if _, ok := first[key]; !ok {
					first[key] = recs[i]
				}
				recs[i] = first[key]
				recs[i].Age += 20 * time.Second
			}
		}}
	}
	deaf := &sim.Scenario{Name: "deaf", Sound: true, Play: func(f *sim.Fleet) {
		s, key := f.Servers(2), f.Key()
		f.Join(s[0], key, sim.Plan{}).AwaitOpen()
		f.Script.Do(func() {
			s[0].Mute = []string{"note/"}
			s[0].Cut[sim.Bus] = true
		})
		f.Join(s[1], key, sim.Plan{How: sim.How{Policy: sim.PolicyWait, Wait: 30 * time.Second}}).AwaitOpen()
	}}
	for _, broken := range []bool{true, false} {
		o := sim.Options{Scenario: deaf}
		if broken {
			o.Break = breaks
		}
		score, _ := play(t, o)
		found := slices.ContainsFunc(score.Violations, func(v sim.Violation) bool { return v.Kind == "wrong verdict" })
		if found != broken {
			t.Errorf("broken: %v, found: %v", broken, score.Violations)
		}
	}
}

// A replica that is behind takes over while somebody waits for a dead holder.
func TestStoreThatGoesBackIsCaught(t *testing.T) {
	breaks := func(_ sim.Part, r store.Records) store.Records {
		old, last := make(map[string]store.Tx), make(map[string]store.Tx)
		return decorated{Records: r, commit: func(ctx context.Context, tx store.Tx) (error, bool) {
			key := tx[0].Key
			switch {
			case strings.HasPrefix(key, "profile/"):
				old[key], last[key] = last[key], tx
			case strings.HasPrefix(key, "note/"):
				at := "profile/players/" + key[strings.LastIndex(key, "/")+1:]
				if before := slices.Clone(old[at]); before != nil {
					before[0].If = store.Any()
					_ = r.Commit(ctx, before)
				}
			}
			return nil, false
		}}
	}
	caught(t, sim.Options{Library: sim.Ours{}, WorldOptions: sim.WorldOptions{Break: breaks}},
		[]string{"crashSynced"}, "acknowledged lost")
}

// broken is what a store does wrong about journals: it is asked instead of the store.
func broken(do func(ctx context.Context, r store.Records, w store.Write) (answer error, instead bool)) func(sim.Part, store.Records) store.Records {
	return func(_ sim.Part, r store.Records) store.Records {
		return decorated{Records: r, commit: func(ctx context.Context, tx store.Tx) (error, bool) {
			if !strings.HasPrefix(tx[0].Key, "journal/") {
				return nil, false
			}
			return do(ctx, r, tx[0])
		}}
	}
}

func isSeal(w store.Write) bool { return strings.Contains(string(w.Value), "sealedBy") }

func TestStoreThatDropsJournalsIsCaught(t *testing.T) {
	breaks := broken(func(_ context.Context, _ store.Records, w store.Write) (error, bool) {
		return nil, w.Op == store.Put && !isSeal(w)
	})
	caught(t, sim.Options{Library: sim.Ours{}, WorldOptions: sim.WorldOptions{Break: breaks}},
		[]string{"crashSynced"}, "acknowledged lost")
}

// A holder whose appends land whatever stands there goes on over the seal of its successor.
func TestAppendOverASealIsCaught(t *testing.T) {
	breaks := broken(func(ctx context.Context, r store.Records, w store.Write) (error, bool) {
		if w.Op != store.Put || isSeal(w) {
			return nil, false
		}
		w.If = store.Any()
		return r.Commit(ctx, store.Tx{w})[0], true
	})
	caught(t, sim.Options{Library: sim.Ours{}, WorldOptions: sim.WorldOptions{Break: breaks}},
		[]string{"sealedHolder", "pausedHolder"}, "seal ignored", "acknowledged, not stored")
}

// tidy removes the journals of others before it loads, as one that takes them for litter would.
type tidy struct{ sim.Ours }

type tidyHost struct {
	sim.Host
	fast store.Records
}

func (y tidy) Start(ctx context.Context, p *sim.Process, name string, s sim.Settings) (sim.Host, error) {
	h, err := y.Ours.Start(ctx, p, name, s)
	parts := p.Parts()
	if parts.Fast == nil {
		parts.Fast = parts.Durable
	}
	return tidyHost{h, parts.Fast}, err
}

func (h tidyHost) Load(ctx context.Context, key string, how sim.How) (sim.Hold, error) {
	_ = h.fast.Commit(ctx, store.Tx{{Key: "journal/players/" + key, Op: store.Delete}})
	return h.Host.Load(ctx, key, how)
}

func TestRemovalOfAnothersJournalIsCaught(t *testing.T) {
	caught(t, sim.Options{Library: tidy{}}, []string{"crashSynced"}, "journal removed", "acknowledged, not stored", "acknowledged lost")
}

// flawed is our library with a flaw in its sessions.
type flawed struct {
	sim.Ours
	flaw func(sim.Hold) sim.Hold
}

type flawedHost struct {
	sim.Host
	flaw func(sim.Hold) sim.Hold
}

func (f flawed) Start(ctx context.Context, p *sim.Process, name string, s sim.Settings) (sim.Host, error) {
	h, err := f.Ours.Start(ctx, p, name, s)
	return flawedHost{h, f.flaw}, err
}

func (f flawedHost) Load(ctx context.Context, key string, how sim.How) (sim.Hold, error) {
	h, err := f.Host.Load(ctx, key, how)
	if err != nil {
		return nil, err
	}
	return f.flaw(h), nil
}

// hasty acknowledges at once, and stores whenever.
type hasty struct{ sim.Hold }

func (h hasty) Sync(context.Context) error { return nil }
func (h hasty) Save(context.Context) error { return nil }

func TestHastyAcknowledgementIsCaught(t *testing.T) {
	caught(t, sim.Options{Library: flawed{flaw: func(h sim.Hold) sim.Hold { return hasty{h} }}},
		[]string{"crashSynced"}, "acknowledged, not stored", "acknowledged lost")
}

// eager acknowledges before the append has been answered.
type eager struct{ sim.Hold }

func (e eager) Sync(ctx context.Context) error {
	go func() { _ = e.Hold.Sync(ctx) }()
	return nil
}

func TestAcknowledgementBeforeTheAnswerIsCaught(t *testing.T) {
	caught(t, sim.Options{Library: flawed{flaw: func(h sim.Hold) sim.Hold { return eager{h} }}},
		[]string{"crashSynced"}, "acknowledged, not stored")
}

// doubling counts some steps twice.
type doubling struct{ sim.Hold }

func (d doubling) Transact(ops ...doc.Op) (doc.Value, uint64, error) {
	v, rev, err := d.Hold.Transact(ops...)
	if err == nil && rev%7 == 0 {
		return d.Hold.Transact(ops...)
	}
	return v, rev, err
}

func TestDoubledStepIsCaught(t *testing.T) {
	caught(t, sim.Options{Library: flawed{flaw: func(h sim.Hold) sim.Hold { return doubling{h} }}},
		[]string{"rejoin"}, "miscounted")
}

// templated shows the template for some loads, as a failed read taken for a new player would.
type templated struct{ sim.Hold }

func (s templated) Data() doc.Value {
	return doc.Must(map[string]any{"at": "", "bag": []any{}, "pos": map[string]any{}, "stats": map[string]any{}, "steps": 0})
}

func TestTemplateOverSavedDataIsCaught(t *testing.T) { // case P4
	flaw := func(h sim.Hold) sim.Hold {
		if h.Epoch() == 2 {
			return templated{h}
		}
		return h
	}
	caught(t, sim.Options{Library: flawed{flaw: flaw}}, []string{"rejoin"}, "acknowledged lost")
}

// undead goes on after its end.
type undead struct {
	sim.Hold
	last *doc.Value
	n    *uint64
}

func (u undead) Transact(ops ...doc.Op) (doc.Value, uint64, error) {
	v, rev, err := u.Hold.Transact(ops...)
	if err == nil {
		*u.last, *u.n = v, rev
		return v, rev, nil
	}
	next, err := doc.Apply(*u.last, ops...)
	if err == nil {
		*u.last = next
		*u.n++
	}
	return next, *u.n, err
}

func (u undead) Done() <-chan struct{} { return nil }

func TestSessionThatGoesOnIsCaught(t *testing.T) {
	flaw := func(h sim.Hold) sim.Hold { return undead{h, new(doc.Value), new(uint64)} }
	library := flawed{flaw: flaw}
	for _, s := range sim.Scenarios() {
		if s.Name != "handoff" {
			continue
		}
		for seed := range uint64(4) {
			score, _ := play(t, sim.Options{Library: library, Scenario: s, WorldOptions: sim.WorldOptions{Seed: seed}})
			if score.StaleOwner < 3*time.Second {
				t.Errorf("seed %d: a session that goes on for ever beside its successor shows %v", seed, score.StaleOwner)
			}
		}
	}
}

func TestNaiveRivalIsCaught(t *testing.T) {
	caught(t, sim.Options{Library: sim.Naive()}, []string{"handoff", "soup"}, "acknowledged lost")
}

// The locked rivals lose play and time, but nothing that they have acknowledged.
func TestLockedRivalsKeepWhatTheyAcknowledge(t *testing.T) {
	for _, library := range []sim.Library{sim.StealAfter40(), sim.Lease()} {
		for _, s := range sim.Scenarios() {
			if s.Name != "soup" && s.Name != "crash" {
				continue
			}
			score, _ := play(t, sim.Options{Library: library, Scenario: s, WorldOptions: sim.WorldOptions{Seed: 1}})
			for _, v := range score.Violations {
				t.Errorf("%s: %v", library.Name(), v)
			}
		}
	}
}
