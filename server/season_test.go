package server_test

import (
	"strings"
	"testing"
	"time"
)

func TestSeasonCalendar(t *testing.T) {
	d := startDaemon(t, setup{})
	epoch := d.reef.Config().Epoch
	stamp := func(t time.Time) string { return `"` + t.UTC().Format(time.RFC3339Nano) + `"` }
	length := 45 * 24 * time.Hour
	d.call("SeasonService/Current", `{"season":"reef"}`).is(t, "/current/id", `"C1S1"`, "/current/name", `"Cycle 1 Season 1"`,
		"/current/number", "1", "/current/start", stamp(epoch), "/current/end", stamp(epoch.Add(length)))
	d.call("SeasonService/Preview", `{"season":"reef","time":`+stamp(epoch.Add(20*length))+`}`).
		is(t, "/season/id", `"C2S1"`, "/season/number", "21", "/remaining", `"3888000s"`)
	d.call("SeasonService/Calendar", `{"season":"reef"}`).is(t, "/seasons/0/id", `"C1S1"`, "/seasons/9/id", `"C1S10"`, "/seasons/10", "null")
	d.call("SeasonService/Calendar", `{"season":"reef","from":`+stamp(epoch.Add(3*length))+`,"count":2}`).
		is(t, "/seasons/0/id", `"C1S4"`, "/seasons/1/start", stamp(epoch.Add(4*length)), "/seasons/2", "null")
	// The year 10000 cannot be written, so the calendar ends before it.
	last := d.call("SeasonService/Calendar", `{"season":"reef","from":"9999-06-01T00:00:00Z","count":100}`)
	last.is(t)
	if n := strings.Count(last.body, `"id"`); n < 1 || n > 5 {
		t.Errorf("%d seasons in half a year: %s", n, last.body)
	}
}

func TestSeasonEvents(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	event := func(event, amount string) answer {
		return d.call("SeasonService/Record", `{"season":"reef","set":"players","key":"ann","event":"`+event+`"`+amount+`}`)
	}
	event("catch", "").want(t, `{"id":"C1S1","stats":{"bestStreak":1,"fish":1,"streak":1}}`)
	event("coins", `,"amount":9007199254740993`).want(t, `{"id":"C1S1","stats":{"bestStreak":1,"coins":"9007199254740993","fish":1,"streak":1}}`)
	event("lose", `,"amount":null`).is(t, "/stats/streak", "0", "/stats/bestStreak", "1")
	const view = `{"id":"C1S1","stats":{"bestStreak":1,"coins":"9007199254740993","fish":1,"streak":0},"titles":[]}`
	const who = `{"season":"reef","set":"players","key":"ann"}`
	d.call("SeasonService/View", who).want(t, view)
	event("coins", `,"amount":9223372036854775807`).refused(t, 400, "failed_precondition", "refused_operation")
	d.call("SeasonService/View", who).want(t, view)

	d.call("ProfileService/Release", ann).is(t) // the last values reach the boards first
	d.call("SeasonService/View", who).want(t, view)
	event("catch", "").refused(t, 400, "failed_precondition", "not_open")
	d.call("SeasonService/Top", `{"season":"reef","board":"Fish"}`).want(t, `{"id":"C1S1","entries":[{"rank":1,"key":"ann","score":1}],"total":1}`)
	d.call("SeasonService/Top", `{"season":"reef","board":"Coins","count":1}`).want(t, `{"id":"C1S1","entries":[{"rank":1,"key":"ann","score":"9007199254740993"}],"total":1}`)
}

// Reading changes nothing: not the profile, and not its revision.
func TestSeasonViewHasNoSideEffects(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	before := d.call("ProfileService/Get", ann).body
	d.read("SeasonService/View", `{"season":"reef","set":"players","key":"ann"}`).is(t, "/stats", "{}")
	if after := d.call("ProfileService/Get", ann).body; after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

func TestBadSeasonCalls(t *testing.T) {
	d := startDaemon(t, setup{})
	d.call("ProfileService/Load", ann).is(t)
	for _, c := range []struct {
		method, body string
		status       int
		code, reason string
		words        []string
	}{
		{"Current", `{}`, 404, "not_found", "unknown_season", []string{"there are reef"}},
		{"Preview", `{"season":"reef"}`, 400, "invalid_argument", "bad_field", []string{`"field":"time"`, "is missing"}},
		{"Preview", `{"season":"reef","time":"9999-12-31T00:00:00Z"}`, 400, "invalid_argument", "bad_field", []string{"before the year 10000"}},
		{"Preview", `{"season":"reef","time":"soon"}`, 400, "invalid_argument", "malformed", []string{`"field":"time"`}},
		{"Preview", `{"season":"x","time":"2026-08-11T00:00:00Z"}`, 404, "not_found", "unknown_season", nil},
		{"Calendar", `{"season":"reef","count":1001}`, 400, "invalid_argument", "bad_field", []string{"1 to 1000"}},
		{"Calendar", `{"season":"x"}`, 404, "not_found", "unknown_season", nil},
		{"Record", `{"season":"x","set":"players","key":"ann","event":"catch"}`, 404, "not_found", "unknown_season", nil},
		{"Record", `{"season":"reef","set":"x","key":"ann","event":"catch"}`, 404, "not_found", "unknown_set", nil},
		{"Record", `{"season":"reef","set":"players","key":"ann"}`, 400, "invalid_argument", "bad_field", []string{`"field":"event"`}},
		{"Record", `{"season":"reef","set":"players","key":"ann","event":"dance"}`, 400, "invalid_argument", "unknown_event", nil},
		{"Record", `{"season":"reef","set":"players","key":"ann","event":"coins","amount":1.5}`, 400, "invalid_argument", "malformed", []string{`"field":"amount"`}},
		{"Record", `{"season":"reef","set":"guilds","key":"ann","event":"catch"}`, 400, "invalid_argument", "bad_field", []string{`"field":"set"`, `the set \"players\", not of \"guilds\"`}},
		{"View", `{"season":"reef","set":"guilds","key":"ann"}`, 400, "invalid_argument", "bad_field", []string{`"field":"set"`}},
		{"View", `{"season":"x","set":"players","key":"ann"}`, 404, "not_found", "unknown_season", nil},
		{"View", `{"season":"reef","set":"players","key":"bob"}`, 404, "not_found", "no_profile", nil},
		{"View", `{"season":"reef","set":"x","key":"ann"}`, 404, "not_found", "unknown_set", nil},
		{"Top", `{"season":"reef","board":"Bones"}`, 404, "not_found", "unknown_board", nil},
		{"Top", `{"season":"reef","board":"Fish","count":51}`, 400, "invalid_argument", "bad_field", []string{"1 to 50"}},
		{"Top", `{"season":"x","board":"Fish"}`, 404, "not_found", "unknown_season", nil},
		{"Results", `{"season":"reef","id":"2026-08"}`, 400, "invalid_argument", "no_season", nil},
		{"Results", `{"season":"reef","id":"C01S1"}`, 400, "invalid_argument", "no_season", nil},
		{"Results", `{"season":"reef","id":"C1S1"}`, 404, "not_found", "no_result", []string{"after the season has been closed"}},
		{"Results", `{"season":"x","id":"C1S1"}`, 404, "not_found", "unknown_season", nil},
	} {
		t.Run(c.method+" "+c.body, func(t *testing.T) {
			d.call("SeasonService/"+c.method, c.body).refused(t, c.status, c.code, c.reason, append(c.words, `"outcome":"not_done"`)...)
		})
	}
	d.call("SeasonService/View", `{"season":"reef","set":"players","key":"ann"}`).is(t, "/stats", "{}")
}
