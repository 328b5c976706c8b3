package shoal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/store"
	"github.com/shoalworks/shoal/store/faultstore"
	"github.com/shoalworks/shoal/store/memstore"
)

// waters is a memory that several nodes share in virtual time, with a witness of every state
// of a profile that it ever held.
type waters struct {
	t      *testing.T
	engine *memstore.Engine
	raw    *store.Store
	mu     sync.Mutex
	states map[string]map[int64]bool // key → the kills of durable states
}

// craft is a node on the waters, behind faults of its own.
type craft struct {
	*shoal.Node
	t      *testing.T
	faults *faultstore.Faults
}

func inWaters(t *testing.T, test func(t *testing.T, w *waters)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := memstore.New(&memstore.Options{Apart: true})
		raw, err := e.Store()
		if err != nil {
			t.Fatal(err)
		}
		w := &waters{t: t, engine: e, raw: raw, states: make(map[string]map[int64]bool)}
		t.Cleanup(func() { _ = raw.Close(context.Background()) })
		test(t, w)
	})
}

// witness notes what commits have stored.
type witness struct {
	store.Records
	w *waters
}

func (r witness) Commit(ctx context.Context, txs ...store.Tx) []error {
	errs := r.Records.Commit(ctx, txs...)
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for i, tx := range txs {
		for _, wr := range tx {
			if key, ok := strings.CutPrefix(wr.Key, "profile/players/"); ok && errs[i] == nil && wr.Op == store.Put {
				if n, has := killsIn(r.w.t, wr.Value); has {
					if r.w.states[key] == nil {
						r.w.states[key] = make(map[int64]bool)
					}
					r.w.states[key][n] = true
				}
			}
		}
	}
	return errs
}

func killsIn(t *testing.T, record []byte) (kills int64, has bool) {
	t.Helper()
	var rec struct {
		Data struct{ Kills json.RawMessage }
	}
	if err := json.Unmarshal(record, &rec); err != nil {
		t.Error(err)
	}
	kills, err := strconv.ParseInt(string(rec.Data.Kills), 10, 64)
	return kills, err == nil
}

// mirrored are the boards of most tests: the newest and the best kills, and kills of old.
func mirrored() map[string]board.Config {
	from := &board.Source{Set: "players", Path: "/kills"}
	return map[string]board.Config{"Now": {Rule: store.Last, From: from}, "Best": {From: from}}
}

// launch starts a node; change changes its options, or is nil.
func (w *waters) launch(name string, change func(*shoal.Options)) *craft {
	w.t.Helper()
	faults := faultstore.New(&faultstore.Options{KeepLate: true})
	parts := w.engine.Parts()
	parts.Durable = witness{parts.Durable, w}
	st, err := store.New(faults.Wrap(parts))
	if err != nil {
		w.t.Fatal(err)
	}
	o := &shoal.Options{
		Node: node.Options{Name: name, Logger: slog.New(slog.DiscardHandler)},
		Sets: map[string]*profile.Options{"players": nil}, Boards: mirrored(), Flush: &board.Options{},
	}
	if change != nil {
		change(o)
	}
	n, err := shoal.Start(w.t.Context(), st, o)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &craft{Node: n, t: w.t, faults: faults}
	w.t.Cleanup(func() {
		faults.SetRule(nil)
		faults.Outage(faultstore.All, false)
		if _, err := n.Close(context.Background()); err != nil && !faults.Crashed() {
			w.t.Errorf("close %s: %v", name, err)
		}
		_ = st.Close(context.Background())
	})
	return c
}

func (c *craft) load(key string) *profile.Session {
	c.t.Helper()
	s, err := c.Set("players").Load(c.t.Context(), key, nil)
	if err != nil {
		c.t.Fatalf("load %s: %v", key, err)
	}
	return s
}

