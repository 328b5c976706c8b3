package chaos

import (
	"math/rand/v2"
	"testing"
)

func TestMarketKnowsWhoIsWhere(t *testing.T) {
	t.Parallel()
	m, rng := newMarket(), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it is to be reproducible
	if other := m.meet(rng, "a", 0); other != "" {
		t.Errorf("%q is where nobody is", other)
	}
	m.come("a", 0)
	m.come("b", 1)
	if other := m.meet(rng, "a", 0); other != "" {
		t.Errorf("a meets %q", other)
	}
	m.come("b", 0)
	if other := m.meet(rng, "a", 0); other != "b" {
		t.Errorf("a meets %q, want b", other)
	}
	if at, ok := m.find("b"); !ok || at != 0 {
		t.Errorf("b is at %d, %v", at, ok)
	}
	m.leave("b")
	if _, ok := m.find("b"); ok {
		t.Error("b is still there")
	}
}

func TestABellHurriesAndSendsAway(t *testing.T) {
	t.Parallel()
	b := newBell()
	hurry, left, rung := b.hear()
	if hurry || left != 0 {
		t.Fatalf("new: %v, %d", hurry, left)
	}
	calm, calmToo := b.hurry(), b.hurry()
	<-rung
	calm()
	calm() // once is enough
	if hurry, _, _ = b.hear(); !hurry {
		t.Error("one fault still wants hurry")
	}
	calmToo()
	b.leave()
	if hurry, left, _ = b.hear(); hurry || left != 1 {
		t.Errorf("after: %v, %d", hurry, left)
	}
}
