package season_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
)

func TestTheDocketNeverKnowsLess(t *testing.T) {
	d, now := season.NewDocket(), time.Unix(1e9, 0)
	if n, good := d.List("C1S1", now); n != 0 || !good {
		t.Fatalf("nothing is promised: %d, %v", n, good)
	}
	if !d.Promise(map[string]int{"C1S1": 2}, now) || d.Promise(map[string]int{"C1S1": 1}, now) {
		t.Fatal("a promise grew or did not")
	}
	if n, good := d.List("C1S1", now); n != 0 || good || d.Count("C1S1", now) != 2 {
		t.Fatalf("promised, and not read: %d, %v", n, good)
	}
	if d.Put("C1S1", 2, 2, now) { // the first read is no growth: whoever asked has it
		t.Fatal("grew")
	}
	if d.Put("C1S1", 1, 2, now.Add(time.Second)) { // a read that was overtaken
		t.Fatal("grew")
	}
	if n, good := d.List("C1S1", now.Add(time.Hour)); n != 2 || !good || d.Count("C1S1", now) != 2 {
		t.Fatalf("%d, %v", n, good)
	}
	d.Promise(map[string]int{"C1S1": 3, "C1S2": 1}, now)
	if n, good := d.List("C1S1", now); n != 2 || good {
		t.Fatalf("read before the promise: %d, %v", n, good)
	}
	d.Put("C1S1", 2, 3, now)
	late := now.Add(30 * time.Second)
	if _, good := d.List("C1S1", late.Add(-1)); !good || d.Count("C1S1", late.Add(-1)) != 2 || len(d.Unfulfilled(late.Add(-1))) > 0 {
		t.Fatal("read after the promise, and not believed")
	}
	if _, good := d.List("C1S1", late); good || d.Count("C1S1", late) != 3 || !slices.Equal(d.Unfulfilled(late), []string{"C1S1"}) {
		t.Fatal("believed for too long")
	}
	if !d.Put("C1S1", 3, 3, late) || len(d.Unfulfilled(late)) > 0 {
		t.Fatal("fulfilled, and not seen to grow")
	}
}

// The docket is bounded: what was used longest ago leaves, and is read again.
func TestTheDocketIsBounded(t *testing.T) {
	d, now := season.NewDocket(), time.Unix(1e9, 0)
	for i := range season.MaxResults + 1 {
		id := fmt.Sprint("C1S", i)
		d.Promise(map[string]int{id: 1}, now)
		d.Put(id, 1, 1, now)
		d.List("C1S0", now)
	}
	for id, want := range map[string]bool{"C1S0": true, "C1S1": false, "C1S2": true} {
		if _, good := d.List(id, now); good != want {
			t.Errorf("%s in memory: %v", id, good)
		}
	}
}
