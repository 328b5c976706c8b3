package demo

import (
	"strings"
	"testing"
)

func TestLedgerAcceptsAnHonestFleet(t *testing.T) {
	l := newLedger()
	l.loaded("u", 1, 0)
	l.casting("u", 1, 1)
	l.saving("u", 1)(1)
	l.casting("u", 1, 2)
	l.loaded("u", 2, 1) // a crash lost the unsaved cast
	l.casting("u", 1, 3)
	l.loaded("u", 3, 1)
	l.title("u", "Fish@C1S1")
	l.title("u", "Fish@C1S2")
	l.result("C1S1", "a")
	l.result("C1S1", "a")
	l.late("u", "C1S1", 4) // of which the board, sealed before, has 3
	l.audited("u", book{
		casts: 1, fish: 7, earned: 50, coins: 1550, ranks: map[string]int{"Fish@C1S1": 1, "Fish@C1S2": 2},
		seasons: map[string]int64{"C1S1": 3, "C1S2": 3},
	})
	if broken, first := l.verdict(); broken != 0 {
		t.Fatalf("%d violations: %v", broken, first)
	}
}

func TestLedgerCatches(t *testing.T) {
	for want, play := range map[string]func(*ledger){
		"acknowledged as saved": func(l *ledger) {
			l.loaded("u", 1, 0)
			l.casting("u", 1, 1)
			l.saving("u", 1)(1)
			l.loaded("u", 2, 0)
		},
		"were ever made": func(l *ledger) {
			l.loaded("u", 1, 0)
			l.loaded("u", 2, 5)
		},
		"was loaded after epoch": func(l *ledger) {
			l.loaded("u", 2, 0)
			l.loaded("u", 2, 0)
		},
		"a save of epoch 1": func(l *ledger) {
			l.loaded("u", 1, 0)
			l.loaded("u", 2, 0)
			l.saving("u", 1)(0)
		},
		"granted twice": func(l *ledger) {
			l.title("u", "Fish@C1S1")
			l.title("u", "Fish@C1S1")
		},
		"its result changed": func(l *ledger) {
			l.result("C1S1", "a")
			l.result("C1S1", "b")
		},
		"2 fish are in the profile, and 3 in all seasons": func(l *ledger) {
			l.audited("u", book{fish: 2, seasons: map[string]int64{"C1S1": 2, "C1S2": 1}})
		},
		"2 fish are in the profile, and 1 in all seasons": func(l *ledger) {
			l.audited("u", book{fish: 2, seasons: map[string]int64{"C1S1": 1}})
		},
		"was announced and is not stored": func(l *ledger) {
			l.title("u", "Fish@C1S1")
			l.audited("u", book{announced: l.announced("u"), ranks: map[string]int{"Fish@C1S2": 1}, coins: 1000})
		},
		"1500 coins; 500 were earned": func(l *ledger) {
			l.audited("u", book{earned: 500, coins: 1500, ranks: map[string]int{"Fish@C1S1": 2}})
		},
	} {
		l := newLedger()
		play(l)
		broken, first := l.verdict()
		if broken != 1 || !strings.Contains(strings.Join(first, "\n"), want) {
			t.Errorf("%d violations %v, want one with %q", broken, first, want)
		}
	}
}

func TestLedgerKeepsAFewAndCountsAll(t *testing.T) {
	l := newLedger()
	for range 100 {
		l.loaded("u", 0, 0)
	}
	if broken, first := l.verdict(); broken != 100 || len(first) != maxViolations {
		t.Fatalf("%d violations, %d kept", broken, len(first))
	}
}
