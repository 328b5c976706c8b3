package season_test

import (
	"math"
	"math/big"
	"testing"
	"time"
	_ "time/tzdata" // zones on every machine

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/season"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestCalendarOfTheSeed(t *testing.T) {
	c := season.Reef().Calendar
	for _, tt := range []struct {
		at         string
		id, name   string
		number     int64
		start, end string
	}{
		{"2026-08-11T00:00:00Z", "C1S1", "Cycle 1 Season 1", 1, "2026-08-11T00:00:00Z", "2026-09-25T00:00:00Z"},
		{"2026-09-24T23:59:59.999999999Z", "C1S1", "Cycle 1 Season 1", 1, "2026-08-11T00:00:00Z", "2026-09-25T00:00:00Z"},
		{"2026-09-25T00:00:00Z", "C1S2", "Cycle 1 Season 2", 2, "2026-09-25T00:00:00Z", "2026-11-09T00:00:00Z"},
		{"2026-10-02T12:00:00+02:00", "C1S2", "Cycle 1 Season 2", 2, "2026-09-25T00:00:00Z", "2026-11-09T00:00:00Z"},
		{"2029-01-26T23:59:59Z", "C1S20", "Cycle 1 Season 20", 20, "2028-12-13T00:00:00Z", "2029-01-27T00:00:00Z"},
		{"2029-01-27T00:00:00Z", "C2S1", "Cycle 2 Season 1", 21, "2029-01-27T00:00:00Z", "2029-03-13T00:00:00Z"},
		{"1970-01-01T00:00:00Z", "C1S1", "Cycle 1 Season 1", 1, "2026-08-11T00:00:00Z", "2026-09-25T00:00:00Z"},
	} {
		info := c.Info(at(tt.at))
		if info.ID != tt.id || info.Name != tt.name || info.Number != tt.number || !info.Start.Equal(at(tt.start)) || !info.End.Equal(at(tt.end)) {
			t.Errorf("at %s: %+v, want %s %q %d from %s to %s", tt.at, info, tt.id, tt.name, tt.number, tt.start, tt.end)
		}
	}
}

func TestParseTakesOnlyTheCanonicalForm(t *testing.T) {
	c := season.Reef().Calendar
	for id, want := range map[string]int64{"C1S1": 0, "C1S2": 1, "C1S20": 19, "C2S1": 20, "C461168601842738791S8": math.MaxInt64} {
		if k, ok := c.Parse(id); !ok || k != want {
			t.Errorf("Parse(%q) = %d, %v, want %d", id, k, ok, want)
		}
	}
	for _, id := range []string{
		"", "C", "S", "CS", "C1", "C1S", "CS1", "S1C1", "C0S1", "C1S0", "C01S2", "C1S02", "C1S21", "C1S-1", "C-1S1", "C+1S1",
		"c1s1", "C1S1 ", " C1S1", "C1S1S1", "C1C1S1", "2026-08", "C1S1\n", "C461168601842738791S9", "C99999999999999999999S1", "C1_0S1", "Cycle 1 Season 2",
	} {
		if k, ok := c.Parse(id); ok {
			t.Errorf("Parse(%q) = %d, want no season", id, k)
		}
	}
}

// Seasons are of equal length for a thousand years and more: whatever the zone is in which
// somebody reads the clock, or wrote the epoch, over the hours that summer time skips and
// repeats, a day that a zone left out, leap days, and before our era.
func TestCaseS4SeasonsAreOfEqualLength(t *testing.T) {
	// case S4
	zones := zonesOfTrouble(t)
	rapid.Check(t, func(t *rapid.T) {
		c := season.Calendar{
			Epoch:    time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "epoch"), rapid.Int64Range(0, 999_999_999).Draw(t, "epochNanos")).In(rapid.SampledFrom(zones).Draw(t, "zone")),
			Length:   lengths().Draw(t, "length"),
			PerCycle: rapid.IntRange(1, 50).Draw(t, "perCycle"),
		}
		// A thousand years, or as long as there have been stars.
		span := rapid.SampledFrom([]int64{31_556_952_000, 1 << 57}).Draw(t, "span")
		when := time.Unix(c.Epoch.Unix()+rapid.Int64Range(0, span).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")).In(rapid.SampledFrom(zones).Draw(t, "clock"))

		k := c.Season(when)
		if want := seasonByBigNumbers(c, when); want.IsInt64() && k != want.Int64() {
			t.Fatalf("Season(%v) = %d, want %v", when, k, want)
		}
		start, end := c.Start(k), c.End(k)
		if when.Before(start) && k > 0 || !when.Before(end) {
			t.Fatalf("season %d from %v to %v does not hold %v", k, start, end, when)
		}
		if !c.Start(k + 1).Equal(end) {
			t.Fatalf("season %d ends at %v, the next starts at %v", k, end, c.Start(k+1))
		}
		if c.Season(start) != k || c.Season(end) != k+1 || k > 0 && c.Season(start.Add(-1)) != k-1 {
			t.Fatalf("the edges of season %d belong elsewhere: %d %d", k, c.Season(start), c.Season(end))
		}
		if span < 1<<40 && end.Sub(start) != c.Length {
			t.Fatalf("season %d lasts %v, want %v", k, end.Sub(start), c.Length)
		}
		if back, ok := c.Parse(c.ID(k)); !ok || back != k {
			t.Fatalf("Parse(%s) = %d, %v, want %d", c.ID(k), back, ok, k)
		}
	})
}

