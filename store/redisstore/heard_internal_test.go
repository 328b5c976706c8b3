package redisstore

import (
	"errors"
	"slices"
	"testing"
)

// told is the word that a waiter has, if it has one.
func told(t *testing.T, w waiter) (has bool, err error) {
	t.Helper()
	if w == nil {
		t.Fatal("a topic is taken for heard")
	}
	select {
	case err := <-w:
		return true, err
	default:
		return false, nil
	}
}

// hears fails unless the waiter has been told that its topic is heard.
func hears(t *testing.T, w waiter) {
	t.Helper()
	if has, err := told(t, w); err != nil || !has {
		t.Fatalf("who waits is told %v (%v)", err, has)
	}
}

// hearsNot fails unless the waiter has been told that its topic is not heard.
func hearsNot(t *testing.T, w waiter) {
	t.Helper()
	if _, err := told(t, w); !errors.Is(err, errDeaf) {
		t.Fatalf("who waits is told %v", err)
	}
}

// want fails unless what is to begin and to end is this.
func want(t *testing.T, h *heard, have map[string]bool, begin, end []string) {
	t.Helper()
	if b, e := h.difference(have); !slices.Equal(b, begin) || !slices.Equal(e, end) {
		t.Fatalf("begin %q, end %q; want %q and %q", b, e, begin, end)
	}
}

// What a connection hears and what is wanted: topics that begin, end, and come back before
// anybody has looked.
func TestDifference(t *testing.T) {
	wanted := []string{"a"}
	h := newHeard(func() []string { return wanted })
	first := h.wait("a")
	want(t, h, map[string]bool{"b": true}, []string{"a"}, []string{"b"})
	if has, _ := told(t, first); has {
		t.Fatal("a topic counts as heard that is only wanted")
	}
	h.hears([]string{"a"})
	hears(t, first)
	if h.wait("a") != nil {
		t.Fatal("a topic that is heard is waited for")
	}
	want(t, h, map[string]bool{"a": true}, nil, nil) // it has ended and come back meanwhile
	h.deaf(errDeaf)
	again := h.wait("a")
	h.deaf(errDeaf)
	hearsNot(t, again)
	again = h.wait("a")
	want(t, h, map[string]bool{"a": true}, nil, nil) // the connection hears it already
	hears(t, again)
}

// A topic that is about to end is not heard any more, also for whoever comes before it has ended.
func TestWhatEndsIsNotHeard(t *testing.T) {
	wanted := []string{"a"}
	h := newHeard(func() []string { return wanted })
	have := map[string]bool{"a": true}
	want(t, h, have, nil, nil)
	wanted = nil
	want(t, h, have, nil, []string{"a"})
	wanted = []string{"a"}
	back := h.wait("a")
	select {
	case <-h.wake:
	default:
		t.Fatal("nobody is asked to look")
	}
	want(t, h, nil, []string{"a"}, nil) // by now it has ended
	h.hears([]string{"a"})
	hears(t, back)
}

// Who waits for a topic that nobody wants any more has given up: it is not kept.
func TestWhoHasGivenUpIsForgotten(t *testing.T) {
	h := newHeard(func() []string { return nil })
	w := h.wait("a")
	want(t, h, nil, nil, nil)
	hearsNot(t, w)
	if len(h.mu.waiting) > 0 {
		t.Errorf("%d topics are waited for", len(h.mu.waiting))
	}
}

// The bus is closed when nothing has ever been asked to hear: who waits to be heard is told so,
// and whoever comes later, and not left until their context ends.
func TestWaitersOfAClosedBus(t *testing.T) {
	h := newHeard(func() []string { return []string{"a"} })
	early := h.wait("a")
	h.close()
	hearsNot(t, early)
	hearsNot(t, h.wait("a"))
}
