package demo

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Options of a run. Zero is the default.
type Options struct {
	// Nodes is how many nodes play. Default 3, at least 2.
	Nodes int
	// Players is how many players there are. Default 300.
	Players int
	// SeasonLength is how long a season lasts. Default 60 s, at least 5 s.
	SeasonLength time.Duration
	// CrashEvery is how often a node crashes; another takes its place. Negative: never.
	// Default 20 s.
	CrashEvery time.Duration
	// Folder is where the store is. It must be empty or missing. Needed.
	Folder string
	// Seed makes the players' choices repeatable (not the scheduling). Default 1.
	Seed uint64
	// Plain prints a line every 5 s instead of redrawing the screen. Default false.
	Plain bool
	// Out takes the status and the summary. Needed.
	Out io.Writer
	// Logger takes what the nodes log. Default: nothing.
	Logger *slog.Logger
}

const (
	leastSeason = 5 * time.Second
	mostPlayers = 10_000
	mostNodes   = 16
)

func (o Options) withDefaults() (Options, error) {
	defaultTo(&o.Nodes, 3)
	defaultTo(&o.Players, 300)
	defaultTo(&o.SeasonLength, 60*time.Second)
	defaultTo(&o.CrashEvery, 20*time.Second)
	defaultTo(&o.Seed, 1)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if o.Nodes < 2 || o.Nodes > mostNodes {
		errs = append(errs, fmt.Errorf("demo: nodes: 2 to %d expected, got %d", mostNodes, o.Nodes))
	}
	if o.Players < 1 || o.Players > mostPlayers {
		errs = append(errs, fmt.Errorf("demo: players: 1 to %d expected, got %d", mostPlayers, o.Players))
	}
	if o.SeasonLength < leastSeason {
		errs = append(errs, fmt.Errorf("demo: season length: at least %v expected, got %v", leastSeason, o.SeasonLength))
	}
	if o.Folder == "" || o.Out == nil {
		errs = append(errs, errors.New("demo: a folder and a writer are needed"))
	}
	return o, errors.Join(errs...)
}

func defaultTo[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
