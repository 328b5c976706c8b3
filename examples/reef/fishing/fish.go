package fishing

import (
	"fmt"
	"math/rand/v2"
)

// Rarity is how seldom a fish bites.
type Rarity string

// The rarities, from the many to the one.
const (
	Common    Rarity = "common"
	Uncommon  Rarity = "uncommon"
	Rare      Rarity = "rare"
	Legendary Rarity = "legendary"
)

// kind is a kind of fish that lives in the reef.
type kind struct {
	name        string
	rarity      Rarity
	bites       int   // of 100 fish that bite
	least, most int64 // grams
}

func kinds() []kind {
	return []kind{
		{"mackerel", Common, 42, 300, 1_800},
		{"sea bream", Common, 28, 500, 3_000},
		{"sea bass", Uncommon, 14, 1_000, 8_000},
		{"octopus", Uncommon, 9, 2_000, 9_000},
		{"barracuda", Rare, 5, 4_000, 25_000},
		{"tarpon", Rare, 1, 20_000, 90_000},
		{"coelacanth", Legendary, 1, 40_000, 95_000},
	}
}

// Fish is a fish that was caught.
type Fish struct {
	Name   string
	Rarity Rarity
	Grams  int64
}

// Cast throws the line once; ok is false when the fish got away.
func Cast(rng *rand.Rand) (fish Fish, ok bool) {
	const oneIn = 4 // gets away
	if rng.IntN(oneIn) == 0 {
		return Fish{}, false
	}
	bite := rng.IntN(100)
	for _, k := range kinds() {
		if bite -= k.bites; bite < 0 {
			return Fish{k.name, k.rarity, k.least + rng.Int64N(k.most-k.least+1)}, true
		}
	}
	return Fish{}, false
}

// Coins is what the fish is sold for: by its weight, and by how seldom it bites.
func (f Fish) Coins() int64 {
	return (1 + f.Grams/100) * map[Rarity]int64{Common: 1, Uncommon: 2, Rare: 3, Legendary: 5}[f.Rarity]
}

// Experience is what the catch has taught.
func (f Fish) Experience() int64 {
	return map[Rarity]int64{Common: 5, Uncommon: 15, Rare: 60, Legendary: 500}[f.Rarity]
}

// String is the fish for people: "a rare barracuda of 12.4 kg".
func (f Fish) String() string {
	article := "a"
	if f.Rarity == Uncommon {
		article = "an"
	}
	return fmt.Sprintf("%s %s %s of %.1f kg", article, f.Rarity, f.Name, float64(f.Grams)/1000)
}
