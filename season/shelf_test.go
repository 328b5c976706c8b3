package season_test

import (
	"slices"
	"testing"
	"time"

	"github.com/shoalworks/shoal/season"
)

func TestShelfLetsGoOfWhatWasUsedLongestAgo(t *testing.T) {
	sh := season.NewShelf(3)
	for k := range int64(3) {
		sh.Put(fishResult(t, k))
	}
	sh.Get(0)
	sh.Put(fishResult(t, 3))
	for k, want := range []bool{true, false, true, true} {
		if sh.Get(int64(k)) != want {
			t.Errorf("season %d in memory: %v, want %v", k, !want, want)
		}
	}
	if !sh.IsClosed(1) {
		t.Error("a season that left memory is not known to be closed")
	}
}

func TestShelfNeverGoesBack(t *testing.T) {
	sh := season.NewShelf(3)
	if started, _, through := sh.Stored(); started || through != -1 {
		t.Fatalf("nothing is known: %v, %d", started, through)
	}
	sh.Know(true, 2, 5)
	sh.Know(true, 2, 4)   // a late read
	sh.Know(false, 0, -1) // a read from before the first season was recorded
	if started, first, through := sh.Stored(); !started || first != 2 || through != 5 {
		t.Fatalf("%v, %d, %d", started, first, through)
	}
	for k, want := range map[int64]bool{1: false, 2: true, 5: true, 6: false} {
		if sh.IsClosed(k) != want {
			t.Errorf("season %d closed: %v, want %v", k, !want, want)
		}
	}
}

func TestShelfCountsNewsOnce(t *testing.T) {
	sh := season.NewShelf(1)
	sh.Know(true, 0, 2)
	before := sh.News()
	for range 3 {
		sh.Put(fishResult(t, 1)) // known already
		sh.Put(fishResult(t, 7)) // closed early
	}
	if got := sh.News() - before; got != 1 {
		t.Fatalf("%d news of one", got)
	}
	sh.Know(true, 0, 7)
	sh.Know(true, 0, 7)
	if got := sh.News() - before; got != 2 {
		t.Fatalf("%d news of two", got)
	}
}

// The game hears of every close after the start once, and of none before it.
func TestShelfAnnouncesOnce(t *testing.T) {
	sh := season.NewShelf(1)
	sh.Know(true, 0, 4)
	if ks := sh.Unheard(9); len(ks) > 0 || sh.Announced(3) {
		t.Fatalf("what was closed before the start is news: %v", ks)
	}
	sh.Know(true, 0, 8)
	if !sh.Announced(6) || sh.Announced(6) {
		t.Fatal("season 6 is not announced exactly once")
	}
	if ks := sh.Unheard(2); !slices.Equal(ks, []int64{5, 7}) {
		t.Fatalf("unheard %v", ks)
	}
	for _, k := range []int64{5, 7, 8} {
		sh.Announced(k)
	}
	if ks := sh.Unheard(9); len(ks) > 0 {
		t.Fatalf("unheard %v", ks)
	}
	if sh.Announced(7) {
		t.Fatal("season 7 is announced again")
	}
}

func TestShelfBelievesAbsenceForAWhile(t *testing.T) {
	sh := season.NewShelf(1)
	now := at("2026-08-11T00:00:00Z")
	sh.Absent(4, now)
	if !sh.IsAbsent(4, now.Add(29*time.Second)) || sh.IsAbsent(4, now.Add(30*time.Second)) || sh.IsAbsent(5, now) {
		t.Fatal("absence is not believed for 30 s")
	}
	sh.Put(fishResult(t, 4))
	if sh.IsAbsent(4, now) {
		t.Fatal("absent although it is here")
	}
	for k := range int64(10_000) { // bounded
		sh.Absent(k, now)
	}
	if !sh.IsAbsent(9999, now) {
		t.Fatal("the last one is forgotten")
	}
}
