package main

import (
	"context"
	"time"

	"github.com/shoalworks/shoal/season"
)

// maxAhead is how many seasons one calendar shows.
const maxAhead = 1000

// seasonCalendarCommand shows the seasons to come.
type seasonCalendarCommand struct {
	From  string `placeholder:"ID|TIME" help:"The first season: its id, or a moment in it. Default: the running one."`
	Count int    `short:"n" default:"10" help:"How many seasons, 1 to 1000."`
	At    string `placeholder:"TIME" help:"Only the season at this moment, and what will be left of it then."`
	seasonFlags
}

// Help is shown by --help.
func (*seasonCalendarCommand) Help() string {
	return `Seasons follow from the configuration and the clock alone: this is how they will be, and how they were.

  shoal season calendar
  shoal season calendar --from C2S1 -n 20
  shoal season calendar --at 2027-01-01T00:00:00Z

Times are RFC 3339, or a day: 2027-01-01.

` + exitCodes
}

// seasonLine is a season of the calendar as --json prints it.
type seasonLine struct {
	seasonForm
	Remaining *int64 `json:"remainingSeconds,omitempty"` // with --at: at that moment
	Current   bool   `json:"current"`
}

// Run computes.
func (c *seasonCalendarCommand) Run(ctx context.Context, o *output) error {
	if c.Count < 1 || c.Count > maxAhead {
		return usage("--count: 1 to %d expected, got %d", maxAhead, c.Count)
	}
	if c.At != "" && c.From != "" {
		return usage("--at and --from: only one of them expected")
	}
	return c.onSeason(ctx, o, func(_ context.Context, t *seasonTool) error {
		now := t.node.Now()
		list, err := c.seasons(t, now)
		if err != nil {
			return err
		}
		rows := [][]string{{"SEASON", "NAME", "BEGINS (UTC)", "ENDS (UTC)", "WHEN"}}
		for _, i := range list {
			if i.End.Year() > 9999 {
				break // RFC 3339 ends there
			}
			line, state := seasonLine{seasonForm: asSeason(i), Current: i.K == t.status.Current.K}, whenIs(i, now)
			if c.At != "" {
				left := int64(i.Remaining / time.Second)
				line.Remaining, state = &left, inWords(i.Remaining)+" left then"
			}
			if err := t.print(line, func() { rows = append(rows, []string{i.ID, i.Name, day(i.Start), day(i.End), state}) }); err != nil {
				return err
			}
		}
		if !t.json {
			t.table(withoutEmpty(rows))
		}
		return nil
	})
}

// seasons are those that are asked for.
func (c *seasonCalendarCommand) seasons(t *seasonTool, now time.Time) ([]season.Info, error) {
	calendar := t.series.Config().Calendar
	if c.At != "" {
		at, err := momentOf("--at", c.At)
		return []season.Info{calendar.Info(at)}, err
	}
	k := calendar.Season(now)
	if c.From != "" {
		var ok bool
		if k, ok = calendar.Parse(c.From); !ok {
			from, err := momentOf("--from", c.From)
			if err != nil {
				return nil, usage("--from: the id of a season such as C1S2, or a time such as 2027-01-01T00:00:00Z, expected, got %q", c.From)
			}
			k = calendar.Season(from)
		}
	}
	return calendar.Ahead(k, c.Count, now), nil
}

// momentOf reads a time or a day.
func momentOf(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, usage("%s: a time such as 2027-01-01T00:00:00Z expected, got %q", flag, text)
}

// whenIs tells how a season lies to the present.
func whenIs(i season.Info, now time.Time) string {
	switch {
	case i.Start.After(now):
		return "in " + inWords(i.Start.Sub(now))
	case i.End.After(now):
		return "now, " + inWords(i.End.Sub(now)) + " left"
	}
	return "over"
}
