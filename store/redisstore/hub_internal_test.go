package redisstore

import (
	"slices"
	"strconv"
	"testing"
)

// A subscriber that has fallen behind by the limit loses what comes then, and nobody waits
// for it.
func TestSlowSubscribersLose(t *testing.T) {
	h := newHub(3)
	in, release, got := make(chan struct{}), make(chan struct{}), make(chan string, 100)
	slow, _, _ := h.subscribe("topic", func(p []byte) {
		in <- struct{}{}
		<-release
		got <- string(p)
	})
	fast := make(chan string, 100)
	other, _, _ := h.subscribe("topic", func(p []byte) { fast <- string(p) })
	h.deliver("topic", "0")
	<-in // the first is being received: three more wait
	for i := 1; i < 10; i++ {
		h.deliver("topic", strconv.Itoa(i))
		<-fast
	}
	<-fast
	close(release)
	for range 3 {
		<-in
	}
	var all []string
	for range 4 {
		all = append(all, <-got)
	}
	if want := []string{"0", "1", "2", "3"}; !slices.Equal(all, want) {
		t.Errorf("it has received %q, want %q", all, want)
	}
	slow.Close()
	other.Close()
	if len(got) > 0 {
		t.Errorf("it has received %d more", len(got))
	}
}

// What a connection hears and what is wanted: topics that begin, end, and come back before
// anybody has looked.
func TestDifference(t *testing.T) {
	h := newHub(1)
	a, wait, _ := h.subscribe("a", func([]byte) {})
	have := map[string]bool{"b": true}
	begin, end := h.difference(have)
	if !slices.Equal(begin, []string{"a"}) || !slices.Equal(end, []string{"b"}) {
		t.Fatalf("begin %q, end %q", begin, end)
	}
	h.hears([]string{"a"})
	if err := <-wait; err != nil {
		t.Fatal(err)
	}
	have = map[string]bool{"a": true}
	a.Close()
	again, wait, _ := h.subscribe("a", func([]byte) {})
	if wait == nil {
		t.Fatal("a topic that ended is taken for heard")
	}
	if begin, end = h.difference(have); len(begin)+len(end) != 0 {
		t.Fatalf("begin %q, end %q", begin, end)
	}
	if err := <-wait; err != nil {
		t.Fatal(err)
	}
	h.deaf(errDeaf)
	third, wait, _ := h.subscribe("a", func([]byte) {})
	if wait == nil {
		t.Fatal("a topic is taken for heard on a connection that is gone")
	}
	h.deaf(errDeaf)
	if err := <-wait; err == nil {
		t.Fatal("nobody is told that nothing is heard")
	}
	again.Close()
	third.Close()
}