func kill(t *testing.T, s *profile.Session, kills any) {
	t.Helper()
	if _, err := s.Transact(profile.Source{}, doc.Set("/kills", doc.Must(kills))); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// on is a board as it is stored.
func (w *waters) on(board string) map[string]int64 {
	w.t.Helper()
	out := make(map[string]int64)
	page, err := w.raw.Boards().Page(context.Background(), board, 0, 1000, store.Ordinal)
	if err != nil && !errors.Is(err, store.ErrNoBoard) {
		w.t.Fatal(err)
	}
	for _, e := range page.Entries {
		out[e.Key] = e.Score
	}
	return out
}

// shows checks a board as it is stored; pairs are key=score.
func (w *waters) shows(board string, want map[string]int64) {
	w.t.Helper()
	if got := w.on(board); !maps.Equal(got, want) {
		w.t.Errorf("%s shows %v, want %v", board, got, want)
	}
}

// honest checks that no score is on a board that no durable state of its profile had.
func (w *waters) honest() {
	w.t.Helper()
	for _, name := range []string{"Now", "Best"} {
		for key, score := range w.on(name) {
			if w.mu.Lock(); !w.states[key][score] {
				w.t.Errorf("%s shows %s=%d, which no stored profile ever had: %v", name, key, score, w.states[key])
			}
			w.mu.Unlock()
		}
	}
}

// stored is the kills of a profile as it is stored.
func (w *waters) stored(key string) (kills int64, has bool) {
	w.t.Helper()
	recs, err := w.raw.Durable().Get(context.Background(), "profile/players/"+key)
	if err != nil || recs[0].Missing() {
		return 0, false
	}
	return killsIn(w.t, recs[0].Value)
}

func TestABoardMirrorsWhatIsSaved(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", nil)
		s := c.load("ann")
		kill(t, s, 5)
		must(t, s.Sync(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 5}) // the first one is a save
		kill(t, s, 6)
		must(t, s.Sync(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 5}) // a journal may be lost with the fast store
		must(t, s.Save(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		kill(t, s, 3)
		must(t, s.Save(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 3})
		w.shows("Best", map[string]int64{"ann": 6})

		kill(t, s, 9)
		must(t, s.Release(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 9})
		w.honest()

		for _, submit := range []error{
			c.Boards().Submit("Now", "ann", 50),
			c.Boards().SubmitLast("Now", "ann", 50, store.Stamp{Epoch: 99}),
			c.Boards().SubmitDecimal("Now", "ann", "50"),
			c.Boards().SubmitFloat("Best", "ann", 50),
		} {
			if !errors.Is(submit, board.ErrRule) {
				t.Errorf("a submit to a mirror: %v, want ErrRule", submit)
			}
		}
	})
}

// A value that goes leaves the entry; one that Restore brings back is written, being newer.
func TestAMirrorAfterRestore(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) {
			o.Sets["players"] = &profile.Options{VersionEvery: time.Minute}
			o.Boards["All"] = board.Config{Rule: store.Last, From: &board.Source{Set: "players", Path: "/kills", Missing: new(int64)}}
		})
		set := c.Set("players")
		s := c.load("ann")
		for _, kills := range []any{nil, 5, 8} { // each save keeps the state that it replaces
			time.Sleep(2 * time.Minute)
			kill(t, s, kills)
			must(t, s.Save(t.Context()))
		}
		must(t, s.Release(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 8})
		kept := make(map[int64]uint64) // kills → revision
		list, err := set.Versions(t.Context(), "ann")
		must(t, err)
		for _, v := range list {
			full, err := set.Version(t.Context(), "ann", v.Revision)
			must(t, err)
			kills, _ := full.Data.Member("kills")
			n, _ := kills.AsInt()
			kept[n] = v.Revision
		}

		_, err = set.Restore(t.Context(), "ann", profile.Source{}, kept[5])
		must(t, err)
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 5})
		w.shows("Best", map[string]int64{"ann": 8})

		_, err = set.Restore(t.Context(), "ann", profile.Source{}, kept[0])
		must(t, err)
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 5}) // there is no score: the last one stays
		w.shows("All", map[string]int64{"ann": 0}) // unless the board says what none counts as
	})
}

