package shoal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/shoalworks/shoal/board"
	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/node"
	"github.com/shoalworks/shoal/profile"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/shared"
	"github.com/shoalworks/shoal/store"
)

// Options say what a node serves. Nil is fine: a node that only takes part.
type Options struct {
	// Node is the node itself: its name, its beat, its clock, its logger.
	Node node.Options
	// Sets are the sets of profiles, by name; nil options are the defaults. Default none.
	Sets map[string]*profile.Options
	// Documents are sets of shared documents, by name: guilds, counters, what belongs to nobody.
	// Nil options are the defaults. Default none.
	Documents map[string]*shared.Options
	// Ranked names the set of profiles whose keys the boards rank, so that a person's entries
	// go with their profile (profile.Set.Erase). Season boards rank the season's Set. Default:
	// the only one of Sets; with several, none. "-" is none.
	Ranked string
	// Boards are the leaderboards, by name. Default none; seasons bring their own.
	Boards map[string]board.Config
	// Names say where in the profiles the boards find names. Default nil: Flush.Names, if any.
	Names *Names
	// Flush tunes the boards' queue and cache; its Boards are replaced by those above.
	// Default nil: the defaults.
	Flush *board.Options
	// Seasons are the competitions, by name. Default none.
	Seasons map[string]Season
}

// Season is a competition among the players of one set.
type Season struct {
	// Set is the name of the set of profiles that plays.
	Set string
	// Rules are the calendar, what is counted, the boards and their titles.
	Rules season.Config
	// Deps are the game's callbacks; Boards and Profiles are filled in. Default none.
	Deps season.Deps
	// Idle has nothing done by itself: no value is written, no season closed. For tools, which
	// open no sessions and do what they are asked for. Default: the node does its part.
	Idle bool
}

// Node is this process as a node of the fleet, with the pillars on it.
type Node struct {
	*node.Node

	sets    map[string]*profile.Set
	mirrors map[string]*profile.Set // those that boards may mirror
	docs    map[string]*shared.Documents
	boards  *board.Service
	seasons map[string]*Competition
}

// Start makes this process a node of the fleet. ctx bounds the start only. When something is
// wrong with the options nothing keeps running, and everything wrong is reported.
func Start(ctx context.Context, st *store.Store, opts *Options) (*Node, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if err := o.problems(); err != nil {
		return nil, err
	}
	inner, err := node.Start(ctx, st, &o.Node)
	if err != nil {
		return nil, err
	}
	n := &Node{Node: inner, sets: make(map[string]*profile.Set), docs: make(map[string]*shared.Documents), seasons: make(map[string]*Competition)}
	if err := n.wire(o); err != nil { //nolint:contextcheck // services outlive the start; they end with the node
		_, closeErr := inner.Close(context.WithoutCancel(ctx))
		return nil, errors.Join(err, closeErr)
	}
	return n, nil
}

// problems reports what no single package can see.
func (o *Options) problems() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Seasons)) {
		if _, ok := o.Sets[o.Seasons[name].Set]; !ok {
			errs = append(errs, fmt.Errorf("shoal: options: Seasons[%s].Set: the name of one of the Sets expected, got %q", name, o.Seasons[name].Set))
		}
	}
	if _, ok := o.Sets[o.Ranked]; !ok && o.Ranked != "" && o.Ranked != "-" {
		errs = append(errs, fmt.Errorf("shoal: options: Ranked: the name of one of the Sets, or -, expected, got %q", o.Ranked))
	}
	return errors.Join(slices.Concat(errs, o.overlapProblems(), o.mirrorProblems(), o.Names.problems(o))...)
}

