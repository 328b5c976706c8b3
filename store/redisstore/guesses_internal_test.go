package redisstore

import (
	"fmt"
	"testing"

	"github.com/shoalworks/shoal/store"
)

// What was put is found where it was put last, by life and key, and what was wrong is not.
func TestGuesses(t *testing.T) {
	g := newGuesses(keys{prefix: "p"})
	if _, found := g.look("life", "a"); found {
		t.Fatal("something is found where nothing is")
	}
	g.put("life", "7", 7, 8)
	g.put("other", "7", 7, 9)
	g.put("life", "7", 70, 71)
	g.put("", "7", 1, 1)
	want := func(life, key string, place, sequence uint64) {
		t.Helper()
		if at, found := g.look(life, key); !found || at != positionAt(place, sequence) {
			t.Fatalf("%s of %s is at %x, found %v", key, life, at, found)
		}
	}
	want("life", "7", 70, 71)
	want("other", "7", 7, 9)
	g.wrong("life", "7", positionAt(7, 8)) // of an earlier guess: another call has learned better
	want("life", "7", 70, 71)
	g.wrong("life", "7", positionAt(70, 71))
	if _, found := g.look("life", "7"); found {
		t.Fatal("what was wrong is found")
	}
	g.found("life", "7", 1, 72)
	if _, found := g.look("life", "7"); found {
		t.Fatal("what was wrong, and is elsewhere, is found at once")
	}
	g.found("life", "7", 1, 72)
	want("life", "7", 1, 72)
	g.found("life", "7", 2, 73)
	want("life", "7", 2, 73)
	if _, found := g.look("", "7"); found {
		t.Fatal("an unknown life has guesses")
	}
	for i := range uint64(10_000) { // what came before may have to go; the newest is there
		g.put("life", fmt.Sprint(i), i, i+1)
		want("life", fmt.Sprint(i), i, i+1)
	}
}

// There are never more guesses, nor boards, than the limits, and the newest are there.
func TestGuessesAreBounded(t *testing.T) {
	g := newGuesses(keys{prefix: "p"})
	s := &g.shards[0]
	for i := range uint64(3 * guessSetsMax * guessSet) {
		s.mu.Lock()
		if s.mu.held >= guessFull*len(s.mu.sets) && len(s.mu.sets) < guessSetsMax {
			s.grow()
		}
		s.place(guess{tag: (i+1)*0x9e3779b97f4a7c15>>6 | guessTaken, place: i, sequence: i})
		s.mu.Unlock()
	}
	held := 0
	for _, set := range s.mu.sets {
		for _, one := range set {
			if one.tag != 0 {
				held++
			}
		}
	}
	if len(s.mu.sets) != guessSetsMax || held != s.mu.held || held < guessSetsMax*guessSet*9/10 {
		t.Errorf("%d sets hold %d, and count %d", len(s.mu.sets), held, s.mu.held)
	}
	for i := range guessLives + 10 {
		g.live(fmt.Sprint(i), boardLife{"life", store.Ascending})
	}
	if n := len(g.lives.mu.by); n > guessLives {
		t.Errorf("%d boards are known", n)
	}
	if _, known := g.board(fmt.Sprint(guessLives + 9)); !known {
		t.Error("the newest board is not known")
	}
	g.gone("nobody", boardLife{})
	g.gone(fmt.Sprint(guessLives+9), boardLife{"later", store.Ascending}) // it has been learned anew meanwhile
	if _, known := g.board(fmt.Sprint(guessLives + 9)); !known {
		t.Error("a board is forgotten for what another life did")
	}
}
