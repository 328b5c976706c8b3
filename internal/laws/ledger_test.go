package laws_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// ledger is what the outside knows of the players' deeds: a deed adds a coin and its own name,
// in one transaction.
type ledger struct {
	mu struct {
		sync.Mutex
		deeds     int
		attempted map[string]string // deed → player
		kept      map[string]bool   // deeds whose save or sync was acknowledged
	}
}

func newLedger() *ledger {
	l := &ledger{}
	l.mu.attempted, l.mu.kept = make(map[string]string), make(map[string]bool)
	return l
}

// begin names a deed of a player.
func (l *ledger) begin(player string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.deeds++
	deed := fmt.Sprintf("d%d", l.mu.deeds)
	l.mu.attempted[deed] = player
	return deed
}

func (l *ledger) keep(deeds ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range deeds {
		l.mu.kept[d] = true
	}
}

// deedOps are the operations of a deed.
func deedOps(deed string) []doc.Op {
	return []doc.Op{doc.Increment("/coins", 1), doc.Set("/done/"+deed, doc.Must(true))}
}

// do does a deed in a session; done tells that it is in the session's data.
func (l *ledger) do(s *profile.Session) (deed string, done bool) {
	deed = l.begin(s.Key())
	_, err := s.Transact(profile.Source{Note: "law"}, deedOps(deed)...)
	return deed, err == nil
}

// doAndKeep does a deed and has it kept by what keeps; only an acknowledged one must stay.
func (l *ledger) doAndKeep(ctx context.Context, s *profile.Session, keeps func(context.Context) error) {
	if deed, done := l.do(s); done && keeps(ctx) == nil { //nolint:contextcheck // a transaction waits for nothing
		l.keep(deed)
	}
}

// judge loads every player and compares them with what was acknowledged.
func (l *ledger) judge(t *testing.T, on *server, players []string) {
	t.Helper()
	for _, p := range players {
		s := on.load(t, p)
		data := s.Data()
		found := done(t, data)
		coins, _, err := data.Lookup("/coins")
		if err != nil || !coins.Equal(doc.Int(int64(len(found)))) {
			t.Errorf("%s has %v coins for %d deeds: a transaction was torn, or done twice", p, coins, len(found))
		}
		l.compare(t, p, found)
		if err := s.Release(within(t)); err != nil {
			t.Errorf("release %s: %v", p, err)
		}
	}
}

func (l *ledger) compare(t *testing.T, player string, found map[string]bool) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for deed, who := range l.mu.attempted {
		switch {
		case who == player && l.mu.kept[deed] && !found[deed]:
			t.Errorf("%s lost %s, which was acknowledged", player, deed)
		case who != player && found[deed]:
			t.Errorf("%s has %s of %s", player, deed, who)
		}
	}
	for deed := range found {
		if l.mu.attempted[deed] == "" {
			t.Errorf("%s has %s, which nobody did", player, deed)
		}
	}
}

// done are the deeds that are in the data.
func done(t *testing.T, data doc.Value) map[string]bool {
	t.Helper()
	v, ok, err := data.Lookup("/done")
	if err != nil || !ok {
		t.Fatalf("no deeds in %v: %v", data, err)
	}
	out := make(map[string]bool)
	for name := range v.Members() {
		out[name] = true
	}
	return out
}
