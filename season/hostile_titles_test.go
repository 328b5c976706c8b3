package season_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// An operator's edit, an import or a client's mistake takes marks out of the block at any time:
// what the block still says of a title decides, nothing is given twice, and the title follows.
func TestMarksThatGoBackGiveNothingTwice(t *testing.T) {
	rules := rulesOf(t, season.Reef())
	keys := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		r := fishResult(t, 0, keys...)
		data, has := doc.MustObject(nil), reckoning{}
		var list []season.Correction
		given := 0
		revocable := rapid.Bool().Draw(t, "revocable")
		look := func() {
			var g season.Granted
			var err error
			data, g, err = rules.Correct(data, season.Occasion{
				Key: "c", Revocable: revocable, Standings: []*season.Standings{season.StandingsOf(r, list)},
			})
			if err != nil {
				t.Fatal(err)
			}
			has.apply(g)
			given += len(g.Rewarded)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				look()
			case 1:
				list = append(list, drawCorrection(t, []string{"a", "c"}))
			case 2:
				lost := rapid.SampledFrom([]string{"processed", "corrected"}).Draw(t, "lost")
				if lost == "corrected" {
					data, _ = doc.Apply(data, doc.Unset(doc.P("seasons", "reef", "processed"))) // alone it says that nothing is to be done
				}
				data, _ = doc.Apply(data, doc.Unset(doc.P("seasons", "reef", lost)))
			}
		}
		list = append(list, out("nobody"))
		look()
		view, err := rules.View(data, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		checkTitle(t, view, season.StandingsOf(r, list), has, revocable)
		if !revocable && given > 1 {
			t.Fatalf("given %d times", given)
		}
	})
}

// What is in the place of a title and is none is left alone, and not paid for.
func TestWhatIsNoTitleIsLeftAlone(t *testing.T) {
	rules := rulesOf(t, season.Reef())
	r := fishResult(t, 0, "a", "b", "c", "d", "e")
	for _, block := range []string{
		`{"processed":{"through":0},"corrected":{"C1S1":0},"titles":{"Fish@C1S1":"mine"}}`,
		`{"processed":{"through":0},"corrected":{"C1S1":0},"titles":{"Fish@C1S1":{"rank":"first"}}}`,
		`{"processed":{"through":0},"corrected":{"C1S1":0},"withdrawn":{"Fish@C1S1":"gone"}}`,
		`{"titles":{"Fish@C1S1":"mine"}}`,
		`{"withdrawn":{"Fish@C1S1":null}}`,
	} {
		data := doc.MustObject(map[string]doc.Value{"seasons": doc.MustObject(map[string]doc.Value{"reef": parse(t, block)})})
		_, g, err := rules.Correct(data, season.Occasion{Key: "c", Standings: []*season.Standings{season.StandingsOf(r, []season.Correction{out("a")})}})
		if err != nil || len(g.Rewarded) > 0 || len(g.Revoked) > 0 || len(g.Titles) > 0 {
			t.Errorf("%s: %+v, %v", block, g, err)
		}
	}
}

// A block that has lost its processed mark, and takes more corrections into account than this
// node knows of, waits until the node knows them too.
func TestABlockAheadOfTheNodeWaits(t *testing.T) {
	rules := rulesOf(t, season.Reef())
	r := fishResult(t, 0, "a", "b", "c", "d", "e")
	data := doc.MustObject(map[string]doc.Value{"seasons": doc.MustObject(map[string]doc.Value{"reef": parse(t, `{"corrected":{"C1S1":2}}`)})})
	list := []season.Correction{out("a"), back("a")}
	for known := range 3 {
		next, g, err := rules.Correct(data, season.Occasion{Key: "c", Standings: []*season.Standings{season.StandingsOf(r, list[:known])}})
		if err != nil || (len(g.Titles) > 0) != (known == 2) || (g.Ops > 0) != (known == 2) {
			t.Fatalf("%d known: %+v, %v: %v", known, g, err, next)
		}
	}
}

