package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Line is one row of the table.
type Line struct {
	Library, Scenario, Stores string
	Score                     Score
}

// Table is the result of many runs, scenario by column: sums of violations, outbid and failed
// loads; the worst of steps lost and times; means of costs. Receipts are those granted, tried
// again though granted, and without an answer; mail is sent and handled; trades are done,
// refused and without an answer; edits are done and without an answer; scores are acknowledged,
// without an answer in time, and given up.
func Table(lines []Line) string {
	rows := [][]string{{
		"library", "scenario", "stores", "runs", "violations", "excused", "lost steps", "unsafe", "forgotten", "wrong verdicts", "outbid", "stale owner",
		"receipts", "mail", "trades", "edits", "scores", "slowest open", "failed opens", "shutdown", "reads/h", "writes/h", "fast/h", "messages/h", "left", "journals",
	}}
	for _, l := range lines {
		s := &l.Score
		rows = append(rows, []string{
			l.Library, l.Scenario, l.Stores, fmt.Sprint(s.Runs), fmt.Sprint(len(s.Violations)), fmt.Sprint(s.Excused),
			fmt.Sprint(s.StepsLost), seconds(s.Unsafe), seconds(s.Exposed), fmt.Sprint(s.Wrong), fmt.Sprint(s.Outbid), seconds(s.StaleOwner),
			s.met("receipt granted", "receipt repeated", "receipt unknown"), s.met("mail sent", "mail handled"), s.met("trade done", "trade refused", "trade unknown"),
			s.met("edited", "edit unknown"), s.met("score acknowledged", "score unknown", "score given up"), seconds(s.SlowOpen),
			fmt.Sprintf("%d/%d", s.Failed, s.Failed+s.Opens), seconds(s.Shutdown),
			s.hourly(s.Tally.Reads), s.hourly(s.Tally.Writes), s.hourly(s.Tally.FastCalls), s.hourly(s.Tally.Published), fmt.Sprint(s.Leaks), fmt.Sprint(s.Journals),
		})
	}
	return columns(rows)
}

// met are the numbers of some events.
func (s *Score) met(events ...string) string {
	var out []string
	for _, event := range events {
		out = append(out, fmt.Sprint(s.Events[event]))
	}
	return strings.Join(out, "/")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

// hourly is a count for each hour that a player has played.
func (s *Score) hourly(n uint64) string {
	if s.Played == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(n)/s.Played.Hours())
}

// columns lays rows out, words to the left and numbers to the right.
func columns(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i < 3 {
				fmt.Fprintf(&out, "%-*s  ", width[i], cell)
				continue
			}
			fmt.Fprintf(&out, "%*s  ", width[i], cell)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// Sort puts lines into the order of the table.
func Sort(lines []Line) {
	place := make(map[string]int)
	for i, s := range Scenarios() {
		place[s.Name] = i
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(
			cmp.Compare(place[a.Scenario], place[b.Scenario]), strings.Compare(b.Library, a.Library), strings.Compare(a.Stores, b.Stores),
		)
	})
}
