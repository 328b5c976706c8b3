package season_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// purse is a reward of coins.
func purse(to int, coins int64) season.Reward {
	return season.Reward{To: to, Ops: []doc.Op{doc.Increment("/coins", coins)}}
}

// Places get what covers their rank, together with the game's own reward, and once.
func TestRewardsOfTheConfiguration(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Boards[0].Rewards = []season.Reward{purse(1, 1000), {To: 2}, {To: 3, Ops: []doc.Op{
			doc.Set("/badges/bronze", doc.Bool(true)), doc.Increment("/coins", 10),
		}}}
		h := w.host("a", hostOptions{})
		for i, key := range []string{"ada", "bob", "cyd", "dan"} {
			s := h.join(key)
			h.play(s, slices.Repeat([]string{"catch"}, 5-i)...)
			set(t, s, "/coins", 1)
			h.leaveStill(s)
		}
		w.pastGrace(0)
		h.closeDue()
		game := func(title season.Title) []doc.Op {
			return []doc.Op{doc.Set("/paid", doc.MustString(fmt.Sprint(title.Rank)))}
		}
		b := w.host("b", hostOptions{deps: season.Deps{Reward: game}})
		want := map[string]string{"ada": `{"coins":1001,"paid":"1"}`, "bob": `{"coins":1,"paid":"2"}`, "cyd": `{"badges":{"bronze":true},"coins":11,"paid":"3"}`, "dan": `{"coins":1}`}
		for range 2 {
			for key, data := range want {
				s := b.join(key)
				if err := s.Change("test", func(doc.Value) ([]doc.Op, error) { return []doc.Op{doc.Unset("/seasons")}, nil }); err != nil {
					t.Fatal(err)
				}
				if got := s.Data().String(); got != data {
					t.Errorf("%s has %s, want %s", key, got, data)
				}
				s.crash() // without the block only in memory
			}
		}
	})
}

// A title and its reward are one transaction: what the profile refuses keeps both back.
func TestARefusedConfiguredRewardKeepsTheTitleBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.cfg.Boards[0].Rewards = []season.Reward{{To: 3, Ops: []doc.Op{doc.Increment("/purse/coins", 5)}}}
		h := w.host("a", hostOptions{})
		winSeasons(t, w, h, 1)
		w.pastGrace(0)
		h.closeDue()
		s := w.profiles.load("ada")
		if titles, err := h.Joined(t.Context(), s); err == nil {
			t.Fatalf("there is no purse: %v", titles)
		}
		set(t, s, "/purse/coins", 1)
		if titles, err := h.Joined(t.Context(), s); err != nil || len(titles) != 1 {
			t.Fatalf("%v, %v", titles, err)
		}
		if coins, _, _ := s.Data().Lookup("/purse/coins"); !coins.Equal(doc.Int(6)) {
			t.Fatalf("coins %v", coins)
		}
	})
}

