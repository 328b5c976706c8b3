package season

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/internal/name"
	"github.com/shoalworks/shoal/store"
)

// Board is a leaderboard that every season has anew.
type Board struct {
	// Name is the board's type, "Fish"; letters, digits and ._-:+=~, at most 64 bytes.
	Name string
	// Stat is the counter that it ranks.
	Stat string
	// Title is what the best of a season are called, "SEA KING". Default: Name.
	Title string
	// Order is which end is the best. Default store.Descending.
	Order store.Order
	// Rewards are what the places of a closed season get, as operations on the profile that are
	// part of the transaction which stores the title, before those of Deps.Reward. The first
	// that covers the rank applies, as the node is configured that stores the title. A
	// Deps.Revoke takes these back too, since a corrected title is rewarded anew. At most 32.
	// Default none.
	Rewards []Reward
}

// Reward is what places of a closed season get.
type Reward struct {
	// To is the last rank that gets it, at most Top. The first is the one after the reward
	// before, or 1.
	To int
	// Ops are the operations on the profile, at most 16, none of them on the season's own Path
	// or around it. Empty: these places get nothing. A profile that refuses one of them (an
	// increment whose parent is missing, a guard) gets its title when it no longer does.
	Ops []doc.Op
}

// Config is a season's rules. Zero is the default; [ParseConfig] reads it from JSON.
type Config struct {
	Calendar

	// Stats are the counters, at most 32.
	Stats []Stat
	// Boards are the leaderboards, at most 32.
	Boards []Board

	// Grace is how long after its end, by the durable store's clock, a season is closed at the
	// earliest. It must exceed FlushEvery, because the last values are on their way. Default
	// 300 s.
	Grace time.Duration
	// FlushEvery is how often the values of changed players are written. Default 30 s.
	FlushEvery time.Duration
	// FirstClose is how long after the start the node first looks for seasons to close: a
	// start has better things to do. Default 60 s.
	FirstClose time.Duration
	// CloseEvery is how often it looks from then on. Negative: this node closes no season by
	// itself, only by [Service.CloseDue]. Default 300 s.
	CloseEvery time.Duration
	// Top is how many per board get a title. Default 50.
	Top int
	// Keep is how many per board the result holds; those below Top are the reserve. At most
	// 1000. Default: twice Top.
	Keep int
	// CacheFor is how long a board's page is shown before it is read again. Default 30 s.
	CacheFor time.Duration
	// Name is where in the profile the player's display name is, as a JSON Pointer; it is shown
	// on boards and kept in results, cut to 256 bytes, without control characters. What is no
	// text is no name. A name that was changed shows on a board when the player's score there
	// changes next. Default "": boards show no names.
	Name string
	// Path is where in the profile the block is, as a JSON Pointer. Default /seasons/<name>.
	Path string
}

const (
	maxBoards    = 32
	maxTitle     = 64 // bytes
	defaultCycle = 20

	defaultCloseEvery = 300 * time.Second
)

// Reef is the configuration of the seed, the fishing game: 45-day seasons from 2026-08-11,
// twenty to a cycle, and boards for fish, coins, experience and the best catch streak.
//
// Its events: "catch" and "lose" (no amount), "coins" and "experience" (amount).
func Reef() Config {
	return Config{
		Calendar: Calendar{
			Epoch:    time.Date(2026, time.August, 11, 0, 0, 0, 0, time.UTC),
			Length:   3_888_000 * time.Second,
			PerCycle: defaultCycle,
		},
		Stats: []Stat{
			{Name: "fish", Kind: Sum, On: []string{"catch"}, Each: 1},
			{Name: "coins", Kind: Sum, On: []string{"coins"}},
			{Name: "experience", Kind: Sum, On: []string{"experience"}},
			{Name: "streak", Kind: Run, On: []string{"catch"}, ResetOn: []string{"lose"}},
			{Name: "bestStreak", Kind: BestOfRun, Of: "streak"},
		},
		Boards: []Board{
			{Name: "Fish", Stat: "fish", Title: "SEA KING"},
			{Name: "Coins", Stat: "coins", Title: "GOLD SOVEREIGN"},
			{Name: "Experience", Stat: "experience", Title: "GRAND MARINER"},
			{Name: "Streak", Stat: "bestStreak", Title: "RELENTLESS KING"},
		},
	}
}

