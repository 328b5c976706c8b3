package main

import (
	"fmt"
	"strings"
	"time"
)

// This file makes the part of the page that is about engines.

// enginesPart is the whole part.
func enginesPart(command string, m machine, r engineResult) string {
	var out strings.Builder
	writeHeading(&out, "engines", command, m)
	fmt.Fprintf(&out, enginesIntro, r.settings, rounds, updaters, updatePool, updaters, journalBytes, journalBatch, count(r.entries))
	writeTable(&out, append([][]string{{"what", "measured", "of the plain way", "goal", "processor of PostgreSQL", "of Redis"}}, engineRows(r)...))
	fmt.Fprintf(&out, playersIntro, latency(4*r.beat), victims)
	writeTable(&out, append([][]string{{"what", "measured", "goal"}}, playerRows(r)...))
	out.WriteString("\n")
	writeFleets(&out, r)
	return out.String()
}

// fleetsPart is the part when only fleets were measured.
func fleetsPart(command string, m machine, r engineResult) string {
	var out strings.Builder
	writeHeading(&out, "engines", command, m)
	writeFleets(&out, r)
	return out.String()
}

// writeFleets is the section on fleets.
func writeFleets(out *strings.Builder, r engineResult) {
	fmt.Fprintf(out, crowdsIntro, latency(r.beat), comingSpans*r.span, crowdSpans*r.span, pools(r))
	writeTable(out, crowdRows(r))
	for _, c := range r.crowds {
		if c.failure != nil {
			first, _, _ := strings.Cut(c.failure.Error(), "\n")
			fmt.Fprintf(out, "\nThe fleet of %s nodes failed: %s\n", count(c.nodes), first)
		}
	}
}

const enginesIntro = "## Drivers beside the engines themselves\n\n" +
	"PostgreSQL with %s.\n" +
	"Servers, drivers and load share the machine. Ways to do the same thing take turns, %d each; the rate is the median. The\n" +
	"processor's time is that of the server, for each update, entry or upsert, where the system tells it.\n" +
	"*Durable updates* are of 2 KB from %d sessions, each conditional on the version before; the plain loop is the same statement\n" +
	"over pgx, with %d connections (as many as the driver has), and with %d. *Journals* are of %d bytes, %d in one call, each\n" +
	"conditional; SET is not. *Boards* of %s are written in windows of random keys, whose scores all improve. On Redis the\n" +
	"plain ways are ZADD in a pipeline (scores are doubles, ties are in the order of the keys), and the four commands that keep an\n" +
	"exact board in a pipeline, without a script. On PostgreSQL it is an upsert of as many rows in one statement into a table with\n" +
	"the same indexes. Latencies are the median and the 99th percentile.\n\n"

const playersIntro = "\n## Between two nodes\n\n" +
	"PostgreSQL for profiles, Redis for the rest; each node has handles of its own. A *hand-over* is a Load of a profile that the\n" +
	"other node holds, with a change in it that is not saved. A *takeover* is a Load of what a crashed node held, from the crash to\n" +
	"the session, with what was synced in it; DeadAfter is %s. %d nodes crash, each at another moment between two beats.\n\n"

const crowdsIntro = "## Fleets\n\n" +
	"So many nodes in one process, with so many players, who all change two values of their 2 KB once a second; nodes beat every\n" +
	"%s, journal as often, and save every 60 s. Players begin one after the other, within %v: the first change of each has it\n" +
	"saved, for which its journal begins. What is counted are the %v thereafter. Each node has handles of its own, of one\n" +
	"connection to each engine beside those for beats and messages%s. A beat is *missed* when none has landed for two beats.\n" +
	"*Journal lag* is the age of a node's oldest change that neither the journal nor a save has, looked at every 700 ms. A *sync*\n" +
	"is a change with the wait until the journal has it. A *processor* is time of one of the machine's for each second.\n\n"

// pools says how far the intro's word on handles is true.
func pools(r engineResult) string {
	for _, c := range r.crowds {
		if c.pools < c.nodes {
			return fmt.Sprintf(" (%s nodes share %s handles of PostgreSQL, which allows no more connections)", count(c.nodes), count(c.pools))
		}
	}
	return ""
}

