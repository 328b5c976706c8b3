package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shoalworks/shoal"
	"github.com/shoalworks/shoal/season"
	"github.com/shoalworks/shoal/store"
)

// seasonCommands are about seasons.
type seasonCommands struct {
	Show        seasonShowCommand        `cmd:"" help:"Print the running season: what is left of it, who leads, and what waits to be closed."`
	Calendar    seasonCalendarCommand    `cmd:"" help:"Print the seasons to come, or the one at any time."`
	Close       seasonCloseCommand       `cmd:"" help:"Close the seasons that are due, now."`
	Results     seasonResultsCommand     `cmd:"" help:"List closed seasons with their winners, or print how one stands."`
	Titles      seasonTitlesCommand      `cmd:"" help:"Print a player's titles, counters and places."`
	Disqualify  seasonDisqualifyCommand  `cmd:"" help:"Take a player out of the standings of a closed season; others move up."`
	Reinstate   seasonReinstateCommand   `cmd:"" help:"Take disqualify back."`
	Corrections seasonCorrectionsCommand `cmd:"" help:"List what operators decided about the players of a closed season."`
}

// seasonFlags say which series of seasons a command is about.
type seasonFlags struct {
	fleetFlags
	Season string `placeholder:"NAME" help:"The series of seasons. Default: the only one of the configuration, which is reef without a file."`
	seasonSpan
}

// seasonSpan is another calendar than the configuration's.
type seasonSpan struct {
	SeasonLength time.Duration `placeholder:"SPAN" help:"Length of every season, to watch a boundary without waiting for one: 60s. Grace and flushes shrink with it; seasons then count from SEASON-EPOCH."`
	SeasonEpoch  string        `placeholder:"TIME" help:"Start of the first season, RFC 3339. Every daemon of a fleet needs the same."`
}

// seasonTool is what a command on seasons works with.
type seasonTool struct {
	printer
	node   *shoal.Node
	series *shoal.Competition
	status season.Status // as the store has it
}

// onSeason opens the store, becomes a node that knows the configuration's seasons and has no
// part in them, and runs do. Everything ends in order.
func (f *seasonFlags) onSeason(ctx context.Context, o *output, do func(context.Context, *seasonTool) error) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	opts, err := cfg.options(slog.New(slog.DiscardHandler))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := f.shorten(opts); err != nil {
		return &exitError{exitUsage, err}
	}
	name, err := f.pick(opts.Seasons)
	if err != nil {
		return err
	}
	chosen := opts.Seasons[name]
	chosen.Idle = true
	opts.Seasons = map[string]shoal.Season{name: chosen}
	for _, set := range opts.Sets { // for titles, and to rebuild boards from
		set.ReapEvery, set.JournalEvery = -1, -1
	}
	return f.onNode(ctx, o, &cfg, opts, func(ctx context.Context, n *shoal.Node) error {
		t := &seasonTool{printer: printer{o, f.JSON}, node: n, series: n.Season(name)}
		var err error
		if t.status, err = t.series.Look(ctx); err != nil {
			return seasonHelp(err)
		}
		return seasonHelp(do(ctx, t))
	})
}

// pick is the name of the series that the command is about.
func (f *seasonFlags) pick(series map[string]shoal.Season) (string, error) {
	names := slices.Sorted(maps.Keys(series))
	switch _, ok := series[f.Season]; {
	case ok:
		return f.Season, nil
	case f.Season != "":
		return "", missing("there is no season %q in the configuration (--config); %s", f.Season, thereAre(names))
	case len(names) == 1:
		return names[0], nil
	}
	return "", usage("--season: the name of a series expected; %s", thereAre(names))
}

func thereAre(names []string) string {
	if len(names) == 0 {
		return "it has none"
	}
	return "there are " + strings.Join(names, ", ")
}

// seasonHelp says what to do about an error.
func seasonHelp(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, season.ErrCalendar):
		return &exitError{exitUsage, fmt.Errorf("%w\ngive the fleet's configuration with --config; --season-length and --season-epoch if its daemons have them", err)}
	case errors.Is(err, season.ErrNoResult):
		return &exitError{exitMissing, fmt.Errorf("%w\nshoal season show tells what waits to be closed, shoal season results lists what is", err)}
	case errors.Is(err, season.ErrNoSeason):
		return &exitError{exitUsage, fmt.Errorf("%w: an id such as C1S2 expected; shoal season calendar lists them", err)}
	case errors.Is(err, season.ErrNoBoard):
		return &exitError{exitMissing, err}
	}
	return err
}

// board is a board of the series, as the configuration has it.
func (t *seasonTool) board(name string) (season.Board, error) {
	boards := t.series.Config().Boards
	at := slices.IndexFunc(boards, func(b season.Board) bool { return b.Name == name })
	if at < 0 {
		names := make([]string, len(boards))
		for i, b := range boards {
			names[i] = b.Name
		}
		return season.Board{}, missing("--board: %s has no board %q; %s", t.series.Name(), name, thereAre(names))
	}
	return boards[at], nil
}

// inWords is a duration in words, in the two largest units that say something.
func inWords(d time.Duration) string {
	d = d.Round(time.Second)
	days, rest := int(d/(24*time.Hour)), d%(24*time.Hour)
	hours, minutes, seconds := int(rest/time.Hour), int(rest%time.Hour/time.Minute), int(rest%time.Minute/time.Second)
	switch {
	case days > 0:
		return countOf(days, "day", "days") + " " + countOf(hours, "hour", "hours")
	case hours > 0:
		return countOf(hours, "hour", "hours") + " " + countOf(minutes, "minute", "minutes")
	case minutes > 0:
		return countOf(minutes, "minute", "minutes") + " " + countOf(seconds, "second", "seconds")
	}
	return countOf(seconds, "second", "seconds")
}

// day is a moment of the calendar for people.
func day(t time.Time) string { return t.UTC().Format(time.DateTime) }

// seasonForm is a season as --json prints it.
type seasonForm struct {
	Season string    `json:"season"`
	Name   string    `json:"name"`
	Number int64     `json:"number"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
}

func asSeason(i season.Info) seasonForm { return seasonForm{i.ID, i.Name, i.Number, i.Start, i.End} }

// name fills in what the configuration's names say of those whom board or result has no name for.
func (t *seasonTool) name(ctx context.Context, places []placeForm) {
	var page store.Page
	for _, p := range places {
		if p.Name == "" {
			page.Entries = append(page.Entries, store.Standing{Entry: store.Entry{Key: p.Key}})
		}
	}
	if len(page.Entries) == 0 {
		return
	}
	rows, _ := t.node.Boards().Named(ctx, page) // an error only tells that names are missing
	known := make(map[string]string, len(rows))
	for _, row := range rows {
		known[row.Key] = nameOf(row.Name)
	}
	for i := range places {
		if places[i].Name == "" {
			places[i].Name = known[places[i].Key]
		}
	}
}

// placeForm is a place as --json prints it.
type placeForm struct {
	Rank  int64  `json:"rank"`
	Key   string `json:"key"`
	Name  string `json:"name,omitempty"`
	Score int64  `json:"score"`
}
