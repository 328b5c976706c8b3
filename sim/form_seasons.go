package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/season"
)

// This file reads the stored forms of seasons, and knows their calendar and their counters,
// with code of its own.

const (
	anglerPrefix = "profile/" + anglerSet + "/"
	reefPrefix   = "season/" + seasonSet + "/"
)

// calendar is that of the seasons.
type calendar struct {
	epoch    time.Time
	length   time.Duration
	perCycle int64
}

func (c calendar) at(t time.Time) int64 {
	if t.Before(c.epoch) {
		return 0
	}
	return int64(t.Sub(c.epoch) / c.length)
}

func (c calendar) end(k int64) time.Time { return c.epoch.Add(time.Duration(k+1) * c.length) }

func (c calendar) id(k int64) string { return fmt.Sprintf("C%dS%d", k/c.perCycle+1, k%c.perCycle+1) }

// number is the season of an id; -1: it is none.
func (c calendar) number(id string) int64 {
	var cycle, in int64
	if n, err := fmt.Sscanf(id, "C%dS%d", &cycle, &in); n != 2 || err != nil {
		return -1
	}
	if k := (cycle-1)*c.perCycle + in - 1; k >= 0 && c.id(k) == id {
		return k
	}
	return -1
}

// counters are the stats of a season.
type counters map[string]int64

// The counters that events change.
const (
	fish   = "fish"
	streak = "streak"
	best   = "bestStreak"
	catch  = "catch"
	lose   = "lose"
)

// after is what an event makes of counters.
func (c counters) after(event string) counters {
	out := maps.Clone(c)
	if out == nil {
		out = make(counters)
	}
	switch event {
	case catch:
		out[fish]++
		out[streak]++
		out[best] = max(out[best], out[streak])
	case lose:
		out[streak] = 0
	}
	return out
}

// blockForm is the season block of a profile.
type blockForm struct {
	Season    string              `json:"season"`
	Stats     counters            `json:"stats"`
	Owed      map[string]counters `json:"owed"`
	Processed *struct {
		Through int64   `json:"through"`
		Extra   []int64 `json:"extra"`
	} `json:"processed"`
	Titles map[string]titleForm `json:"titles"`

	coins int64
}

// titleForm is a title in a block.
type titleForm struct {
	Rank  int   `json:"rank"`
	Score int64 `json:"score"`
}

// has tells whether the block has been looked up in season k for titles.
func (b *blockForm) has(k int64) bool {
	return b.Processed != nil && (k <= b.Processed.Through || slices.Contains(b.Processed.Extra, k))
}

// of are the counters of a season, in the block or owed.
func (b *blockForm) of(id string) (counters, bool) {
	if b.Season == id {
		return b.Stats, true
	}
	c, ok := b.Owed[id]
	return c, ok
}

// seasons are the ids that the block has counters of.
func (b *blockForm) seasons() []string {
	out := slices.Collect(maps.Keys(b.Owed))
	if b.Season != "" {
		out = append(out, b.Season)
	}
	slices.Sort(out)
	return out
}

// blockOf reads the block of a player's data.
func blockOf(data doc.Value) (b blockForm, err error) {
	coins, _ := data.Member("coins")
	b.coins, _ = coins.AsInt()
	if v, ok := data.Get(doc.P("seasons", seasonSet)); ok {
		err = json.Unmarshal([]byte(v.String()), &b)
	}
	return b, err
}

// registerForm says which lives of a season's boards count.
type registerForm struct {
	Unplayed bool `json:"unplayed"`
	Boards   map[string]struct {
		Generation string `json:"generation"`
		Late       bool   `json:"late"`
		Rebuilt    bool   `json:"rebuilt"`
	} `json:"boards"`
}

// resultForm is the result of a season.
type resultForm struct {
	Season   string `json:"season"`
	K        int64  `json:"k"`
	Unplayed bool   `json:"unplayed"`
	Boards   []struct {
		Board   string      `json:"board"`
		Total   int64       `json:"total"`
		Top     []placeForm `json:"top"`
		Reserve []placeForm `json:"reserve"`
	} `json:"boards"`
}

// placeForm is a place of a result.
type placeForm struct {
	Rank  int    `json:"rank"`
	Key   string `json:"key"`
	Score int64  `json:"score"`
}

// seasonBoard takes the name of a season's board apart.
func seasonBoard(name string) (board, id string, ok bool) {
	rest, found := strings.CutPrefix(name, reefPrefix)
	board, id, split := strings.Cut(rest, "/")
	return board, id, found && split
}

// rulesOf is the configuration with what a run relies on filled in.
func rulesOf(cfg season.Config) (season.Config, calendar) {
	return cfg, calendar{cfg.Epoch, cfg.Length, int64(cfg.PerCycle)}
}