// case B14: what the sessions save last is on the boards when the node has closed.
func TestAMirrorIsWrittenBeforeTheNodeHasClosed(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) { o.Flush.FlushEvery = time.Hour })
		for i := range 50 {
			kill(t, c.load(fmt.Sprintf("u%d", i)), i)
		}
		if _, err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.on("Now"); len(got) != 50 || got["u49"] != 49 {
			t.Errorf("%d entries: %v", len(got), got)
		}
	})
}

// The old holder's queue is written last, and loses all the same.
func TestALateFlushOfAnOldHolderLoses(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		old := w.launch("old", func(o *shoal.Options) { o.Flush.FlushEvery = time.Minute })
		now := w.launch("new", nil)
		s := old.load("ann")
		kill(t, s, 10)
		must(t, s.Save(t.Context()))
		s2 := now.load("ann") // handed over
		kill(t, s2, 3)
		must(t, s2.Save(t.Context()))
		must(t, now.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 3})
		must(t, old.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 3})
		w.shows("Best", map[string]int64{"ann": 10})
	})
}

// The same when the new holder has only looked: the value is that of the hand-over, and its
// stamp is the new session's.
func TestTheFirstStateOfASessionIsAlwaysTold(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		old := w.launch("old", func(o *shoal.Options) { o.Flush.FlushEvery = time.Minute })
		now := w.launch("new", nil)
		s := old.load("ann")
		kill(t, s, 10)
		must(t, s.Save(t.Context()))
		old.faults.Crash() // before the flush
		time.Sleep(3 * time.Second)
		s2 := now.load("ann")
		time.Sleep(2 * time.Second)
		w.shows("Now", map[string]int64{"ann": 10})
		must(t, s2.Release(t.Context()))
	})
}

// A save whose answer is lost is told when it is known to be done, and not before.
func TestALostAnswerIsToldWhenItIsKnown(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", nil)
		s := c.load("ann")
		down := false
		c.faults.SetRule(func(call faultstore.Call) faultstore.Fault {
			if call.Part != faultstore.Durable || len(call.Keys) == 0 || call.Keys[0] != "profile/players/ann" {
				return faultstore.Fault{}
			}
			if call.Op == "commit" && !down {
				down = true
				return faultstore.Fault{Kind: faultstore.FailAfter}
			}
			if down {
				return faultstore.Fault{Kind: faultstore.FailBefore}
			}
			return faultstore.Fault{}
		})
		kill(t, s, 4)
		if err := s.Save(t.Context()); !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("save: %v", err)
		}
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{})
		c.faults.SetRule(nil)
		time.Sleep(10 * time.Second)
		w.shows("Now", map[string]int64{"ann": 4})

		c.faults.SetRule(faultstore.Nth(1, func(call faultstore.Call) bool {
			return call.Op == "commit" && call.Keys[0] == "profile/players/ann"
		}, faultstore.Fault{Kind: faultstore.FailAfter}))
		kill(t, s, 6)
		must(t, s.Release(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		w.shows("Now", map[string]int64{"ann": 6})
	})
}

// What is committed while a save is on its way is not in it, and a crash takes it.
func TestAMirrorShowsWhatTheSaveWrote(t *testing.T) {
	inWaters(t, func(t *testing.T, w *waters) {
		c := w.launch("a", func(o *shoal.Options) { o.Sets["players"] = &profile.Options{JournalEvery: -1} })
		s := c.load("ann")
		c.faults.SetRule(faultstore.Nth(1, func(call faultstore.Call) bool {
			return call.Op == "commit" && call.Keys[0] == "profile/players/ann"
		}, faultstore.Fault{Back: time.Second}))
		kill(t, s, 4)
		go func() {
			time.Sleep(500 * time.Millisecond)
			kill(t, s, 99)
		}()
		must(t, s.Save(t.Context()))
		must(t, c.Boards().FlushNow(t.Context()))
		c.faults.Crash()
		w.shows("Now", map[string]int64{"ann": 4})
		w.honest()
	})
}

