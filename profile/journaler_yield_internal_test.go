package profile

import (
	"testing"
	"time"
)

// What is only due gives way once: after that it goes, however slow the next beat is.
func TestWhatIsDueGivesWayOnce(t *testing.T) {
	g := journaler{every: time.Second, wake: func() {}}
	now := time.Unix(0, 0)
	g.add(new(Session))
	g.take(now, false) // it is due at the next tick
	now = now.Add(g.every / ticks)
	w, some, next := g.take(now, true)
	if !w.yield || some || !next.IsZero() {
		t.Fatalf("slow beat: got %+v, %v, next %v", w, some, next)
	}
	g.hurry(new(Session))
	g.take(now, true)
	now = now.Add(moment)
	if w, _, next = g.take(now, true); w.yield || len(w.hurried) != 1 || len(w.listed) != 0 || !next.IsZero() {
		t.Fatalf("who hurries: got %+v, next %v", w, next)
	}
	g.yielded()
	if w, _, _ = g.take(now, true); w.yield || len(w.listed) != 1 {
		t.Fatalf("the next beat is slow, too: got %+v", w)
	}
	g.add(new(Session))
	if w, _, _ = g.take(now, true); !w.yield {
		t.Fatalf("what comes later: got %+v", w)
	}
}