func engineRows(r engineResult) [][]string {
	row := func(what string, p pace, of, goal string) []string {
		return []string{what, rate(p.rate) + "/s", of, goal, used(p.postgres), used(p.redis)}
	}
	read := func(what string, s spread, of, goal string) []string {
		return []string{what, s.cell(), of, goal, "", ""}
	}
	out := [][]string{
		row("durable updates: driver", r.records.driver, share(r.records.of(), 1), "≥ 80 %"),
		row(fmt.Sprintf("durable updates: plain loop, %d connections", updatePool), r.records.few, "", ""),
		row(fmt.Sprintf("durable updates: plain loop, %d connections", updaters), r.records.many, "", ""),
		row("Redis journals: driver", r.journals.driver, share(r.journals.driver.rate, r.journals.set.rate), ""),
		row("Redis journals: SET", r.journals.set, "", ""),
	}
	for _, w := range r.redis.windows {
		of := "Redis board, windows of " + count(w.size) + ": "
		out = append(out,
			row(of+"driver, the best score counts", w.best, share(w.best.rate, w.zadd.rate)+" of ZADD, "+share(w.best.rate, w.commands.rate)+" of the commands", "≥ 35 %, ≥ 80 %"),
			row(of+"driver, the newest counts", w.last, share(w.last.rate, w.zadd.rate)+" of ZADD", ""),
			row(of+"ZADD", w.zadd, "", ""),
			row(of+"the commands without a script", w.commands, "", ""))
	}
	out = append(out,
		read("Redis board: rank of what the node has written", r.redis.own.driver, r.redis.own.share(), "≤ 120 %"),
		read("Redis board: ZREVRANK, in turns with it", r.redis.own.plain, "", ""),
		read("Redis board: rank of what another has written", r.redis.others.driver, r.redis.others.share(), ""),
		read("Redis board: ZREVRANK, in turns with it", r.redis.others.plain, "", ""))
	for _, w := range r.postgres.windows {
		of := "PostgreSQL board, windows of " + count(w.size) + ": "
		out = append(out, row(of+"driver", w.driver, share(w.driver.rate, w.plain.rate), "≥ 50 %"), row(of+"plain upsert", w.plain, "", ""))
	}
	return append(out,
		read("PostgreSQL board: rank at the top", r.postgres.rank[0], "", "≤ 10 ms"),
		read("PostgreSQL board: rank in the middle", r.postgres.rank[1], "", "≤ 10 ms"),
		read("PostgreSQL board: rank at the end", r.postgres.rank[2], "", "≤ 10 ms"),
		read("PostgreSQL: SELECT 1", r.postgres.roundTrip, "", ""))
}

// used is a time of a processor, nothing when it is not known or none.
func used(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return small(d)
}

func playerRows(r engineResult) [][]string {
	n := len(r.takeover)
	return [][]string{
		{"hand-over", r.handOver.cell(), "median ≤ 10 ms"},
		{"takeover, the quickest and the median", latency(r.takeover[0]) + ", " + latency(r.takeover[n/2]), ""},
		{"takeover, the slowest", latency(r.takeover[n-1]), "≤ " + latency(4*r.beat+300*time.Millisecond)},
	}
}

// crowdRows is the table, one column for each fleet.
func crowdRows(r engineResult) [][]string {
	row := func(name string, cell func(crowdResult) string) []string {
		cells := []string{name}
		for _, c := range r.crowds {
			cells = append(cells, cell(c))
		}
		return cells
	}
	number := func(n int) string { return count(n) }
	return [][]string{
		row("nodes / players", func(c crowdResult) string { return count(c.nodes) + " / " + count(c.players) }),
		row("changes/s", func(c crowdResult) string { return rate(c.changes) }),
		row("of what was wanted", func(c crowdResult) string { return share(c.changes, c.wanted) }),
		row("journals written/s", func(c crowdResult) string { return rate(c.appends) }),
		row("saves/s", func(c crowdResult) string { return number(int(c.saves)) }),
		row("of both, not done or unknown", func(c crowdResult) string { return number(int(c.failures)) }), //nolint:gosec // far below
		row("changes refused, syncs failed", func(c crowdResult) string { return number(int(c.refused)) }), //nolint:gosec // far below
		row("beats landed", func(c crowdResult) string { return number(c.beats.landed) }),
		row("beats that were answered with an error", func(c crowdResult) string { return number(c.beats.failed) }),
		row("beats missed (goal: 0)", func(c crowdResult) string { return number(c.beats.missed) }),
		row("longest between two beats of a node", func(c crowdResult) string { return latency(c.beats.longest) }),
		row("a beat takes", func(c crowdResult) string { return c.beats.latency.cell() }),
		row("nodes taken for dead (goal: 0)", func(c crowdResult) string { return number(c.verdicts) }),
		row("sessions taken over or lost (goal: 0)", func(c crowdResult) string { return number(int(c.stolen)) }), //nolint:gosec // far below
		row("journal lag", func(c crowdResult) string { return c.lag.cell() + ", longest " + latency(c.worstLag) }),
		row("a sync takes", func(c crowdResult) string { return c.sync.cell() }),
		row("processors: nodes and players", func(c crowdResult) string { return processors(c.nodesTime, c.span) }),
		row("processors: PostgreSQL", func(c crowdResult) string { return processors(c.servers.postgres, c.span) }),
		row("processors: Redis", func(c crowdResult) string { return processors(c.servers.redis, c.span) }),
	}
}

// processors is how many were busy.
func processors(used, span time.Duration) string {
	if used == 0 || span == 0 {
		return none
	}
	return fmt.Sprintf("%.2f", used.Seconds()/span.Seconds())
}
