package fishing

import (
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// NewPlayer is what a profile begins with: a purse, and counts of a whole life. What a season
// counts is in a block of its own, which package season keeps.
func NewPlayer() doc.Value {
	return doc.Must(map[string]any{
		"name": "", "coins": 0,
		"life": map[string]any{"casts": 0, "fish": 0, "earned": 0},
	})
}

// Caught is what a catch changes in the profile.
func (f Fish) Caught() []doc.Op {
	return []doc.Op{
		doc.Increment("/life/casts", 1), doc.Increment("/life/fish", 1),
		doc.Increment("/coins", f.Coins()), doc.Increment("/life/earned", f.Coins()),
	}
}

// Events are what seasons hear of a catch.
func (f Fish) Events() []season.Event {
	return []season.Event{{Name: "catch"}, {Name: "coins", Amount: f.Coins()}, {Name: "experience", Amount: f.Experience()}}
}

// Missed is what a fish that got away changes in the profile.
func Missed() []doc.Op { return []doc.Op{doc.Increment("/life/casts", 1)} }

// Lost is what seasons hear of it: the streak ends.
func Lost() season.Event { return season.Event{Name: "lose"} }

// Rules are the seasons of the game: 45 days from 2026-08-11 on, twenty to a cycle, with boards
// for fish, coins, experience and the best streak, that show the players' names.
func Rules() season.Config {
	rules := season.Reef()
	rules.Name = "/name"
	return rules
}

// Fast are the same rules with seasons short enough to watch, from an epoch on that all nodes
// share. Everything else that takes time is shorter in proportion; of each board the best top
// get a title.
func Fast(epoch time.Time, length time.Duration, top int) season.Config {
	rules := Rules()
	rules.Epoch, rules.Length = epoch.UTC(), length
	rules.Grace = max(length/15, 2*time.Second)
	rules.FlushEvery = rules.Grace / 3
	rules.FirstClose = time.Second
	rules.CloseEvery = max(length/30, time.Second)
	rules.CacheFor = time.Second
	rules.Top = top
	return rules
}

// Prize is what a place of a closed season is worth, in coins.
func Prize(rank int) int64 {
	switch {
	case rank == 1:
		return 1000
	case rank <= 3:
		return 500
	}
	return 100
}

// Reward pays the prize of a title, in the transaction that stores the title: exactly once. It
// is for season.Deps.
func Reward(t season.Title) []doc.Op { return []doc.Op{doc.Increment("/coins", Prize(t.Rank))} }

// Revoke takes it back when a title is withdrawn or gets another rank: as much of it as is there.
func Revoke(t season.Title) []doc.Op {
	return []doc.Op{doc.Increment("/coins", -Prize(t.Rank)).AtLeast(doc.Int(0)).Clamped()}
}

// Name is the i-th player's name: "Ann", and after one round of the names "Ann Reed".
func Name(i int) string {
	names := []string{
		"Ann", "Bob", "Cid", "Dot", "Eve", "Finn", "Gil", "Hope", "Ida", "Jon", "Kai", "Lou", "Mae",
		"Ned", "Ona", "Pip", "Quin", "Ray", "Sue", "Tom", "Una", "Vic", "Wes", "Xia", "Yul", "Zoe",
	}
	families := []string{"Reed", "Cove", "Gale", "Shaw", "Wells", "Marsh", "Brook", "Finch", "Stone", "Ford", "Lane"}
	if round := i / len(names); round > 0 {
		return names[i%len(names)] + " " + families[(round-1)%len(families)]
	}
	return names[i]
}
