package season

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Calendar cuts time into seasons of equal length, counted from an epoch. It is pure: every
// node computes the same season from the same time, without a message.
type Calendar struct {
	// Epoch is the start of season 0.
	Epoch time.Time
	// Length is how long a season lasts, at least 1 s. It is a fixed span of UTC: no months,
	// no time zones, no daylight saving.
	Length time.Duration
	// PerCycle is how many seasons make a cycle. Default 20.
	PerCycle int
}

// Info describes one season of a calendar, as seen at a time.
type Info struct {
	K         int64         // the season's index, from 0
	ID        string        // "C1S2", used in keys
	Name      string        // "Cycle 1 Season 2", for players
	Number    int64         // K+1, the number on titles
	Start     time.Time     // inclusive
	End       time.Time     // exclusive; the start of the next
	Remaining time.Duration // until End; 0 when it is over
}

// Season is the index of the season at t: 0 for every time before the epoch, so that a clock
// that is behind never yields a season before the first. It saturates far beyond the years
// that a time.Time can print.
func (c Calendar) Season(t time.Time) int64 {
	if t.Before(c.Epoch) {
		return 0
	}
	// In 128 bits: a Duration ends after 292 years.
	secs := uint64(t.Unix()) - uint64(c.Epoch.Unix())
	nanos := int64(t.Nanosecond()) - int64(c.Epoch.Nanosecond())
	if nanos < 0 {
		secs, nanos = secs-1, nanos+int64(time.Second)
	}
	hi, lo := bits.Mul64(secs, uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(nanos), 0)
	k, _ := bits.Div64(hi+carry, lo, uint64(max(c.Length, time.Second)))
	return int64(min(k, math.MaxInt64))
}

// farthest is where Start and End saturate.
func farthest() time.Time { return time.Unix(math.MaxInt64/4, 0).UTC() }

// Start is the first instant of season k. Negative k count as 0.
func (c Calendar) Start(k int64) time.Time {
	hi, lo := bits.Mul64(uint64(max(k, 0)), uint64(max(c.Length, time.Second)))
	if hi >= uint64(time.Second) {
		return farthest()
	}
	secs, nanos := bits.Div64(hi, lo, uint64(time.Second))
	if secs > math.MaxInt64/8 {
		return farthest()
	}
	return time.Unix(c.Epoch.Unix()+int64(secs), int64(c.Epoch.Nanosecond())+int64(nanos)).UTC()
}

// End is the first instant after season k, which is the start of the next.
func (c Calendar) End(k int64) time.Time {
	if k == math.MaxInt64 {
		return farthest()
	}
	return c.Start(max(k, 0) + 1)
}

func (c Calendar) perCycle() int64 { return int64(max(c.PerCycle, 1)) }

// ID is the short id of season k, "C1S2". Negative k count as 0.
func (c Calendar) ID(k int64) string {
	k = max(k, 0)
	b := make([]byte, 0, 24)
	b = strconv.AppendInt(append(b, 'C'), k/c.perCycle()+1, 10)
	b = strconv.AppendInt(append(b, 'S'), k%c.perCycle()+1, 10)
	return string(b)
}

// Name is the long name of season k, "Cycle 1 Season 2". Negative k count as 0.
func (c Calendar) Name(k int64) string {
	k = max(k, 0)
	return "Cycle " + strconv.FormatInt(k/c.perCycle()+1, 10) + " Season " + strconv.FormatInt(k%c.perCycle()+1, 10)
}

// Number is the season's number on titles, k+1, counted over all cycles: the first seasons of
// two cycles never look alike.
func (c Calendar) Number(k int64) int64 {
	if k == math.MaxInt64 {
		return k
	}
	return max(k, 0) + 1
}

// Parse is the inverse of ID. Only the canonical form names a season: C01S2, C0S1, a season
// beyond the cycle's last, or an old "2026-08" do not.
func (c Calendar) Parse(id string) (k int64, ok bool) {
	rest, found := strings.CutPrefix(id, "C")
	cycle, season, split := strings.Cut(rest, "S")
	if !found || !split {
		return 0, false
	}
	cy, okC := ordinal(cycle)
	se, okS := ordinal(season)
	if !okC || !okS || se > c.perCycle() {
		return 0, false
	}
	if cy-1 > (math.MaxInt64-(se-1))/c.perCycle() {
		return 0, false
	}
	return c.perCycle()*(cy-1) + se - 1, true
}

// ordinal parses a canonical number from 1.
func ordinal(s string) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strings.Trim(s, "0123456789") == ""
}

// Info describes the season at t.
func (c Calendar) Info(t time.Time) Info { return c.Describe(c.Season(t), t) }

// Describe describes season k as seen at t.
func (c Calendar) Describe(k int64, t time.Time) Info {
	k = max(k, 0)
	end := c.End(k)
	return Info{
		K: k, ID: c.ID(k), Name: c.Name(k), Number: c.Number(k),
		Start: c.Start(k), End: end, Remaining: max(end.Sub(t), 0),
	}
}

// Ahead is the seasons from k on, n of them, as seen at t: the calendar shown ahead.
func (c Calendar) Ahead(k int64, n int, t time.Time) []Info {
	out := make([]Info, 0, max(n, 0))
	for i := range int64(max(n, 0)) {
		out = append(out, c.Describe(k+i, t))
	}
	return out
}
