package profile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shoalworks/shoal/clock"
	"github.com/shoalworks/shoal/doc"
)

func TestNextSlot(t *testing.T) {
	start := ruleTime
	for _, c := range []struct{ at, want time.Duration }{
		{0, time.Minute},
		{time.Second, time.Minute},
		{time.Minute, 2 * time.Minute},
		{61 * time.Second, 2 * time.Minute},
		{-time.Second, 0},
		{-time.Minute, 0},
		{-61 * time.Second, -time.Minute},
	} {
		if got := nextSlot(start, time.Minute, start.Add(c.at)); !got.Equal(start.Add(c.want)) {
			t.Errorf("after %v: %v", c.at, got.Sub(start))
		}
	}
}

func TestSpreadIsEvenAndSteady(t *testing.T) {
	var tenths [10]int
	for i := range 10_000 {
		key := fmt.Sprint("u_", i)
		d := spread(key, time.Minute)
		if d < 0 || d >= time.Minute || d != spread(key, time.Minute) {
			t.Fatalf("spread %v", d)
		}
		tenths[d/(6*time.Second)]++
	}
	if slices.Min(tenths[:]) < 900 || slices.Max(tenths[:]) > 1100 {
		t.Errorf("uneven: %v", tenths)
	}
	if spread("u", 0) != 0 || spread("u", -1) != 0 {
		t.Error("a period of nothing")
	}
}

func TestEarlier(t *testing.T) {
	var none time.Time
	a, b := ruleTime, ruleTime.Add(1)
	if !earlier(none, none).IsZero() || !earlier(none, a).Equal(a) || !earlier(a, none).Equal(a) || !earlier(a, b).Equal(a) || !earlier(b, a).Equal(a) {
		t.Error("earlier is wrong")
	}
}

func TestAgendaKeepsOneAppointmentASession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := agenda{kick: make(chan struct{}, 1)}
		sessions := []*Session{{}, {}, {}, {}}
		want := map[*Session]time.Time{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			s := rapid.SampledFrom(sessions).Draw(t, "session")
			if rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
				g.drop(s)
				delete(want, s)
				continue
			}
			due := ruleTime.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "due")))
			g.at(s, due)
			want[s] = due
		}
		now := ruleTime.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "now")))
		due, next := g.due(now)
		var first time.Time
		count := 0
		for s, at := range want {
			if at.After(now) {
				first = earlier(first, at)
			} else if count++; !slices.Contains(due, s) {
				t.Fatalf("what is due at %v was not handed out", at)
			}
		}
		if len(due) != count || !next.Equal(first) {
			t.Fatalf("%d due, next %v; want %d, %v", len(due), next, count, first)
		}
	})
}

func TestBackoffGrowsToALimit(t *testing.T) {
	for fails := 1; fails < 40; fails++ {
		low, high := backoff(fails, 0), backoff(fails, 1<<62)
		if low < firstBackoff/2 || high > lastBackoff || low > high {
			t.Errorf("after %d failures: %v to %v", fails, low, high)
		}
	}
	if backoff(1, 0) >= backoff(6, 0) {
		t.Error("it does not grow")
	}
}

func TestReconciledNeverTakesAnythingAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template, data := drawObject(t, "template", 3), drawObject(t, "data", 3)
		got := reconciled(template, data)
		checkReconciled(t, template, data, got)
		if again := reconciled(template, got); !again.Equal(got) {
			t.Fatalf("reconciling twice differs: %v, %v", got, again)
		}
	})
}

func drawObject(t *rapid.T, label string, depth int) doc.Value {
	members := map[string]doc.Value{}
	for range rapid.IntRange(0, 4).Draw(t, label+" members") {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", ""}).Draw(t, label+" name")
		switch rapid.IntRange(0, 3).Draw(t, label+" kind") {
		case 0:
			members[name] = doc.Int(int64(rapid.IntRange(0, 9).Draw(t, label+" int")))
		case 1:
			members[name] = doc.List(doc.Int(1))
		case 2:
			members[name] = doc.Null()
		default:
			if depth > 0 {
				members[name] = drawObject(t, label, depth-1)
			}
		}
	}
	return doc.MustObject(members)
}

// checkReconciled: every member of data is there unchanged, or an object that is so in turn;
// every member of the template is there.
func checkReconciled(t *rapid.T, template, data, got doc.Value) {
	for name, have := range data.Members() {
		now, ok := got.Member(name)
		want, inTemplate := template.Member(name)
		switch {
		case !ok:
			t.Fatalf("%q was taken away", name)
		case inTemplate && want.Kind() == doc.KindObject && have.Kind() == doc.KindObject:
			checkReconciled(t, want, have, now)
		case !now.Equal(have):
			t.Fatalf("%q was changed from %v to %v", name, have, now)
		}
	}
	for name := range template.Members() {
		if _, ok := got.Member(name); !ok {
			t.Fatalf("%q of the template is missing", name)
		}
	}
	if got.Len() > data.Len()+template.Len() {
		t.Fatalf("more members than both have: %v", got)
	}
}

func TestBudgetRules(t *testing.T) {
	small, large, larger := doc.MustString("a"), doc.MustString("abcdef"), doc.MustString("abcdefgh")
	for _, c := range []struct {
		before, after doc.Value
		refused, kept bool
	}{
		{small, small, false, false},
		{small, large, true, true},
		{large, larger, true, true},
		{larger, large, false, false},
		{large, large, true, false},
		{large, small, false, false},
	} {
		if got := overHard(c.before, c.after, 5) != nil; got != c.refused {
			t.Errorf("%v to %v: refused %v", c.before, c.after, got)
		}
		if got := keepStored(c.before.Size(), c.after.Size(), 5); got != c.kept {
			t.Errorf("%v to %v: kept %v", c.before, c.after, got)
		}
	}
}

func TestCrewDoesUrgentWorkFirst(t *testing.T) {
	c := newCrew(0, clock.System(), nil)
	a, b, u := &Session{key: "a"}, &Session{key: "b"}, &Session{key: "u"}
	c.add(a, plain)
	c.add(b, plain)
	c.add(u, urgent)
	var got []string
	for s, _ := c.next(); s != nil; s, _ = c.next() {
		got = append(got, s.key)
	}
	if fmt.Sprint(got) != "[u a b]" || c.mu.idle != 1 {
		t.Errorf("%v, %d idle", got, c.mu.idle)
	}
}

func TestCrewLanesDoNotCreep(t *testing.T) {
	c := newCrew(0, clock.System(), nil)
	for range 100_000 {
		c.add(&Session{}, plain)
		c.add(&Session{}, plain)
		c.next()
		c.next()
		c.add(&Session{}, plain) // never quite empty
		c.next()
	}
	if n := cap(c.mu.lanes[plain]); n > 64 {
		t.Errorf("the lane has grown to %d", n)
	}
}

func TestTasksWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g tasks
		if !g.wait(t.Context()) {
			t.Error("nothing runs, and it waits")
		}
		var done sync.WaitGroup
		for i := range 3 {
			g.start(func() { time.Sleep(time.Duration(i) * time.Second) })
		}
		for range 2 {
			done.Go(func() {
				if !g.wait(t.Context()) {
					t.Error("gave up")
				}
			})
		}
		done.Wait()
		g.start(func() { time.Sleep(time.Hour) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if g.wait(ctx) {
			t.Error("did not wait for a task")
		}
		time.Sleep(2 * time.Hour)
	})
}