// Corrections in many more seasons than one look takes reach a player who is online, each once,
// and cost a look as many reads as it takes.
func TestCorrectionsInManySeasons(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const seasons = 120
		w.cfg.Length = 10 * time.Minute
		w.cfg.Boards = w.cfg.Boards[:1]
		h := w.host("a", hostOptions{})
		s := h.join("c")
		for k := range int64(seasons) {
			r := fishResult(t, k, "a", "b", "c", "d", "e")
			r.Season, r.Number = w.cfg.ID(k), w.cfg.Number(k)
			data, err := season.EncodeResult(r)
			if err != nil {
				t.Fatal(err)
			}
			w.put("season/reef/"+w.cfg.ID(k)+"/result", string(data))
		}
		set(t, s, "/coins", 0)
		h.leaveStill(s)
		w.pastGrace(seasons - 1)
		h.closeDue()
		for k := range int64(seasons) {
			h.rule(w.cfg.ID(k), out("a"))
		}
		var e ear
		b := w.host("b", hostOptions{deps: season.Deps{Reward: prize, OnCorrected: e.hear}})
		s = b.join("c")
		rounds := 1
		for more := true; more; rounds++ {
			var err error
			if more, err = b.Sweep(t.Context()); err != nil || rounds > 10 {
				t.Fatalf("%d rounds: %v", rounds, err)
			}
		}
		for _, last := range []string{"b", "d"} {
			for k := range int64(seasons) {
				h.rule(w.cfg.ID(k), out(last))
			}
			time.Sleep(31 * time.Second)
			for more, n := true, 0; more; n++ {
				var err error
				b.closeDue()
				if more, err = b.Sweep(t.Context()); err != nil || n > 10 {
					t.Fatalf("%d rounds: %v", n, err)
				}
			}
		}
		v, err := b.View(s)
		if err != nil || len(v.Titles) != seasons || slices.ContainsFunc(v.Titles, func(t season.Title) bool { return t.Rank != 1 || t.Corrections != 3 }) {
			t.Fatalf("%d titles, %v", len(v.Titles), err)
		}
		if heard := e.all(); len(heard) != seasons || w.coins("c") != 100*seasons {
			t.Fatalf("heard %d, %d coins", len(heard), w.coins("c"))
		}
	})
}

// The profile of a disqualified player is restored to an older state, of which the marks are, and
// the reward: whatever is restored, the title follows the standings, and the reward is there once.
func TestAProfileIsRestoredToAnOlderState(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := oneBoard(t, w, 5)
		b := w.host("b", hostOptions{deps: season.Deps{Reward: prize, Revoke: seizure}})
		var states []doc.Value
		keep := func() { states = append(states, w.profiles.data("u1")) }
		keep()
		b.visit("u1")
		keep()
		for _, c := range []season.Correction{out("u0"), out("u1"), back("u1"), back("u0")} {
			h.rule("C1S1", c)
			time.Sleep(31 * time.Second)
			b.visit("u1")
			keep()
		}
		for i, state := range states {
			w.profiles.put("u1", state, w.cfg.Epoch)
			b.visit("u1")
			if got := fmt.Sprint(w.titleOf("u1"), w.coins("u1")); got != "#2 SEA KING (S1)100" {
				t.Errorf("from state %d: %s", i, got)
			}
		}
	})
}

// A profile was copied under another key: its titles are those of somebody else's place. No
// correction takes them away, nor a reward that was not given for them, whatever marks came along.
func TestTitlesOfACopyStay(t *testing.T) {
	rules := rulesOf(t, season.Reef())
	r := fishResult(t, 0, "a", "b", "c", "d", "e")
	data, _, err := rules.Correct(doc.MustObject(nil), season.Occasion{Key: "c", Standings: []*season.Standings{season.StandingsOf(r, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	unmarked, err := doc.Apply(data, doc.Unset(doc.P("seasons", "reef", "processed")))
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []doc.Value{data, unmarked} {
		st := season.StandingsOf(r, []season.Correction{out("c")})
		data, g, err := rules.Correct(data, season.Occasion{Key: "copy", Revocable: true, Standings: []*season.Standings{st}})
		if err != nil || len(g.Revoked) > 0 || len(g.Changes) > 0 {
			t.Errorf("%+v, %v", g, err)
		}
		if v, err := rules.View(data, 1, 0); err != nil || len(v.Titles) != 1 {
			t.Errorf("%+v, %v", v, err)
		}
	}
}
