package demo

import (
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/examples/reef/fishing"
)

// fishBoard is the board that the ledger counts catches on; fishStat is its counter.
const (
	fishBoard = "Fish"
	fishStat  = "fish"
)

// book is what is stored of a player. Plain data.
type book struct {
	announced           []string         // titles that were told of before the rest was read
	casts, fish, earned int64            // of a whole life, as the game counts
	coins               int64            // in the purse
	ranks               map[string]int   // by title
	seasons             map[string]int64 // fish by season, as seasons count
}

// bookIn reads a profile.
func bookIn(data doc.Value) book {
	b := book{
		casts: casts(data), fish: integerAt(data, "/life/fish"), earned: integerAt(data, "/life/earned"),
		coins: integerAt(data, "/coins"), ranks: make(map[string]int), seasons: make(map[string]int64),
	}
	block, _, _ := data.Lookup("/seasons/" + reefSeason)
	titles, _ := block.Member("titles")
	for key, title := range titles.Members() {
		b.ranks[key] = int(integerAt(title, "/rank"))
	}
	if id, _, _ := block.Lookup("/season"); !id.IsNull() {
		now, _ := id.AsString()
		b.counts(now, integerAt(block, "/stats/"+fishStat))
	}
	owed, _ := block.Member("owed")
	for id, values := range owed.Members() {
		b.counts(id, integerAt(values, "/"+fishStat))
	}
	return b
}

// counts notes that a season has counted that many fish; the most that anybody tells is right,
// since a board follows the profile and a profile forgets what its board has.
func (b book) counts(season string, fish int64) { b.seasons[season] = max(b.seasons[season], fish) }

// counted is how many fish all seasons have counted.
func (b book) counted() (sum int64) {
	for _, n := range b.seasons {
		sum += n
	}
	return sum
}

// prizes is what the titles are worth.
func (b book) prizes() (sum int64) {
	for _, rank := range b.ranks {
		sum += fishing.Prize(rank)
	}
	return sum
}

func casts(data doc.Value) int64 { return integerAt(data, "/life/casts") }

func nameIn(data doc.Value) string {
	v, _, _ := data.Lookup("/name")
	name, _ := v.AsString()
	return name
}

// integerAt is the number at a place, 0 when there is none.
func integerAt(data doc.Value, at string) int64 {
	v, _, _ := data.Lookup(at)
	n, _ := v.AsInt()
	return n
}
