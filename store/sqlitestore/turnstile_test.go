package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/shoalworks/shoal/store/sqlitestore"
)

func newTurnstile(t *testing.T, path string) *sqlitestore.Turnstile {
	t.Helper()
	turn, err := sqlitestore.NewTurnstile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = turn.Close() }) // a test may have closed it
	return turn
}

// Who waits stands in the turnstile until it has written; who has written finds it shut
// until then.
func TestTurnstile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "turn")
	writer, waiter, third := newTurnstile(t, path), newTurnstile(t, path), newTurnstile(t, path)
	expect := func(step string, turn *sqlitestore.Turnstile, open bool) {
		t.Helper()
		if turn.Open() != open {
			t.Errorf("%s: open is %v, want %v", step, !open, open)
		}
	}
	expect("nobody waits", writer, true)
	expect("nobody waits, again", writer, true)
	waiter.Enter()
	waiter.Enter() // standing in it already
	expect("one waits", writer, false)
	expect("the one who waits", waiter, true)
	third.Enter() // it is taken: this one waits without it
	third.Leave()
	expect("one still waits", writer, false)
	waiter.Leave()
	expect("it has written", writer, true)
	waiter.Leave()
	third.Enter()
	expect("the third waits", writer, false)
	if err := third.Close(); err != nil { // as when its process dies
		t.Fatal(err)
	}
	expect("the third has died", writer, true)
}
