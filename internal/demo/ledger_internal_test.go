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