// zonesOfTrouble are zones with summer time, of half an hour too, one that left out a day, one
// far from UTC, and odd ones.
func zonesOfTrouble(t *testing.T) []*time.Location {
	t.Helper()
	zones := []*time.Location{time.UTC, time.FixedZone("odd", 5*3600+53*60+28)}
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kiritimati", "Africa/Casablanca"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	return zones
}

// lengths are of all sizes: odd ones down to a second, and those that people choose.
func lengths() *rapid.Generator[time.Duration] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(int64(time.Second), int64(time.Minute)), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.Map(rapid.Int64Range(int64(time.Second), math.MaxInt64), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.SampledFrom([]time.Duration{time.Second, time.Second + 1, time.Hour, 24 * time.Hour, 45 * 24 * time.Hour, 365 * 24 * time.Hour, math.MaxInt64}),
	)
}

// Around each hour that summer time skips or repeats, and around the 29th of February, midnight
// in UTC is where a season of a day ends, and nothing else is.
func TestCaseS4SummerTimeAndLeapDays(t *testing.T) {
	// case S4
	c := season.Calendar{Epoch: at("2024-01-01T00:00:00Z"), Length: 24 * time.Hour, PerCycle: 20}
	for _, zone := range zonesOfTrouble(t) {
		for hour := range int64(3 * 366 * 24) {
			when := time.Unix(c.Epoch.Unix()+3600*hour, 0).In(zone)
			if k := c.Season(when); k != hour/24 {
				t.Fatalf("%v is in season %d, want %d", when, k, hour/24)
			}
			if rest := c.Info(when).Remaining; rest != 24*time.Hour-time.Duration(hour%24)*time.Hour {
				t.Fatalf("at %v %v remain", when, rest)
			}
		}
	}
}

// seasonByBigNumbers is the definition, max(0, floor((t-E)/Δ)).
func seasonByBigNumbers(c season.Calendar, when time.Time) *big.Int {
	nanos := func(t time.Time) *big.Int {
		n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(1_000_000_000))
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	d := nanos(when)
	d.Sub(d, nanos(c.Epoch))
	if d.Sign() < 0 {
		return big.NewInt(0)
	}
	return d.Div(d, big.NewInt(int64(c.Length)))
}

func TestAClockBeforeTheEpochIsInTheFirstSeason(t *testing.T) {
	c := season.Reef().Calendar
	for _, when := range []time.Time{c.Epoch.Add(-1), c.Epoch.Add(-100 * 365 * 24 * time.Hour), {}, time.Unix(math.MinInt64/2, 0)} {
		if k := c.Season(when); k != 0 {
			t.Errorf("Season(%v) = %d, want 0", when, k)
		}
	}
	if info := c.Describe(-5, c.Epoch); info.K != 0 || info.ID != "C1S1" {
		t.Errorf("season -5 = %+v, want the first", info)
	}
}

func TestTheFarFutureSaturates(t *testing.T) {
	c := season.Calendar{Epoch: time.Unix(0, 0), Length: time.Second, PerCycle: 1}
	end := time.Unix(math.MaxInt64-62135596801, 999_999_999)
	if k := c.Season(end); k < math.MaxInt64/2 {
		t.Errorf("Season at the end of time = %d", k)
	}
	for _, k := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 / 2} {
		if s, e := c.Start(k), c.End(k); e.Before(s) || s.Before(c.Epoch) {
			t.Errorf("season %d from %v to %v", k, s, e)
		}
		if c.Number(k) <= 0 || c.Describe(k, end).Remaining < 0 {
			t.Errorf("season %d: number %d", k, c.Number(k))
		}
	}
}

func TestAheadShowsTheCalendar(t *testing.T) {
	c := season.Reef().Calendar
	list := c.Ahead(19, 3, c.Epoch)
	if len(list) != 3 || list[0].ID != "C1S20" || list[1].ID != "C2S1" || list[1].Number != 21 || !list[1].End.Equal(list[2].Start) {
		t.Errorf("Ahead = %+v", list)
	}
	if list := c.Ahead(0, -1, c.Epoch); len(list) != 0 {
		t.Errorf("Ahead of nothing = %+v", list)
	}
}
