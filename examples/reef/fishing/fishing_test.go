package fishing_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/examples/reef/fishing"
	"github.com/shoalworks/shoal/season"
)

func TestEveryKindBitesAndSomeGetAway(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := make(map[fishing.Rarity]int)
	lost := 0
	for range 10_000 {
		fish, ok := fishing.Cast(rng)
		if !ok {
			lost++
			continue
		}
		seen[fish.Rarity]++
		if fish.Name == "" || fish.Grams <= 0 || fish.Coins() <= 0 || fish.Experience() <= 0 {
			t.Fatalf("%+v: %d coins, %d experience", fish, fish.Coins(), fish.Experience())
		}
	}
	rarest := 10_000
	for _, r := range []fishing.Rarity{fishing.Common, fishing.Uncommon, fishing.Rare, fishing.Legendary} {
		if seen[r] == 0 || seen[r] >= rarest {
			t.Errorf("%d %s fish bit, of the rarity before %d", seen[r], r, rarest)
		}
		rarest = seen[r]
	}
	if lost < 2000 || lost > 3000 {
		t.Errorf("%d of 10,000 got away, about a quarter expected", lost)
	}
}

func TestWhatACatchIsWorth(t *testing.T) {
	for _, c := range []struct {
		fish              fishing.Fish
		text              string
		coins, experience int64
	}{
		{fishing.Fish{Name: "mackerel", Rarity: fishing.Common, Grams: 999}, "a common mackerel of 1.0 kg", 10, 5},
		{fishing.Fish{Name: "octopus", Rarity: fishing.Uncommon, Grams: 2_000}, "an uncommon octopus of 2.0 kg", 42, 15},
		{fishing.Fish{Name: "coelacanth", Rarity: fishing.Legendary, Grams: 50_000}, "a legendary coelacanth of 50.0 kg", 2_505, 500},
	} {
		if c.fish.String() != c.text || c.fish.Coins() != c.coins || c.fish.Experience() != c.experience {
			t.Errorf("%q %d %d, want %q %d %d", c.fish, c.fish.Coins(), c.fish.Experience(), c.text, c.coins, c.experience)
		}
	}
}

// What is told to the profile and to the season is what the rules of both take.
func TestCatchesFitTheProfileAndTheSeason(t *testing.T) {
	fish := fishing.Fish{Name: "octopus", Rarity: fishing.Uncommon, Grams: 2_000}
	data, err := doc.Apply(fishing.NewPlayer(), append(fish.Caught(), fishing.Missed()...)...)
	if err != nil || data.String() != `{"coins":42,"life":{"casts":2,"earned":42,"fish":1},"name":""}` {
		t.Errorf("%s %v", data, err)
	}
	events := make(map[string]bool)
	for _, s := range fishing.Rules().Stats {
		for _, e := range append(s.On, s.ResetOn...) {
			events[e] = true
		}
	}
	for _, e := range append(fish.Events(), fishing.Lost()) {
		if !events[e.Name] {
			t.Errorf("no stat listens to %q", e.Name)
		}
	}
}

func TestRulesAreValid(t *testing.T) {
	if err := fishing.Rules().Validate(); err != nil {
		t.Error(err)
	}
	for _, length := range []time.Duration{4 * time.Second, 10 * time.Second, time.Minute, time.Hour} {
		rules := fishing.Fast(time.Unix(1_800_000_000, 0), length, 3)
		if err := rules.Validate(); err != nil || rules.Length != length || rules.Grace >= length {
			t.Errorf("%v: %+v %v", length, rules, err)
		}
	}
}

// What is taken back is what was given, or what is left of it.
func TestRevokeIsTheOppositeOfReward(t *testing.T) {
	for rank := 1; rank <= 12; rank++ {
		title := season.Title{Rank: rank}
		data, err := doc.Apply(fishing.NewPlayer(), append(fishing.Reward(title), fishing.Revoke(title)...)...)
		if err != nil || !data.Equal(fishing.NewPlayer()) {
			t.Errorf("rank %d: %s %v", rank, data, err)
		}
		spent, err := doc.Apply(doc.Must(map[string]any{"coins": 7}), fishing.Revoke(title)...)
		if err != nil || spent.String() != `{"coins":0}` {
			t.Errorf("rank %d: %s %v", rank, spent, err)
		}
	}
}

func TestNamesOfManyPlayers(t *testing.T) {
	seen := make(map[string]bool)
	for i := range 300 {
		seen[fishing.Name(i)] = true
	}
	if len(seen) < 290 || !seen["Ann"] || !seen["Ann Reed"] || fishing.Name(10_000) == "" {
		t.Errorf("%d names for 300 players", len(seen))
	}
}
