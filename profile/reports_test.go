package profile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// rich reports everyone with more than ten coins, twice.
var rich = profile.Guard{Name: "rich", Mode: profile.ReportOnly, Check: func(c profile.Change) []profile.Violation {
	if coins(c.After) > 10 {
		return []profile.Violation{{Path: doc.MustPath("/coins"), Problem: "many"}, {Problem: "very many"}}
	}
	return nil
}}

// Reports come with the commit, are counted all, and logged once a minute for each guard.
func TestReportsAreCountedAndLoggedOnceAMinute(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{SoftBytes: 100, Guards: []profile.Guard{rich}})
		s := a.load("u", nil)
		var heard [][]profile.Violation
		s.OnCommit(func(c profile.Commit) { heard = append(heard, c.Reports) })
		logged := func() int { return strings.Count(a.log.String(), `"guard reports"`) }
		add(t, s, 10)
		if logged() != 0 || a.Stats().Reports != 0 {
			t.Errorf("%d reports, %d logged, of nothing", a.Stats().Reports, logged())
		}
		for range 5 {
			add(t, s, 1)
		}
		if n := a.Stats().Reports; n != 10 || logged() != 1 || len(heard) != 6 || len(heard[0]) != 0 || len(heard[5]) != 2 {
			t.Errorf("%d reports, %d logged, heard %v", n, logged(), heard)
		}
		if !strings.Contains(a.log.String(), `guard=rich key=u`) || !strings.Contains(a.log.String(), "path=/coins problem=many more=1 unlogged=0") {
			t.Error(a.log)
		}
		if _, err := s.Transact(game, doc.Set("/bag", doc.MustString(strings.Repeat("x", 100)))); err != nil {
			t.Fatal(err)
		}
		if logged() != 2 || a.Stats().OverSoft != 1 || !strings.Contains(a.log.String(), `guard="soft size" key=u`) {
			t.Errorf("another guard has a minute of its own: %v", a.log)
		}
		time.Sleep(time.Minute)
		add(t, s, 1)
		if logged() != 3 || !strings.Contains(a.log.String(), "unlogged=10") {
			t.Errorf("after a minute: %v", a.log)
		}
		if dry, err := s.DryRun(game, doc.Increment("/coins", 1)); err != nil || len(dry.Reports) != 2 {
			t.Errorf("dry run: %+v, %v", dry, err)
		}
	})
}

// Growing over the soft budget is reported each time, shrinking is not.
func TestGrowingOverTheSoftBudgetIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		s := f.start("a", &profile.Options{SoftBytes: 100}).load("u", nil)
		for i, c := range []struct {
			bytes, reports int
		}{{50, 0}, {120, 1}, {130, 1}, {125, 0}, {20, 0}} {
			got, err := s.Transact(game, doc.Set("/bag", doc.MustString(strings.Repeat("x", c.bytes))))
			if err != nil || len(got.Reports) != c.reports || c.reports > 0 && got.Reports[0].Path.String() != "/bag" {
				t.Errorf("%d: %v, %v", i, got.Reports, err)
			}
		}
	})
}

// Trades go through the same pipeline: their reports too.
func TestTradesReport(t *testing.T) {
	bubble(t, func(t *testing.T, f *fleet) {
		a := f.start("a", &profile.Options{Guards: []profile.Guard{rich}})
		u, v := a.load("u", nil), a.load("v", nil)
		got, err := profile.Trade(t.Context(), game,
			profile.Party{Session: u, Ops: []doc.Op{doc.Increment("/coins", 20)}},
			profile.Party{Session: v, Ops: []doc.Op{doc.Increment("/coins", 5)}})
		if err != nil || len(got.Commits[0].Reports) != 2 || len(got.Commits[1].Reports) != 0 || a.Stats().Reports != 2 {
			t.Errorf("%+v, %v, %d counted", got, err, a.Stats().Reports)
		}
	})
}
