package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/store"
)

// boardConfig is a leaderboard.
type boardConfig struct {
	Order      string      `json:"order"`
	Rule       string      `json:"rule"`
	Decimals   int         `json:"decimals"`
	Min        *int64      `json:"min"`
	Max        *int64      `json:"max"`
	CacheFor   span        `json:"cacheFor"`
	MaxEntries int         `json:"maxEntries"`
	From       *fromConfig `json:"from"`
}

// fromConfig has a board mirror the profiles of a set.
type fromConfig struct {
	Set     string `json:"set"`
	Path    string `json:"path"`
	Missing *int64 `json:"missing"`
	Meta    string `json:"meta"`
}

// namesConfig says where names are in the profiles.
type namesConfig struct {
	Set     string `json:"set"`
	Display string `json:"display"`
	User    string `json:"user"`

	PerMinute  int  `json:"perMinute"`
	Batch      int  `json:"batch"`
	Cache      int  `json:"cache"`
	KeepFor    span `json:"keepFor"`
	AbsentFor  span `json:"absentFor"`
	RetryAfter span `json:"retryAfter"`
}

// flushConfig tunes the boards' queues and pages.
type flushConfig struct {
	FlushEvery       span `json:"flushEvery"`
	WritesPerFlush   int  `json:"writesPerFlush"`
	MaxWriteAttempts int  `json:"maxWriteAttempts"`
	MaxQueued        int  `json:"maxQueued"`
	CacheFor         span `json:"cacheFor"`
	MaxEntries       int  `json:"maxEntries"`
	ReadsAtOnce      int  `json:"readsAtOnce"`
	CallTimeout      span `json:"callTimeout"`
	CloseTimeout     span `json:"closeTimeout"`
}

// boardOptions are the boards, what they have in common and where their names are, or
// everything that is wrong with them.
func (c *config) boardOptions() (flush *board.Options, names *shoal.Names, err error) {
	boards, err := c.boardConfigs()
	errs := []error{err}
	f := c.Flush
	flush = &board.Options{
		Boards: boards, FlushEvery: f.FlushEvery.duration(), WritesPerFlush: f.WritesPerFlush, MaxWriteAttempts: f.MaxWriteAttempts,
		MaxQueued: f.MaxQueued, CacheFor: f.CacheFor.duration(), MaxEntries: f.MaxEntries, ReadsAtOnce: f.ReadsAtOnce,
		CallTimeout: f.CallTimeout.duration(), CloseTimeout: f.CloseTimeout.duration(),
	}
	if n := c.Names; n != nil {
		names = &shoal.Names{Set: n.Set, Display: n.Display, User: n.User}
		flush.Names = &board.NameOptions{
			PerMinute: n.PerMinute, Batch: n.Batch, Cache: n.Cache,
			KeepFor: n.KeepFor.duration(), AbsentFor: n.AbsentFor.duration(), RetryAfter: n.RetryAfter.duration(),
		}
		errs = append(errs, n.problems(c)...)
	}
	if err == nil {
		errs = append(errs, boardProblems(flush.Check())...)
	}
	return flush, names, errors.Join(errs...)
}

// boardConfigs are the boards, or what this file says that is no word of theirs.
func (c *config) boardConfigs() (map[string]board.Config, error) {
	out := make(map[string]board.Config, len(c.Boards))
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Boards)) {
		b := c.Boards[name]
		order, ok := word(b.Order, store.Descending, store.Ascending)
		if !ok {
			errs = append(errs, fmt.Errorf("boards.%s.order: descending or ascending expected, got %q", name, b.Order))
		}
		rule, ok := word(b.Rule, store.Best, store.Last, store.Sum)
		if !ok {
			errs = append(errs, fmt.Errorf("boards.%s.rule: best, last or sum expected, got %q", name, b.Rule))
		}
		from, err := b.From.source(c)
		if err != nil {
			errs = append(errs, fmt.Errorf("boards.%s.from.%w", name, err))
		}
		out[name] = board.Config{
			Order: order, Rule: rule, Decimals: b.Decimals, Min: b.Min, Max: b.Max,
			CacheFor: b.CacheFor.duration(), MaxEntries: b.MaxEntries, From: from,
		}
	}
	return out, errors.Join(errs...)
}

// source is what a board mirrors; an error begins with the member that is wrong.
func (f *fromConfig) source(c *config) (*board.Source, error) {
	if f == nil {
		return nil, nil //nolint:nilnil // it mirrors nothing
	}
	if err := c.isSet(f.Set); err != nil {
		return nil, err
	}
	if f.Path == "" {
		return nil, errors.New(`path: the JSON Pointer of a number in the profile expected, such as "/stats/kills"`)
	}
	for _, at := range [][2]string{{"path", f.Path}, {"meta", f.Meta}} {
		if _, err := doc.ParsePath(at[1]); err != nil {
			return nil, fmt.Errorf("%s: %w", at[0], err)
		}
	}
	return &board.Source{Set: f.Set, Path: f.Path, Missing: f.Missing, MetaPath: f.Meta}, nil
}

// isSet refuses what is no set of the configuration; the error begins with "set".
func (c *config) isSet(set string) error {
	if _, ok := c.Sets[set]; !ok {
		return fmt.Errorf("set: one of the sets (%s) expected, got %q", strings.Join(slices.Sorted(maps.Keys(c.Sets)), ", "), set)
	}
	return nil
}

// problems are what this file says that leads nowhere.
func (n *namesConfig) problems(c *config) (errs []error) {
	bad := func(err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("names.%w", err))
		}
	}
	bad(c.isSet(n.Set))
	if n.Display == "" && n.User == "" {
		bad(errors.New(`display: the JSON Pointer of a name expected, there or in user, such as "/name"`))
	}
	for _, at := range [][2]string{{"display", n.Display}, {"user", n.User}} {
		if _, err := doc.ParsePath(at[1]); err != nil {
			bad(fmt.Errorf("%s: %w", at[0], err))
		}
	}
	return errs
}

// boardOptionsPrefix begins what the library says of an option of the boards; its name follows.
const boardOptionsPrefix = "board: options: "

// boardProblems are the problems that the library has found, with the members they are in.
func boardProblems(err error) (out []error) {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			out = append(out, boardProblems(one)...)
		}
		return out
	}
	if r := (*board.RefusedError)(nil); errors.As(err, &r) {
		if r.Field == "board" { // its name
			return []error{fmt.Errorf("boards.%s: %s", r.Board, r.Problem)}
		}
		return []error{fmt.Errorf("boards.%s.%s: %s", r.Board, memberOf(r.Field), r.Problem)}
	}
	field, problem, ok := strings.Cut(strings.TrimPrefix(err.Error(), boardOptionsPrefix), ": ")
	if !ok {
		return []error{err}
	}
	if of, isName := strings.CutPrefix(field, "Names."); isName {
		return []error{fmt.Errorf("names.%s: %s", memberOf(of), problem)}
	}
	return []error{fmt.Errorf("flush.%s: %s", memberOf(field), problem)}
}