func TestRewardsFromJSON(t *testing.T) {
	got, err := season.ParseConfig([]byte(`{
		"epoch": "2026-08-11T00:00:00Z", "length": "1080h",
		"stats": [{"name": "fish", "kind": "sum", "on": ["catch"], "each": 1}],
		"boards": [{"name": "Fish", "stat": "fish", "rewards": [
			{"to": 1, "ops": [{"op": "increment", "path": "/coins", "by": 100}, {"op": "set", "path": "/hats/king", "value": true}]},
			{"to": 2, "ops": []},
			{"to": 50, "ops": [{"op": "append", "path": "/mail", "items": ["thanks"]}]}]}],
		"name": "/name"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []season.Reward{
		{To: 1, Ops: []doc.Op{doc.Increment("/coins", 100), doc.Set("/hats/king", doc.Bool(true))}},
		{To: 2, Ops: []doc.Op{}},
		{To: 50, Ops: []doc.Op{doc.AppendTo("/mail", doc.MustString("thanks"))}},
	}
	sameOp := cmp.Comparer(func(a, b doc.Op) bool { return a.String() == b.String() })
	if diff := cmp.Diff(want, got.Boards[0].Rewards, sameOp); diff != "" || got.Name != "/name" {
		t.Fatalf("name %q, rewards (-want +got):\n%s", got.Name, diff)
	}
	if err := got.Validate(); err != nil {
		t.Fatal(err)
	}
	roundTrip(t, got, sameOp)
}

func TestRewardsThatAreWrong(t *testing.T) {
	c := season.Reef()
	c.Top = 10
	c.Path = "/seasons/reef"
	c.Boards[0].Rewards = []season.Reward{
		purse(3, 1), purse(3, 1), purse(11, 1),
		{To: 12, Ops: slices.Repeat([]doc.Op{doc.Set("/a", doc.Int(1))}, 17)},
	}
	c.Boards[1].Rewards = []season.Reward{{To: 1, Ops: []doc.Op{
		doc.Set("coins", doc.Int(1)), doc.Set("/seasons/reef/stats/fish", doc.Int(1)), doc.Unset("/seasons"), doc.Set("", doc.Int(1)),
		doc.Set("/seasons/ref", doc.Int(1)), doc.Merge("/hats", doc.Int(1)),
	}}}
	for range 33 {
		c.Boards[2].Rewards = append(c.Boards[2].Rewards, purse(len(c.Boards[2].Rewards)+1, 1))
	}
	complains(t, "rewards", c.Validate(), []string{
		"boards[0].rewards[1].to: 4 to top (10) expected, got 3",
		"boards[0].rewards[2].to: 4 to top (10) expected, got 11",
		"boards[0].rewards[3].ops: at most 16 expected, got 17",
		"boards[1].rewards[0].ops[0]: bad path",
		"boards[1].rewards[0].ops[1].path: a place outside", "boards[1].rewards[0].ops[2].path: a place outside", "boards[1].rewards[0].ops[3].path: a place outside",
		"boards[1].rewards[0].ops[5]: malformed operation",
		"boards[2].rewards: at most 32 expected, got 33",
	})
	c = season.Reef()
	c.Path = "/seasons/reef"
	c.Boards[0].Rewards = []season.Reward{{To: 50, Ops: []doc.Op{doc.Set("/seasons/ref", doc.Int(1)), doc.Set("/seasons/reefs", doc.Int(1))}}}
	if err := c.Validate(); err != nil {
		t.Errorf("beside the block: %v", err)
	}
	for text, want := range map[string][]string{
		`{"boards": [{"rewards": [{"to": 1, "ops": [{"op": "give", "path": "/a"}]}]}]}`: {"boards[0].rewards[0].ops[0]: doc: malformed operation"},
		`{"boards": [{"rewards": [{"first": 1, "ops": 3}]}], "name": 1}`:                {"boards[0].rewards[0].first: unknown member", "boards[0].rewards[0].ops: a list expected", "name: a string expected"},
	} {
		_, err := season.ParseConfig([]byte(text))
		complains(t, text, err, want)
	}
}

// case S7: configured rewards are given once, wherever the node dies.
func TestConfiguredRewardsSurviveACrashOnce(t *testing.T) {
	for n := int64(1); n < 40; n++ {
		bubble(t, func(t *testing.T, w *world) {
			w.cfg.Boards[0].Rewards = []season.Reward{purse(1, 100)}
			h := w.host("a", hostOptions{})
			s := h.join("ada")
			h.play(s, "catch")
			set(t, s, "/coins", 5)
			h.leaveStill(s)
			w.pastGrace(0)
			h.closeDue()
			dies := w.host("dies", hostOptions{})
			syncs := int64(0)
			w.profiles.onSync(func(string) fate {
				if syncs++; syncs == n {
					return applied
				}
				return refuse
			})
			s = w.profiles.load("ada")
			_, _ = dies.Joined(t.Context(), s)
			for range n {
				_, _ = dies.Sweep(t.Context())
			}
			s.crash()
			w.profiles.onSync(nil)
			b := w.host("b", hostOptions{})
			s = b.join("ada")
			time.Sleep(time.Second)
			if coins, _, _ := s.Data().Lookup("/coins"); !coins.Equal(doc.Int(105)) {
				t.Fatalf("cut at %d: coins %v", n, coins)
			}
		})
	}
}