func (n *Node) wire(o Options) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Sets)) {
		set, err := profile.New(n.Node, name, o.Sets[name])
		errs = append(errs, err)
		n.sets[name] = set
	}
	for _, name := range slices.Sorted(maps.Keys(o.Documents)) {
		docs, err := shared.New(n.Node, name, o.Documents[name])
		errs = append(errs, err)
		n.docs[name] = docs
	}
	flush := board.Options{}
	if o.Flush != nil {
		flush = *o.Flush
	}
	flush.Boards, flush.Names = o.Boards, n.resolving(&o, flush.Names)
	boards, err := board.New(n.Node, &flush)
	n.boards = boards
	n.mirrorTo(boards, o)
	n.forgetOldNames(boards, &o)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Seasons)) {
		c, err := n.compete(name, o.Seasons[name])
		errs = append(errs, err)
		n.seasons[name] = c
	}
	n.eraseFrom(o)
	return errors.Join(errs...)
}

// compete starts a season and hangs it into the lives of its set's sessions.
func (n *Node) compete(name string, cfg Season) (*Competition, error) {
	set := n.sets[cfg.Set]
	deps := cfg.Deps
	deps.Boards = seasonBoards{n.boards}
	deps.Profiles = seasonProfiles{set}
	start := season.New
	if cfg.Idle {
		start = season.NewIdle
	}
	service, err := start(n.Node, name, cfg.Rules, deps)
	if err != nil {
		return nil, err
	}
	set.OnLoad(func(ctx context.Context, s *profile.Session) {
		if _, err := service.Joined(ctx, player{s}); err != nil {
			n.Logger().WarnContext(ctx, "titles of this load wait for a later one", "season", name, "key", s.Key(), "err", err)
		}
	})
	set.OnLeave(func(ctx context.Context, s *profile.Session) {
		if s.Leaving() != profile.HandedOver { // somebody waits for that one, and will send its values
			service.Left(ctx, player{s})
		}
	})
	return &Competition{Service: service, set: cfg.Set}, nil
}

// Set is the set of profiles with this name, or nil when it is not in the options.
func (n *Node) Set(name string) *profile.Set { return n.sets[name] }

// Sets are all sets of profiles, by name.
func (n *Node) Sets() map[string]*profile.Set { return maps.Clone(n.sets) }

// Documents is the set of shared documents with this name, or nil when it is not in the options.
func (n *Node) Documents(name string) *shared.Documents { return n.docs[name] }

// Boards are the leaderboards.
func (n *Node) Boards() *board.Service { return n.boards }

// Season is the competition with this name, or nil when it is not in the options.
func (n *Node) Season(name string) *Competition { return n.seasons[name] }

// Seasons are all competitions, by name.
func (n *Node) Seasons() map[string]*Competition { return maps.Clone(n.seasons) }

// Competition is a running season, spoken to with profile sessions.
type Competition struct {
	*season.Service

	set string
}

// Set is the name of the set of profiles that plays.
func (c *Competition) Set() string { return c.set }

// Record counts events of the player in the current season, all in one transaction; see
// [season.Service.Record].
func (c *Competition) Record(s *profile.Session, events ...season.Event) error {
	return c.Service.Record(player{s}, events...)
}

// Play makes a transaction of the game's own and counts events of the player with it, all or
// nothing: a catch that counts and is in the bag. The operations keep away from the season's
// block. It answers as profile.Session.Change does, and as [season.Service.Record].
func (c *Competition) Play(s *profile.Session, src profile.Source, ops []doc.Op, events ...season.Event) (commit profile.Commit, err error) {
	err = c.RecordWith(player{s}, events, func(count func(doc.Value) ([]doc.Op, error)) error {
		commit, err = s.Change(src, func(data doc.Value) ([]doc.Op, error) {
			counted, err := count(data)
			return slices.Concat(ops, counted), err
		})
		return err
	})
	return commit, err
}

// View reads the player's block as of the current season; see [season.Service.View].
func (c *Competition) View(s *profile.Session) (season.Block, error) {
	return c.Service.View(player{s})
}

// Card reads the player's counters and standings; see [season.Service.Card].
func (c *Competition) Card(ctx context.Context, s *profile.Session) (season.Card, error) {
	return c.Service.Card(ctx, player{s})
}

// Watch follows the player's block; see [season.Service.Watch].
func (c *Competition) Watch(s *profile.Session) (*season.Watch, error) {
	return c.Service.Watch(player{s})
}
