package profile_test

import (
	"context"
	"errors"
	"testing"

	"github.com/shoalworks/shoal/doc"
	"github.com/shoalworks/shoal/profile"
)

// A whole trade fits between the moment at which a transaction is let in and the one at which
// it is committed: game code runs in between. What the transaction makes of the data from
// before must not take back what the trade did.
func TestATradeWithinATransaction(t *testing.T) {
	// case P23
	for _, id := range []string{"", "named"} {
		bubble(t, func(t *testing.T, f *fleet) {
			_, u, v := market(t, f)
			_, err := u.Change(profile.Source{ID: id}, func(doc.Value) ([]doc.Op, error) {
				done := make(chan error, 1)
				go func() { _, err := swap(context.Background(), "t", u, v); done <- err }()
				if err := <-done; err != nil {
					t.Errorf("trade: %v", err)
				}
				return []doc.Op{doc.Set("/level", doc.Int(2))}, nil
			})
			if err != nil && !errors.Is(err, profile.ErrBusy) {
				t.Errorf("change: %v", err)
			}
			if !swapped(t, u.Data(), v.Data()) {
				t.Error("the trade is gone")
			}
			save(t, u)
			save(t, v)
			if !swapped(t, f.storedData("u"), f.storedData("v")) {
				t.Error("the trade is gone from the store")
			}
			if _, changed, _ := u.Data().Lookup("/level"); changed != (err == nil) {
				t.Errorf("told %v, and the data is %v", err, u.Data())
			}
			touch(t, u)
		})
	}
}