// play is a short life of a player on a node that may fail at any call.
func play(t *testing.T, c *craft) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := c.Set("players").Load(ctx, "ann", nil)
	if err != nil {
		return
	}
	for kills := 1; kills <= 3; kills++ {
		_, _ = s.Transact(profile.Source{}, doc.Set("/kills", doc.Int(int64(kills*3%7)))) // 3, 6, 2
		_ = s.Save(ctx)
		time.Sleep(700 * time.Millisecond)
	}
	_, _ = s.Transact(profile.Source{}, doc.Set("/kills", doc.Int(5)))
	_ = s.Release(ctx)
	time.Sleep(1500 * time.Millisecond)
}

// Whatever a node's write meets, before its effect, after it or long after, and also if it is
// the node's end: when the next holder has loaded and left, the boards show what is stored,
// and nothing that never was.
func TestAMirrorAcrossFaultsAndCrashes(t *testing.T) {
	kinds := []faultstore.Fault{
		{Kind: faultstore.Crash},
		{Kind: faultstore.CrashAfter},
		{Kind: faultstore.FailBefore},
		{Kind: faultstore.FailAfter},
		{Kind: faultstore.Late, After: 5 * time.Second},
		{Kind: faultstore.Hang},
		{Kind: faultstore.HangApplied},
	}
	writes := func(c faultstore.Call) bool {
		if !c.Write || len(c.Keys) == 0 {
			return false
		}
		return c.Part == faultstore.Boards || strings.HasPrefix(c.Keys[0], "profile/") || strings.HasPrefix(c.Keys[0], "journal/")
	}
	for _, fault := range kinds {
		t.Run(fault.Kind.String(), func(t *testing.T) {
			for n := 1; n <= 24; n++ {
				inWaters(t, func(t *testing.T, w *waters) {
					a := w.launch("a", nil)
					b := w.launch("b", nil)
					time.Sleep(3 * time.Second)
					a.faults.SetRule(faultstore.Nth(n, writes, fault))
					play(t, a)
					w.honest()
					s := b.load("ann")
					must(t, s.Release(t.Context()))
					time.Sleep(20 * time.Second) // what was late has landed
					w.honest()
					want := map[string]int64{}
					if kills, has := w.stored("ann"); has {
						want["ann"] = kills
					}
					w.shows("Now", want)
					if got := w.on("Best")["ann"]; got < want["ann"] {
						t.Errorf("the best is %d, and %d is stored", got, want["ann"])
					}
				})
				if t.Failed() {
					t.Fatalf("write %d", n)
				}
			}
		})
	}
}

// Two nodes take a player from each other while every part of the store fails now and then.
func TestAMirrorUnderRandomFaults(t *testing.T) {
	for seed := range uint64(12) {
		inWaters(t, func(t *testing.T, w *waters) {
			odds := faultstore.Odds{FailBefore: .05, FailAfter: .08, Late: .05, After: 3 * time.Second, Back: 300 * time.Millisecond}
			var crafts []*craft
			for i := range 2 {
				c := w.launch(fmt.Sprintf("n%d", i), nil)
				crafts = append(crafts, c)
			}
			time.Sleep(3 * time.Second)
			for i, c := range crafts {
				c.faults.SetRule(faultstore.Chance(seed*2+uint64(i), odds))
			}
			for round := range 12 {
				c := crafts[round%2]
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				if s, err := c.Set("players").Load(ctx, "ann", nil); err == nil {
					_, _ = s.Transact(profile.Source{}, doc.Set("/kills", doc.Int(int64(round*5%11))))
					_ = s.Save(ctx)
					if round%3 == 0 {
						_ = s.Release(ctx)
					}
				}
				cancel()
				w.honest()
			}
			for _, c := range crafts {
				c.faults.SetRule(nil)
			}
			time.Sleep(30 * time.Second)
			s := crafts[0].load("ann")
			must(t, s.Release(t.Context()))
			time.Sleep(5 * time.Second)
			w.honest()
			want := map[string]int64{}
			if kills, has := w.stored("ann"); has {
				want["ann"] = kills
			}
			w.shows("Now", want)
		})
	}
}