// withDefaults fills in what is zero and reports everything that is wrong, joined.
func (c Config) withDefaults(season string) (Config, error) {
	c.Epoch = c.Epoch.UTC()
	orDefault(&c.PerCycle, defaultCycle)
	orDefault(&c.Grace, 300*time.Second)
	orDefault(&c.FlushEvery, 30*time.Second)
	orDefault(&c.FirstClose, 60*time.Second)
	orDefault(&c.CloseEvery, defaultCloseEvery)
	orDefault(&c.Top, 50)
	orDefault(&c.Keep, 2*c.Top)
	orDefault(&c.CacheFor, 30*time.Second)
	orDefault(&c.Path, doc.P("seasons", season).String())
	c.Boards = append([]Board(nil), c.Boards...)
	for i := range c.Boards {
		orDefault(&c.Boards[i].Order, store.Descending)
		orDefault(&c.Boards[i].Title, c.Boards[i].Name)
	}
	return c, c.problems()
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports everything that is wrong with the configuration, joined; the errors are
// ErrConfig. It is what New does.
func (c Config) Validate() error {
	_, err := c.withDefaults("x")
	return err
}

// complaints collects what is wrong.
type complaints struct{ errs []error }

func (p *complaints) add(field, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%w: %s: %s", ErrConfig, field, fmt.Sprintf(format, args...)))
}

func (p *complaints) name(field, s string) {
	if err := name.CheckName(field, s); err != nil {
		p.errs = append(p.errs, fmt.Errorf("%w: %w", ErrConfig, err))
	}
}

func (c Config) problems() error {
	p := new(complaints)
	c.checkCalendar(p)
	c.checkTimes(p)
	c.checkStats(p)
	c.checkBoards(p)
	if c.Top < 1 || c.Top > c.Keep {
		p.add("top", "1 to keep (%d) expected, got %d", c.Keep, c.Top)
	}
	if c.Keep < 1 || c.Keep > store.MaxPage {
		p.add("keep", "1 to %d expected, got %d", store.MaxPage, c.Keep)
	}
	if path, err := doc.ParsePath(c.Name); c.Name != "" && (err != nil || path.IsRoot()) {
		p.add("name", "a JSON Pointer to a member expected, got %q", c.Name)
	}
	if path, err := doc.ParsePath(c.Path); err != nil || path.IsRoot() {
		p.add("path", "a JSON Pointer to a member expected, got %q", c.Path)
	}
	return errors.Join(p.errs...)
}

func (c Config) checkCalendar(p *complaints) {
	if c.Epoch.IsZero() {
		p.add("epoch", "is missing: the start of the first season")
	}
	if c.Length < time.Second {
		p.add("length", "at least 1s expected, got %v", c.Length)
	}
	if c.PerCycle < 1 {
		p.add("perCycle", "at least 1 expected, got %d", c.PerCycle)
	}
}

func (c Config) checkTimes(p *complaints) {
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"flushEvery", c.FlushEvery}, {"firstClose", c.FirstClose}, {"cacheFor", c.CacheFor}} {
		if d.value <= 0 {
			p.add(d.field, "more than 0 expected, got %v", d.value)
		}
	}
	if c.Grace <= c.FlushEvery {
		p.add("grace", "more than flushEvery (%v) expected, since the last values are on their way so long; got %v", c.FlushEvery, c.Grace)
	}
}

func (c Config) checkStats(p *complaints) {
	if len(c.Stats) == 0 || len(c.Stats) > maxStats {
		p.add("stats", "1 to %d expected, got %d", maxStats, len(c.Stats))
	}
	kinds := make(map[string]Kind, len(c.Stats))
	for i, s := range c.Stats {
		field := fmt.Sprintf("stats[%d]", i)
		p.name(field+".name", s.Name)
		if _, twice := kinds[s.Name]; twice {
			p.add(field+".name", "%q comes twice", s.Name)
		}
		kinds[s.Name] = s.Kind
	}
	for i, s := range c.Stats {
		s.check(p, fmt.Sprintf("stats[%d]", i), kinds)
	}
}

func (s Stat) check(p *complaints, field string, kinds map[string]Kind) {
	if s.Kind < Sum || s.Kind > Last {
		p.add(field+".kind", "sum, run, best, max, min or last expected")
		return
	}
	seen := make(map[string]bool)
	for _, e := range append(append([]string(nil), s.On...), s.ResetOn...) {
		p.name(field+".on", e)
		if seen[e] {
			p.add(field+".on", "event %q comes twice", e)
		}
		seen[e] = true
	}
	switch {
	case s.Kind == BestOfRun && len(s.On) > 0:
		p.add(field+".on", "a best follows its run, it listens to no event")
	case s.Kind != BestOfRun && len(s.On) == 0:
		p.add(field+".on", "is empty: nothing would be counted")
	}
	if s.Kind == BestOfRun && kinds[s.Of] != Run {
		p.add(field+".of", "the name of a run expected, got %q", s.Of)
	}
	if s.Kind != BestOfRun && s.Of != "" {
		p.add(field+".of", "only a best is of a run")
	}
	if s.Kind != Run && len(s.ResetOn) > 0 {
		p.add(field+".resetOn", "only a run is reset by events")
	}
	if s.Each != 0 && s.Kind != Sum && s.Kind != Run {
		p.add(field+".each", "only sum and run add")
	}
	if s.Kind == Run && s.Each < 0 {
		p.add(field+".each", "a run counts up, got %d", s.Each)
	}
}

func (c Config) checkBoards(p *complaints) {
	if len(c.Boards) > maxBoards {
		p.add("boards", "at most %d expected, got %d", maxBoards, len(c.Boards))
	}
	stats := make(map[string]bool, len(c.Stats))
	for _, s := range c.Stats {
		stats[s.Name] = true
	}
	names := make(map[string]bool, len(c.Boards))
	for i, b := range c.Boards {
		field := fmt.Sprintf("boards[%d]", i)
		p.name(field+".name", b.Name)
		if strings.Contains(b.Name, "@") {
			p.add(field+".name", "has @, which parts board and season in a title's key")
		}
		if names[b.Name] {
			p.add(field+".name", "%q comes twice", b.Name)
		}
		names[b.Name] = true
		if !stats[b.Stat] {
			p.add(field+".stat", "no stat is named %q", b.Stat)
		}
		if len(b.Title) > maxTitle || !utf8.ValidString(b.Title) {
			p.add(field+".title", "valid UTF-8 of at most %d bytes expected", maxTitle)
		}
		if b.Order != store.Descending && b.Order != store.Ascending {
			p.add(field+".order", "descending or ascending expected")
		}
		c.checkRewards(p, field+".rewards", b.Rewards)
	}
}
